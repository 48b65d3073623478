import argparse
import os

import joblib
import numpy as np
from azureml.core.run import Run
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

run = Run.get_context()

parser = argparse.ArgumentParser()
parser.add_argument("--kernel", type=str, default="linear")
parser.add_argument("--penalty", type=float, default=1.0)
args, _ = parser.parse_known_args()
run.log("Kernel type", str(args.kernel))
run.log("Penalty", float(args.penalty))

iris = run.input_datasets["iris"].to_pandas_dataframe()
X, y = iris.drop(columns="species").values, iris["species"].values
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = SVC(kernel=args.kernel, C=args.penalty).fit(X_train, y_train)
predictions = model.predict(X_test)

accuracy = model.score(X_test, y_test)
print(f"Accuracy of SVM classifier on test set: {accuracy:.2f}")
run.log("Accuracy", float(accuracy))
matrix = confusion_matrix(y_test, predictions)
print(matrix)
labels = [str(label) for label in np.unique(y)]
run.log_confusion_matrix(
    "confusion",
    {
        "schema_type": "confusion_matrix",
        "schema_version": "1.0.0",
        "data": {"class_labels": labels, "matrix": matrix.tolist()},
    },
)

os.makedirs("outputs", exist_ok=True)
joblib.dump(model, "outputs/model.joblib")
