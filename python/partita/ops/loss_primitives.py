"""Losses as objects."""

from partita.ops import functional as F
from partita.ops.ctc import ctc_parts, sparse_ctc_loss
from partita.ops.made import op
from partita.ops.losses import reduction_of
from partita.ops.margin_losses import multilabel_margins

__all__ = (
    "BCEWithLogitsLoss BinaryCrossEntropy CTCGreedyDecoder CTCLoss CTCLossV2 MultiMarginLoss"
    " MultilabelMarginLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss"
).split()


@op
def BCEWithLogitsLoss(reduction="mean"):
    """(logits, labels, weight, pos_weight) gives the binary cross entropy."""
    reduction_of("BCEWithLogitsLoss", reduction)

    def call(input, target, weight=None, posWeight=None):
        return F.binary_cross_entropy_with_logits(input, target, weight, posWeight, reduction)

    return call


@op
def BinaryCrossEntropy(reduction="mean"):
    """(probabilities, labels, weight), which broadcast, gives the binary cross entropy: its mean, or by `reduction` its
    sum, or that of each element. Raises ValueError for another reduction, or shapes that do not broadcast."""
    reduction_of("BinaryCrossEntropy", reduction)
    return lambda input, target, weight=None: F.binary_cross_entropy(input, target, weight, reduction)


@op
def CTCGreedyDecoder(merge_repeated=True):
    """The likeliest classes of the steps of sequences: see `ctc_greedy_decoder`."""
    return lambda inputs, sequence_length: F.ctc_greedy_decoder(inputs, sequence_length, merge_repeated)


@op
def CTCLoss(
    preprocess_collapse_repeated=False, ctc_merge_repeated=True, ignore_longer_outputs_than_inputs=False
):
    """(logits[t, n, classes], places of labels [number, 2], labels, lengths) gives (losses, their gradients by the
    logits). The blank is the last class."""
    options = preprocess_collapse_repeated, ctc_merge_repeated, ignore_longer_outputs_than_inputs
    return lambda x, places, values, lengths: sparse_ctc_loss(x, places, values, lengths, *options)


@op
def CTCLossV2(blank=0, reduction="none", zero_infinity=False):
    """(log_probs[t, n, classes], targets[n, s], lengths of both) gives (losses, logs of the probabilities of the
    beginnings of paths)."""
    if reduction != "none":
        raise ValueError(f"[CTCLossV2] unknown reduction, got {reduction!r}, expected 'none'")

    def call(log_probs, targets, input_lengths, target_lengths):
        return ctc_parts("CTCLossV2", log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)[0][:2]

    return call


@op
def MultiMarginLoss(p=1, margin=1.0, reduction="mean"):
    """(x[n, classes], classes [n], weight [classes]) gives the loss: see `multi_margin_loss`. Raises ValueError for
    shapes that do not fit."""
    return lambda x, target, weight=None: F.multi_margin_loss(x, target, p, margin, weight, reduction)


@op
def MultilabelMarginLoss(reduction="mean"):
    """(x, labels) gives (the loss, whether classes are labels): see `multilabel_margin_loss`."""
    return lambda x, target: multilabel_margins("MultilabelMarginLoss", x, target, reduction)


@op
def SmoothL1Loss(beta=1.0, reduction="none"):
    """Squares of small differences of two tensors of one shape, sizes of large ones; they meet at beta. Raises
    ValueError for shapes that differ."""
    return lambda prediction, target: F.smooth_l1_loss(prediction, target, beta, reduction)


@op
def SoftMarginLoss(reduction="mean"):
    """log(1 + exp(-target input)) of targets that are 1 or -1."""
    reduction_of("SoftMarginLoss", reduction)
    return lambda input, target: F.soft_margin_loss(input, target, reduction)


@op
def TripletMarginLoss(p=2, swap=False, eps=1e-6, reduction="mean"):
    """(x, positive, negative, margin) gives the loss: see `triplet_margin_loss`."""
    return lambda x, positive, negative, margin: F.triplet_margin_loss(
        x, positive, negative, margin, p, eps, swap, reduction
    )
