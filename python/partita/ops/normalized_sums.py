"""Sums that are normalized."""

from partita.common import dtype as mstype
from partita.ops.channels import normalized_rows
from partita.ops.creation import ones_like
from partita.ops.elementwise import add, cast, mul, rsqrt, square, sub
from partita.ops.reductions import reduce_mean
from partita.ops.support import as_tensor

__all__ = ("add_layer_norm", "add_rms_norm")


def add_layer_norm(x1, x2, gamma, beta, epsilon=1e-5, additional_output=False):
    """(the normalized sum of two tensors over its last dimension, times gamma, plus beta; its mean; 1 over its standard
    deviation; the sum, or zeros without `additional_output`)."""
    total = add(as_tensor(x1, "add_layer_norm"), x2)
    wide = cast(total, mstype.float32)
    mean = reduce_mean(wide, -1, True)
    scale = rsqrt(add(reduce_mean(square(sub(wide, mean)), -1, True), float(epsilon)))
    made = add(mul(normalized_rows(wide, epsilon), gamma), beta)
    return cast(made, total.dtype), mean, scale, total if additional_output else mul(ones_like(total), 0.0)


def add_rms_norm(x1, x2, gamma, epsilon=1e-6):
    """(the sum of two tensors over the root of the mean of its squares over the last dimension, times gamma; 1 over
    that root; the sum)."""
    total = add(as_tensor(x1, "add_rms_norm"), x2)
    wide = cast(total, mstype.float32)
    scale = rsqrt(add(reduce_mean(square(wide), -1, True), float(epsilon)))
    return cast(mul(mul(wide, scale), gamma), total.dtype), scale, total
