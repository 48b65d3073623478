"""A Keras script as Azure's tutorials have it."""

import argparse
import glob
import gzip
import os
import struct

import keras
import numpy as np
from azureml.core import Run

parser = argparse.ArgumentParser()
parser.add_argument("--data-folder", type=str, dest="data_folder")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--rows", type=int, default=60000)
args = parser.parse_args()


def load(name, header, shape):
    """An IDX file, found wherever it lies below the folder."""
    path = glob.glob(os.path.join(args.data_folder, "**", name + "*"), recursive=True)[0]
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        count = struct.unpack(">" + "I" * header, file.read(4 * header))[1]
        rows = np.frombuffer(file.read(), dtype=np.uint8)
    return rows.reshape((count, *shape))[: args.rows]


X_train = load("train-images-idx3-ubyte", 4, (784,)) / 255.0
X_test = load("t10k-images-idx3-ubyte", 4, (784,)) / 255.0
y_train, y_test = load("train-labels-idx1-ubyte", 2, ()), load("t10k-labels-idx1-ubyte", 2, ())
same = os.environ.get("mnist") == args.data_folder  # noqa: SIM112
print("data:", X_train.shape, X_test.shape, "environment variable:", same)

run = Run.get_context()
print("run:", run.id, run.input_datasets["mnist"] == args.data_folder)

model = keras.Sequential(
    [
        keras.layers.Input((784,)),
        keras.layers.Dense(100, activation="relu"),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"])


class LogRunMetrics(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        run.log("Loss", logs["val_loss"])
        run.log("Accuracy", logs["val_accuracy"])


board = keras.callbacks.TensorBoard(log_dir="./logs", write_graph=False)
history = model.fit(
    X_train, y_train, epochs=args.epochs, batch_size=128, verbose=2, validation_data=(X_test, y_test),
    callbacks=[LogRunMetrics(), board],
)  # fmt: skip
score = model.evaluate(X_test, y_test, verbose=0)
run.log("Final test loss", score[0])
run.log("Final test accuracy", score[1])
run.log_row("final", loss=score[0], accuracy=score[1])

os.makedirs("./outputs/model", exist_ok=True)
model.save("./outputs/model/model.keras")
print("model saved in ./outputs/model")
