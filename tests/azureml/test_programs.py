"""Whole programs in the manner of the SDK's tutorials, with real frameworks: the examples, as they stand."""

import os
import shutil
import struct
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples" / "azureml"


pytestmark = pytest.mark.timeout(600)  # frameworks are fetched, and built into environments


@pytest.fixture
def slipway(stopped):
    """A server that builds real environments: the machine's interpreters, index and uv."""
    passed = ("PIP_", "UV_", "SSL_CERT")
    stopped.env.update({name: value for name, value in os.environ.items() if name.startswith(passed)})
    stopped.env["PYENV_ROOT"] = os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))
    stopped.env["PATH"] = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{stopped.env['PATH']}"
    stopped.up()
    return stopped


@pytest.fixture
def example(tmp_path):
    def copy(name):
        return Path(shutil.copytree(EXAMPLES / name, tmp_path / name))

    return copy


def metrics_in(printed):
    """The dictionary that the program printed last."""
    line = [line for line in printed.splitlines() if line.startswith("{") and "'" in line][-1]
    return eval(line, {"nan": float("nan")})


def test_keras_on_an_elastic_cluster_with_a_mounted_dataset_of_web_addresses(
    example, program, mnist, web, tmp_path
):
    folder = example("keras-mnist")
    done = program(
        folder / "submit.py",
        MNIST_URL=web(mnist),
        MNIST_SUFFIX="",
        ROWS="6000",
        EPOCHS="2",
        DOWNLOAD=str(tmp_path),
    )
    said = done.stdout
    for expected in (
        "Succeeded\n",
        "'nodeIdleTimeBeforeScaleDown': 'PT120S'",
        "Streaming azureml-logs/20_image_build_log.txt",
        "Streaming azureml-logs/70_driver_log.txt",
        "data: (6000, 784) (6000, 784) environment variable: True",
        "model saved in ./outputs/model",
        "Execution Summary",
    ):
        assert expected in said, said
    assert "STANDARD_NC6 is more than this machine has" in done.stderr
    found = metrics_in(said)
    assert len(found["Loss"]) == 2 and found["Final test accuracy"] > 0.8
    assert set(found["final"]) == {"loss", "accuracy"}
    assert (tmp_path / "outputs" / "model" / "model.keras").stat().st_size > 10000


def pictures(mnist, folder):
    """Forty real digits as an image folder: zeros and ones."""
    labels = (mnist / "train-labels-idx1-ubyte").read_bytes()[8:2000]
    content = (mnist / "train-images-idx3-ubyte").read_bytes()
    assert struct.unpack(">I", content[:4])[0] == 2051
    counts = {0: 0, 1: 0}
    for place, label in enumerate(labels):
        if counts.get(label, 20) >= 20:
            continue
        counts[label] += 1
        grey = content[16 + place * 784 : 16 + (place + 1) * 784]
        target = folder / ("zero", "one")[label] / f"{place}.ppm"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"P6 28 28 255\n" + bytes(value for value in grey for _ in range(3)))
    assert counts == {0: 20, 1: 20}
    return folder


def test_pytorch_transfer_learning_by_the_estimator_with_the_pins_of_the_time(
    example, program, mnist, tmp_path
):
    folder = example("pytorch-transfer")
    images = pictures(mnist, tmp_path / "images")
    done = program("-W", "default", folder / "submit.py", IMAGES=str(images))
    said = done.stdout
    assert "torch 1.6.0 torchvision 0.7.0" in said
    assert "classes ['one', 'zero'] images 40" in said
    assert "PyTorch is deprecated" in done.stderr
    assert "outputs/model.pt" in said and len(metrics_in(said)["loss"]) == 2


def test_scikit_learn_on_rows_and_then_as_a_service(example, program):
    folder = example("sklearn-iris")
    done = program(folder / "submit.py")
    found = metrics_in(done.stdout)
    assert found["Accuracy"] > 0.9 and found["Kernel type"] == "linear"
    assert found["confusion"]["data"]["class_labels"] == ["0", "1", "2"]
    deployed = program(folder / "deploy.py").stdout
    assert "iris\t1\n" in deployed
    assert 'operation finished, operation "Succeeded"' in deployed
    assert deployed.splitlines()[-1] == '{"predict": [0, 2]}', "in the environment that trained it"


ESTIMATOR = """
import os
from azureml.core import Experiment, Workspace
from azureml.train.estimator import Estimator
ws = Workspace.get("default")
store = ws.get_default_datastore()
os.makedirs("source", exist_ok=True)
open("source/train.py", "w").write(
    "import os, sys\\nfrom azureml.core import Run\\n"
    "print('arguments', sys.argv[1:3], os.listdir(sys.argv[4]), os.environ['COLOUR'])\\n"
    "Run.get_context().log('n', 1)"
)
open("data.txt", "w").write("data")
store.upload_files(["data.txt"], target_path="in", show_progress=False)
estimator = Estimator(
    source_directory="source",
    entry_script="train.py",
    compute_target="local",
    script_params={"--flag": "", "--n": 3, "--data": store.path("in").as_download()},
    environment_variables={"COLOUR": "red"},
)
run = Experiment(ws, "estimator").submit(estimator)
print(run.wait_for_completion(show_output=True)["runDefinition"]["script"], run.get_metrics())
"""


def test_an_estimator_with_packages_of_its_own(program, tmp_path):
    (tmp_path / "program.py").write_text(ESTIMATOR.replace('"--flag": "", ', ""))
    said = program(tmp_path / "program.py").stdout
    assert "arguments ['--n', '3'] ['data.txt'] red" in said and "train.py {'n': 1.0}" in said
