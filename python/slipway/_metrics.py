"""Metrics as a program looks at them."""

import importlib
import math
from datetime import datetime
from typing import Any, Dict, Iterable, List, NamedTuple, Union

from . import _html
from ._http import Json
from ._times import parse_time


def number_from_json(value: Any) -> Any:
    """JSON has no NaN: the server writes it as a string.

    >>> number_from_json(0.5), number_from_json("-Infinity")
    (0.5, -inf)
    """
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    return value


def number_for_json(value: Any) -> Union[float, str]:
    """
    >>> number_for_json(1), number_for_json(float("nan"))
    (1.0, 'NaN')
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"{value!r} is no number; log_text, log_row and log_table take other values"
        ) from None
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else ("Infinity" if number > 0 else "-Infinity")


def is_number(value: Any) -> bool:
    """Whether it can be logged as a metric: a number, or a tensor or array with one element.

    >>> is_number(1.5), is_number(True), is_number("1.5"), is_number(None), is_number([1, 2])
    (True, True, False, False, False)
    """
    if value is None or isinstance(value, (str, bytes)):
        return False
    try:
        float(value)
    except (TypeError, ValueError, RuntimeError):
        return False
    return True


class Point(NamedTuple):
    step: int
    time: datetime
    value: float


class Series(List[Point]):
    """The points of one metric, in the order they came."""

    def __init__(self, name: str, points: Iterable[Point]) -> None:
        super().__init__(points)
        self.name = name

    @classmethod
    def from_json(cls, name: str, items: Iterable[Json]) -> "Series":
        points = []
        for item in items:
            moment = parse_time(item["time"])
            assert moment is not None
            points.append(Point(int(item["step"]), moment, number_from_json(item["value"])))
        return cls(name, points)

    @property
    def values(self) -> List[float]:
        return [point.value for point in self]

    @property
    def steps(self) -> List[int]:
        return [point.step for point in self]

    @property
    def last(self) -> float:
        return self[-1].value

    def to_pandas(self) -> Any:
        """A DataFrame with step, time and value; needs pandas."""
        pandas: Any = importlib.import_module("pandas")
        return pandas.DataFrame(list(self), columns=list(Point._fields))

    def __repr__(self) -> str:
        return f"Series({self.name!r}, {len(self)} points, last {self.last if self else None})"

    def _repr_html_(self) -> str:
        shown = self[-20:]
        return _html.table(
            ("step", "time", self.name), ((p.step, p.time.isoformat(), p.value) for p in shown)
        )


class Metrics(Dict[str, Any]):
    """The last value of each metric."""

    def _repr_html_(self) -> str:
        return _html.table(("metric", "last"), self.items())
