"""Trains a network on MNIST with Keras: a dataset of web addresses, an elastic cluster, an environment of one's own."""

import os

from azureml.core import Dataset, Environment, Experiment, ScriptRunConfig, Workspace
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.compute_target import ComputeTargetException

here = os.path.dirname(os.path.abspath(__file__))
ws = Workspace.from_config(here)

try:
    compute_target = ComputeTarget(workspace=ws, name="gpu-cluster")
except ComputeTargetException:
    config = AmlCompute.provisioning_configuration(
        vm_size="STANDARD_NC6", max_nodes=4, idle_seconds_before_scaledown=120
    )
    compute_target = ComputeTarget.create(ws, "gpu-cluster", config)
    compute_target.wait_for_completion(show_output=True, min_node_count=None, timeout_in_minutes=20)
print(compute_target.get_status().serialize())

# Any place that has the four files under their classic names.
base = os.environ.get("MNIST_URL", "https://storage.googleapis.com/cvdf-datasets/mnist")
suffix = os.environ.get("MNIST_SUFFIX", ".gz")
names = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
]
dataset = Dataset.File.from_files(path=[f"{base}/{name}{suffix}" for name in names])
dataset = dataset.register(workspace=ws, name="mnist-dataset", description="digits", create_new_version=True)
print(dataset.to_path())

env = Environment.from_conda_specification(name="keras", file_path=os.path.join(here, "environment.yml"))
src = ScriptRunConfig(
    source_directory=os.path.join(here, "src"),
    script="train.py",
    arguments=[
        "--data-folder",
        dataset.as_named_input("mnist").as_mount(),
        "--epochs",
        os.environ.get("EPOCHS", "4"),
        "--rows",
        os.environ.get("ROWS", "60000"),
    ],
    compute_target=compute_target,
    environment=env,
)
run = Experiment(workspace=ws, name="keras-mnist").submit(src)
print(run)
run.wait_for_completion(show_output=True)

print(run.get_metrics())
run.download_files(prefix="outputs/model", output_directory=os.environ.get("DOWNLOAD", "."))
