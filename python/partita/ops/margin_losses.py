"""Losses of margins, of distances between rows, and of distributions."""

from __future__ import annotations

import math
import numbers

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.activations import logsigmoid
from partita.ops.creation import one_hot
from partita.ops.elementwise import (
    abs,
    add,
    cast,
    div,
    equal,
    greater,
    greater_equal,
    larger,
    less,
    log,
    mul,
    neg,
    pow,
    select,
    smaller,
    sqrt,
    square,
    sub,
)
from partita.ops.losses import _with_digits, reduced, reduction_of
from partita.ops.other_losses import _alike, require_number
from partita.ops.reductions import cumsum, reduce_mean, reduce_sum
from partita.ops.shapes import expand_dims, gather, reshape
from partita.ops.support import as_tensor

__all__ = (
    "gaussian_nll_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss triplet_margin_loss"
).split()


def root(x):
    """The square root, whose gradient at 0 is 0."""
    above = greater(x, 0.0)
    return select(above, sqrt(select(above, x, Tensor(1.0, x.dtype))), Tensor(0.0, x.dtype))


def _distance(a, b, p, eps):
    """The p-norm of a - b + eps over the last dimension."""
    size = abs(add(sub(a, b), float(eps)))
    return pow(reduce_sum(pow(size, float(p)), -1), 1.0 / p)


@_with_digits
def triplet_margin_loss(
    anchor: Tensor | float,
    positive: Tensor | float,
    negative: Tensor | float,
    margin: float = 1.0,
    p: int = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str | None = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), of distances of degree p over the last dimension.
    With `swap` the negative counts by its distance from the positive where that is smaller: V. Balntas et al., Learning
    local feature descriptors with triplets and shallow convolutional neural networks, 2016. Raises ValueError for
    shapes that do not broadcast."""
    where, reduction = "triplet_margin_loss", reduction_of("triplet_margin_loss", reduction)
    a, good, bad = (as_tensor(one, where) for one in (anchor, positive, negative))
    if isinstance(margin, Tensor):
        margin = margin.asnumpy().item() if margin._symbol is None else margin
    else:
        margin = require_number(where, "margin", margin)
    near, far = _distance(a, good, p, eps), _distance(a, bad, p, eps)
    if swap:
        far = smaller(far, _distance(good, bad, p, eps))
    return reduced(larger(add(sub(near, far), margin), 0.0), reduction)


@_with_digits
def gaussian_nll_loss(
    x: Tensor | float,
    target: Tensor | float,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str | None = "mean",
) -> Tensor:
    """(log(v) + (x - target)^2 / v) / 2 with v, the variance, at least eps. With `full` also the constant log(2 pi) /
    2. The operands broadcast; the result is their mean, or by `reduction` their sum, or all of them. Raises ValueError
    for shapes that do not broadcast, or an eps that is not above 0."""
    where, reduction = "gaussian_nll_loss", reduction_of("gaussian_nll_loss", reduction)
    eps = require_number(where, "eps", eps, 0)
    mean, wanted = as_tensor(x, where), as_tensor(target, where)
    spread = as_tensor(var, where) if not isinstance(var, numbers.Real) else Tensor(float(var), mean.dtype)
    if spread.shape != mean.shape and spread.ndim == mean.ndim - 1 and spread.shape == mean.shape[:-1]:
        spread = expand_dims(spread, -1)
    spread = larger(spread, eps)
    losses = mul(add(log(spread), div(square(sub(mean, wanted)), spread)), 0.5)
    return reduced(add(losses, 0.5 * math.log(2 * math.pi)) if full else losses, reduction)


@_with_digits
def multi_margin_loss(
    input: Tensor | float,
    target: Tensor | float,
    p: int = 1,
    margin: float = 1,
    weight: Tensor | None = None,
    reduction: str | None = "mean",
) -> Tensor:
    """The mean over classes of max(0, margin - x[target] + x[other])^p of x[n, classes], or of x[classes], times the
    weight of the target."""
    where, reduction = "multi_margin_loss", reduction_of("multi_margin_loss", reduction)
    if p not in (1, 2):
        raise ValueError(f"[{where}] bad p, got {p!r}, expected 1 or 2")
    margin = require_number(where, "margin", margin)
    x, classes = as_tensor(input, where), as_tensor(target, where)
    hot = one_hot(classes, x.shape[-1], Tensor(1.0, x.dtype), Tensor(0.0, x.dtype))
    hot = reshape(hot, x.shape)
    own = reduce_sum(mul(x, hot), -1, True)
    losses = larger(add(sub(x, own), margin), 0.0)
    losses = losses if p == 1 else square(losses)
    if weight is not None:
        losses = mul(losses, reshape(gather(as_tensor(weight, where), classes, 0), [*x.shape[:-1], 1]))
    return reduced(reduce_mean(mul(losses, sub(1.0, hot)), -1), reduction)


@_with_digits
def multilabel_margin_loss(input: Tensor | float, target: Tensor | float, reduction: str | None = "mean") -> Tensor:
    """The sum of max(0, 1 - x[label] + x[other]) over the labels of a sample of x[n, classes], or of x[classes], and
    the classes that are none of them, over the number of classes. A row of the target has the labels, which end before
    the first -1. Raises ValueError for shapes that differ, TypeError for a target of floats."""
    return multilabel_margins("multilabel_margin_loss", input, target, reduction)[0]


def multilabel_margins(where, input, target, reduction):
    """(the loss, whether classes are labels, in the element type of the target)."""
    reduction = reduction_of(where, reduction)
    x, labels = _alike(where, input, target)
    if x.ndim not in (1, 2):
        raise ValueError(f"[{where}] wrong number of dimensions, got {x.shape}, expected 1 or 2")
    ended = cumsum(cast(less(labels, 0), mstype.int32), -1)
    counts = cast(equal(ended, 0), x.dtype)  # [n, labels]
    hot = one_hot(larger(labels, 0), x.shape[-1], Tensor(1.0, x.dtype), Tensor(0.0, x.dtype))  # [n, labels, classes]
    hot = mul(hot, expand_dims(counts, -1))
    is_label = cast(greater_equal(reduce_sum(hot, -2), 0.5), x.dtype)
    own = reduce_sum(mul(hot, expand_dims(x, -2)), -1)  # [n, labels]
    gaps = larger(add(sub(expand_dims(x, -2), expand_dims(own, -1)), 1.0), 0.0)
    shares = mul(expand_dims(counts, -1), expand_dims(sub(1.0, is_label), -2))
    losses = div(reduce_sum(mul(gaps, shares), (-2, -1)), float(x.shape[-1]))
    return reduced(losses, reduction), cast(is_label, labels.dtype)


@_with_digits
def multilabel_soft_margin_loss(
    input: Tensor | float, target: Tensor | float, weight: Tensor | None = None, reduction: str | None = "mean"
) -> Tensor:
    """The mean over classes of the binary cross entropy of logits x[.., classes] with targets, times the weights of the
    classes. Raises ValueError for shapes that differ."""
    where, reduction = "multilabel_soft_margin_loss", reduction_of("multilabel_soft_margin_loss", reduction)
    x, wanted = _alike(where, input, target)
    losses = neg(add(mul(wanted, logsigmoid(x)), mul(sub(1.0, wanted), logsigmoid(neg(x)))))
    losses = losses if weight is None else mul(losses, as_tensor(weight, where))
    return reduced(reduce_mean(losses, -1), reduction)
