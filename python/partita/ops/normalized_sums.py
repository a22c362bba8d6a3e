"""Sums that are normalized."""

from __future__ import annotations

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.channels import normalized_rows
from partita.ops.creation import ones_like
from partita.ops.elementwise import add, cast, mul, rsqrt, square, sub
from partita.ops.layers import over_rms, require_floats
from partita.ops.reductions import reduce_mean
from partita.ops.shapes import reshape
from partita.ops.support import as_tensor

__all__ = ("add_layer_norm", "add_rms_norm", "rms_norm")


def add_layer_norm(
    x1: Tensor | float,
    x2: Tensor | float,
    gamma: Tensor | float,
    beta: Tensor | float,
    epsilon: float = 1e-5,
    additional_output: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(the normalized sum of two tensors over its last dimension, times gamma, plus beta; its mean; 1 over its standard
    deviation; the sum, or zeros without `additional_output`)."""
    total = add(as_tensor(x1, "add_layer_norm"), x2)
    wide = cast(total, mstype.float32)
    mean = reduce_mean(wide, -1, True)
    scale = rsqrt(add(reduce_mean(square(sub(wide, mean)), -1, True), float(epsilon)))
    made = add(mul(normalized_rows(wide, epsilon), gamma), beta)
    return cast(made, total.dtype), mean, scale, total if additional_output else mul(ones_like(total), 0.0)


def add_rms_norm(
    x1: Tensor | float, x2: Tensor | float, gamma: Tensor | float, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor]:
    """(the sum of two tensors over the root of the mean of its squares over the last dimension, times gamma; 1 over
    that root; the sum)."""
    total = add(as_tensor(x1, "add_rms_norm"), x2)
    wide = cast(total, mstype.float32)
    scale = rsqrt(add(reduce_mean(square(wide), -1, True), float(epsilon)))
    return cast(mul(mul(wide, scale), gamma), total.dtype), scale, total


def rms_norm(x: Tensor | float, gamma: Tensor | float, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """(x over the root of the mean of its squares plus `epsilon`, times gamma, in the shape and the type of x; 1 over
    that root, in float32 or wider), over the dimensions of gamma, which are the last ones of x (Zhang and Sennrich,
    2019). Raises ValueError for a gamma of another shape, TypeError for integers."""
    x, gamma = as_tensor(x, "rms_norm"), as_tensor(gamma, "rms_norm")
    require_floats("rms_norm", x)
    count = gamma.ndim
    if not count or x.shape[-count:] != gamma.shape:
        raise ValueError(f"[rms_norm] gamma has another shape, got {gamma.shape}, expected the last sizes of {x.shape}")
    wide = cast(x, mstype.float64 if x.dtype == mstype.float64 else mstype.float32)
    axes = tuple(range(x.ndim - count, x.ndim))
    scale = rsqrt(add(reduce_mean(square(wide), axes, True), float(epsilon)))
    if count == 1:
        return over_rms(x, gamma, epsilon), scale
    rows = reshape(x, (*x.shape[: x.ndim - count], gamma.size))
    return reshape(over_rms(rows, reshape(gamma, (gamma.size,)), epsilon), x.shape), scale
