"""Metrics of evaluations. Model.eval has the library measure them; `update` and `eval` are for your own loops."""

import numpy as np

from partita._names import refuse_missing
from partita.common.tensor import Tensor


def _array(value):
    return value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)


class Metric:
    """The base; `measured` is what the library measures for it."""

    measured = None

    def clear(self):
        self._sum, self._count = 0.0, 0

    def __init__(self):
        self.clear()

    def eval(self):
        """The mean over what `update` was given."""
        if self._count == 0:
            raise RuntimeError(f"[{type(self).__name__}] nothing to measure, got no rows, expected update before")
        return self._sum / self._count


class TopKCategoricalAccuracy(Metric):
    """The share of rows whose label is among the k largest logits."""

    def __init__(self, k):
        if not isinstance(k, int) or isinstance(k, bool) or k < 1:
            raise ValueError(f"[{type(self).__name__}] bad k, got {k!r}, expected an integer from 1")
        super().__init__()
        self.k = k
        self.measured = {1: "accuracy", 5: "top_accuracy"}.get(k)

    def update(self, *inputs):
        """Logits [rows, classes], and labels as ids or one-hot rows."""
        logits, labels = (_array(one) for one in inputs)
        labels = labels.argmax(-1) if labels.ndim == logits.ndim else labels
        largest = np.argsort(-logits, axis=-1, kind="stable")[..., : self.k]
        self._sum += int((largest == labels[..., None]).any(-1).sum())
        self._count += labels.size


class Accuracy(TopKCategoricalAccuracy):
    """The share of rows whose label has the largest logit."""

    def __init__(self, eval_type="classification"):
        if eval_type != "classification":
            raise NotImplementedError(
                f"[Accuracy] this evaluation is not supported, got {eval_type!r}, expected 'classification'"
            )
        super().__init__(1)


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    def __init__(self):
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    def __init__(self):
        super().__init__(5)


class Loss(Metric):
    """The mean loss."""

    measured = "loss"

    def update(self, *inputs):
        self._sum += float(_array(inputs[0]).mean())
        self._count += 1


_BY_NAME = {
    "accuracy": Accuracy,
    "acc": Accuracy,
    "loss": Loss,
    "top_1_accuracy": Top1CategoricalAccuracy,
    "top_5_accuracy": Top5CategoricalAccuracy,
}


def names():
    """The names that `get_metrics` knows."""
    return list(_BY_NAME)


def get_metric_fn(name, *args, **kwargs):
    """A metric by its name. Raises KeyError for an unknown one."""
    if name not in _BY_NAME:
        raise KeyError(f"[metrics] unknown metric, got {name!r}, expected one of {names()}")
    return _BY_NAME[name](*args, **kwargs)


def get_metrics(metrics):
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


__getattr__ = refuse_missing(globals())
