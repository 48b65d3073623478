"""scikit-learn: every estimator's `fit`, the outermost of those that call each other."""

import functools
import inspect
import threading
from typing import Any, Dict

from . import _injob
from ._autolog import guarded, marked, once
from ._metrics import is_number

_MOST_PARAMETERS = 50
_active = threading.Lock()  # held while a fit is logged: those inside it, in whatever thread, are its parts


def patch_module(module: Any) -> None:
    """Wraps the `fit` of the estimators that a module of scikit-learn defines."""
    for found in list(vars(module).values()):
        if not inspect.isclass(found) or found.__module__ != module.__name__:
            continue
        fit = found.__dict__.get("fit")
        if inspect.isfunction(fit) and hasattr(found, "get_params") and not once(fit):
            found.fit = _logged(fit)  # type: ignore[attr-defined]


def _logged(original: Any) -> Any:
    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _active.acquire(False):
            return original(self, *args, **kwargs)
        try:
            fitted = original(self, *args, **kwargs)
            data = args[0] if args else kwargs.get("X")
            target = args[1] if len(args) > 1 else kwargs.get("y")
            _report(self, data, target)
            return fitted
        finally:
            _active.release()

    return marked(fit)


@guarded
def _report(estimator: Any, data: Any, target: Any) -> None:
    parameters = estimator.get_params(deep=False)
    tags = {"sklearn/class": type(estimator).__name__}
    for name, value in list(parameters.items())[:_MOST_PARAMETERS]:
        tags[f"sklearn/{name}"] = str(value)[:200]
    _injob.tag(tags)
    metrics: Dict[str, Any] = {}
    if target is not None and hasattr(estimator, "score"):
        metrics["training_score"] = estimator.score(data, target)
    for attribute in ("best_score_", "inertia_", "n_iter_", "oob_score_"):
        value = getattr(estimator, attribute, None)
        if is_number(value):
            metrics[attribute.rstrip("_")] = value
    if metrics:
        _injob.log(metrics, step=0)
    _report_curves(estimator)
    _report_search(estimator)


def _report_curves(estimator: Any) -> None:
    for attribute, name in (
        ("loss_curve_", "loss"),
        ("validation_scores_", "validation_score"),
        ("train_score_", "train_score"),
    ):
        values = getattr(estimator, attribute, None)
        for step, value in enumerate(values if values is not None else ()):
            _injob.log({name: value}, step=step)


def _report_search(search: Any) -> None:
    """What a search over parameters found, candidate by candidate."""
    results = getattr(search, "cv_results_", None)
    if not isinstance(results, dict):
        return
    from .recording import log_table

    wanted = [name for name in results if name in ("mean_test_score", "std_test_score", "rank_test_score")]
    table = {name: list(results[name]) for name in wanted}
    table["params"] = [str(parameters) for parameters in results["params"]]
    log_table("cv_results", table)
    _injob.tag({f"sklearn/best/{name}": value for name, value in search.best_params_.items()})
