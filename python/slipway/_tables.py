"""Rows of tabular datasets, read with pandas."""

import importlib
import os
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List

if TYPE_CHECKING:
    from .data import Dataset

_TYPES = {"string": "string", "integer": "Int64", "float": "float64", "boolean": "boolean"}


def read_table(dataset: "Dataset") -> Any:
    pandas: Any = importlib.import_module("pandas")
    table: Dict[str, Any] = dict(dataset.document["definition"].get("table") or {"format": "delimited"})
    with tempfile.TemporaryDirectory(prefix="slipway-") as folder:
        frames = [_read(pandas, path, table) for path in dataset.download(os.path.join(folder, "data"))]
    whole = pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()
    start = int(table.get("skip_rows") or 0)
    count = table.get("take_rows")
    whole = whole.iloc[start : None if count is None else start + int(count)].reset_index(drop=True)
    if table.get("keep"):
        whole = whole[list(table["keep"])]
    dropped: List[str] = [column for column in table.get("drop", []) if column in whole.columns]
    whole = whole.drop(columns=dropped)
    for column, kind in (table.get("types") or {}).items():
        if column in whole.columns:
            whole[column] = (
                pandas.to_datetime(whole[column])
                if kind == "datetime"
                else whole[column].astype(_TYPES[kind])
            )
    return whole


def _read(pandas: Any, path: str, table: Dict[str, Any]) -> Any:
    if table["format"] == "parquet":
        return pandas.read_parquet(path)
    if table["format"] == "json_lines":
        return pandas.read_json(path, lines=True)
    header = 0 if table.get("header", True) else None
    return pandas.read_csv(path, sep=table.get("separator", ","), header=header)
