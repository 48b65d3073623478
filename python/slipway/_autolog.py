"""Logging that needs no line in the training code: Keras, PyTorch Lightning and scikit-learn.

`slipway.autolog()` looks at the frameworks that are imported already and at those that will be; it imports none itself.
Whatever goes wrong while logging is said once on stderr: training is never the worse for it.
"""

import functools
import sys
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

_Patch = Callable[[Any], None]

_lock = threading.Lock()
_said: Dict[str, bool] = {}
_watching: "Optional[_Watcher]" = None


def _guarded(function: Callable[..., None]) -> Callable[..., None]:
    """A hook whose failure does not reach the training."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except Exception as error:
            if not _said.setdefault(function.__qualname__, False):
                _said[function.__qualname__] = True
                sys.stderr.write(
                    f"slipway.autolog: {function.__qualname__}: {type(error).__name__}: {error}\n"
                )

    return call


# -- imports that are still to come -----------------------------------------------------------------------------


class _Watcher:
    """Stands first among the finders of modules, and calls a patch when a module that it waits for has been loaded."""

    def __init__(self) -> None:
        self.patches: Dict[str, _Patch] = {}
        self.prefixes: List[Tuple[str, _Patch]] = []
        self._busy = threading.local()

    def patch_for(self, name: str) -> Optional[_Patch]:
        exact = self.patches.get(name)
        return exact or next((patch for prefix, patch in self.prefixes if name.startswith(prefix)), None)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        patch = self.patch_for(name)
        if patch is None or getattr(self._busy, "name", None) == name:
            return None
        self._busy.name = name
        try:
            for finder in sys.meta_path:
                if finder is not self and hasattr(finder, "find_spec"):
                    spec = finder.find_spec(name, path, target)
                    if spec is not None:
                        break
            else:
                return None
        finally:
            self._busy.name = None
        loader = spec.loader
        if loader is not None and hasattr(loader, "exec_module"):
            spec.loader = _Loader(loader, patch)  # type: ignore[assignment]
        return spec

    def patch_what_is_there(self) -> None:
        for name, module in list(sys.modules.items()):
            patch = self.patch_for(name)
            if patch is not None and module is not None:
                _guarded(patch)(module)


class _Loader:
    """The module's own loader, and the patch after it."""

    def __init__(self, loader: Any, patch: _Patch) -> None:
        self._loader = loader
        self._patch = patch

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        # The module is to be found with the loader it would have had without us.
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _guarded(self._patch)(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def autolog(keras: bool = True, lightning: bool = True, sklearn: bool = True, every: int = 50) -> None:
    """From here on, training with these frameworks logs by itself.

    Keras logs every metric of every epoch, Lightning whatever the module logs (of steps, every `every`th), scikit-learn
    the score on the training data, curves and the results of searches; all of them what was trained and how, as tags.
    Call it once, before or after importing the frameworks. Outside a job it prints what would be logged.

        import slipway

        slipway.autolog()
    """
    from . import _autolog_keras, _autolog_lightning, _autolog_sklearn

    global _watching
    with _lock:
        if _watching is None:
            _watching = _Watcher()
            sys.meta_path.insert(0, _watching)
        if keras:
            _watching.patches.update(_autolog_keras.PATCHES)
        if lightning:
            _autolog_lightning.EVERY = max(1, int(every))
            _watching.patches.update(_autolog_lightning.PATCHES)
        if sklearn and not _watching.prefixes:
            _watching.prefixes.append(("sklearn.", _autolog_sklearn.patch_module))
        _watching.patch_what_is_there()


def once(function: Any) -> bool:
    """Whether a method is already one of ours."""
    return bool(getattr(function, "_slipway_autolog", False))


def marked(function: Any) -> Any:
    function._slipway_autolog = True
    return function


guarded = _guarded
