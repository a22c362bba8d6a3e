"""Losses of margins, distances, distributions, overlaps and sequences, as cells."""

import math
from collections.abc import Callable, Sequence

from partita.common.tensor import Tensor
from partita.nn.loss import LossBase
from partita.nn.made import cell, cell_of
from partita.nn.other_losses import DiceLoss
from partita.nn.usual_activations import get_activation
from partita.ops import functional as F
from partita.ops.losses import reduced, reduction_of
from partita.ops.margin_losses import root
from partita.ops.other_losses import require_number


class _Loss(LossBase):
    """A loss whose reduction is one of its options."""

    def __init__(self):
        super().__init__("mean")


__all__ = (
    "CTCLoss FocalLoss GaussianNLLLoss MultiClassDiceLoss MultiLabelSoftMarginLoss MultiMarginLoss MultilabelMarginLoss"
    " PoissonNLLLoss RMSELoss SampledSoftmaxLoss TripletMarginLoss TripletMarginWithDistanceLoss"
).split()

MultilabelMarginLoss = cell_of("MultilabelMarginLoss", F.multilabel_margin_loss, 2, _Loss)
MultiLabelSoftMarginLoss = cell_of("MultiLabelSoftMarginLoss", F.multilabel_soft_margin_loss, 2, _Loss)


def loss(maker):
    return cell(maker, _Loss)


@loss
def CTCLoss(blank: int = 0, reduction: str = "mean", zero_infinity: bool = False):
    """-log of the probability of each of targets[n, s] after log_probs[t, n, classes], or of targets[s] after
    log_probs[t, classes]: see `ctc_loss`."""
    reduction_of("CTCLoss", reduction)

    def call(log_probs, targets, input_lengths, target_lengths):
        alone = log_probs.ndim == 2
        if alone:
            log_probs, targets = F.expand_dims(log_probs, 1), F.reshape(targets, [1, -1])
            input_lengths, target_lengths = (F.reshape(Tensor(one), [1]) for one in (input_lengths, target_lengths))
        options = blank, reduction, zero_infinity
        found = F.ctc_loss(log_probs, targets, input_lengths, target_lengths, *options)[0]
        return F.reshape(found, []) if alone else found

    return call


