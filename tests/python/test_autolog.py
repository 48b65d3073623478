"""slipway.autolog with the real frameworks: today's TensorFlow and scikit-learn, and the Lightning of Python 3.6."""

import pytest
from support.interpreters import PACKAGES


def trained(ws, python, script):
    run = ws.submit(command=[str(python), "-c", script], source=None, variables={"PYTHONPATH": str(PACKAGES)})
    run.wait(timeout=170, raise_on_failure=False)
    assert run.state == "Completed", run.logs()
    assert "slipway.autolog" not in run.logs(), run.logs()
    return run


@pytest.mark.timeout(400)
def test_keras_and_scikit_learn_log_by_themselves(ws, framework):
    python = framework("tensorflow")
    run = trained(
        ws,
        python,
        """
import slipway
slipway.autolog()
import keras, numpy
random = numpy.random.default_rng(1)
x, y = random.random((60, 4)), random.integers(0, 3, 60)
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, epochs=3, verbose=0, validation_split=0.2, callbacks=[keras.callbacks.TerminateOnNaN()])
slipway.log({"check": history.history["loss"][-1]}, step=0)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
pipeline = make_pipeline(StandardScaler(), LogisticRegression())
search = GridSearchCV(pipeline, {"logisticregression__C": [0.1, 1.0]}, cv=2).fit(x, y)
slipway.log(check_best=search.best_score_, step=0)
slipway.autolog()  # a second call changes nothing
MLPClassifier(max_iter=3, random_state=1).fit(x, y)
""",
    )
    loss = run.metrics("loss")
    assert run.metrics("accuracy").steps == [0, 1, 2] and run.metrics("val_loss").steps == [0, 1, 2]
    assert loss.steps == [0, 1, 2, 0, 1, 2]  # Keras, then the curve of the MLPClassifier
    assert loss.values[2] == pytest.approx(run.metrics("check").last)
    assert run.metrics("learning_rate").last == pytest.approx(0.001)
    assert run.metrics("best_score").last == run.metrics("check_best").last
    # The search and the MLPClassifier, and none of the fits inside the search.
    assert len(run.metrics("training_score")) == 2
    (table,) = run.values("cv_results")
    assert len(table.value["mean_test_score"]) == 2
    tags = run.tags
    assert tags["keras/optimizer"] == "Adam" and tags["keras/parameters"] == "15"
    assert tags["sklearn/class"] == "MLPClassifier" and "sklearn/best/logisticregression__C" in tags


@pytest.mark.timeout(400)
def test_lightning_logs_by_itself(ws, framework):
    python = framework("pytorch")
    run = trained(
        ws,
        python,
        """
import slipway
slipway.autolog(every=2)
import torch, pytorch_lightning as pl
from torch.utils.data import DataLoader, TensorDataset
class Model(pl.LightningModule):
    def __init__(self, rate=0.1):
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(4, 1)
    def _loss(self, batch):
        return ((self.layer(batch[0]) - batch[1]) ** 2).mean()
    def training_step(self, batch, index):
        loss = self._loss(batch)
        self.log("train_loss", loss, on_step=True, on_epoch=True)
        return loss
    def validation_step(self, batch, index):
        self.log("val_loss", self._loss(batch))
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), self.hparams.rate)
data = DataLoader(TensorDataset(torch.rand(32, 4), torch.rand(32, 1)), batch_size=8)
trainer = pl.Trainer(max_epochs=2, logger=False, checkpoint_callback=False, progress_bar_refresh_rate=0,
                     weights_summary=None, log_every_n_steps=1)
trainer.fit(Model(), data, data)
slipway.log(check=float(trainer.callback_metrics["val_loss"]), step=0)
""",
    )
    assert run.metrics("val_loss").steps == [0, 1] and run.metrics("train_loss_epoch").steps == [0, 1]
    assert run.metrics("val_loss").last == run.metrics("check").last
    assert len(run.metrics("step/train_loss_step")) >= 2
    assert run.tags["lightning/model"] == "Model" and run.tags["lightning/rate"] == "0.1"
    assert run.tags["lightning/parameters"] == "5"


def test_a_failing_hook_is_said_once_and_training_goes_on(job):
    run = job(
        """
import sys, types
import slipway
slipway.autolog()
module = types.ModuleType("sklearn.fake")
sys.modules["sklearn.fake"] = module
exec('''
class Broken:
    def get_params(self, deep=True): raise RuntimeError("no parameters")
    def fit(self, X, y=None): return "fitted"
''', module.__dict__)
slipway.autolog()
assert module.Broken().fit([1]) == "fitted" and module.Broken().fit([1]) == "fitted"
"""
    )
    assert run.logs().count("RuntimeError: no parameters") == 1
