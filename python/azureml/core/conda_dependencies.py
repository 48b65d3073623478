"""The packages of an environment, in the form of a conda file."""

import os
import re

from azureml import _yaml
from azureml._support import no_effect, without_effect
from azureml.exceptions import UserErrorException

__all__ = ["CondaDependencies"]

PYTHON_DEFAULT_VERSION = "3.8.13"
DEFAULT_SDK = "azureml-defaults"
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*")


def package_name(requirement):
    """'Torch_Vision[extra]>=0.7' -> 'torch-vision'; options and addresses are their own name."""
    match = _NAME.match(requirement.split("::")[-1].strip())
    return re.sub(r"[-_.]+", "-", match.group(0)).lower() if match else requirement.strip()


class CondaDependencies:
    """Holds a conda file's content; every change keeps the rest of it as it was."""

    def __init__(self, conda_dependencies_file_path=None, _underlying_structure=None):
        if conda_dependencies_file_path:
            path = os.path.abspath(conda_dependencies_file_path)
            if not os.path.isfile(path):
                raise UserErrorException(f"There is no conda file at {path}")
            with open(path) as file:
                _underlying_structure = _yaml.load(file.read(), path)
            if not isinstance(_underlying_structure, dict):
                raise UserErrorException(f"{path} is not a conda file: it has no 'dependencies'")
        if _underlying_structure is None:
            _underlying_structure = {
                "name": "project_environment",
                "dependencies": [f"python={PYTHON_DEFAULT_VERSION}", {"pip": [DEFAULT_SDK]}],
                "channels": ["anaconda", "conda-forge"],
            }
        self._conda_dependencies = _underlying_structure
        if not isinstance(self._conda_dependencies.setdefault("dependencies", []), list):
            raise UserErrorException("'dependencies' of a conda file is a list of packages")

    @staticmethod
    @without_effect(
        pin_sdk_version="Slipway's own companion stands in for the SDK's packages, in the server's version"
    )
    def create(
        pip_indexurl=None,
        pip_packages=None,
        conda_packages=None,
        python_version=PYTHON_DEFAULT_VERSION,
        pin_sdk_version=True,
    ):
        made = CondaDependencies()
        made.set_python_version(python_version)
        if pip_indexurl:
            made.set_pip_index_url(pip_indexurl)
        for package in conda_packages or []:
            made.add_conda_package(package)
        for package in pip_packages or []:
            made.add_pip_package(package)
        return made

    @staticmethod
    @no_effect("configurations are merged when an environment is built")
    def merge_requirements(requirements):
        return list(dict.fromkeys(requirements))

    # -- what is in it --------------------------------------------------------------------------------------

    @property
    def _all(self):
        return self._conda_dependencies["dependencies"]

    @property
    def _pip(self):
        for entry in self._all:
            if isinstance(entry, dict) and isinstance(entry.get("pip"), list):
                return entry["pip"]
        return []

    @property
    def conda_channels(self):
        return iter(list(self._conda_dependencies.get("channels") or []))

    @property
    def conda_packages(self):
        return iter([e for e in self._all if isinstance(e, str) and package_name(e) not in ("python", "pip")])

    @property
    def pip_packages(self):
        return iter([e for e in self._pip if not str(e).startswith("-")])

    @property
    def pip_options(self):
        return iter([e for e in self._pip if str(e).startswith("-")])

    @property
    def python_version(self):
        return self.get_python_version()

    def get_python_version(self):
        for entry in self._all:
            if isinstance(entry, str) and package_name(entry) == "python":
                return entry[len("python") :].strip().lstrip("=").strip() or None
        return None

    # -- changing it ----------------------------------------------------------------------------------------

    def set_python_version(self, version):
        self._conda_dependencies["dependencies"] = [
            e for e in self._all if not (isinstance(e, str) and package_name(e) == "python")
        ]
        if version:
            self._all.insert(0, f"python={version}")

    def add_channel(self, channel):
        channels = self._conda_dependencies.setdefault("channels", [])
        if channel not in channels:
            channels.append(channel)

    def remove_channel(self, channel):
        self._conda_dependencies["channels"] = [c for c in self.conda_channels if c != channel]

    def add_conda_package(self, conda_package):
        if package_name(conda_package) == "python":
            return self.set_python_version(conda_package[len("python") :].lstrip("= "))
        self.remove_conda_package(conda_package)
        pip_at = [i for i, e in enumerate(self._all) if isinstance(e, dict)]
        self._all.insert(pip_at[0] if pip_at else len(self._all), conda_package)
        return None

    def remove_conda_package(self, conda_package):
        name = package_name(conda_package)
        self._all[:] = [e for e in self._all if isinstance(e, dict) or package_name(e) != name]

    def add_pip_package(self, pip_package):
        pip = self._pip
        if not any(isinstance(e, dict) and "pip" in e for e in self._all):
            self._all.append({"pip": pip})
        name = package_name(pip_package)
        pip[:] = [p for p in pip if package_name(p) != name] + [pip_package]

    def remove_pip_package(self, pip_package):
        pip, name = self._pip, package_name(pip_package)
        pip[:] = [p for p in pip if package_name(p) != name]

    def set_pip_requirements(self, pip_requirements):
        self._pip[:] = [p for p in self._pip if str(p).startswith("-")]
        for line in pip_requirements:
            self.add_pip_package(line)

    def set_pip_option(self, pip_option):
        flag = pip_option.split()[0]
        pip = self._pip
        if not pip:
            self._all.append({"pip": pip})
        pip[:] = [pip_option] + [p for p in pip if str(p).split()[0] != flag]

    def remove_pip_option(self, pip_option):
        flag = pip_option.split()[0]
        self._pip[:] = [p for p in self._pip if str(p).split()[0] != flag]

    def set_pip_index_url(self, index_url):
        self.set_pip_option(f"--index-url {index_url}")

    def _add_framework(self, package, gpu_package, version, core_type):
        name = gpu_package if core_type == "gpu" and gpu_package else package
        self.add_pip_package(f"{name}=={version}" if version else name)

    def add_tensorflow_pip_package(self, core_type="cpu", version=None):
        self._add_framework("tensorflow", "tensorflow-gpu", version, core_type)

    def add_tensorflow_conda_package(self, core_type="cpu", version=None):
        name = "tensorflow-gpu" if core_type == "gpu" else "tensorflow"
        self.add_conda_package(f"{name}={version}" if version else name)

    def add_cntk_package(self, version="2.7", core_type="cpu"):
        self._add_framework("cntk", "cntk-gpu", version, core_type)

    # -- files ----------------------------------------------------------------------------------------------

    def as_dict(self):
        return self._conda_dependencies

    def serialize_to_string(self):
        order = ["name", "channels", "dependencies"]
        known = {key: self._conda_dependencies[key] for key in order if key in self._conda_dependencies}
        known.update(self._conda_dependencies)
        return _yaml.dump(known)

    def save(self, path=None):
        return self.save_to_file(os.getcwd(), path)

    def save_to_file(self, base_directory, conda_file_path=None):
        path = os.path.join(base_directory, conda_file_path or "conda_dependencies.yml")
        with open(path, "w") as file:
            file.write(self.serialize_to_string())
        return conda_file_path or "conda_dependencies.yml"

    def _definition(self):
        """What Slipway builds from: python, pip lines in their order, conda packages and channels."""
        return {
            "python": self.get_python_version() or "",
            "pip": [str(line) for line in self._pip],
            "conda": [str(package) for package in self.conda_packages],
            "conda_channels": list(self.conda_channels),
        }
