"""Datasets of rows. pandas reads them where the user has it."""

import copy
import tempfile

from azureml._support import without_effect
from azureml.data import _catalogue, _tables
from azureml.data.abstract_dataset import AbstractDataset
from azureml.data.file_dataset import _count, _fraction, _seed
from azureml.exceptions import UserErrorException

_AS_PANDAS = "what cannot be read is null, as pandas does it"


class TabularDataset(AbstractDataset):
    """Rows of delimited, Parquet or JSON-lines files; columns kept or dropped, rows limited."""

    _is_tabular = True

    def __init__(self, definition, workspace=None, record=None, draws=()):
        super().__init__(definition, workspace, record)
        self._draws = list(draws)  # samples and splits, drawn when rows are read: (fraction, seed, the rest)

    @without_effect(on_error=_AS_PANDAS, out_of_range_datetime=_AS_PANDAS)
    def to_pandas_dataframe(self, on_error="null", out_of_range_datetime="null"):
        pandas = _tables.pandas_module()
        record = self._resolved()
        with tempfile.TemporaryDirectory(prefix="dataset-") as folder:
            paths = [f"{folder}/{path.lstrip('/')}" for path in _catalogue.paths(self._workspace, record)]
            _catalogue.download(self._workspace, record, folder)
            return _tables.frame(pandas, paths, self._definition["table"], self._draws)

    def _rows(self):
        """What a job needs to read the rows itself."""
        return {"table": self._definition["table"], "draws": self._draws}

    def _table(self, **changes):
        if self._draws:
            raise UserErrorException("Choose columns and rows first, then sample or split")
        definition = copy.deepcopy(self._definition)
        definition["table"].update(changes)
        return TabularDataset(definition, self._workspace)

    @without_effect(validate="columns are checked when rows are read")
    def keep_columns(self, columns, validate=False):
        return self._table(keep=[columns] if isinstance(columns, str) else list(columns))

    def drop_columns(self, columns):
        dropped = [columns] if isinstance(columns, str) else list(columns)
        return self._table(drop=self._definition["table"].get("drop", []) + dropped)

    def take(self, count):
        before = self._definition["table"].get("take_rows")
        return self._table(take_rows=min(_count(count), before) if before is not None else _count(count))

    def skip(self, count):
        table = self._definition["table"]
        left = table.get("take_rows")
        change = {"skip_rows": table.get("skip_rows", 0) + _count(count)}
        if left is not None:
            change["take_rows"] = max(0, left - count)
        return self._table(**change)

    def _drawn(self, fraction, seed, rest):
        return TabularDataset(
            self._definition, self._workspace, self._record, [*self._draws, (fraction, seed, rest)]
        )

    def take_sample(self, probability, seed=None):
        return self._drawn(_fraction(probability), _seed(seed), False)

    def random_split(self, percentage, seed=None):
        fraction, seed = _fraction(percentage), _seed(seed)
        return self._drawn(fraction, seed, False), self._drawn(fraction, seed, True)
