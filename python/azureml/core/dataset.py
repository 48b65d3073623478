"""Datasets of a workspace."""

from azureml.data import _catalogue
from azureml.data.dataset_factory import FileDatasetFactory, TabularDatasetFactory
from azureml.exceptions import UserErrorException


class Dataset:
    """`Dataset.File` and `Dataset.Tabular` make datasets; the rest finds registered ones."""

    File = FileDatasetFactory
    Tabular = TabularDatasetFactory

    @staticmethod
    def get_by_name(workspace, name, version="latest", **kwargs):
        if version in (None, "latest"):
            record = _catalogue.newest(workspace, name)
        else:
            record = _catalogue.version(workspace, name, version)
        if record is None:
            which = "" if version in (None, "latest") else f" with version {version}"
            raise UserErrorException(
                f"There is no dataset '{name}'{which} in the workspace '{workspace.name}'"
            )
        return _catalogue.dataset_of(workspace, record)

    @staticmethod
    def get_by_id(workspace, id, **kwargs):
        name, _, version = str(id).rpartition(":")
        if not name or not version.isdigit():
            raise UserErrorException(f"'{id}' is no dataset's id; an id has the form name:version")
        return Dataset.get_by_name(workspace, name, int(version))

    @staticmethod
    def get_all(workspace):
        return _catalogue.all_newest(workspace)

    @staticmethod
    def list(workspace):
        return list(Dataset.get_all(workspace).values())

    @staticmethod
    def get(workspace, name=None, id=None):
        return Dataset.get_by_id(workspace, id) if id else Dataset.get_by_name(workspace, name)
