"""Metrics of classes: accuracies, precision, recall and their means."""

from __future__ import annotations

import sys

import numpy as np

from partita._names import refuse_missing
from partita.train.metrics.metric import EvaluationBase, Metric, ids_of, rearrange_inputs


class Accuracy(EvaluationBase):
    """The share of rows whose label has the largest logit or, with `eval_type="multilabel"`, whose labels are all
    right. `update(logits, labels)` takes logits [rows,classes,..], and labels as ids [rows,..] or one-hot rows. Raises
    RuntimeError for `eval` before a row."""

    def __init__(self, eval_type: str = "classification"):
        super().__init__(eval_type)
        self.measured = "accuracy" if eval_type == "classification" else None
        self.clear()

    def clear(self) -> None:
        self._correct_num = self._total_num = self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs) -> None:
        """Logits [rows, classes, ..], and labels as ids [rows, ..] or one-hot rows."""
        y_pred, y = self._checked(inputs)
        if self._type == "classification":
            right = (y_pred.argmax(axis=1) == y).reshape(-1)
        else:
            right = (y_pred == y).swapaxes(1, y_pred.ndim - 1).reshape(-1, self._class_num).all(axis=1)
        self._correct_num += right.sum()
        self._total_num += right.size

    def eval(self) -> float:
        self._require_rows(self._total_num)
        return self._correct_num / self._total_num


class TopKCategoricalAccuracy(Metric):
    """The share of rows whose label is among the k largest logits. `update(logits, labels)` takes logits
    [rows,classes], and labels as ids [rows] or one-hot rows. Raises TypeError or ValueError unless `k` is an integer
    from 1."""

    def __init__(self, k: int):
        super().__init__()
        if not isinstance(k, int) or isinstance(k, bool):
            raise TypeError(f"[{type(self).__name__}] k is not an integer, got {k!r}, expected one from 1")
        if k < 1:
            raise ValueError(f"[{type(self).__name__}] bad k, got {k!r}, expected an integer from 1")
        self.k = k
        self.measured = {1: "accuracy", 5: "top_accuracy"}.get(k)
        self.clear()

    def clear(self) -> None:
        self._correct_num = self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs) -> None:
        """Logits [rows, classes], and labels as ids or one-hot rows."""
        y_pred, y = self._arrays(inputs)
        y = ids_of(y_pred, y).reshape(-1, 1)
        largest = np.argsort(-y_pred, axis=1)[:, : self.k]
        self._correct_num += (largest == y).sum()
        self._samples_num += y.shape[0]

    def eval(self) -> float:
        self._require_rows(self._samples_num)
        return self._correct_num / self._samples_num


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """The share of rows whose label has the largest logit; see TopKCategoricalAccuracy."""

    def __init__(self):
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """The share of rows whose label is among the five largest logits; see TopKCategoricalAccuracy."""

    def __init__(self):
        super().__init__(5)


_TINY = sys.float_info.min  # what keeps counts of 0 from dividing by 0


class _Ratio(EvaluationBase):
    """True positives over a count of rows, for each class."""

    def __init__(self, eval_type: str = "classification"):
        super().__init__(eval_type)
        self.eps = _TINY
        self.clear()

    def clear(self) -> None:
        self._class_num = 0
        several = self._type == "multilabel"
        self._true_positives = np.empty(0) if several else 0
        self._counted = np.empty(0) if several else 0

    @staticmethod
    def _count_of(y_pred, y):
        """The zeros and ones whose sum divides the true positives."""
        raise NotImplementedError

    @rearrange_inputs
    def update(self, *inputs) -> None:
        """Logits [rows, classes, ..] with labels as ids or one-hot rows; or, of several labels, zeros and ones."""
        y_pred, y = self._checked(inputs)
        several = self._type == "multilabel"
        if several:
            y_pred, y = (one.swapaxes(1, 0).reshape(self._class_num, -1) for one in (y_pred, y))
        else:
            y_pred, y = self._hot(y_pred, y)
        right, counted = (y * y_pred).sum(axis=0), self._count_of(y_pred, y).sum(axis=0)
        if several:  # one ratio for each row
            right = np.concatenate((self._true_positives, right))
            counted = np.concatenate((self._counted, counted))
            self._true_positives, self._counted = right, counted
        else:
            self._true_positives, self._counted = self._true_positives + right, self._counted + counted

    def eval(self, average: bool = False) -> float | np.ndarray:
        """The ratio of each class, or their mean. Of several labels it is one of each row."""
        self._require_rows(self._class_num)
        require_bool(self, average)
        ratios = self._true_positives / (self._counted + self.eps)
        return ratios.mean() if average else ratios


def require_bool(metric, average):
    """Raises TypeError unless `average` is a bool."""
    if not isinstance(average, bool):
        raise TypeError(f"[{type(metric).__name__}] average is not a bool, got {average!r}, expected True or False")


class Precision(_Ratio):
    """The share of the rows predicted to be of a class that are of it: `update(logits, labels)` takes logits [rows,
    classes, ..], and labels as ids [rows, ..] or one-hot rows; `eval` gives one number for each class, with `average`
    their mean. Raises RuntimeError for `eval` before a row."""

    @staticmethod
    def _count_of(y_pred, y):
        return y_pred


class Recall(_Ratio):
    """The share of the rows of a class that are predicted to be of it: `update(logits, labels)` takes logits [rows,
    classes, ..], and labels as ids [rows, ..] or one-hot rows; `eval` gives one number for each class, with `average`
    their mean. Raises RuntimeError for `eval` before a row."""

    @staticmethod
    def _count_of(y_pred, y):
        return y


class Fbeta(EvaluationBase):
    """(1 + beta^2) precision recall / (beta^2 precision + recall), for each class, or with `eval(True)` their mean.
    `update(logits, labels)` takes logits [rows, classes, ..], and labels as ids [rows, ..] or one-hot rows. Raises
    ValueError for a beta that is not above 0."""

    def __init__(self, beta: float):
        super().__init__("classification")
        if not beta > 0:
            raise ValueError(f"[{type(self).__name__}] bad beta, got {beta!r}, expected a number above 0")
        self.beta, self.eps = beta, _TINY
        self.clear()

    def clear(self) -> None:
        self._true_positives = self._actual_positives = self._positives = self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs) -> None:
        """Logits [rows, classes, ..], and labels as ids or one-hot rows."""
        y_pred, y = self._hot(*self._checked(inputs))
        self._true_positives += (y * y_pred).sum(axis=0)
        self._positives += y_pred.sum(axis=0)
        self._actual_positives += y.sum(axis=0)

    def eval(self, average: bool = False) -> float | np.ndarray:
        require_bool(self, average)
        self._require_rows(self._class_num)
        square = self.beta**2
        below = square * self._actual_positives + self._positives + self.eps
        values = (1 + square) * self._true_positives / below
        return values.mean() if average else values


class F1(Fbeta):
    """The harmonic mean of precision and recall, for each class, or with `eval(True)` their mean; see `Fbeta`."""

    def __init__(self):
        super().__init__(1.0)


__getattr__ = refuse_missing(globals())
