"""Datasets of rows. pandas reads them where the user has it."""

import copy
import tempfile

from azureml._support import without_effect
from azureml.data import _catalogue
from azureml.data.abstract_dataset import AbstractDataset
from azureml.data.file_dataset import _count, _fraction, _seed
from azureml.exceptions import UserErrorException

_AS_PANDAS = "what cannot be read is null, as pandas does it"


class TabularDataset(AbstractDataset):
    """Rows of delimited, Parquet or JSON-lines files; columns kept or dropped, rows limited."""

    _is_tabular = True

    @without_effect(on_error=_AS_PANDAS, out_of_range_datetime=_AS_PANDAS)
    def to_pandas_dataframe(self, on_error="null", out_of_range_datetime="null"):
        try:
            import pandas
        except ImportError:
            raise UserErrorException(
                "to_pandas_dataframe needs pandas; install it with: pip install pandas"
            ) from None
        record = self._resolved()
        with tempfile.TemporaryDirectory(prefix="dataset-") as folder:
            paths = [f"{folder}/{path.lstrip('/')}" for path in _catalogue.paths(self._workspace, record)]
            _catalogue.download(self._workspace, record, folder)
            return frame(pandas, paths, self._definition)

    @without_effect(on_error=_AS_PANDAS, out_of_range_datetime=_AS_PANDAS)
    def to_csv_files(self, separator=","):
        raise UserErrorException(
            "Write the rows yourself: to_pandas_dataframe().to_csv(...), then Datastore.upload_files"
        )

    def _table(self, **changes):
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

    def take_sample(self, probability, seed=None):
        return _Sampled(self, [("sample", _fraction(probability), _seed(seed), False)])

    def random_split(self, percentage, seed=None):
        fraction, seed = _fraction(percentage), _seed(seed)
        return (
            _Sampled(self, [("split", fraction, seed, False)]),
            _Sampled(self, [("split", fraction, seed, True)]),
        )


class _Sampled(TabularDataset):
    """Rows drawn when they are read; the files stay those of the dataset it was made from."""

    def __init__(self, origin, draws):
        super().__init__(origin._definition, origin._workspace, origin._record)
        self._draws = list(getattr(origin, "_draws", [])) + draws

    def to_pandas_dataframe(self, on_error="null", out_of_range_datetime="null"):
        rows = super().to_pandas_dataframe()
        for _, fraction, seed, rest in self._draws:
            drawn = rows.sample(frac=fraction, random_state=seed % (1 << 32))
            rows = rows.drop(drawn.index) if rest else drawn.sort_index()
            rows = rows.reset_index(drop=True)
        return rows


def frame(pandas, paths, definition):
    """All files as one frame, by the table's rules."""
    table = definition["table"]
    read = {"delimited": _delimited, "parquet": _parquet, "json_lines": _json_lines}[table["format"]]
    frames = [read(pandas, path, table) for path in paths]
    rows = pandas.concat(frames, ignore_index=True) if len(frames) != 1 else frames[0]
    if table.get("keep"):
        missing = [name for name in table["keep"] if name not in rows.columns]
        if missing:
            raise UserErrorException(
                f"There is no column '{missing[0]}'; there are {', '.join(map(str, rows.columns))}"
            )
        rows = rows[table["keep"]]
    if table.get("drop"):
        rows = rows.drop(columns=[name for name in table["drop"] if name in rows.columns])
    start = table.get("skip_rows") or 0
    end = None if table.get("take_rows") is None else start + table["take_rows"]
    rows = rows.iloc[start:end].reset_index(drop=True)
    for name, kind in (table.get("types") or {}).items():
        if name in rows.columns:
            rows[name] = _typed(pandas, rows[name], kind)
    return rows


def _delimited(pandas, path, table):
    header = 0 if table.get("header", True) else None
    rows = pandas.read_csv(path, sep=table.get("separator", ","), header=header)
    if header is None:
        rows.columns = [f"Column{place + 1}" for place in range(len(rows.columns))]
    return rows


def _parquet(pandas, path, table):
    return pandas.read_parquet(path)


def _json_lines(pandas, path, table):
    return pandas.read_json(path, lines=True)


def _typed(pandas, values, kind):
    if kind == "datetime":
        return pandas.to_datetime(values, errors="coerce")
    if kind in ("float", "integer"):
        numbers = pandas.to_numeric(values, errors="coerce")
        return numbers if kind == "float" else numbers.astype("Int64")
    return values.astype({"string": str, "boolean": bool}[kind])
