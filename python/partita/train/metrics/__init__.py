"""Metrics of evaluations. `Model.eval` has the library measure accuracies and losses. It calls other metrics, and those
of scripts, with the results of each batch. `update` and `eval` are also for loops of one's own."""

from __future__ import annotations

from partita._names import refuse_missing
from partita.train.metrics.classes import (
    Accuracy,
    F1,
    Fbeta,
    Precision,
    Recall,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
)
from partita.train.metrics.confusion import ConfusionMatrix, ConfusionMatrixMetric
from partita.train.metrics.curves import ROC, auc
from partita.train.metrics.errors import MAE, MSE, BleuScore, CosineSimilarity, Dice, Loss, Perplexity
from partita.train.metrics.metric import EvaluationBase, Metric, rearrange_inputs  # noqa: F401
from partita.train.metrics.occlusion import OcclusionSensitivity
from partita.train.metrics.surfaces import HausdorffDistance, MeanSurfaceDistance, RootMeanSquareDistance

_BY_NAME = {
    "F1": F1,
    "acc": Accuracy,
    "accuracy": Accuracy,
    "auc": auc,
    "bleu_score": BleuScore,
    "confusion_matrix": ConfusionMatrix,
    "confusion_matrix_metric": ConfusionMatrixMetric,
    "cosine_similarity": CosineSimilarity,
    "dice": Dice,
    "hausdorff_distance": HausdorffDistance,
    "loss": Loss,
    "mae": MAE,
    "mean_surface_distance": MeanSurfaceDistance,
    "mse": MSE,
    "occlusion_sensitivity": OcclusionSensitivity,
    "perplexity": Perplexity,
    "precision": Precision,
    "recall": Recall,
    "roc": ROC,
    "root_mean_square_distance": RootMeanSquareDistance,
    "top_1_accuracy": Top1CategoricalAccuracy,
    "top_5_accuracy": Top5CategoricalAccuracy,
    "topk": TopKCategoricalAccuracy,
}
_OTHERS = {"Fbeta", "Metric", "get_metric_fn", "names", "rearrange_inputs"}
__all__ = sorted({one.__name__ for one in _BY_NAME.values()} | _OTHERS)


def names() -> list[str]:
    """The names that `get_metric_fn` knows."""
    return sorted(_BY_NAME)


def get_metric_fn(name: str, *args, **kwargs) -> Metric:
    """A metric by its name, such as "accuracy", "loss" or "F1"; `names()` lists them. Other arguments are those of its
    class. Raises KeyError for an unknown name."""
    if name not in _BY_NAME:
        raise KeyError(f"[metrics] unknown metric, got {name!r}, expected one of {names()}")
    return _BY_NAME[name](*args, **kwargs)


def get_metrics(metrics: dict | set | list | None):
    """Metrics by their names: of a set or list of names, or of a dict that has them already. None gives None."""
    if metrics is None:
        return None
    if isinstance(metrics, dict):
        for name, one in metrics.items():
            if not isinstance(name, str) or not isinstance(one, Metric):
                raise TypeError(
                    f"[get_metrics] no metric, got {name!r}: {type(one).__name__}, expected a Metric by name"
                )
        return metrics
    if not isinstance(metrics, (set, list, tuple)):
        raise TypeError(f"[get_metrics] bad metrics, got {type(metrics).__name__}, expected a set, list or dict")
    return {name: get_metric_fn(name) for name in metrics}


def measured_of(metric):
    """The name of a measurement of the library that stands for a metric: a loss or an accuracy. None for a metric that
    has to be called: it computes something else, chooses its inputs, or a script changed its methods."""
    kind = type(metric)
    methods = [getattr(kind, name).__module__ for name in ("clear", "update", "eval")]
    own = any(not name.startswith("partita.") for name in methods) or metric.indexes is not None
    return None if own else metric.measured


__getattr__ = refuse_missing(globals())
