"""PyTorch Lightning, as `pytorch_lightning` or as `lightning.pytorch`."""

import functools
import importlib
from typing import Any, Dict, Set

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
            self._before: Dict[str, float] = {}
            self._of_validation: Set[str] = set()

        def _log(self, trainer: Any, metrics: Dict[str, float], step: int) -> None:
            # Lightning tries the validation once before it trains; that is no result.
            checking = getattr(trainer, "sanity_checking", False) or getattr(
                trainer, "running_sanity_check", False
            )
            if metrics and _is_first(trainer) and not checking:
                _injob.log(metrics, step=step)

        @staticmethod
        def _of_epoch(trainer: Any) -> Dict[str, float]:
            found = _numbers(trainer.callback_metrics)
            return {
                name: value for name, value in found.items() if name != "epoch" and not name.endswith("_step")
            }

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
            step = int(trainer.global_step)
            if step % EVERY == 0 and step > 0:
                found = _numbers(trainer.logged_metrics)
                wanted = {k: v for k, v in found.items() if k != "epoch" and not k.endswith("_epoch")}
                self._log(
                    trainer, {f"step/{k}": v for k, v in wanted.items() if k not in self._of_validation}, step
                )

        # The metrics of training and validation lie together, whichever comes first; those that a validation changes
        # are its own, and an epoch's training does not repeat them.

        @guarded
        def on_validation_start(self, trainer: Any, *_: Any) -> None:
            self._before = self._of_epoch(trainer)

        @guarded
        def on_validation_end(self, trainer: Any, *_: Any) -> None:
            now = self._of_epoch(trainer)
            self._of_validation |= {name for name, value in now.items() if self._before.get(name) != value}
            own = {name: value for name, value in now.items() if name in self._of_validation}
            self._log(trainer, own, int(trainer.current_epoch))

        @guarded
        def on_train_epoch_end(self, trainer: Any, *_: Any, **__: Any) -> None:
            now = self._of_epoch(trainer)
            own = {name: value for name, value in now.items() if name not in self._of_validation}
            self._log(trainer, own, int(trainer.current_epoch))

        on_test_start = on_validation_start
        on_test_end = on_validation_end

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
