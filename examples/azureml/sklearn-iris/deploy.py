"""Registers what the last run of submit.py has left, and serves it without a line of code."""

import json
import os

from azureml.core import Experiment, Model, Workspace
from azureml.core.resource_configuration import ResourceConfiguration

here = os.path.dirname(os.path.abspath(__file__))
ws = Workspace.from_config(here)
run = next(Experiment(ws, "sklearn-iris").get_runs())

model = run.register_model(
    model_name="iris",
    model_path="outputs/model.joblib",
    model_framework=Model.Framework.SCIKITLEARN,
    model_framework_version="1.5",
    resource_configuration=ResourceConfiguration(cpu=0.5, memory_in_gb=0.5),
)
print(model.name, model.version, sep="\t")

service = Model.deploy(ws, "iris-service", [model], overwrite=True)
service.wait_for_deployment(show_output=True)
print(service.scoring_uri)

flowers = {"data": [[5.1, 3.5, 1.4, 0.2], [6.7, 3.0, 5.2, 2.3]], "method": "predict"}
print(json.dumps(service.run(json.dumps(flowers))))
service.delete()
