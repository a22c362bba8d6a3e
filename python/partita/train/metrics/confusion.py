"""Confusion matrices, and the rates that follow from them."""

from __future__ import annotations

import numpy as np

from partita._names import refuse_missing
from partita.train.metrics.metric import Metric, rearrange_inputs

_NORMS = {"target": 1, "prediction": 0, "all": None}  # the axis that adds up to 1


class ConfusionMatrix(Metric):
    """How many rows of each class (first dimension) are predicted to be of each class (second dimension)."""

    def __init__(self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5):
        super().__init__()
        if not isinstance(num_classes, int) or isinstance(num_classes, bool):
            raise TypeError(f"[ConfusionMatrix] num_classes is not an integer, got {num_classes!r}, expected one")
        if normalize != "no_norm" and normalize not in _NORMS:
            raise ValueError(
                f"[ConfusionMatrix] unknown normalize, got {normalize!r}, expected one of {['no_norm', *_NORMS]}"
            )
        if not isinstance(threshold, float):
            raise TypeError(f"[ConfusionMatrix] threshold is not a float, got {threshold!r}, expected one")
        self.num_classes, self.normalize, self.threshold = num_classes, normalize, threshold
        self.clear()

    def clear(self) -> None:
        self.confusion_matrix, self._is_update = np.zeros((self.num_classes, self.num_classes)), False

    @rearrange_inputs
    def update(self, *inputs) -> None:
        """Scores [rows, classes, ..] or ids or, of two classes, scores from 0 to 1; and labels as ids [rows, ..]."""
        y_pred, y = self._arrays(inputs)
        if y_pred.ndim not in (y.ndim, y.ndim + 1):
            raise ValueError(
                f"[ConfusionMatrix] labels do not fit the predictions {list(y_pred.shape)}, got {list(y.shape)}, "
                "expected the same number of dimensions, or one less"
            )
        if y_pred.ndim == y.ndim + 1:
            y_pred = y_pred.argmax(axis=1)
        elif y_pred.dtype.kind == "f":
            y_pred = y_pred >= self.threshold
        pairs = (y.ravel() * self.num_classes + y_pred.ravel()).astype(int)
        counts = np.bincount(pairs, minlength=self.num_classes**2)
        self.confusion_matrix += counts.reshape(self.num_classes, self.num_classes)
        self._is_update = True

    def eval(self) -> np.ndarray:
        self._require_rows(self._is_update)
        counts = self.confusion_matrix.astype(float)
        if self.normalize == "no_norm":
            return counts
        whole = counts.sum(axis=_NORMS[self.normalize], keepdims=True)
        return np.divide(counts, whole, out=np.zeros_like(counts), where=whole != 0)


def _ratio(above, below):
    """above / below, NaN where that divides by 0."""
    above, below = np.broadcast_arrays(np.asarray(above, float), np.asarray(below, float))
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)


def _prevalence(tp, fp, tn, fn):
    hit, rejected = _ratio(tp, tp + fn), _ratio(tn, tn + fp)
    return _ratio(np.sqrt(hit * (1 - rejected)) + rejected - 1, hit + rejected - 1)


# Of each name of a rate: its other names, and the rate as a function of true and false positives and negatives.
_RATES = {
    "tpr": ("sensitivity recall hit_rate true_positive_rate", lambda tp, fp, tn, fn: _ratio(tp, tp + fn)),
    "tnr": ("specificity selectivity true_negative_rate", lambda tp, fp, tn, fn: _ratio(tn, tn + fp)),
    "ppv": ("precision positive_predictive_value", lambda tp, fp, tn, fn: _ratio(tp, tp + fp)),
    "npv": ("negative_predictive_value", lambda tp, fp, tn, fn: _ratio(tn, tn + fn)),
    "fnr": ("miss_rate false_negative_rate", lambda tp, fp, tn, fn: _ratio(fn, fn + tp)),
    "fpr": ("fall_out false_positive_rate", lambda tp, fp, tn, fn: _ratio(fp, fp + tn)),
    "fdr": ("false_discovery_rate", lambda tp, fp, tn, fn: _ratio(fp, fp + tp)),
    "for": ("false_omission_rate", lambda tp, fp, tn, fn: _ratio(fn, fn + tn)),
    "pt": ("prevalence_threshold", _prevalence),
    "ts": ("threat_score critical_success_index csi", lambda tp, fp, tn, fn: _ratio(tp, tp + fn + fp)),
    "acc": ("accuracy", lambda tp, fp, tn, fn: _ratio(tp + tn, tp + fp + tn + fn)),
    "ba": ("balanced_accuracy", lambda tp, fp, tn, fn: (_ratio(tp, tp + fn) + _ratio(tn, tn + fp)) / 2),
    "f1": ("f1_score", lambda tp, fp, tn, fn: _ratio(2 * tp, 2 * tp + fn + fp)),
    "mcc": (
        "matthews_correlation_coefficient",
        lambda tp, fp, tn, fn: _ratio(
            tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        ),
    ),
    "fm": (
        "fowlkes_mallows_index",
        lambda tp, fp, tn, fn: np.sqrt(_ratio(tp, tp + fp) * _ratio(tp, tp + fn)),
    ),
    "bm": (
        "informedness bookmaker_informedness",
        lambda tp, fp, tn, fn: _ratio(tp, tp + fn) + _ratio(tn, tn + fp) - 1,
    ),
    "mk": ("markedness deltap", lambda tp, fp, tn, fn: _ratio(tp, tp + fp) + _ratio(tn, tn + fn) - 1),
}
_NAMES = {name: short for short, (others, _) in _RATES.items() for name in [short, *others.split()]}