@loss
def GaussianNLLLoss(*, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
    """The negative log likelihood of normal distributions: see `gaussian_nll_loss`."""
    reduction_of("GaussianNLLLoss", reduction)
    return lambda logits, labels, var: F.gaussian_nll_loss(logits, labels, var, full, eps, reduction)


@loss
def PoissonNLLLoss(log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"):
    """exp(x) - target x, or without `log_input` x - target log(x + eps). With `full` also Stirling's approximation of
    log(target!) where the target is above 1."""
    reduction_of("PoissonNLLLoss", reduction)

    def call(input, target):
        if log_input:
            losses = F.sub(F.exp(input), F.mul(target, input))
        else:
            losses = F.sub(input, F.mul(target, F.log(F.add(input, eps))))
        if full:
            above = F.greater(target, 1.0)
            safe = F.select(above, target, F.ones_like(target))
            more = F.add(F.sub(F.mul(safe, F.log(safe)), safe), F.mul(F.log(F.mul(safe, 2 * math.pi)), 0.5))
            losses = F.add(losses, F.select(above, more, F.zeros_like(more)))
        return reduced(F.cast(losses, input.dtype), reduction)

    return call


@loss
def MultiMarginLoss(p: float = 1, margin: float = 1.0, reduction: str = "mean", weight: Tensor | None = None):
    """The mean over classes of max(0, margin - x[target] + x[other])^p: see `multi_margin_loss`."""
    reduction_of("MultiMarginLoss", reduction)

    def call(x, target, weight=weight):
        return F.multi_margin_loss(x, target, p, margin, weight, reduction)

    return call


@loss
def TripletMarginLoss(
    p: float = 2, swap: bool = False, eps: float = 1e-6, reduction: str = "mean", margin: float = 1.0
):
    """max(0, d(x, positive) - d(x, negative) + margin): see `triplet_margin_loss`."""
    reduction_of("TripletMarginLoss", reduction)

    def call(x, positive, negative, margin=margin):
        return F.triplet_margin_loss(x, positive, negative, margin, p, eps, swap, reduction)

    return call


def _euclidean(a, b):
    """The root of the sum of the squares of a - b over the second dimension."""
    return root(F.reduce_sum(F.square(F.sub(a, b)), 1))


@loss
def TripletMarginWithDistanceLoss(
    distance_function: Callable | None = None, swap: bool = False, reduction: str = "mean", margin: float = 1.0
):
    """max(0, d(x, positive) - d(x, negative) + margin), of distances that a function gives, Euclidean ones over the
    second dimension without one. With `swap` the negative counts by its distance from the positive where that is
    smaller."""
    reduction_of("TripletMarginWithDistanceLoss", reduction)
    distance = distance_function or _euclidean

    def call(x, positive, negative):
        near, far = distance(x, positive), distance(x, negative)
        if swap:
            far = F.minimum(far, distance(positive, negative))
        return reduced(F.maximum(F.add(F.sub(near, far), float(margin)), 0.0), reduction)

    return call


@loss
def RMSELoss():
    """The root of the mean of (logits - label)^2."""
    return lambda logits, label: F.sqrt(F.mse_loss(logits, label))


@loss
def FocalLoss(weight: Tensor | None = None, gamma: float = 2.0, reduction: str = "mean"):
    """-(1 - p)^gamma log(p), p the softmax of logits x[n, c, ..] at the class, times the weight of the class, as a mean
    over the places of a sample; labels are classes [n, 1, ..], or a number for each class: T. Lin et al., Focal loss
    for dense object detection, 2017."""
    require_number("FocalLoss", "gamma", gamma)
    reduction_of("FocalLoss", reduction)
    if weight is not None and (not isinstance(weight, Tensor) or weight.ndim != 1):
        raise TypeError(f"[FocalLoss] the weights are no row, got {weight!r}, expected a Tensor of one dimension")

    def call(logits, labels):
        n, c = logits.shape[:2]
        if labels.ndim != logits.ndim or labels.shape[1] not in (1, c):
            raise ValueError(
                f"[FocalLoss] the shapes do not fit, got {logits.shape} and {labels.shape}, expected one class, or a "
                "number for each"
            )
        logs = F.log_softmax(F.reshape(logits, [n, c, -1]), 1)
        wanted = F.reshape(labels, [n, labels.shape[1], -1])
        if labels.shape[1] == 1:
            wanted = F.swapaxes(F.one_hot(F.reshape(wanted, [n, -1]), c, 1.0, 0.0), 1, 2)
        losses = F.mul(F.mul(F.pow(F.sub(1.0, F.exp(logs)), float(gamma)), logs), wanted)
        losses = losses if weight is None else F.mul(losses, F.reshape(weight, [1, c, 1]))
        return reduced(F.neg(F.reduce_mean(F.reduce_sum(losses, 1), -1)), reduction)

    return call


@loss
def MultiClassDiceLoss(
    weights: Tensor | None = None, ignore_indiex: int | None = None, activation: str | Callable = "softmax"
):
    """The mean over classes of `DiceLoss` of logits x[n, c, ..], after an activation, and labels of this shape. The
    class `ignore_indiex` counts 0."""
    after, dice = get_activation(activation.lower() if isinstance(activation, str) else activation), DiceLoss(1e-5)

    def call(logits, label):
        if logits.shape != label.shape:
            raise ValueError(f"[MultiClassDiceLoss] the shapes differ, got {logits.shape} and {label.shape}")
        found = logits if after is None else after(logits)
        total = None
        for k in range(label.shape[1]):
            if k == ignore_indiex:
                continue
            own = dice(found[:, k], label[:, k])
            own = own if weights is None else F.mul(own, weights[k])
            total = own if total is None else F.add(total, own)
        return F.div(total, float(label.shape[1]))

    return call


@loss
def SampledSoftmaxLoss(
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sequence[Tensor] | None = None,
    remove_accidental_hits: bool = True,
    seed: int = 0,
    reduction: str = "none",
):
    """The softmax cross entropy of the true class among classes that were drawn: S. Jean et al., On using very large
    target vocabulary for neural machine translation, 2015. `sampled_values` are (classes, expected counts of the true
    ones, and of those)."""
    reduction_of("SampledSoftmaxLoss", reduction)
    if sampled_values is None:
        raise NotImplementedError(
            "[SampledSoftmaxLoss] classes are not drawn here, got no sampled_values, expected (classes, expected counts"
            " of true ones, expected counts), or CrossEntropyLoss"
        )
    if not isinstance(sampled_values, (tuple, list)) or len(sampled_values) != 3:
        raise ValueError("[SampledSoftmaxLoss] bad sampled_values, got others than three tensors, expected three")
    if num_true != 1:
        raise NotImplementedError(f"[SampledSoftmaxLoss] several true classes, got num_true={num_true}, expected 1")
    drawn, true_counts, counts = sampled_values

    def call(weights, biases, labels, logits):
        ids = F.reshape(labels, [-1])
        own = F.reduce_sum(F.mul(logits, F.gather(weights, ids, 0)), -1, True)
        own = F.add(own, F.reshape(F.gather(biases, ids, 0), [-1, 1]))
        others = F.add(F.matmul(logits, F.gather(weights, drawn, 0), False, True), F.gather(biases, drawn, 0))
        own = F.sub(own, F.log(F.reshape(true_counts, [-1, 1])))
        others = F.sub(others, F.log(counts))
        if remove_accidental_hits:
            hits = F.equal(F.reshape(ids, [-1, 1]), F.reshape(drawn, [1, -1]))
            others = F.sub(others, F.mul(F.cast(hits, others.dtype), 3.4028235e38 / 2))
        scores = F.concat([own, others], 1)
        return reduced(F.neg(F.log_softmax(scores, -1)[:, 0]), reduction)

    return call
