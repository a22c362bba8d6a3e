"""Losses of logits with labels. The cells of `nn.loss` are made of them."""

from __future__ import annotations

import functools

from partita import _trace
from partita._precision import FullPrecision
from partita._warnings import warn
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.creation import one_hot
from partita.ops.elementwise import (
    abs,
    add,
    cast,
    div,
    equal,
    larger,
    log,
    mul,
    neg,
    not_equal,
    select,
    softplus,
    square,
    sub,
)
from partita.ops.reductions import log_softmax, reduce_mean, reduce_sum
from partita.ops.shapes import gather, reshape, transpose
from partita.ops.support import F, run

__all__ = ("binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "l1_loss", "mse_loss")


_FULL = FullPrecision()
_UP_TO_32_BITS = {mstype.bfloat16, mstype.float16, mstype.float32}


def _with_digits(function):
    """A loss keeps its digits where products around it have 16 bits."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        build = _trace.current()
        if build is None:
            return function(*args, **kwargs)
        with _trace.place(build, "", None, False, _FULL):
            return function(*args, **kwargs)

    return call


def reduction_of(where, reduction):
    """Returns the name of a reduction, "none" for None. Raises ValueError for unknown names."""
    if reduction is None:
        return "none"
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"[{where}] unknown reduction, got {reduction!r}, expected mean, sum or none")
    return reduction


def reduced(losses, reduction, weights=1.0):
    """Returns the mean or the sum of the losses of elements, or these, times their weights."""
    losses = losses if isinstance(weights, float) and weights == 1.0 else mul(losses, weights)
    if reduction == "none":
        return losses
    return reduce_mean(losses) if reduction == "mean" else reduce_sum(losses)


def is_classes(labels):
    """Whether labels are classes, not probabilities."""
    return not mstype.is_float(labels.dtype)


def _differences(logits, labels):
    """logits - labels, broadcast. Logits [n, 1] and labels [n] make all pairs of samples: of those that the documented
    system has on one device at a time, which are the rows of one rank and micro-batch."""
    build = _trace.current()
    if build is None or build.groups == 1 or logits.ndim != 2 or logits.shape != (*labels.shape, 1):
        return sub(logits, labels)
    warn(
        f"[loss] labels {labels.shape} for logits {logits.shape} compare each sample with all others of its rank and "
        "micro-batch"
    )
    rows = labels.shape[0] // build.groups
    return sub(reshape(logits, [build.groups, rows, 1]), reshape(labels, [build.groups, 1, rows]))


def squared_errors(logits, labels):
    """(logits - labels)^2."""
    return square(_differences(logits, labels))


def absolute_errors(logits, labels):
    """|logits - labels|."""
    return abs(_differences(logits, labels))


def binary_losses(logits, labels, pos_weight=None):
    """Binary cross entropy of each logit with its label; `pos_weight` counts positive labels more or less."""
    if pos_weight is None:
        return run(lambda trace, a, b: F.binary_cross_entropy(a, b), logits, labels)
    factor = add(mul(labels, sub(pos_weight, 1.0)), 1.0)
    return add(mul(sub(1.0, labels), logits), mul(factor, softplus(neg(logits))))


def of_labels(found, logits, labels):
    """A binary cross entropy, of 16 or 32 bits in the type of the labels."""
    kinds = {getattr(one, "dtype", None) for one in (logits, labels)}
    return cast(found, labels.dtype) if kinds <= _UP_TO_32_BITS else found


def mean_of_sparse(logits, labels, ignore_index=None):
    """The mean of the softmax cross entropy over the samples whose class is not `ignore_index`."""
    return run(lambda trace, a, b: F.build_loss("sparse", a, b, ignore_index), logits, labels)


def sample_losses(kind, logits, labels):
    """The softmax cross entropy of each sample: labels are classes ("sparse") or probabilities ("dense")."""
    return run(lambda trace, a, b: F.sample_losses(kind, a, b), logits, labels)


def require_cross_entropy(where, weight, label_smoothing):
    """Checks the options of a cross entropy. Raises TypeError if the weights are no Tensor, ValueError if
    `label_smoothing` is not from 0 to 1."""
    if weight is not None and not isinstance(weight, Tensor):
        raise TypeError(f"[{where}] the weights are not a tensor, got {type(weight).__name__}, expected one")
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"[{where}] label_smoothing out of range, got {label_smoothing}, expected 0 to 1")


def require_probabilities(where, logits, labels):
    """Raises ValueError unless labels that are floats have the shape of the logits."""
    if labels.shape != logits.shape:
        raise ValueError(
            f"[{where}] labels that are floats are probabilities of all classes, got {labels.dtype}"
            f"{list(labels.shape)}, expected the shape of the logits, {list(logits.shape)}, or integers as ids"
        )


def softmax_loss(where, logits, labels, weight, ignore_index, label_smoothing, reduction, reduce):
    """Softmax cross entropy with classes, of which `ignore_index` does not count, or with probabilities. `reduce` gives
    the result from the losses of samples where it is not their mean over the weights of those that count."""
    if weight is not None and weight.shape != (logits.shape[1 if logits.ndim > 1 else 0],):
        raise ValueError(
            f"[{where}] wrong number of weights, got {weight.shape} for logits of shape {logits.shape}, "
            "expected one for each class"
        )
    if logits.ndim > 2:  # [n, c, d..] -> [n, d.., c]
        logits = transpose(logits, [0, *range(2, logits.ndim), 1])
        if not is_classes(labels):
            labels = transpose(labels, [0, *range(2, labels.ndim), 1])
    if not is_classes(labels):
        require_probabilities(where, logits, labels)
        return reduce(_of_probabilities(logits, labels, weight, label_smoothing))
    counts = not_equal(labels, ignore_index)
    is_plain = weight is None and label_smoothing == 0.0
    counted = cast(counts, mstype.float64 if logits.dtype == mstype.float64 else mstype.float32)
    if is_plain and reduction == "mean":
        number = reduce_sum(counted)
        loss = mean_of_sparse(logits, labels, ignore_index)
        return add(loss, div(mul(number, 0.0), number))  # 0, or 0 / 0
    classes = select(counts, labels, Tensor(0, labels.dtype))
    if is_plain:
        losses = sample_losses("sparse", logits, classes)
    else:
        hot = one_hot(classes, logits.shape[-1], 1.0, 0.0)
        losses = _of_probabilities(logits, hot, weight, label_smoothing)
    losses = mul(losses, counted)
    if reduction != "mean":
        return reduce(losses)
    shares = counted if weight is None else mul(gather(weight, classes, 0), counted)
    total = reduce_sum(shares)
    divisor = select(equal(total, 0.0), Tensor(1.0, total.dtype), total)
    return add(div(reduce_sum(losses), divisor), div(mul(total, 0.0), total))


def _of_probabilities(logits, labels, weight, smooth):
    """The losses of samples whose labels are a probability for each class."""
    if smooth:
        labels = add(mul(labels, 1.0 - smooth), smooth / logits.shape[-1])
    if weight is not None:
        labels = mul(labels, weight)
    return neg(reduce_sum(mul(log_softmax(logits), labels), -1))


@_with_digits
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str | None = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Softmax cross entropy of logits [n, c], [n, c, d..] or [c] with classes [n], [n, d..] or [], or with
    probabilities in the shape of the logits; see nn.CrossEntropyLoss. `weight` has a number for each class. The result
    has no dimensions, or with the reduction "none" the shape of the classes. Raises IndexError for a class outside of 0
    to c - 1, where it is known, ValueError for shapes that do not fit, another reduction, or smoothing outside of 0 to
    1, TypeError for logits of integers with classes.

    >>> round(float(ops.cross_entropy(ms.Tensor([[0.0, 0.0], [0.0, 0.0]]), ms.Tensor([0, 1], ms.int32))), 4)
    0.6931
    """
    where, reduction = "cross_entropy", reduction_of("cross_entropy", reduction)
    require_cross_entropy(where, weight, label_smoothing)
    options = weight, int(ignore_index), float(label_smoothing), reduction
    return softmax_loss(where, input, target, *options, lambda losses: reduced(losses, reduction))


def _require_probabilities(x):
    if _trace.current() is not None or x._symbol is not None or x.dtype == mstype.bfloat16:
        return
    values = x.asnumpy()
    outside = values[(values < 0) | (values > 1)]
    if outside.size:
        raise ValueError(
            f"[binary_cross_entropy] a number is no probability, got {outside.reshape(-1)[0]}, expected 0 to 1: see "
            "binary_cross_entropy_with_logits"
        )


@_with_digits
def binary_cross_entropy(
    logits: Tensor, labels: Tensor, weight: Tensor | float | None = None, reduction: str | None = "mean"
) -> Tensor:
    """Binary cross entropy of probabilities with labels in [0, 1], which broadcast with them and with `weight`;
    logarithms are at least -100. The result has no dimensions, or with the reduction "none" those of all. Raises
    ValueError for known numbers outside of 0 to 1, within a program their loss is NaN, for shapes that do not
    broadcast, and another reduction."""
    reduction = reduction_of("binary_cross_entropy", reduction)
    _require_probabilities(logits)
    logs = larger(log(logits), -100.0), larger(log(sub(1.0, logits)), -100.0)
    losses = neg(add(mul(labels, logs[0]), mul(sub(1.0, labels), logs[1])))
    return reduced(losses, reduction, 1.0 if weight is None else weight)


@_with_digits
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | float | None = None,
    pos_weight: Tensor | float | None = None,
    reduction: str | None = "mean",
) -> Tensor:
    """Binary cross entropy of logits with labels in [0, 1], of 16 or 32 bits in the type of the labels; see
    nn.BCEWithLogitsLoss. Both weights broadcast with them. The result has no dimensions, or with the reduction "none"
    the broadcast shape. Raises ValueError for shapes that do not broadcast, or another reduction, TypeError where both
    are integers and there is no `pos_weight`.

    >>> logits, labels, weight = ms.Tensor([0.0, 0.0]), ms.Tensor([0.0, 1.0]), ops.ones((2,))
    >>> round(float(ops.binary_cross_entropy_with_logits(logits, labels, weight, weight)), 4)
    0.6931
    """
    reduction = reduction_of("binary_cross_entropy_with_logits", reduction)
    found = reduced(binary_losses(input, target, pos_weight), reduction, 1.0 if weight is None else weight)
    return of_labels(found, input, target)


@_with_digits
def mse_loss(input: Tensor, target: Tensor | float, reduction: str | None = "mean") -> Tensor:
    """(input - target)^2, broadcast: their mean, or by `reduction` their sum ("sum") or all of them ("none"), in the
    broadcast shape. Raises ValueError for shapes that do not broadcast, or another reduction.

    >>> float(ops.mse_loss(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 4.0])))
    2.0
    """
    reduction = reduction_of("mse_loss", reduction)
    return reduced(squared_errors(input, target), reduction)


@_with_digits
def l1_loss(input: Tensor, target: Tensor | float, reduction: str | None = "mean") -> Tensor:
    """|input - target|, broadcast: their mean, or by `reduction` their sum ("sum") or all of them ("none"), in the
    broadcast shape. Raises ValueError for shapes that do not broadcast, or another reduction."""
    reduction = reduction_of("l1_loss", reduction)
    return reduced(absolute_errors(input, target), reduction)
