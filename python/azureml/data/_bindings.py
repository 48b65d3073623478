"""The data of one submission: what stands in its arguments and what the job is told to place."""

import json

from azureml.data import _catalogue, _tables
from azureml.data.data_reference import DataReference
from azureml.data.datapath import DataPath
from azureml.data.dataset_consumption_config import DatasetConsumptionConfig
from azureml.data.output_dataset_config import OutputFileDatasetConfig
from azureml.exceptions import UserErrorException


class Bindings:
    """Gathers inputs and outputs by name while arguments are rendered."""

    def __init__(self, workspace):
        self._workspace = workspace
        self._inputs = {}
        self._outputs = {}
        self._tables = {}

    def resolve(self, argument):
        """The text that stands for data in a command, or None for what is no data."""
        from azureml.data.abstract_dataset import AbstractDataset

        if isinstance(argument, AbstractDataset):
            raise UserErrorException(
                "A dataset in the arguments needs a way to get there: dataset.as_mount() or dataset.as_download(), and "
                "as_named_input(name) for a tabular one"
            )
        if isinstance(argument, DatasetConsumptionConfig):
            return self.take_input(argument)
        if isinstance(argument, OutputFileDatasetConfig):
            self._outputs[argument.name] = argument._document()
            return f"${{outputs.{argument.name}}}"
        if isinstance(argument, DataReference):
            return self.take_reference(argument)
        if isinstance(argument, DataPath):
            return self.take_reference(argument.create_data_reference())
        return None

    def take_input(self, wanted):
        mode = wanted.mode
        if wanted.dataset._is_tabular:
            self._tables[wanted.name] = json.dumps(wanted.dataset._rows())
        elif mode == "direct":
            mode = "mount"
        self._inputs[wanted.name] = {
            "dataset": wanted.dataset._reference(self._workspace),
            "mode": mode,
            "path": wanted.path_on_compute or "",
        }
        return f"${{inputs.{wanted.name}}}"

    def take_reference(self, reference):
        name = "".join(c if c.isalnum() else "_" for c in reference.data_reference_name)
        if reference.mode == "upload":
            self._outputs[name] = {
                "datastore": reference.datastore.name,
                "path": reference.path_on_datastore or "",
                "mode": "upload",
                "register_as": "",
                "overwrite": bool(reference.overwrite),
            }
            return f"${{outputs.{name}}}"
        from azureml.data.dataset_factory import FileDatasetFactory

        below = reference.path_on_datastore or ""
        dataset = FileDatasetFactory.from_files((reference.datastore, below))
        place = reference.path_on_compute or ""
        # A dataset of one file is that file; a reference to a folder is the folder, however many files it has.
        one_file = dataset._resolved(self._workspace)["files"] == 1
        if one_file and not place and below not in _catalogue.stored_paths(reference.datastore, below):
            place = f"data-references/{name}"
        self._inputs[name] = {
            "dataset": dataset._reference(self._workspace),
            "mode": reference.mode,
            "path": place,
        }
        return place if place.startswith("data-references/") else f"${{inputs.{name}}}"

    def resume(self, path):
        """The folder of checkpoints a run goes on from."""
        if not isinstance(path, (DataPath, DataReference, DatasetConsumptionConfig)):
            raise UserErrorException("resume_from is a DataPath of a datastore: DataPath(datastore, 'path')")
        return self.resolve(path)

    def take_run_config(self, run_config):
        for entry in getattr(run_config, "_inputs", None) or []:
            self.resolve(entry)
        for entry in dict(run_config.data or {}).values():
            self.resolve(entry)
        for name, entry in dict(run_config.data_references or {}).items():
            if not isinstance(entry, DataReference):
                datastore = getattr(entry, "_datastore", None)
                if datastore is None:
                    from azureml.core.datastore import Datastore

                    datastore = Datastore.get(self._workspace, entry.data_store_name)
                entry = DataReference(
                    datastore,
                    name,
                    entry.path_on_data_store,
                    entry.mode,
                    entry.path_on_compute,
                    entry.overwrite,
                )
            self.take_reference(entry)

    def variables(self):
        """How the rows of tabular inputs are read: a run may read its inputs' files, and not the catalogue."""
        return {_tables.VARIABLE + name: text for name, text in self._tables.items()}

    def job_fields(self):
        made = {}
        if self._inputs:
            made["inputs"] = self._inputs
        if self._outputs:
            made["outputs"] = self._outputs
        return made
