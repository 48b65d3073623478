"""What can be logged to a run, whichever way it gets there: texts, rows, tables, pictures, chart documents."""

import math
import os
import time
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence

from ._http import Json

CHARTS = ("confusion_matrix", "accuracy_table", "residuals", "predictions")
TABLE_BYTES = (
    1 << 20
)  # of one entry, about; a longer table is several entries, which belong together by their name


def cell(value: Any) -> Any:
    """A value of a row or a table as JSON can say it.

    >>> cell(1.5), cell(float("nan")), cell("NaN"), cell(None), cell(True)
    (1.5, {'number': 'NaN'}, 'NaN', None, True)
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if not isinstance(value, float):
        value = value.item() if hasattr(value, "item") else value  # numpy's and torch's scalars
        if value is None or isinstance(value, (str, bool, int)):
            return value
        try:
            value = float(value)
        except (TypeError, ValueError):
            return str(value)
    if math.isfinite(value):
        return float(value)
    return {"number": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}


def from_cell(value: Any) -> Any:
    """
    >>> from_cell({"number": "-Infinity"}), from_cell("NaN")
    (-inf, 'NaN')
    """
    if isinstance(value, dict) and set(value) == {"number"}:
        return float(value["number"])
    return value


def _sequence(values: Any) -> List[Any]:
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"a column of a table is a list of values, not {type(values).__name__}")
    return list(values)


class Recording:
    """The calls that log. `_log_entries` says where to; an entry is {"name", "kind", "value", "step", "time"}."""

    def _log_entries(self, entries: Sequence[Json]) -> None:
        raise NotImplementedError

    def _keep_picture(self, content: bytes, path: str) -> None:
        raise NotImplementedError

    def log_value(self, name: str, kind: str, value: Any, step: Optional[int] = None) -> None:
        """One entry of any kind that docs/history.md lists, as it is."""
        entry: Json = {"name": name, "kind": kind, "value": value, "time": int(time.time() * 1000000)}
        if step is not None:
            entry["step"] = int(step)
        self._log_entries([entry])

    def log_text(self, name: str, text: str, step: Optional[int] = None) -> None:
        """A text: `slipway.log_text("note", "learning rate halved")`."""
        self.log_value(name, "string", str(text), step)

    def log_row(self, name: str, step: Optional[int] = None, **columns: Any) -> None:
        """One row of a table that grows: `slipway.log_row("epochs", loss=0.1, phase="train")`."""
        if not columns:
            raise ValueError(f"the row {name!r} has no columns")
        self.log_value(name, "row", {column: cell(value) for column, value in columns.items()}, step)

    def log_table(self, name: str, table: Any, step: Optional[int] = None) -> None:
        """A dict of columns or a pandas DataFrame: `slipway.log_table("curve", {"x": [1, 2], "y": [3, 4]})`."""
        if hasattr(table, "to_dict"):
            table = table.to_dict(orient="list")
        columns = {
            str(column): [cell(v) for v in _sequence(values)] for column, values in dict(table).items()
        }
        if not columns:
            raise ValueError(f"the table {name!r} has no columns")
        rows = max(map(len, columns.values()))
        widest = max((len(v) for values in columns.values() for v in values if isinstance(v, str)), default=0)
        size = max(1, TABLE_BYTES // (len(columns) * (widest + 30)))
        for start in range(0, max(1, rows), size):
            part = {column: values[start : start + size] for column, values in columns.items()}
            self.log_value(name, "table", part, step)

    def log_chart(
        self, name: str, kind: str, document: Mapping[str, Any], step: Optional[int] = None
    ) -> None:
        """The document of a well-known chart: a confusion_matrix, an accuracy_table, residuals or predictions."""
        if kind not in CHARTS:
            raise ValueError(f"{kind!r} is no kind of chart; they are {', '.join(CHARTS)}")
        self.log_value(name, kind, dict(document), step)

    def log_image(self, name: str, image: Any, step: Optional[int] = None) -> str:
        """Keeps a picture with the run: the path of a file, a matplotlib figure, a PIL image, or an array of pixels.

        Arrays are height x width (grey) or height x width x 3 or 4, of bytes 0 to 255 or floats 0 to 1; numpy arrays,
        tensors and nested lists alike. Gives the picture's path among the run's files.

            slipway.log_image("confusion", figure)
            slipway.log_image("samples", pixels, step=3)
        """
        from .images import picture, stem_of

        content, suffix = picture(image)
        path = f"outputs/images/{stem_of(name, step)}{suffix}"
        self._keep_picture(content, path)
        self.log_value(name, "image", {"path": path}, step)
        return path


class JobRecording(Recording):
    """To the supervisor on this machine; outside a job it is printed."""

    def _log_entries(self, entries: Sequence[Json]) -> None:
        from . import _injob

        for entry in entries:
            shown = str(entry["value"])
            said = f"would log {entry['name']} = {shown if len(shown) < 200 else shown[:200] + ' ...'}"
            if not _injob.send_object({"values": [entry]}, said):
                self._log_large(entry)

    def _log_large(self, entry: Json) -> None:
        """More than a datagram holds: the supervisor reads it from a file in the working folder, and removes that."""
        import json
        import tempfile

        from . import _injob

        with tempfile.NamedTemporaryFile(
            "w", dir=_injob.work_folder(), prefix=".values-", suffix=".json", delete=False, encoding="ascii"
        ) as file:
            json.dump([entry], file)
        _injob.send_object({"values_file": os.path.basename(file.name)}, "")

    def _keep_picture(self, content: bytes, path: str) -> None:
        from . import _injob

        target = os.path.join(_injob.work_folder(), *path.split("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content)
        if _injob.in_job():
            _injob.keep(target)


_recording = JobRecording()
log_chart = _recording.log_chart
log_image = _recording.log_image
log_row = _recording.log_row
log_table = _recording.log_table
log_text = _recording.log_text
log_value = _recording.log_value


class Value:
    """Something logged that is no number."""

    __slots__ = ("kind", "name", "points_before", "step", "time", "value")

    def __init__(self, document: Dict[str, Any]) -> None:
        from ._times import parse_time

        self.name = str(document["name"])
        self.kind = str(document["kind"])
        self.step = int(document["step"])
        self.time = parse_time(document["time"])
        self.points_before = int(document.get("points_before", 0))  # numbers of that name that came before it
        value = document["value"]
        if self.kind == "row":
            value = {column: from_cell(v) for column, v in value.items()}
        elif self.kind == "table":
            value = {column: [from_cell(v) for v in values] for column, values in value.items()}
        self.value = value

    def __repr__(self) -> str:
        return f"Value({self.name!r}, {self.kind}, {self.value!r})"
