"""Losses, and norms over channels and rows."""

from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.losses import reduced, reduction_of

__all__ = (
    "batch_norm batch_norm_elemt batch_norm_gather_stats_with_counts batch_norm_stats binary_cross_entropy"
    " binary_cross_entropy_with_logits cross_entropy group_norm kl_div nll_loss smooth_l1_loss"
).split()


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Binary cross entropy of probabilities with targets of their shape: by `reduction` the "mean" or the "sum" as a
    number, or with "none" one of each element. Raises ValueError for numbers outside of 0 to 1."""
    return F.binary_cross_entropy(input, target, weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of logits with targets of their shape; `pos_weight` counts positive ones more or less. By
    `reduction` the "mean" or the "sum" as a number, or with "none" one of each element. Raises ValueError for shapes
    that do not broadcast."""
    return F.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Softmax cross entropy of logits [n, classes, ..] with classes [n, ..], in the element type of the logits, or with
    probabilities in the shape of the logits, of 16 bits as float32. By `reduction` the "mean" or the "sum" as a number,
    or with "none" one of each row."""
    found = F.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)
    if not mstype.is_float(target.dtype):
        return F.cast(found, input.dtype)
    return F.cast(found, mstype.float32) if found.dtype == mstype.float16 else found


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """-input[target] of inputs [n, classes, ..] that are logarithms of probabilities, in their element type; targets
    are integers [n, ..], of which `ignore_index` do not count. By `reduction` the "mean" or the "sum" as a number, or
    with "none" the shape of the target."""
    return F.cast(F.nll_loss(input, target, weight, ignore_index, reduction), input.dtype)


def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Squares of small differences, sizes of large ones; they meet at beta: d^2 / (2 beta) below it, else |d| - beta /
    2. By `reduction` the "mean" or the "sum" as a number, or with "none" one of each element."""
    return F.smooth_l1_loss(input, target, beta, reduction) if beta else F.l1_loss(input, target, reduction)


def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target (log target - input) of inputs, and with `log_target` of targets, that are logarithms of probabilities: by
    `reduction` the "mean" or the "sum" as a number, or with "none" one of each element. "batchmean" is the sum over the
    number of rows. Raises ValueError for another reduction."""
    if log_target:
        losses = F.mul(F.exp(target), F.sub(target, input))
    else:
        positive = F.greater(target, 0.0)
        logarithms = F.log(F.select(positive, target, F.ones_like(target)))
        losses = F.mul(target, F.sub(logarithms, input))
    if reduction == "batchmean":
        return F.div(reduced(losses, "sum"), float(losses.shape[0]) if losses.ndim else 1.0)
    return reduced(losses, reduction_of("kl_div", reduction))


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """x[n, c, ..], normalized over each of the groups of its channels, then times weight[c], plus bias[c], in the shape
    of x. Raises ValueError for a number of groups that does not divide the channels."""
    channels = input.shape[1]
    if channels % num_groups:
        raise ValueError(f"[group_norm] bad groups, got {num_groups} of {channels} channels, expected a divisor")
    rows = F.reshape(input, [input.shape[0], num_groups, -1])
    kind = mstype.float64 if input.dtype == mstype.float64 else mstype.float32
    size = [rows.shape[-1]]
    made = F.reshape(F.layer_norm(rows, size, F.ones(size, kind), F.zeros(size, kind), eps), input.shape)
    return _scaled(made, weight, bias)


def _scaled(x, weight, bias):
    """x[n, c, ..] times the weight of each channel, plus its bias, where there are these."""
    shape = [1, -1, *[1] * (x.ndim - 2)]
    x = x if weight is None else F.mul(x, F.reshape(weight, shape))
    return x if bias is None else F.add(x, F.reshape(bias, shape))


def _others(x):
    return tuple(i for i in range(x.ndim) if i != 1)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """x[n, c, ..], normalized per channel and scaled, in the shape of x: by moving statistics [c], or with `training`
    by those of the batch, whose share `momentum` the moving ones take. Without moving statistics by those of the batch.
    Raises ValueError without statistics outside of a training."""
    scale = F.ones(input.shape[1:2], mstype.float32) if weight is None else weight
    shift = F.zeros(input.shape[1:2], mstype.float32) if bias is None else bias
    if running_mean is None or running_var is None:
        if not training:
            raise ValueError("[batch_norm] no statistics, got None with training=False, expected moving ones")
        mean, invstd = batch_norm_stats(input, eps)
        return batch_norm_elemt(input, scale, shift, mean, invstd, eps)
    if not training and not isinstance(running_mean, Parameter):
        return batch_norm_elemt(input, scale, shift, running_mean, F.rsqrt(F.add(running_var, eps)), eps)
    return F.batch_norm(input, running_mean, running_var, scale, shift, training, momentum, eps)


def batch_norm_stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """(mean, 1 / sqrt(variance + eps)) of each channel of x[n, c, ..]."""
    variance, mean = F.var_mean(F.cast(input, mstype.float32), _others(input), 0)
    return mean, F.rsqrt(F.add(variance, eps))


def batch_norm_elemt(
    input: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    mean: Tensor | None = None,
    invstd: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) invstd weight + bias, each of these per channel of x[n, c, ..]."""
    shape = [1, -1, *[1] * (input.ndim - 2)]
    made = F.mul(F.sub(input, F.reshape(mean, shape)), F.reshape(invstd, shape))
    return F.cast(_scaled(made, weight, bias), input.dtype)


def batch_norm_gather_stats_with_counts(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    momentum: float = 0.1,
    eps: float = 1e-5,
    counts: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """(mean, invstd) of all elements, from mean[r, c] and invstd[r, c] of parts of as many elements as counts[r] says.
    Moving statistics, parameters, take the share `momentum` of these."""
    shares = F.reshape(F.cast(counts, mean.dtype), [-1, 1])
    total = F.reduce_sum(shares)
    squares = F.add(F.sub(F.reciprocal(F.square(invstd)), eps), F.square(mean))
    whole = F.div(F.reduce_sum(F.mul(mean, shares), 0), total)
    variance = F.sub(F.div(F.reduce_sum(F.mul(squares, shares), 0), total), F.square(whole))
    of_sample = F.div(F.mul(variance, total), F.sub(total, 1.0))
    for moving, value in ((running_mean, whole), (running_var, of_sample)):
        if moving is not None:
            moving.copy_(F.add(F.mul(moving, 1 - momentum), F.mul(value, momentum)))
    return whole, F.rsqrt(F.add(variance, eps))
