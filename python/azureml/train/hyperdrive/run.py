"""The description of a search."""

from enum import Enum

from azureml._support import constructs_only, refused
from azureml.exceptions import UserErrorException

_LATER = "hyper-parameter search comes with a later version of Slipway; submit the runs one by one until then"


class PrimaryMetricGoal(Enum):
    MAXIMIZE = "MAXIMIZE"
    MINIMIZE = "MINIMIZE"

    @staticmethod
    def from_str(goal):
        try:
            return PrimaryMetricGoal[str(goal).upper()]
        except KeyError:
            raise UserErrorException(f"A goal is MAXIMIZE or MINIMIZE, not '{goal}'") from None


@constructs_only(_LATER)
class HyperDriveConfig:
    """A search over the runs of one configuration."""

    def __init__(
        self,
        hyperparameter_sampling,
        primary_metric_name,
        primary_metric_goal,
        max_total_runs,
        max_concurrent_runs=None,
        max_duration_minutes=10080,
        policy=None,
        estimator=None,
        run_config=None,
        resume_from=None,
        resume_child_runs=None,
        pipeline=None,
        debug_flag=None,
        custom_run_id=None,
    ):
        if sum(each is not None for each in (estimator, run_config, pipeline)) != 1:
            raise UserErrorException("Give one of estimator, run_config and pipeline")
        if not 1 <= max_total_runs <= 1000:
            raise UserErrorException("max_total_runs is a whole number from 1 to 1000")
        if max_concurrent_runs is not None and not 1 <= max_concurrent_runs <= max_total_runs:
            raise UserErrorException("max_concurrent_runs is a whole number from 1 to max_total_runs")
        self.hyperparameter_sampling = hyperparameter_sampling
        self.primary_metric_name = primary_metric_name
        self.primary_metric_goal = primary_metric_goal
        self.max_total_runs = max_total_runs
        self.max_concurrent_runs = max_concurrent_runs or max_total_runs
        self.max_duration_minutes = max_duration_minutes
        self.policy = policy
        self.estimator = estimator
        self.run_config = run_config
        self.pipeline = pipeline
        self.resume_from = resume_from
        self.resume_child_runs = resume_child_runs
        self.source_directory = getattr(estimator or run_config, "source_directory", None)


HyperDriveRunConfig = HyperDriveConfig


class HyperDriveRun:
    """A search that was submitted; there is none yet."""

    @refused(_LATER)
    def __init__(self, experiment, run_id, hyperdrive_config=None, **kwargs):
        pass
