"""`slipway serve --optimize onnx`: a model computed by ONNX Runtime, where its answers are the same."""

import json

import pytest
from support import models


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("optimised")


def serve(home, *args, env=None, **kwargs):
    env = {"SLIPWAY_HOME": str(home), **(env or {})}
    return models.Service(*args, "--optimize", "onnx", env=env, **kwargs)


def test_a_scikit_learn_model_answers_the_same_without_its_process(sklearn_models, home):
    rows = [[0.1, 0.2, 0.3, 0.4], [0.9, 0.8, 0.7, 0.6]]
    bodies = [{"data": rows, "method": "predict"}, {"data": rows}, {"instances": rows}]
    with models.Service(sklearn_models / "classifier.joblib") as service:
        expected = [service.post("/score", body).json() for body in bodies]
    with serve(home, sklearn_models / "classifier.joblib") as service:
        assert service.about["runtime"] == "onnxruntime" and service.children() == []
        assert (
            "compared_on=random numbers" in service.log() or 'compared_on="random numbers"' in service.log()
        )
        got = [service.post("/score", body).json() for body in bodies]
    assert got[0] == expected[0] and got[2] == expected[2]
    for one, other in zip(got[1]["predict_proba"], expected[1]["predict_proba"], strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_the_sample_is_what_it_is_compared_on(sklearn_models, home, tmp_path):
    sample = tmp_path / "sample.json"
    sample.write_text(json.dumps({"data": [[0.1, 0.2, 0.3, 0.4]]}))
    with serve(home, sklearn_models / "regressor.pkl", "--sample", sample) as service:
        assert service.about["runtime"] == "onnxruntime"
        assert 'compared_on="the sample"' in service.log()
        assert service.predict({"instances": [[1, 1, 1, 1]]}).json()["predictions"] == pytest.approx(
            [4], abs=1e-4
        )
    sample.write_text(json.dumps({"data": [["a"]]}))
    with pytest.raises(models.NotServed) as refused:
        serve(home, sklearn_models / "regressor.pkl", "--sample", sample)
    assert "the sample does not fit" in refused.value.error["message"], refused.value


def test_where_the_answers_differ_the_original_serves(sklearn_models, home, tmp_path):
    # Its answer is in digits that single precision does not have.
    sample = tmp_path / "sample.json"
    sample.write_text(json.dumps({"data": [[1.000000001]]}))
    with serve(home, sklearn_models / "fine.joblib", "--sample", sample) as service:
        assert service.about["runtime"] == "scikit-learn"
        assert "serving.not_optimised" in service.log() and "'predict' differs" in service.log()
        assert service.predict({"instances": [[1.000000001]]}).json()["predictions"] == pytest.approx(
            [1], abs=1e-6
        )


def test_a_keras_model_is_converted_twice_and_answers_the_same(tensorflow_models, home):
    with serve(home, tensorflow_models / "iris.keras") as service:
        assert service.about["runtime"] == "onnxruntime", service.log()
        answer = service.predict({"instances": [[0.5] * 4]}).json()["predictions"]
        assert answer[0] == pytest.approx(
            json.loads((tensorflow_models / "iris.json").read_text())[0], abs=1e-5
        )


def test_what_cannot_be_optimised_says_so(sklearn_models, onnx_models, home, tmp_path):
    (tmp_path / "skl2onnx.py").write_text("raise ModuleNotFoundError('none', name='skl2onnx')\n")
    for args, env, says in (
        ((sklearn_models / "classifier.joblib",), {"PYTHONPATH": str(tmp_path)}, "the package skl2onnx"),
        ((onnx_models / "double.onnx",), {}, "is no TensorFlow, Keras or scikit-learn model"),
    ):
        with pytest.raises(models.NotServed) as refused:
            serve(tmp_path, *args, env=env)
        assert says in refused.value.error["message"], refused.value
    with pytest.raises(models.NotServed) as refused:
        models.Service(onnx_models / "double.onnx", "--optimize", "fast")
    assert "--optimize onnx" in refused.value.error["next"], refused.value
