"""A place in a datastore."""


class DataPath:
    """A datastore and a path below it."""

    def __init__(self, datastore=None, path_on_datastore=None, name=None):
        self._datastore = datastore
        self._path = path_on_datastore or ""
        self._name = name

    @property
    def datastore_name(self):
        return self._datastore.name if self._datastore is not None else None

    @property
    def path_on_datastore(self):
        return self._path

    def create_data_reference(self, data_reference_name=None, datapath_compute_binding=None):
        from azureml.data.data_reference import DataReference

        binding = datapath_compute_binding or DataPathComputeBinding()
        return DataReference(
            self._datastore,
            data_reference_name or self._name,
            self._path,
            binding.mode,
            binding.path_on_compute,
            binding.overwrite,
        )


class DataPathComputeBinding:
    """How a path is given to a run."""

    def __init__(self, mode="mount", path_on_compute=None, overwrite=False):
        self.mode = mode
        self.path_on_compute = path_on_compute
        self.overwrite = overwrite
