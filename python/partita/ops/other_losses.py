"""More losses of two tensors. The cells of `nn.other_losses` are made of them."""

from __future__ import annotations

import math
import numbers

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.activations import logsigmoid
from partita.ops.creation import one_hot
from partita.ops.derived import stop_gradient
from partita.ops.elementwise import (
    abs,
    add,
    cast,
    div,
    equal,
    greater,
    larger,
    less,
    log,
    mul,
    neg,
    not_equal,
    select,
    sqrt,
    square,
    sub,
)
from partita.ops.losses import _with_digits, reduced, reduction_of, require_cross_entropy
from partita.ops.reductions import reduce_sum
from partita.ops.shapes import _counted, gather, transpose
from partita.ops.support import as_tensor

__all__ = (
    "cosine_embedding_loss hinge_embedding_loss huber_loss kl_div margin_ranking_loss nll_loss smooth_l1_loss"
    " soft_margin_loss"
).split()


def require_number(where, what, value, least=None):
    """Raises TypeError for what is no number, ValueError for numbers that are not above `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"[{where}] {what} is not a number, got {value!r}, expected one")
    if least is not None and not value > least:
        raise ValueError(f"[{where}] bad {what}, got {value!r}, expected a number above {least}")
    return float(value)


def _alike(where, a, b):
    """Both tensors. Raises ValueError if their shapes differ."""
    a, b = as_tensor(a, where), as_tensor(b, where)
    if a.shape != b.shape:
        raise ValueError(f"[{where}] the shapes differ, got {a.shape} and {b.shape}, expected one")
    return a, b


def _zero(x):
    return Tensor(0.0, x.dtype)


@_with_digits
def smooth_l1_loss(
    input: Tensor | float, target: Tensor | float, beta: float = 1.0, reduction: str | None = "none"
) -> Tensor:
    """(input - target)^2 / (2 beta) where the difference is below beta, else its size less beta / 2: all of them, in
    the shape of both, or by `reduction` their mean or sum. Raises ValueError for shapes that differ, another reduction,
    or a beta below 0."""
    where, reduction = "smooth_l1_loss", reduction_of("smooth_l1_loss", reduction)
    x, y = _alike(where, input, target)
    if require_number(where, "beta", beta) == 0:
        return reduced(abs(sub(x, y)), reduction)
    beta = require_number(where, "beta", beta, 0)
    size = abs(sub(x, y))
    return reduced(select(less(size, beta), mul(square(size), 0.5 / beta), sub(size, 0.5 * beta)), reduction)


@_with_digits
def huber_loss(
    input: Tensor | float, target: Tensor | float, reduction: str | None = "mean", delta: float = 1.0
) -> Tensor:
    """(input - target)^2 / 2 where the difference is below delta, else delta times its size less delta / 2, broadcast:
    their mean, or by `reduction` their sum, or all of them. Raises ValueError for shapes that do not broadcast, another
    reduction, or a delta that is not above 0."""
    where, reduction = "huber_loss", reduction_of("huber_loss", reduction)
    delta = require_number(where, "delta", delta, 0)
    size = abs(sub(as_tensor(input, where), as_tensor(target, where)))
    losses = select(less(size, delta), mul(square(size), 0.5), mul(sub(size, 0.5 * delta), delta))
    return reduced(losses, reduction)


@_with_digits
def kl_div(logits: Tensor | float, labels: Tensor | float, reduction: str | None = "mean") -> Tensor:
    """labels (log labels - logits), of logits that are logarithms, in one shape; 0 where labels are not above 0. Labels
    have no gradient. `batchmean` is the sum over the number of rows, the first dimension. Raises ValueError for shapes
    that differ, or another reduction."""
    x, y = _alike("kl_div", logits, labels)
    y = stop_gradient(y)
    by_rows = reduction == "batchmean"
    reduction = "sum" if by_rows else reduction_of("kl_div", reduction)
    is_above = greater(y, 0.0)
    logs = log(select(is_above, y, Tensor(1.0, y.dtype)))
    losses = select(is_above, mul(y, sub(logs, x)), _zero(y))
    made = reduced(losses, reduction)
    return div(made, float(x.shape[0])) if by_rows else made


@_with_digits
def nll_loss(
    inputs: Tensor | float,
    target: Tensor | float,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str | None = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-inputs[class] of logarithms of probabilities [n, c, ..] or [c], times the weight [c] of the class [n, ..]; the
    mean is over the weights of the samples whose class is not `ignore_index`. Classes below 0 count from the end. With
    `label_smoothing` all classes have this share of a sample. Raises IndexError for a known class outside, ValueError
    for other shapes, another reduction, or smoothing outside of 0 to 1, TypeError for classes that are no integers."""
    where, reduction = "nll_loss", reduction_of("nll_loss", reduction)
    require_cross_entropy(where, None, label_smoothing)
    x, classes = as_tensor(inputs, where), as_tensor(target, where)
    if mstype.is_float(classes.dtype):
        raise TypeError(f"[{where}] the target is no classes, got {classes.dtype}, expected integers")
    axis = 1 if x.ndim > 1 else 0
    if classes.shape != (*x.shape[:axis], *x.shape[axis + 1 :]):
        raise ValueError(f"[{where}] wrong shape of the target, got {classes.shape} for inputs of {x.shape}")
    if weight is not None and as_tensor(weight, where).shape != (x.shape[axis],):
        raise ValueError(f"[{where}] wrong number of weights, got {weight.shape}, expected ({x.shape[axis]},)")
    x = transpose(x, [*range(axis), *range(axis + 1, x.ndim), axis])
    counts = not_equal(classes, int(ignore_index))
    classes = _counted(where, select(counts, classes, Tensor(0, classes.dtype)), x.shape[-1], axis, classes.dtype)
    shares = cast(counts, x.dtype)
    if weight is not None:
        shares = mul(shares, gather(as_tensor(weight), classes, 0))
    picked = reduce_sum(mul(x, one_hot(classes, x.shape[-1], Tensor(1.0, x.dtype), _zero(x))), -1)
    losses = neg(mul(picked, shares))
    if label_smoothing:
        each = x if weight is None else mul(x, as_tensor(weight))
        smooth = neg(mul(reduce_sum(each, -1), cast(counts, x.dtype)))
        losses = add(mul(losses, 1.0 - label_smoothing), mul(smooth, label_smoothing / x.shape[-1]))
    return _mean_over(losses, shares) if reduction == "mean" else reduced(losses, reduction)


