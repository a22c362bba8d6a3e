"""The base of metrics, and checks that they share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from partita._described import Described
from partita._names import refuse_missing
from partita.common import dtype as mstype
from partita.common.tensor import Tensor

_HALVES = (mstype.float16, mstype.bfloat16)
_KINDS = ("classification", "multilabel")


def rearrange_inputs(func: Callable):
    """Decorates an `update` of a metric: it gets the inputs whose numbers `set_indexes` was given, in that order."""

    @functools.wraps(func)
    def update(self, *inputs):
        indexes = self.indexes
        return func(self, *([inputs[i] for i in indexes] if indexes else inputs))

    return update


class Metric(Described):
    """The base of metrics: `clear` begins, `update` takes the results of a batch, `eval` gives the metric of all
    batches. A call does the three for one batch. `measured` is what the library measures in place of the metric."""

    measured = None

    def __init__(self):
        self._indexes = None

    def _convert_data(self, data):
        """The array of a tensor, a list or an array; of floats of 16 bits as float32, so that sums of many do not
        overflow. Raises TypeError for anything else."""
        if isinstance(data, Tensor):
            return data.astype(mstype.float32).asnumpy() if data.dtype in _HALVES else data.asnumpy()
        if isinstance(data, list):
            return np.array(data)
        if isinstance(data, np.ndarray):
            return data.astype(np.float32) if data.dtype == np.float16 else data
        raise TypeError(
            f"[{type(self).__name__}] cannot be measured, got {type(data).__name__}, expected a Tensor, a list or a "
            "NumPy array"
        )

    @property
    def indexes(self):
        """The numbers of the inputs that `update` gets, or None."""
        return getattr(self, "_indexes", None)

    def set_indexes(self, indexes: list[int]) -> Metric:
        """Chooses the inputs of `update` by their numbers, and returns the metric. Raises ValueError unless these are a
        list of integers."""
        if not isinstance(indexes, list) or not all(isinstance(one, int) for one in indexes):
            raise ValueError(f"[{type(self).__name__}] bad indexes, got {indexes!r}, expected a list of integers")
        self._indexes = indexes
        return self

    def __call__(self, *inputs):
        self.clear()
        self.update(*inputs)
        return self.eval()

    def _of_class(self, name):
        raise NotImplementedError(
            f"[{type(self).__name__}] a metric has methods clear, update and eval of its own, got none of name {name}, "
            f"expected def {name}(self)"
        )

    def clear(self) -> None:
        self._of_class("clear")

    def update(self, *inputs) -> None:
        self._of_class("update")

    def eval(self):
        self._of_class("eval")

    def _arrays(self, inputs, count=2):
        """The inputs as arrays. Raises ValueError for another number of them."""
        if len(inputs) != count:
            raise ValueError(
                f"[{type(self).__name__}] wrong number of inputs, got {len(inputs)}, expected {count}: "
                + ("the prediction and the label" if count == 2 else "the loss" if count == 1 else "as documented")
            )
        return [self._convert_data(one) for one in inputs]

    def _require_rows(self, count):
        """Raises RuntimeError if nothing was measured since `clear`."""
        if not count:
            raise RuntimeError(f"[{type(self).__name__}] nothing to measure, got no rows, expected update before")


def is_one_hot(labels):
    """Whether labels [rows, classes, ..] are zeros with a single one along the classes."""
    if labels.ndim < 2 or not ((labels == 0) | (labels == 1)).all():
        return False
    return bool((labels.sum(axis=1) == 1).all())


def ids_of(prediction, labels):
    """Labels as ids: those that come as one-hot rows by the numbers of their classes."""
    return labels.argmax(axis=1) if prediction.ndim == labels.ndim and is_one_hot(labels) else labels


class EvaluationBase(Metric):
    """The base of metrics of classes: one class a row ("classification"), or any number of them ("multilabel")."""

    def __init__(self, eval_type: str):
        super().__init__()
        if eval_type not in _KINDS:
            raise TypeError(
                f"[{type(self).__name__}] unknown eval_type, got {eval_type!r}, expected one of {list(_KINDS)}"
            )
        self._type = eval_type

    def _check_shape(self, y_pred, y):
        """Raises ValueError unless labels fit the predictions."""
        of_classes = self._type == "classification"
        expected = y_pred.shape[:1] + y_pred.shape[2:] if of_classes else y_pred.shape
        if y.shape != expected or (of_classes and y_pred.ndim < 2):
            raise ValueError(
                f"[{type(self).__name__}] labels do not fit the predictions {list(y_pred.shape)}, got {list(y.shape)}, "
                f"expected {list(expected)}" + (": ids, or one-hot rows" if of_classes else "")
            )

    def _check_value(self, y_pred, y):
        """Raises ValueError for several labels that are other than 0 and 1."""
        if self._type == "classification":
            return
        if not all(((one == 0) | (one == 1)).all() for one in (y_pred, y)):
            raise ValueError(
                f"[{type(self).__name__}] multilabel values are 0 or 1, got others, expected predictions and labels "
                "that are rounded"
            )

    def _check_classes(self, y_pred):
        """Notes the number of classes. Raises ValueError if it changes."""
        count = y_pred.shape[1]
        if self._class_num not in (0, count):
            raise ValueError(
                f"[{type(self).__name__}] the number of classes changed, got {count}, expected {self._class_num}"
            )
        self._class_num = count

    def _checked(self, inputs):
        """(predictions, labels) of a batch: ids of classes, or zeros and ones."""
        y_pred, y = self._arrays(inputs)
        if self._type == "classification":
            y = ids_of(y_pred, y)
        self._check_shape(y_pred, y)
        self._check_value(y_pred, y)
        self._check_classes(y_pred)
        return y_pred, y

    def _hot(self, y_pred, y):
        """Predictions and labels that are ids, as one-hot rows [rows, classes]."""
        if y.size and y.max() >= self._class_num:
            raise ValueError(
                f"[{type(self).__name__}] a label is no class, got {y.max()}, expected 0 to {self._class_num - 1}"
            )
        rows = np.eye(self._class_num)
        return rows[y_pred.argmax(axis=1).reshape(-1)], rows[y.reshape(-1).astype(int)]


__getattr__ = refuse_missing(globals())
