"""The estimator for scikit-learn."""

from azureml.train._estimator import CHECKS, CONTENT, FRAMEWORK, PLACE, MMLBaseEstimator, estimator

__all__ = ["SKLearn"]


@estimator(PLACE, CONTENT, FRAMEWORK, CHECKS)
class SKLearn(MMLBaseEstimator):
    """A scikit-learn script: one process on one node."""

    _base_environment = "estimator-sklearn"

    @staticmethod
    def _framework_packages(version, use_gpu):
        return [f"scikit-learn=={version}" if version else "scikit-learn", "scipy", "joblib"]
