"""PyTorch Lightning, as `pytorch_lightning` or as `lightning.pytorch`."""

import functools
import importlib
from typing import Any, Dict

from . import _injob
from ._autolog import guarded, marked, once
from ._metrics import is_number

EVERY = 50  # of how many steps one is logged


def _numbers(metrics: Any) -> Dict[str, float]:
    return {str(name): float(value) for name, value in dict(metrics or {}).items() if is_number(value)}


def _is_first(trainer: Any) -> bool:
    """Of several processes that train together one logs."""
    return bool(getattr(trainer, "is_global_zero", True))


def _callback_class(base: Any) -> Any:
    class SlipwayCallback(base):  # type: ignore[misc]
        """Logs what the module logs: at the end of each epoch, and of steps every so often."""

        _is_slipway = True

        def __init__(self) -> None:
            super().__init__()
            self._seen: Dict[str, float] = {}

        def _log(self, trainer: Any, metrics: Any, step: int) -> None:
            # A trainer that is checking itself before the first epoch has nothing to report.
            if _is_first(trainer) and not getattr(trainer, "sanity_checking", False):
                found = _numbers(metrics)
                found.pop("epoch", None)
                if found:
                    _injob.log(found, step=step)

        @guarded
        def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
            if not _is_first(trainer):
                return
            parameters = sum(int(p.numel()) for p in pl_module.parameters())
            tags = {"lightning/model": type(pl_module).__name__, "lightning/parameters": parameters}
            if getattr(trainer, "max_epochs", None):
                tags["lightning/epochs"] = trainer.max_epochs
            for name, value in dict(getattr(pl_module, "hparams", None) or {}).items():
                tags[f"lightning/{name}"] = str(value)[:200]
            _injob.tag(tags)

        @guarded
        def on_train_batch_end(self, trainer: Any, *_: Any, **__: Any) -> None:
            if trainer.global_step % EVERY == 0 and trainer.global_step > 0:
                steps = {
                    k: v for k, v in _numbers(trainer.logged_metrics).items() if not k.endswith("_epoch")
                }
                self._log(
                    trainer, {f"step/{name}": value for name, value in steps.items()}, trainer.global_step
                )

        @guarded
        def on_validation_end(self, trainer: Any, *_: Any) -> None:
            self._log(trainer, trainer.callback_metrics, trainer.current_epoch)
            self._seen = _numbers(trainer.callback_metrics)

        @guarded
        def on_train_epoch_end(self, trainer: Any, *_: Any, **__: Any) -> None:
            # What the validation of the same epoch has said already is not said twice.
            now = _numbers(trainer.callback_metrics)
            self._log(
                trainer, {k: v for k, v in now.items() if self._seen.get(k) != v}, trainer.current_epoch
            )
            self._seen = {}

        @guarded
        def on_test_end(self, trainer: Any, *_: Any) -> None:
            self._log(trainer, trainer.callback_metrics, trainer.current_epoch)

    return SlipwayCallback


def _patch(callbacks: str) -> Any:
    def patch(module: Any) -> None:
        for name in ("fit", "test"):
            original = getattr(module.Trainer, name)
            if not once(original):
                setattr(module.Trainer, name, _with_callback(original, callbacks))

    return patch


def _with_callback(original: Any, callbacks: str) -> Any:
    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not any(getattr(callback, "_is_slipway", False) for callback in self.callbacks):
            base = importlib.import_module(callbacks).Callback
            self.callbacks.append(_callback_class(base)())
        return original(self, *args, **kwargs)

    return marked(call)


PATCHES = {
    "pytorch_lightning.trainer.trainer": _patch("pytorch_lightning.callbacks"),
    "lightning.pytorch.trainer.trainer": _patch("lightning.pytorch.callbacks"),
}
