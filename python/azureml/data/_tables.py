"""From files to rows, by a table's rules. pandas is the user's own."""

import json
import os

from azureml.exceptions import UserErrorException

VARIABLE = "AZUREML_TABLE_"  # in a job: how the rows of a tabular input are read


def pandas_module():
    try:
        import pandas
    except ImportError:
        raise UserErrorException(
            "to_pandas_dataframe needs pandas; install it with: pip install pandas"
        ) from None
    return pandas


def frame(pandas, paths, table, draws=()):
    """All files as one frame; `draws` are samples and splits of its rows."""
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
    for fraction, seed, rest in draws:
        drawn = rows.sample(frac=fraction, random_state=seed)
        rows = (rows.drop(drawn.index) if rest else drawn.sort_index()).reset_index(drop=True)
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


class JobTable:
    """A tabular input inside its job: `Run.get_context().input_datasets["name"]`."""

    def __init__(self, name, rules):
        self.name = name
        self._rules = rules

    def to_pandas_dataframe(self, on_error="null", out_of_range_datetime="null"):
        import tempfile

        import slipway
        from azureml._service import translated
        from slipway._http import query_text
        from slipway._transfer import read_into

        run = slipway.current_run()
        base = run.path(f"/inputs/{self.name}")
        with tempfile.TemporaryDirectory(prefix="dataset-") as folder, translated(UserErrorException):
            manifest = run.transport.send("GET", base + "/manifest").body.decode()
            local = []
            for line in manifest.splitlines()[1:]:
                path = json.loads(line)["path"]
                local.append(os.path.join(folder, path))
                os.makedirs(os.path.dirname(local[-1]), exist_ok=True)
                with open(local[-1], "wb") as file:
                    read_into(run.transport, base + "/content" + query_text({"path": path}), 0, file.write)
            return frame(pandas_module(), local, self._rules["table"], self._rules["draws"])


def of_job(name):
    """The tabular input of that name, or None for an input of files."""
    text = os.environ.get(VARIABLE + name)
    return JobTable(name, json.loads(text)) if text else None