# How the rates [rows, classes] become one number: the axes of the steps that add them up, and whether they are means.
_DECREASES = {
    "none": ((), False),
    "mean": ((1, 0), True),
    "sum": (((0, 1),), False),
    "mean_batch": ((0,), True),
    "sum_batch": ((0,), False),
    "mean_channel": ((1,), True),
    "sum_channel": ((1,), False),
}


def _decreased(rates, kind):
    """(rates that are added up, how many of them are numbers): rates that are NaN do not count."""
    counts = (~np.isnan(rates)).astype(float)
    rates = np.where(counts > 0, rates, 0.0)
    axes, is_mean = _DECREASES[kind]
    for i, axis in enumerate(axes):
        if i:
            counts = (counts > 0).astype(float)
        rates, counts = rates.sum(axis=axis), counts.sum(axis=axis)
        if is_mean:
            rates = np.divide(rates, counts, out=np.zeros_like(rates), where=counts > 0)
    return rates, counts


class ConfusionMatrixMetric(Metric):
    """A rate of true and false positives and negatives, such as "sensitivity" or "f1_score"; `calculation_method`: the
    mean of those of batches, else the rate of the counts of all rows."""

    def __init__(
        self,
        skip_channel: bool = True,
        metric_name: str = "sensitivity",
        calculation_method: bool = False,
        decrease: str = "mean",
    ):
        super().__init__()
        for name, value, kind in (
            ("skip_channel", skip_channel, bool),
            ("calculation_method", calculation_method, bool),
            ("metric_name", metric_name, str),
            ("decrease", decrease, str),
        ):
            if not isinstance(value, kind):
                raise TypeError(f"[ConfusionMatrixMetric] bad {name}, got {value!r}, expected a {kind.__name__}")
        if decrease not in _DECREASES:
            raise ValueError(
                f"[ConfusionMatrixMetric] unknown decrease, got {decrease!r}, expected one of {list(_DECREASES)}"
            )
        self.skip_channel, self.metric_name = skip_channel, metric_name
        self.calculation_method, self.decrease = calculation_method, decrease
        self.clear()

    def clear(self) -> None:
        self._total_num = self._class_num = 0
        self._counts = np.zeros(4)

    def _rate(self, counts):
        """The rate of counts [.., 4]. Raises NotImplementedError for an unknown one."""
        short = _NAMES.get(self.metric_name.replace(" ", "_").lower())
        if short is None:
            raise NotImplementedError(
                f"[ConfusionMatrixMetric] unknown metric_name, got {self.metric_name!r}, expected one of "
                f"{sorted(_NAMES)}"
            )
        return _RATES[short][1](*np.moveaxis(np.atleast_2d(counts), -1, 0))

    def _counted(self, inputs):
        """True positives, false positives, true negatives and false negatives [rows, classes, 4] of a batch."""
        y_pred, y = self._arrays(inputs)
        if not (y.astype(np.uint8) == y).all() or y_pred.ndim < 2 or y.shape != y_pred.shape:
            raise ValueError(
                f"[ConfusionMatrixMetric] labels do not fit the predictions {list(y_pred.shape)}, got "
                f"{list(y.shape)}, expected zeros and ones of that shape, [rows, classes, ..]"
            )
        if not self.skip_channel and y.shape[1] > 1:
            y_pred, y = y_pred[:, 1:], y[:, 1:]
        y_pred, y = (one.astype(float).reshape(*one.shape[:2], -1) for one in (y_pred, y))
        tp, tn = ((y_pred + y == both).sum(axis=2).astype(float) for both in (2, 0))
        positives = y.sum(axis=2)
        return np.stack([tp, y.shape[2] - positives - tn, tn, positives - tp], axis=-1)

    @rearrange_inputs
    def update(self, *inputs) -> None:
        """Predictions and labels [rows, classes, ..] as zeros and ones."""
        counts = self._counted(inputs)
        if not self.calculation_method:
            self._counts += counts.sum(axis=(0, 1))
            return
        if np.ndim(inputs[0]) == 2 or (np.ndim(inputs[0]) == 3 and np.shape(inputs[0])[-1] == 1):
            raise ValueError(
                f"[ConfusionMatrixMetric] rows of batches need more dimensions, got {list(np.shape(inputs[0]))}, "
                "expected calculation_method=False"
            )
        rates, found = _decreased(self._rate(counts), self.decrease)
        found = int(found.item())
        self._total_num += rates.item() * found
        self._class_num += found

    def eval(self):
        if not self.calculation_method:
            return self._rate(self._counts)
        self._require_rows(self._class_num)
        return self._total_num / self._class_num


__getattr__ = refuse_missing(globals())