def _mean_over(losses, shares):
    """The sum of losses over that of shares; without shares it is NaN, and has gradients of 0."""
    total, zero = reduce_sum(shares), _zero(shares)
    none = equal(total, 0.0)
    mean = div(reduce_sum(losses), select(none, Tensor(1.0, total.dtype), total))
    return add(mean, select(none, Tensor(math.nan, mean.dtype), cast(zero, mean.dtype)))


@_with_digits
def cosine_embedding_loss(
    input1: Tensor | float,
    input2: Tensor | float,
    target: Tensor | float,
    margin: float = 0.0,
    reduction: str | None = "mean",
) -> Tensor:
    """1 - cos of two rows, the last dimension of both, whose target is 1; what their cos is above the margin if it is
    -1. The mean, or by `reduction` the sum, or all of them. Raises ValueError for a margin outside of -1 to 1, another
    reduction, or shapes that do not broadcast."""
    where, reduction = "cosine_embedding_loss", reduction_of("cosine_embedding_loss", reduction)
    margin = require_number(where, "margin", margin)
    if not -1 <= margin <= 1:
        raise ValueError(f"[{where}] bad margin, got {margin}, expected -1 to 1")
    a, b = as_tensor(input1, where), as_tensor(input2, where)
    squares = [add(reduce_sum(square(one), -1), 1e-12) for one in (a, b)]
    cosine = div(reduce_sum(mul(a, b), -1), sqrt(mul(*squares)))
    unlike = larger(sub(cosine, margin), 0.0)
    losses = select(equal(target, -1), unlike, _zero(cosine))
    return reduced(select(equal(target, 1), sub(1.0, cosine), losses), reduction)


@_with_digits
def soft_margin_loss(input: Tensor | float, target: Tensor | float, reduction: str | None = "mean") -> Tensor:
    """log(1 + exp(-target input)) of targets that are 1 or -1, in the shape of the inputs: the mean, or by `reduction`
    the sum, or all of them. Raises ValueError for shapes that differ, or another reduction."""
    reduction = reduction_of("soft_margin_loss", reduction)
    x, y = _alike("soft_margin_loss", input, target)
    return reduced(neg(logsigmoid(mul(x, y))), reduction)


@_with_digits
def margin_ranking_loss(
    input1: Tensor | float,
    input2: Tensor | float,
    target: Tensor | float,
    margin: float = 0.0,
    reduction: str | None = "mean",
) -> Tensor:
    """max(0, -target (input1 - input2) + margin) of inputs of one shape: with a target of 1 the first is to be larger.
    The mean, or by `reduction` the sum, or all of them. Raises ValueError for shapes that differ, or another reduction,
    TypeError for a margin that is no number."""
    where, reduction = "margin_ranking_loss", reduction_of("margin_ranking_loss", reduction)
    margin = require_number(where, "margin", margin)
    a, b = _alike(where, input1, input2)
    return reduced(larger(add(mul(neg(target), sub(a, b)), margin), 0.0), reduction)


@_with_digits
def hinge_embedding_loss(
    inputs: Tensor | float, targets: Tensor | float, margin: float = 1.0, reduction: str | None = "mean"
) -> Tensor:
    """The input where the target is 1, max(0, margin - input) where it is -1, broadcast: the mean, or by `reduction`
    the sum, or all of them. Raises ValueError for shapes that do not broadcast, or another reduction, TypeError for a
    margin that is no number."""
    where, reduction = "hinge_embedding_loss", reduction_of("hinge_embedding_loss", reduction)
    margin = require_number(where, "margin", margin)
    x, y = as_tensor(inputs, where), as_tensor(targets, where)
    losses = select(equal(y, 1.0), x, _zero(x))
    return reduced(add(losses, select(equal(y, -1.0), larger(sub(margin, x), 0.0), _zero(x))), reduction)
