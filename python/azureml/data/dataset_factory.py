"""Dataset.File and Dataset.Tabular."""

import os
import tempfile

from azureml._support import refused, without_effect
from azureml.data import _catalogue
from azureml.data.datapath import DataPath
from azureml.exceptions import UserErrorException


class DataType:
    """Types of columns, for set_column_types."""

    def __init__(self, kind, formats=None):
        self.kind = kind
        self.formats = formats

    @staticmethod
    def to_bool():
        return DataType("boolean")

    @staticmethod
    def to_datetime(formats=None):
        return DataType("datetime", formats)

    @staticmethod
    def to_float():
        return DataType("float")

    @staticmethod
    def to_long():
        return DataType("integer")

    @staticmethod
    def to_string():
        return DataType("string")

    @staticmethod
    def to_stream(workspace=None):
        return DataType("string")


def _paths(path):
    """(paths as the server's definition has them, the workspace of their datastores)."""
    if isinstance(path, (str, DataPath)) or _is_place(path):
        path = [path]
    if not isinstance(path, (list, tuple)) or not path:
        raise UserErrorException("A path is an address, (datastore, 'path'), a DataPath, or a list of those")
    made, workspace = [], None
    for each in path:
        if isinstance(each, DataPath):
            each = (each._datastore, each._path)
        if _is_place(each):
            datastore, below = each
            workspace = datastore.workspace
            made.append(f"{datastore.name}:{str(below).lstrip('/')}")
        elif isinstance(each, str) and each.lower().startswith(("http://", "https://")):
            made.append(each)
        else:
            raise UserErrorException(
                f"{each!r} is no path of a dataset: give an http address or (datastore, 'path'); files of this machine "
                "go to a datastore first, with Datastore.upload_files or Dataset.File.upload_directory"
            )
    return made, workspace


def _is_place(value):
    return isinstance(value, tuple) and len(value) == 2 and hasattr(value[0], "upload_files")


_PARTITIONS = "paths are kept as they are; columns are not made from them"


class FileDatasetFactory:
    """Makes datasets of files."""

    @staticmethod
    @without_effect(partition_format=_PARTITIONS, is_file="the server looks whether it is a file or a folder")
    def from_files(path, validate=True, partition_format=None, is_file=False):
        from azureml.data.file_dataset import FileDataset

        paths, workspace = _paths(path)
        made = FileDataset({"kind": "file", "paths": paths, "operations": []}, workspace)
        if validate:
            made._resolved()
        return made

    @staticmethod
    def upload_directory(src_dir, target, pattern=None, overwrite=False, show_progress=True):
        datastore, below = (target._datastore, target._path) if isinstance(target, DataPath) else target
        if not os.path.isdir(src_dir):
            raise UserErrorException(f"There is no folder {os.path.abspath(src_dir)} to upload")
        datastore.upload(src_dir, below, overwrite=overwrite, show_progress=show_progress)
        chosen = f"{str(below).rstrip('/')}/{pattern}" if pattern else below
        return FileDatasetFactory.from_files((datastore, chosen))


class TabularDatasetFactory:
    """Makes datasets of rows."""

    @staticmethod
    def _made(path, validate, table, set_column_types):
        from azureml.data.tabular_dataset import TabularDataset

        paths, workspace = _paths(path)
        types = {name: getattr(kind, "kind", str(kind)) for name, kind in (set_column_types or {}).items()}
        if types:
            table["types"] = types
        made = TabularDataset({"kind": "table", "paths": paths, "operations": [], "table": table}, workspace)
        if validate:
            made._resolved()
        return made

    @staticmethod
    @without_effect(
        include_path="rows come without the name of their file",
        infer_column_types="pandas looks at the types; set_column_types names them",
        partition_format=_PARTITIONS,
        support_multi_line="quoted fields may always have several lines",
        empty_as_string="empty fields are null",
        encoding="files are read as UTF-8",
    )
    def from_delimited_files(
        path,
        validate=True,
        include_path=False,
        infer_column_types=True,
        set_column_types=None,
        separator=",",
        header=True,
        partition_format=None,
        support_multi_line=False,
        empty_as_string=False,
        encoding="utf8",
    ):
        with_header = header not in (False, "NO_HEADERS", None)
        table = {"format": "delimited", "separator": separator, "header": with_header}
        return TabularDatasetFactory._made(path, validate, table, set_column_types)

    @staticmethod
    @without_effect(include_path="rows come without the name of their file", partition_format=_PARTITIONS)
    def from_parquet_files(
        path, validate=True, include_path=False, set_column_types=None, partition_format=None
    ):
        return TabularDatasetFactory._made(path, validate, {"format": "parquet"}, set_column_types)

    @staticmethod
    @without_effect(
        include_path="rows come without the name of their file",
        partition_format=_PARTITIONS,
        invalid_lines="a line that is not JSON is an error",
        encoding="files are read as UTF-8",
    )
    def from_json_lines_files(
        path,
        validate=True,
        include_path=False,
        set_column_types=None,
        partition_format=None,
        invalid_lines="error",
        encoding="utf8",
    ):
        return TabularDatasetFactory._made(path, validate, {"format": "json_lines"}, set_column_types)

    @staticmethod
    @refused("Slipway reads files, not databases; export the rows to a file and use from_delimited_files")
    def from_sql_query(query, validate=True, set_column_types=None, query_timeout=30):
        pass

    @staticmethod
    @without_effect(row_group_size="pandas chooses it", show_progress="one file is written")
    def register_pandas_dataframe(
        dataframe,
        target,
        name,
        description=None,
        tags=None,
        show_progress=True,
        row_group_size=None,
        make_target_path_unique=True,
    ):
        datastore, below = (target._datastore, target._path) if isinstance(target, DataPath) else target
        _catalogue.check_dataset_name(name)
        with tempfile.TemporaryDirectory(prefix="dataset-") as folder:
            dataframe.to_csv(os.path.join(folder, f"{name}.csv"), index=False)
            datastore.upload(folder, below, overwrite=True, show_progress=False)
        made = TabularDatasetFactory.from_delimited_files(
            (datastore, f"{str(below).strip('/')}/{name}.csv".lstrip("/"))
        )
        return made.register(datastore.workspace, name, description, tags, create_new_version=True)
