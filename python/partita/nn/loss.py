"""Losses."""

from partita import _later
from partita._described import options_text
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.layer_primitives import LayerPrimitive, strategy_of
from partita.ops import functional as F
from partita.ops import losses
from partita.ops import primitives as P


class LossBase(Cell):
    """The base of losses: `get_loss` reduces the losses of elements, times weights, to their mean, their sum, or not at
    all ("none"). Raises ValueError for another reduction."""

    _keeps_digits = True

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        self.reduction = losses.reduction_of(type(self).__name__, reduction)
        self.reduce, self.average = self.reduction != "none", self.reduction != "sum"
        self.reduce_mean, self.reduce_sum, self.mul, self.cast = P.ReduceMean(), P.ReduceSum(), P.Mul(), P.Cast()

    def get_loss(self, x: Tensor, weights: Tensor | float = 1.0) -> Tensor:
        """The losses of elements times weights, reduced: a number without dimensions, or with the reduction "none" the
        shape of x."""
        return losses.reduced(x, self.reduction, weights)

    def extend_repr(self):
        """The options that have not their defaults."""
        return options_text(self, ("",))

    def get_axis(self, x: Tensor) -> tuple[int, ...]:
        """The dimensions of a tensor."""
        return tuple(range(x.ndim))

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        raise NotImplementedError


_Loss = LossBase


class MSELoss(LossBase):
    """(logits - labels)^2, of shapes that broadcast: by `reduction` the "mean" or the "sum" as a number without
    dimensions, or with "none" one of each element. Raises ValueError for another reduction; a call does for shapes that
    do not broadcast."""

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return self.get_loss(losses.squared_errors(logits, labels))


class MAELoss(LossBase):
    """|logits - labels|, of shapes that broadcast: by `reduction` the "mean" or the "sum" as a number without
    dimensions, or with "none" one of each element. Raises ValueError for another reduction; a call does for shapes that
    do not broadcast."""

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return self.get_loss(losses.absolute_errors(logits, labels))


L1Loss = MAELoss


class BCEWithLogitsLoss(LossBase):
    """Binary cross entropy of logits with labels in [0, 1] of their shape; `weight` multiplies losses, `pos_weight`
    counts positive labels more or less. Gives a number, or with the reduction "none" the shape of the logits. Raises
    ValueError for another reduction; a call does for shapes that do not broadcast."""

    def __init__(self, reduction: str = "mean", weight: Tensor | None = None, pos_weight: Tensor | None = None):
        super().__init__(reduction)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        found = losses.binary_losses(logits, labels, self.pos_weight)
        return losses.of_labels(self.get_loss(found, 1.0 if self.weight is None else self.weight), logits, labels)


class SoftmaxCrossEntropyWithLogits(LossBase):
    """Softmax cross entropy of logits[n, classes] with classes [n] (sparse) or one-hot labels [n, classes], which have
    no gradient. Gives a loss for each row, [n], or by `reduction` their "mean" or "sum". A call raises TypeError for
    sparse labels that are no integers, ValueError for labels of another shape."""

    one_hot, softmax_cross_entropy = (
        LayerPrimitive(lambda self: P.OneHot()),
        LayerPrimitive(lambda self: P.SoftmaxCrossEntropyWithLogits()),
    )
    sparse_softmax_cross_entropy = LayerPrimitive(lambda self: P.SparseSoftmaxCrossEntropyWithLogits())

    def __init__(self, sparse: bool = False, reduction: str = "none"):
        super().__init__(reduction)
        self.sparse = bool(sparse)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.sparse and not losses.is_classes(labels):
            raise TypeError(
                f"[SoftmaxCrossEntropyWithLogits] labels are not classes, got {labels.dtype}{list(labels.shape)}, "
                "expected integers, or sparse=False for one-hot rows"
            )
        if not self.sparse and labels.shape != logits.shape:
            raise ValueError(
                f"[SoftmaxCrossEntropyWithLogits] labels are not one-hot, got {labels.dtype}{list(labels.shape)}, "
                f"expected the shape of the logits, {list(logits.shape)}, or sparse=True for ids"
            )
        if self.sparse and self.reduction == "mean":
            if strategy_of(self, "sparse_softmax_cross_entropy"):
                return self.sparse_softmax_cross_entropy(logits, labels)
            return losses.mean_of_sparse(logits, labels)
        kind = "sparse" if self.sparse else "dense"
        if strategy_of(self, "one_hot") or strategy_of(self, "softmax_cross_entropy"):
            hot = self.one_hot(labels, logits.shape[-1], 1.0, 0.0) if self.sparse else F.stop_gradient(labels)
            return self.get_loss(self.softmax_cross_entropy(logits, hot)[0])
        return self.get_loss(losses.sample_losses(kind, logits, F.stop_gradient(labels)))


class CrossEntropyLoss(LossBase):
    """Softmax cross entropy of logits[n, classes, ..] with classes [n, ..], of which `ignore_index` does not count, or
    with probabilities of the shape of the logits. Classes may have weights, `weight` [classes]; the mean is over the
    weights of the samples that count, and NaN where none does. `label_smoothing` is the share of the labels that goes
    to all classes alike. Gives a number, or with the reduction "none" the shape of the classes. Raises ValueError for
    another reduction and a smoothing outside of 0 to 1, TypeError for weights that are no tensor; a call raises
    ValueError for shapes that do not fit, IndexError for classes outside."""

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ):
        super().__init__(reduction)
        losses.require_cross_entropy("CrossEntropyLoss", weight, label_smoothing)
        self.weight = weight
        self.ignore_index, self.label_smoothing = int(ignore_index), float(label_smoothing)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        options = self.weight, self.ignore_index, self.label_smoothing, self.reduction
        return losses.softmax_loss("CrossEntropyLoss", logits, labels, *options, self.get_loss)


_OTHERS = (
    "BCELoss CTCLoss CosineEmbeddingLoss DiceLoss FocalLoss GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss"
    " MarginRankingLoss MultiClassDiceLoss MultiLabelSoftMarginLoss MultiMarginLoss MultilabelMarginLoss NLLLoss"
    " PoissonNLLLoss RMSELoss SampledSoftmaxLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss"
    " TripletMarginWithDistanceLoss"
)
__getattr__, __dir__ = _later.names_later(globals(), dict.fromkeys(_OTHERS.split(), "partita.nn"))
