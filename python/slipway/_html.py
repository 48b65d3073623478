"""Tables for notebooks. Everything that comes from a run is escaped."""

from html import escape
from typing import Any, Iterable, Sequence

_COLOURS = {
    "Completed": "#1a7f37",
    "Failed": "#cf222e",
    "Canceled": "#9a6700",
    "Running": "#0969da",
    "Finalizing": "#0969da",
}


class Markup(str):
    """HTML that is made here, not text to escape."""


def cell(value: Any) -> str:
    if isinstance(value, Markup):
        return str(value)
    return "" if value is None else escape(str(value))


def state(text: str) -> Markup:
    return Markup(f'<b style="color:{_COLOURS.get(text, "#57606a")}">{escape(text)}</b>')


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """
    >>> table(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
