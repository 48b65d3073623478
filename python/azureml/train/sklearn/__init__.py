"""The estimator for scikit-learn."""

from azureml.train._estimator import MMLBaseEstimator, parameters

__all__ = ["SKLearn"]


class SKLearn(MMLBaseEstimator):
    """A scikit-learn script: one process on one node."""

    _base_environment = "estimator-sklearn"

    @staticmethod
    def _framework_packages(version, use_gpu):
        return [f"scikit-learn=={version}" if version else "scikit-learn", "scipy", "joblib"]

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
        given = dict(
            locals(),
            node_count=1,
            process_count_per_node=1,
            distributed_backend=None,
            distributed_training=None,
            use_gpu=False,
        )
        self._configure(given)
