"""The curve of true positives over false positives, and areas below curves."""

from __future__ import annotations

import numpy as np

from partita._names import refuse_missing
from partita.train.metrics.metric import Metric, rearrange_inputs


def _curve(scores, hits):
    """(false positives, true positives, score) for each score from which a row counts as a hit, the highest first."""
    order = np.argsort(-scores)
    scores, hits = scores[order], hits[order]
    last = np.append(np.nonzero(np.diff(scores))[0], len(scores) - 1)  # the last row of each score
    found = np.cumsum(hits)[last]
    return 1 + last - found, found, scores[last]


class ROC(Metric):
    """(false positive rates, true positive rates, thresholds) of the last batch: of one class, or lists of those of
    several."""

    def __init__(self, class_num: int | None = None, pos_label: int | None = None):
        super().__init__()
        for name, value in (("class_num", class_num), ("pos_label", pos_label)):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
                raise TypeError(f"[ROC] {name} is not an integer, got {value!r}, expected one or None")
        self.class_num, self.pos_label = class_num, pos_label
        self.clear()

    def clear(self) -> None:
        self.y_pred, self.y, self.sample_weights, self._is_update = 0, 0, None, False

    def _convert_data(self, data):
        """The array; that of float16 has its own type, also of the thresholds."""
        made = super()._convert_data(data)
        return made.astype(np.float16) if str(getattr(data, "dtype", None)).lower() == "float16" else made

    @rearrange_inputs
    def update(self, *inputs) -> None:
        """Scores and labels of one shape; or scores [rows, classes] and labels [rows] as ids, with `class_num`."""
        y_pred, y = self._arrays(inputs)
        several = y_pred.ndim == y.ndim + 1
        if not several and y_pred.ndim != y.ndim:
            raise ValueError(
                f"[ROC] labels do not fit the predictions {list(y_pred.shape)}, got {list(y.shape)}, expected the same "
                "number of dimensions, or one less"
            )
        count = y_pred.shape[1] if several else 1
        if self.class_num != count and (several or self.class_num is not None):
            raise ValueError(f"[ROC] wrong class_num for these predictions, got {self.class_num}, expected {count}")
        if several and self.pos_label is not None:
            raise ValueError(f"[ROC] each class is a label here, got pos_label={self.pos_label}, expected None")
        self.class_num = count
        if not several and self.pos_label is None:
            self.pos_label = 1
        self.y_pred = np.moveaxis(y_pred, 1, -1).reshape(-1, count) if several else y_pred.ravel()
        self.y, self._is_update = y.ravel(), True

    def _rates(self, scores, label):
        """The curve of a label. Raises ValueError if all rows are of it, or none."""
        false, true, thresholds = _curve(scores, (self.y == label).astype(np.int64))
        false, true = np.append(0, false), np.append(0, true)
        for name, count in (("other rows", false[-1]), (f"rows of label {label}", true[-1])):
            if count <= 0:
                raise ValueError(f"[ROC] there is no rate, got no {name}, expected some")
        return false / false[-1], true / true[-1], np.append(thresholds[:1] + 1, thresholds)

    def eval(self) -> tuple:
        self._require_rows(self._is_update)
        if self.class_num == 1:
            return self._rates(self.y_pred, self.pos_label)
        of_classes = [self._rates(self.y_pred[:, i], i) for i in range(self.class_num)]
        return tuple(list(one) for one in zip(*of_classes))


def auc(x: np.ndarray, y: np.ndarray, reorder: bool = False) -> float:
    """The area below the points (x, y) of arrays, by trapezoids. The x have to rise or fall; with `reorder` they are
    sorted. Raises ValueError for others, TypeError for what is no array."""
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        raise TypeError(f"[auc] not NumPy arrays, got {type(x).__name__} and {type(y).__name__}, expected two")
    for one in (x, y):
        if one.ndim != 1 and not (one.ndim == 2 and one.shape[1] == 1):
            raise ValueError(f"[auc] not a line of points, got shape {list(one.shape)}, expected one dimension")
    x, y = x.ravel(), y.ravel()
    if len(x) != len(y) or len(x) < 2:
        raise ValueError(f"[auc] bad numbers of points, got {len(x)} and {len(y)}, expected the same, from 2")
    sign = 1
    if reorder:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    elif (np.diff(x) < 0).any():
        if not (np.diff(x) <= 0).all():
            raise ValueError("[auc] x rises and falls, got both, expected one of them, or reorder=True")
        sign = -1
    return sign * np.trapz(y, x) if hasattr(np, "trapz") else sign * np.trapezoid(y, x)


__getattr__ = refuse_missing(globals())
