"""Keras of any age: Keras 3, the Keras inside TensorFlow 2, tf_keras."""

import functools
import importlib
import inspect
from typing import Any, Dict

from . import _injob
from ._autolog import guarded, marked, once
from ._metrics import is_number


def _tags(model: Any, params: Dict[str, Any]) -> Dict[str, Any]:
    optimizer = getattr(model, "optimizer", None)
    tags = {
        "keras/model": type(model).__name__,
        "keras/optimizer": type(optimizer).__name__ if optimizer is not None else None,
        "keras/epochs": params.get("epochs"),
        "keras/steps": params.get("steps"),
        "keras/parameters": model.count_params() if getattr(model, "built", False) else None,
    }
    rate = _learning_rate(model)
    if rate is not None:
        tags["keras/learning_rate"] = rate
    return {name: value for name, value in tags.items() if value is not None}


def _learning_rate(model: Any) -> Any:
    rate: Any = getattr(getattr(model, "optimizer", None), "learning_rate", None)
    try:
        return float(rate.numpy() if hasattr(rate, "numpy") else rate)
    except (TypeError, ValueError):
        return None  # a schedule


def _callback_class(base: Any) -> Any:
    class SlipwayCallback(base):  # type: ignore[misc]
        """Logs what Keras reports at the end of each epoch."""

        @guarded
        def on_train_begin(self, logs: Any = None) -> None:
            _injob.tag(_tags(self.model, self.params or {}))

        @guarded
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            metrics = {name: value for name, value in (logs or {}).items() if is_number(value)}
            rate = _learning_rate(self.model)
            if rate is not None:
                metrics.setdefault("learning_rate", rate)
            _injob.log(metrics, step=epoch)

    return SlipwayCallback


def _patch(callbacks: str) -> Any:
    """A patch of the module that defines Model; `callbacks` is the module that has its Callback."""

    def patch(module: Any) -> None:
        model_class = module.Model
        original = model_class.fit
        if once(original):
            return
        signature = inspect.signature(original)

        @functools.wraps(original)
        def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(self, *args, **kwargs)
            ours = _callback_class(importlib.import_module(callbacks).Callback)()
            given = bound.arguments.get("callbacks")
            if given is None:
                bound.arguments["callbacks"] = [ours]
            elif hasattr(given, "append") and not isinstance(given, list):
                given.append(ours)  # a CallbackList
            else:
                bound.arguments["callbacks"] = [
                    *(given if isinstance(given, (list, tuple)) else [given]),
                    ours,
                ]
            return original(*bound.args, **bound.kwargs)

        model_class.fit = marked(fit)

    return patch


PATCHES = {
    "keras.src.models.model": _patch("keras.src.callbacks.callback"),
    "keras.src.engine.training": _patch("keras.src.callbacks"),
    "keras.engine.training": _patch("keras.callbacks"),
    "tf_keras.src.engine.training": _patch("tf_keras.src.callbacks"),
    "tensorflow.python.keras.engine.training": _patch("tensorflow.python.keras.callbacks"),
}
