"""What a run logs, and what it gives back of it.

A value goes to one of three places: in a job to the supervisor's socket (microseconds, no network), from outside over
HTTP, offline to the screen. All three take the same entries: a name, a kind, a value, a step.
"""

import json
import numbers
import os

from azureml._service import translated
from azureml.exceptions import UserErrorException


def plain(value):
    """numpy's numbers, arrays and pandas' columns as Python's own, without importing either."""
    if hasattr(value, "tolist") and not isinstance(value, (str, bytes)):
        return value.tolist()
    if hasattr(value, "item") and callable(value.item):
        return value.item()
    return value


def column(values):
    values = plain(values)
    return [plain(value) for value in values] if isinstance(values, (list, tuple)) else [values]


class RunLogging:
    """The log_* methods; `self._sink` is where entries go."""

    def log(self, name, value, description="", step=None):
        if type(value) is float and type(name) is str and 0 < len(name) <= 255:
            self._sink.number(name, value, step)  # what is logged by the million
            return
        value = plain(value)
        if isinstance(value, (list, tuple, dict, set)):
            raise UserErrorException(
                f"The metric '{name}' is a {type(value).__name__}; log takes one number or text. Use log_list for "
                "lists, log_row or log_table for columns"
            )
        self._log_one(name, value, step)

    def _log_one(self, name, value, step=None):
        _check_metric_name(name)
        if isinstance(value, numbers.Number):
            self._sink.number(name, float(value), step)
        else:
            self._sink.text(name, str(value), step)

    def log_list(self, name, value, description=""):
        value = plain(value)
        if not isinstance(value, (list, tuple, range)):
            raise UserErrorException(
                f"log_list takes a list; the metric '{name}' is a {type(value).__name__}"
            )
        if len(value) > 10000:
            raise UserErrorException(
                f"The metric '{name}' has {len(value)} values; a list has 10,000 at most"
            )
        for item in value:
            self._log_one(name, plain(item))

    def log_row(self, name, description=None, **kwargs):
        _check_metric_name(name)
        if not kwargs:
            raise UserErrorException(f"The row '{name}' has no columns; give them as keyword arguments")
        self._sink.row(name, {key: plain(value) for key, value in kwargs.items()})

    def log_table(self, name, value, description=""):
        _check_metric_name(name)
        if not hasattr(value, "items"):
            raise UserErrorException(
                f"log_table takes a dictionary of columns; '{name}' is a {type(value).__name__}"
            )
        self._sink.table(name, {str(key): column(values) for key, values in value.items()})

    def log_image(self, name, path=None, plot=None, description=""):
        _check_metric_name(name)
        if (path is None) == (plot is None):
            raise UserErrorException(f"The image '{name}' needs a path or a plot, one of the two")
        if path is not None and not os.path.isfile(path):
            raise UserErrorException(f"There is no image at {os.path.abspath(path)}")
        self._sink.image(name, path, plot)

    def log_confusion_matrix(self, name, value, description=""):
        self._chart(name, "confusion_matrix", value)

    def log_accuracy_table(self, name, value, description=""):
        self._chart(name, "accuracy_table", value)

    def log_residuals(self, name, value, description=""):
        self._chart(name, "residuals", value)

    def log_predictions(self, name, value, description=""):
        self._chart(name, "predictions", value)

    def _chart(self, name, kind, value):
        _check_metric_name(name)
        try:
            document = json.loads(value) if isinstance(value, (str, bytes)) else value
        except ValueError as error:
            raise UserErrorException(f"The {kind} '{name}' is not JSON: {error}") from None
        if not isinstance(document, dict) or not isinstance(document.get("data"), dict):
            raise UserErrorException(
                f"The {kind} '{name}' has the form {{'schema_type': '{kind}', 'schema_version': ..., 'data': {{...}}}}"
            )
        if document.get("schema_type", kind) != kind:
            raise UserErrorException(f"The {kind} '{name}' says that it is a '{document['schema_type']}'")
        self._sink.chart(name, kind, document)

    # -- reading them back ----------------------------------------------------------------------------------

    def get_metrics(self, name=None, recursive=False, run_type=None, populate=False):
        found = self._own_metrics(name)
        if recursive:
            for child in self.get_children(recursive=True, type=run_type):
                for key, value in child._own_metrics(name).items():
                    before = found.get(key)
                    found[key] = value if before is None else _as_list(before) + _as_list(value)
        return found

    def _own_metrics(self, name):
        run = self._slipway_run
        with translated():
            values = run.values(name)  # waits for what this process has logged itself
            points = run.transport.items(run.path("/metrics/points"), {"name": name, "limit": 10000})
        return shapes(points, values, run.id)


def _check_metric_name(name):
    if not isinstance(name, str) or not 0 < len(name) <= 255:
        raise UserErrorException(f"A metric's name is a text of 1 to 255 characters, not {name!r}")


def _as_list(value):
    return list(value) if isinstance(value, list) else [value]


def shapes(points, values, run_id):
    """Logged entries as get_metrics gives them: one value is the value, several are a list, rows are columns."""
    from slipway._metrics import number_from_json

    numbers_of, others = {}, {}
    for point in points:
        numbers_of.setdefault(point["name"], []).append(number_from_json(point["value"]))
    for value in values:
        others.setdefault(value.name, []).append(value)
    found = {}
    for name in list(numbers_of) + [name for name in others if name not in numbers_of]:
        logged = others.get(name, [])
        if any(value.kind in ("row", "table") for value in logged):
            found[name] = _columns(logged)
            continue
        sequence = list(numbers_of.get(name, []))
        for shift, value in enumerate(logged):
            # A text between numbers keeps its place among them.
            sequence.insert(value.points_before + shift, _single(value, run_id))
        found[name] = sequence[0] if len(sequence) == 1 else sequence
    return found


def _single(value, run_id):
    if value.kind == "image":
        return f"aml://artifactId/ExperimentRun/dcid.{run_id}/{value.value.get('path', '')}"
    return value.value


def _columns(logged):
    columns = {}
    for entry in logged:
        content = entry.value if isinstance(entry.value, dict) else {}
        for key, value in content.items():
            columns.setdefault(key, []).extend(value if entry.kind == "table" else [value])
    one_row = len(logged) == 1 and logged[0].kind == "row"
    return {key: cells[0] if one_row else cells for key, cells in columns.items()}
