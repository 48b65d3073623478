"""Hyper-parameter search: it can be described; running it comes with a later version of Slipway."""

from azureml.train.hyperdrive.policy import (
    BanditPolicy,
    EarlyTerminationPolicy,
    MedianStoppingPolicy,
    NoTerminationPolicy,
    TruncationSelectionPolicy,
)
from azureml.train.hyperdrive.run import (
    HyperDriveConfig,
    HyperDriveRun,
    HyperDriveRunConfig,
    PrimaryMetricGoal,
)
from azureml.train.hyperdrive.sampling import (
    BayesianParameterSampling,
    GridParameterSampling,
    HyperParameterSampling,
    RandomParameterSampling,
    choice,
    lognormal,
    loguniform,
    normal,
    qlognormal,
    qloguniform,
    qnormal,
    quniform,
    randint,
    uniform,
)

__all__ = [
    "BanditPolicy",
    "BayesianParameterSampling",
    "EarlyTerminationPolicy",
    "GridParameterSampling",
    "HyperDriveConfig",
    "HyperDriveRun",
    "HyperDriveRunConfig",
    "HyperParameterSampling",
    "MedianStoppingPolicy",
    "NoTerminationPolicy",
    "PrimaryMetricGoal",
    "RandomParameterSampling",
    "TruncationSelectionPolicy",
    "choice",
    "lognormal",
    "loguniform",
    "normal",
    "qlognormal",
    "qloguniform",
    "qnormal",
    "quniform",
    "randint",
    "uniform",
]
