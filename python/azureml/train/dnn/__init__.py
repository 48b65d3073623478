"""Estimators that know a framework's packages."""

from azureml.core.runconfig import Mpi, TensorflowConfiguration
from azureml.core.runconfig import PyTorchConfiguration as _PyTorchConfiguration
from azureml.train._estimator import MMLBaseEstimator, parameters

__all__ = ["Chainer", "Gloo", "Keras", "Mpi", "Nccl", "ParameterServer", "PyTorch", "TensorFlow"]


class ParameterServer(TensorflowConfiguration):
    """Workers and parameter servers, for `distributed_training`."""


class Nccl(_PyTorchConfiguration):
    """One process on each node, for `distributed_training`."""

    def __init__(self):
        super().__init__(None, "Nccl", 1)


class Gloo(_PyTorchConfiguration):
    """One process on each node, for `distributed_training`."""

    def __init__(self):
        super().__init__(None, "Gloo", 1)


def _pinned(package, version):
    return f"{package}=={version}" if version else package


def _tensorflow(version, use_gpu):
    # From 2.1 on one package serves both; the separate one ended with 2.12.
    parts = [int(piece) for piece in str(version or "99").split(".")[:2] if piece.isdigit()]
    return _pinned(
        "tensorflow-gpu" if use_gpu and parts and parts < [2, 12] and version else "tensorflow", version
    )


class TensorFlow(MMLBaseEstimator):
    """A TensorFlow script. `framework_version` may be newer than the SDK knew."""

    _base_environment = "estimator-tensorflow"

    @staticmethod
    def _framework_packages(version, use_gpu):
        return [_tensorflow(version, use_gpu)]

    @parameters
    def __init__(
        self,
        source_directory,
        *,
        compute_target=None,
        vm_size=None,
        vm_priority=None,
        entry_script=None,
        script_params=None,
        node_count=1,
        process_count_per_node=1,
        worker_count=1,
        parameter_server_count=1,
        distributed_backend=None,
        distributed_training=None,
        use_gpu=False,
        use_docker=True,
        custom_docker_base_image=None,
        custom_docker_image=None,
        image_registry_details=None,
        user_managed=False,
        conda_packages=None,
        pip_packages=None,
        conda_dependencies_file_path=None,
        pip_requirements_file_path=None,
        conda_dependencies_file=None,
        pip_requirements_file=None,
        environment_variables=None,
        environment_definition=None,
        inputs=None,
        source_directory_data_store=None,
        shm_size=None,
        resume_from=None,
        max_run_duration_seconds=None,
        framework_version=None,
        _enable_optimized_mode=False,
        _disable_validation=True,
        _show_lint_warnings=False,
        _show_package_warnings=False,
    ):
        self._configure(locals())


class PyTorch(MMLBaseEstimator):
    """A PyTorch script. `framework_version` may be newer than the SDK knew."""

    _base_environment = "estimator-pytorch"

    @staticmethod
    def _framework_packages(version, use_gpu):
        return [_pinned("torch", version), "torchvision"]

    @parameters
    def __init__(
        self,
        source_directory,
        *,
        compute_target=None,
        vm_size=None,
        vm_priority=None,
        entry_script=None,
        script_params=None,
        node_count=1,
        process_count_per_node=1,
        distributed_backend=None,
        distributed_training=None,
        use_gpu=False,
        use_docker=True,
        custom_docker_base_image=None,
        custom_docker_image=None,
        image_registry_details=None,
        user_managed=False,
        conda_packages=None,
        pip_packages=None,
        conda_dependencies_file_path=None,
        pip_requirements_file_path=None,
        conda_dependencies_file=None,
        pip_requirements_file=None,
        environment_variables=None,
        environment_definition=None,
        inputs=None,
        source_directory_data_store=None,
        shm_size=None,
        resume_from=None,
        max_run_duration_seconds=None,
        framework_version=None,
        _enable_optimized_mode=False,
        _disable_validation=True,
        _show_lint_warnings=False,
        _show_package_warnings=False,
    ):
        self._configure(locals())


class Keras(MMLBaseEstimator):
    """A Keras script on TensorFlow."""

    _base_environment = "estimator-keras"

    @staticmethod
    def _framework_packages(version, use_gpu):
        return [_pinned("keras", version), "tensorflow"]

    @parameters
    def __init__(
        self,
        source_directory,
        *,
        compute_target=None,
        vm_size=None,
        vm_priority=None,
        entry_script=None,
        script_params=None,
        node_count=1,
        process_count_per_node=1,
        distributed_backend=None,
        distributed_training=None,
        use_gpu=False,
        use_docker=True,
        custom_docker_base_image=None,
        custom_docker_image=None,
        image_registry_details=None,
        user_managed=False,
        conda_packages=None,
        pip_packages=None,
        conda_dependencies_file_path=None,
        pip_requirements_file_path=None,
        conda_dependencies_file=None,
        pip_requirements_file=None,
        environment_variables=None,
        environment_definition=None,
        inputs=None,
        source_directory_data_store=None,
        shm_size=None,
        resume_from=None,
        max_run_duration_seconds=None,
        framework_version=None,
        _enable_optimized_mode=False,
        _disable_validation=True,
        _show_lint_warnings=False,
        _show_package_warnings=False,
    ):
        self._configure(locals())


class Chainer(MMLBaseEstimator):
    """A Chainer script."""

    _base_environment = "estimator-chainer"

    @staticmethod
    def _framework_packages(version, use_gpu):
        return [_pinned("chainer", version)]

    @parameters
    def __init__(
        self,
        source_directory,
        *,
        compute_target=None,
        vm_size=None,
        vm_priority=None,
        entry_script=None,
        script_params=None,
        node_count=1,
        process_count_per_node=1,
        distributed_backend=None,
        distributed_training=None,
        use_gpu=False,
        use_docker=True,
        custom_docker_base_image=None,
        custom_docker_image=None,
        image_registry_details=None,
        user_managed=False,
        conda_packages=None,
        pip_packages=None,
        conda_dependencies_file_path=None,
        pip_requirements_file_path=None,
        conda_dependencies_file=None,
        pip_requirements_file=None,
        environment_variables=None,
        environment_definition=None,
        inputs=None,
        source_directory_data_store=None,
        shm_size=None,
        resume_from=None,
        max_run_duration_seconds=None,
        framework_version=None,
        _enable_optimized_mode=False,
        _disable_validation=True,
        _show_lint_warnings=False,
        _show_package_warnings=False,
    ):
        self._configure(locals())
