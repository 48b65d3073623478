"""MLflow's client of its scoring server: mlflow_scoring.py HOST PORT, of a server with the model regressor."""

import sys

import pandas
from mlflow.pyfunc.scoring_server.client import ScoringServerClient

client = ScoringServerClient(sys.argv[1], int(sys.argv[2]))
client.wait_server_ready(timeout=20)
assert client.get_version()
frame = pandas.DataFrame([[1.0, 2, 3, 4], [0, 0, 0, 1]], columns=list("abcd"))
answers = client.invoke(frame).get_predictions()
assert [round(value, 6) for value in answers[0]] == [10, 1], answers
try:
    client.invoke(frame[["a", "b"]])
    raise SystemExit("a frame that is too narrow was taken")
except Exception as error:
    assert "400" in str(error) and "BAD_REQUEST" in str(error), error
