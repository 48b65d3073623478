"""Gives a pre-trained network a new head, on a folder of images: the PyTorch estimator, with the versions of 2020."""

import os

from azureml.core import Dataset, Experiment, Workspace
from azureml.core.conda_dependencies import CondaDependencies
from azureml.train.dnn import PyTorch

here = os.path.dirname(os.path.abspath(__file__))
ws = Workspace.from_config(here)

# One folder for each class, as torchvision's ImageFolder wants them.
images = os.environ.get("IMAGES", os.path.join(here, "images"))
datastore = ws.get_default_datastore()
datastore.upload(images, target_path="images", overwrite=True, show_progress=True)
dataset = Dataset.File.from_files((datastore, "images"))

conda = os.path.join(here, "conda_dependencies.yml")
CondaDependencies.create(
    pip_packages=["azureml-core", "azureml-defaults", "torch==1.6.0", "torchvision==0.7.0"],
    python_version="3.6.2",
).save_to_file(here, "conda_dependencies.yml")

estimator = PyTorch(
    source_directory=os.path.join(here, "src"),
    script_params={"--data": dataset.as_named_input("images").as_download(), "--epochs": 2},
    compute_target="local",
    entry_script="train.py",
    conda_dependencies_file=conda,
    framework_version="1.6",
    use_gpu=True,
)
run = Experiment(ws, "pytorch-transfer").submit(estimator)
run.wait_for_completion(show_output=True)
print(run.get_metrics())
print(run.get_file_names())
