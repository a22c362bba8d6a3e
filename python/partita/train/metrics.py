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


__getattr__ = refuse_missing(globals())
