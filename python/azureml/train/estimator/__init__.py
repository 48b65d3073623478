"""Estimator: any script."""

from azureml.core.runconfig import Mpi
from azureml.train._estimator import MMLBaseEstimator, parameters

__all__ = ["Estimator", "Mpi"]


class Estimator(MMLBaseEstimator):
    """Any script, with the packages it needs."""

    _base_environment = "estimator"

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
        _disable_validation=True,
        _show_lint_warnings=False,
        _show_package_warnings=False,
    ):
        self._configure(locals())
