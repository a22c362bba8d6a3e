"""Losses."""

from partita import _core, _trace
from partita._warnings import warn
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.ops import functional as F


class LossBase(Cell):
    """The base of losses: `get_loss` reduces the losses of elements to their mean, their sum, or not at all."""

    def __init__(self, reduction="mean"):
        super().__init__()
        if reduction is None:
            reduction = "none"
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(
                f"[{type(self).__name__}] unknown reduction, got {reduction!r}, expected mean, sum or none"
            )
        self.reduction = reduction

    def get_loss(self, x, weights=1.0):
        x = x if isinstance(weights, float) and weights == 1.0 else F.mul(x, weights)
        if self.reduction == "none":
            return x
        return F.reduce_mean(x) if self.reduction == "mean" else F.reduce_sum(x)

    def construct(self, logits, labels):
        raise NotImplementedError


_Loss = LossBase


def _differences(logits, labels):
    """logits - labels, broadcast. Logits [n, 1] and labels [n] make all pairs of samples: of those that the documented
    system has on one device at a time, which are the rows of one rank and micro-batch."""
    build = _trace.current()
    if build is None or build.groups == 1 or logits.ndim != 2 or logits.shape != (*labels.shape, 1):
        return F.sub(logits, labels)
    warn(
        f"[loss] labels {labels.shape} for logits {logits.shape} compare each sample with all others of its rank and "
        "micro-batch"
    )
    rows = labels.shape[0] // build.groups
    return F.sub(F.reshape(logits, [build.groups, rows, 1]), F.reshape(labels, [build.groups, 1, rows]))


class MSELoss(LossBase):
    """(logits - labels)^2."""

    def construct(self, logits, labels):
        return self.get_loss(F.square(_differences(logits, labels)))


class MAELoss(LossBase):
    """|logits - labels|."""

    def construct(self, logits, labels):
        return self.get_loss(F.abs(_differences(logits, labels)))


L1Loss = MAELoss


class BCEWithLogitsLoss(LossBase):
    """Binary cross entropy of logits with labels in [0, 1]; `pos_weight` counts positive labels more or less."""

    def __init__(self, reduction="mean", weight=None, pos_weight=None):
        super().__init__(reduction)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, logits, labels):
        if self.pos_weight is None:
            losses = F.run(lambda trace, a, b: _core.functions.binary_cross_entropy(a, b), logits, labels)
        else:
            factor = F.add(F.mul(labels, F.sub(self.pos_weight, 1.0)), 1.0)
            losses = F.add(F.mul(F.sub(1.0, labels), logits), F.mul(factor, F.softplus(F.neg(logits))))
        return self.get_loss(losses, 1.0 if self.weight is None else self.weight)


def _is_classes(labels):
    return not mstype.is_float(labels.dtype)


class SoftmaxCrossEntropyWithLogits(LossBase):
    """Softmax cross entropy of logits[n, classes] with classes (sparse) or one-hot labels, which have no gradient."""

    def __init__(self, sparse=False, reduction="none"):
        super().__init__(reduction)
        self.sparse = bool(sparse)

    def construct(self, logits, labels):
        if self.sparse and not _is_classes(labels):
            raise TypeError(
                f"[SoftmaxCrossEntropyWithLogits] labels are no classes, got {labels.dtype}, expected integers"
            )
        if self.sparse and self.reduction == "mean":
            return F.run(lambda trace, a, b: _core.functions.build_loss("sparse", a, b, None), logits, labels)
        kind = "sparse" if self.sparse else "dense"
        labels = F.stop_gradient(labels)
        return self.get_loss(F.run(lambda trace, a, b: _core.functions.sample_losses(kind, a, b), logits, labels))


class CrossEntropyLoss(LossBase):
    """Softmax cross entropy of logits[n, classes] with classes, of which one may not count, or with probabilities.
    Classes may have weights; the mean is over the weights of the samples that count, and NaN where none does."""

    def __init__(self, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
        super().__init__(reduction)
        if weight is not None and not isinstance(weight, Tensor):
            raise TypeError(f"[CrossEntropyLoss] the weights are no tensor, got {type(weight).__name__}, expected one")
        if not 0 <= label_smoothing <= 1:
            raise ValueError(f"[CrossEntropyLoss] label_smoothing out of range, got {label_smoothing}, expected 0 to 1")
        self.weight = weight
        self.ignore_index, self.label_smoothing = int(ignore_index), float(label_smoothing)

    def construct(self, logits, labels):
        if self.weight is not None and self.weight.shape != (logits.shape[1 if logits.ndim > 1 else 0],):
            raise ValueError(
                f"[CrossEntropyLoss] weights of another number of classes, got {self.weight.shape} for logits of shape "
                f"{logits.shape}, expected one for each class"
            )
        if logits.ndim > 2:  # [n, c, d..] -> [n, d.., c]
            logits = F.transpose(logits, [0, *range(2, logits.ndim), 1])
            if not _is_classes(labels):
                labels = F.transpose(labels, [0, *range(2, labels.ndim), 1])
        if not _is_classes(labels):
            return self.get_loss(self._of_probabilities(logits, labels))
        counts = F.not_equal(labels, self.ignore_index)
        is_plain = self.weight is None and self.label_smoothing == 0.0
        counted = F.cast(counts, mstype.float64 if logits.dtype == mstype.float64 else mstype.float32)
        if is_plain and self.reduction == "mean":
            number = F.reduce_sum(counted)
            loss = F.run(
                lambda trace, a, b: _core.functions.build_loss("sparse", a, b, self.ignore_index), logits, labels
            )
            return F.add(loss, F.div(F.mul(number, 0.0), number))  # 0, or 0 / 0
        classes = F.select(counts, labels, Tensor(0, labels.dtype))
        if is_plain:
            losses = F.run(lambda trace, a, b: _core.functions.sample_losses("sparse", a, b), logits, classes)
        else:
            losses = self._of_probabilities(logits, F.one_hot(classes, logits.shape[-1], 1.0, 0.0))
        losses = F.mul(losses, counted)
        if self.reduction != "mean":
            return self.get_loss(losses)
        shares = counted if self.weight is None else F.mul(F.gather(self.weight, classes, 0), counted)
        total = F.reduce_sum(shares)
        divisor = F.select(F.equal(total, 0.0), Tensor(1.0, total.dtype), total)
        return F.add(F.div(F.reduce_sum(losses), divisor), F.div(F.mul(total, 0.0), total))

    def _of_probabilities(self, logits, labels):
        """The losses of samples whose labels are a probability for each class."""
        smooth, classes = self.label_smoothing, logits.shape[-1]
        if smooth:
            labels = F.add(F.mul(labels, 1.0 - smooth), smooth / classes)
        if self.weight is not None:
            labels = F.mul(labels, self.weight)
        return F.neg(F.reduce_sum(F.mul(F.log_softmax(logits), labels), -1))
