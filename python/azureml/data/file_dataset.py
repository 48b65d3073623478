"""Datasets of files."""

import os
import shutil
import tempfile

from azureml._support import reject_unknown, without_effect
from azureml.data import _catalogue
from azureml.data.abstract_dataset import AbstractDataset
from azureml.data.dataset_consumption_config import DatasetConsumptionConfig
from azureml.exceptions import UserErrorException


class FileDataset(AbstractDataset):
    """Files at addresses or in datastores, by reference."""

    def to_path(self):
        return ["/" + path.lstrip("/") for path in _catalogue.paths(self._workspace_of(), self._resolved())]

    def _workspace_of(self):
        self._resolved()
        return self._workspace

    @without_effect(ignore_not_found="a version's files are known when it is made")
    def download(self, target_path=None, overwrite=False, ignore_not_found=False):
        folder = target_path or tempfile.mkdtemp(prefix="dataset-")
        wanted = [os.path.join(folder, path.lstrip("/")) for path in self.to_path()]
        there = [path for path in wanted if os.path.exists(path)]
        if there and not overwrite:
            raise UserErrorException(f"{there[0]} exists already; give overwrite=True to replace files")
        _catalogue.download(self._workspace, self._resolved(), folder)
        return wanted

    def mount(self, mount_point=None, **kwargs):
        reject_unknown("FileDataset.mount", kwargs, {"skip_validation": "the mount checks what it reads"})
        return MountContext(self, mount_point)

    def as_mount(self, path_on_compute=None):
        return DatasetConsumptionConfig(None, self, "mount", path_on_compute)

    def as_download(self, path_on_compute=None):
        return DatasetConsumptionConfig(None, self, "download", path_on_compute)

    def as_cache(self, datacache_store):
        raise UserErrorException(
            "Every node keeps a cache of what it has read; mount or download the dataset"
        )

    # -- operations -----------------------------------------------------------------------------------------

    def take(self, count):
        return self._derived({"op": "take", "count": _count(count)})

    def skip(self, count):
        return self._derived({"op": "skip", "count": _count(count)})

    def take_sample(self, probability, seed=None):
        return self._derived({"op": "sample", "fraction": _fraction(probability), "seed": _seed(seed)})

    def random_split(self, percentage, seed=None):
        seed = _seed(seed)
        split = {"op": "split", "fraction": _fraction(percentage), "seed": seed}
        return self._derived(dict(split, part="first")), self._derived(dict(split, part="second"))

    def file_metadata(self, col):
        raise UserErrorException(
            "Filters by metadata are not available; choose files by the pattern in their path"
        )


class MountContext:
    """A folder with the dataset's files: `with dataset.mount() as context`, or start() and stop()."""

    def __init__(self, dataset, mount_point=None):
        self._dataset = dataset
        self._own = mount_point is None
        self.mount_point = mount_point or tempfile.mkdtemp(prefix="dataset-")
        self._mounted = None

    def start(self):
        os.makedirs(self.mount_point, exist_ok=True)
        if self._mounted is None:
            self._mounted = _catalogue.mount(
                self._dataset._workspace_of(), self._dataset._resolved(), self.mount_point
            )

    def stop(self):
        if self._mounted is not None:
            self._mounted.stop()
            self._mounted = None
        if self._own:
            shutil.rmtree(self.mount_point, ignore_errors=True)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, error, trace):
        self.stop()


def _count(count):
    if not isinstance(count, int) or count < 1:
        raise UserErrorException(f"A count is a whole number of 1 or more, not {count!r}")
    return count


def _fraction(value):
    if not 0 < float(value) < 1:
        raise UserErrorException(f"A share is more than 0 and less than 1, not {value!r}")
    return float(value)


def _seed(seed):
    """Without a seed one is drawn, and kept in the definition, so that the dataset stays the same."""
    import random

    return random.randrange(1 << 31) if seed is None else int(seed)
