"""Trains a classifier of irises with scikit-learn, on the rows of a tabular dataset."""

import os

from azureml.core import Dataset, Environment, Experiment, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies
from azureml.widgets import RunDetails

here = os.path.dirname(os.path.abspath(__file__))
ws = Workspace.from_config(here)

datastore = ws.get_default_datastore()
datastore.upload_files([os.path.join(here, "iris.csv")], target_path="iris", overwrite=True)
iris = Dataset.Tabular.from_delimited_files((datastore, "iris/iris.csv"))
iris = iris.register(ws, "iris", create_new_version=True)

env = Environment("sklearn-env")
env.python.conda_dependencies = CondaDependencies.create(
    pip_packages=["azureml-defaults", "scikit-learn", "pandas"], python_version="3.11"
)
src = ScriptRunConfig(
    source_directory=os.path.join(here, "src"),
    script="train_iris.py",
    arguments=["--kernel", "linear", "--penalty", 1.0, iris.as_named_input("iris")],
    compute_target="local",
    environment=env,
)
run = Experiment(ws, "sklearn-iris").submit(src, tags={"model": "svm"})
RunDetails(run).show()
run.wait_for_completion(show_output=True)
print(run.get_metrics())
