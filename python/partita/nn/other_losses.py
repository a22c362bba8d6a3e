"""More losses: cells of the functions of `ops.other_losses`."""

from partita.common.tensor import Tensor
from partita.nn.loss import LossBase
from partita.ops import functional as F
from partita.ops.other_losses import require_number

__all__ = (
    "BCELoss CosineEmbeddingLoss DiceLoss HingeEmbeddingLoss HuberLoss KLDivLoss MarginRankingLoss NLLLoss SmoothL1Loss"
    " SoftMarginLoss"
).split()


class SmoothL1Loss(LossBase):
    """Squares of small differences, sizes of large ones; they meet at beta: d^2 / (2 beta) below it, else |d| - beta /
    2. Takes two tensors of one shape, gives that shape, or by `reduction` the "mean" or the "sum". Raises ValueError
    for a beta that is not above 0; a call does for shapes that differ."""

    def __init__(self, beta: float = 1.0, reduction: str = "none"):
        super().__init__(reduction)
        self.beta = require_number("SmoothL1Loss", "beta", beta, 0)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.smooth_l1_loss(logits, labels, self.beta, self.reduction)


class HuberLoss(LossBase):
    """Squares of small differences, delta times sizes of large ones: d^2 / 2 below delta, else delta (|d| - delta / 2).
    By `reduction` the "mean" or the "sum" as a number, or with "none" one of each element."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0):
        super().__init__(reduction)
        self.delta = require_number("HuberLoss", "delta", delta, 0)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.huber_loss(logits, labels, self.reduction, self.delta)


class KLDivLoss(LossBase):
    """labels (log labels - logits) of logits that are logarithms of probabilities, of one shape. By `reduction` the
    "mean" or the "sum" as a number, with "batchmean" the sum over the number of rows, or with "none" one of each
    element."""

    def __init__(self, reduction: str = "mean"):
        super().__init__("sum" if reduction == "batchmean" else reduction)
        self.reduction = reduction

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.kl_div(logits, labels, self.reduction)


class NLLLoss(LossBase):
    """-logits[label] of logits that are logarithms of probabilities [n, classes, ..]; labels are integers [n, ..], of
    which `ignore_index` does not count, and classes may have weights [classes]. Gives a number, or with the reduction
    "none" the shape of the labels. A call raises TypeError for labels that are no integers, IndexError for labels
    outside."""

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"):
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, int(ignore_index)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.nll_loss(logits, labels, self.weight, self.ignore_index, self.reduction)


class BCELoss(LossBase):
    """Binary cross entropy of probabilities with labels of their shape: a number, or with the reduction "none" one of
    each element. A call raises ValueError for numbers outside of 0 to 1, and for shapes that do not broadcast."""

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean"):
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class CosineEmbeddingLoss(LossBase):
    """How far rows that belong together point apart, and others the same way: 1 - cosine of rows whose target is 1,
    max(0, cosine - margin) of those whose target is -1. Takes (x1[n, d], x2[n, d], target[n]), gives a number, or with
    the reduction "none" [n]."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits_x1: Tensor, logits_x2: Tensor, labels: Tensor) -> Tensor:
        return F.cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, self.reduction)


class SoftMarginLoss(LossBase):
    """log(1 + exp(-label logit)) of labels that are 1 or -1."""

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.soft_margin_loss(logits, labels, self.reduction)


class MarginRankingLoss(LossBase):
    """max(0, -label (input1 - input2) + margin)."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = margin

    def construct(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class HingeEmbeddingLoss(LossBase):
    """The logits whose label is 1, max(0, margin - logit) of those whose label is -1."""

    def __init__(self, margin: float = 1.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.hinge_embedding_loss(logits, labels, self.margin, self.reduction)


class DiceLoss(LossBase):
    """1 - 2 sum(logits labels) / (sum(logits^2) + sum(labels^2) + smooth)."""

    def __init__(self, smooth: float = 1e-05):
        super().__init__()
        self.smooth = require_number("DiceLoss", "smooth", smooth, 0)

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        if logits.shape != label.shape:
            raise ValueError(f"[DiceLoss] the shapes differ, got {logits.shape} and {label.shape}, expected one")
        both = F.reduce_sum(F.mul(logits, label))
        each = F.add(F.reduce_sum(F.square(logits)), F.reduce_sum(F.square(label)))
        return F.sub(1.0, F.div(F.mul(both, 2.0), F.add(each, self.smooth)))
