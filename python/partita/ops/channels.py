"""Norms over channels, dropouts of channels, and channels in another order."""

from __future__ import annotations

import math

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.blocks import shuffled, unshuffled
from partita.ops.creation import ones, zeros_like
from partita.ops.elementwise import add, cast, mul, pow, rsqrt, square, sub
from partita.ops.layers import _pool, dropout
from partita.ops.pads import pad
from partita.ops.reductions import reduce_mean
from partita.ops.shapes import reshape, transpose
from partita.ops.support import as_tensor

__all__ = (
    "channel_shuffle dropout1d dropout2d dropout3d group_norm lrn pixel_shuffle pixel_unshuffle"
).split()


def normalized_rows(x, eps):
    """(x - mean) / sqrt(variance + eps) over the last dimension."""
    centred = sub(x, reduce_mean(x, -1, True))
    return mul(centred, rsqrt(add(reduce_mean(square(centred), -1, True), float(eps))))


def _scaled_channels(x, weight, bias):
    shape = [1, x.shape[1]] + [1] * (x.ndim - 2)
    x = x if weight is None else mul(x, reshape(weight, shape))
    return x if bias is None else add(x, reshape(bias, shape))


def group_norm(
    input: Tensor | float, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalizes each sample of x[n, c, ..] over groups of its channels, times weight[c], plus bias[c], in the shape
    and the type of x. Raises ValueError for channels that do not divide, or less than two dimensions."""
    x = as_tensor(input, "group_norm")
    if x.ndim < 2 or num_groups < 1 or x.shape[1] % num_groups:
        raise ValueError(
            f"[group_norm] channels do not divide into groups, got shape {x.shape} and {num_groups} groups, expected a"
            " multiple of them"
        )
    wide = cast(x, mstype.float32) if x.dtype in (mstype.float16, mstype.bfloat16) else x
    rows = normalized_rows(reshape(wide, [x.shape[0], num_groups, -1]), eps)
    return cast(_scaled_channels(reshape(rows, x.shape), weight, bias), x.dtype)


def instance_norm(x, weight=None, bias=None, eps=1e-5):
    """Normalizes each channel of each sample of x[n, c, ..] by itself, times weight[c], plus bias[c]."""
    rows = normalized_rows(reshape(x, [*x.shape[:2], -1]), eps)
    return _scaled_channels(reshape(rows, x.shape), weight, bias)


def lrn(
    x: Tensor | float,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    norm_region: str = "ACROSS_CHANNELS",
) -> Tensor:
    """x[n, c, h, w] over (bias + alpha times the sum of squares of the channels within a radius)^beta: A. Krizhevsky,
    I. Sutskever, G. Hinton, ImageNet classification with deep convolutional neural networks, 2012."""
    x = as_tensor(x, "lrn")
    if norm_region != "ACROSS_CHANNELS":
        raise ValueError(f"[lrn] unknown norm_region, got {norm_region!r}, expected 'ACROSS_CHANNELS'")
    if x.ndim != 4:
        raise ValueError(f"[lrn] wrong number of dimensions, got {x.shape}, expected 4")
    n, c, h, w = x.shape
    width, lines = 2 * depth_radius + 1, reshape(square(x), [n, 1, c, h * w])
    lines = pad(lines, (0, 0, depth_radius, depth_radius))
    means = _pool("avg_pool", lines, (width, 1), (1, 1), "valid", 0, count_include_pad=True)
    sums = add(mul(reshape(means, x.shape), float(alpha) * width), float(bias))
    return mul(x, pow(sums, -float(beta)))


def _of_channels(where, x, p, training, ranks, usual):
    """Zeros in whole channels with probability p, the others divided by 1 - p."""
    x = as_tensor(x, where)
    if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0 <= p <= 1:
        raise ValueError(f"[{where}] bad probability, got {p!r}, expected a number from 0 to 1")
    if x.ndim not in ranks:
        raise ValueError(f"[{where}] wrong number of dimensions, got {x.shape}, expected {ranks}")
    if not training or p == 0:
        return x
    if p == 1:
        return zeros_like(x)
    lead = x.ndim - usual + 2  # of the samples and channels
    mask = dropout(ones([*x.shape[:lead], *[1] * (x.ndim - lead)], dtype=x.dtype), p)
    return mul(x, mask)


def dropout1d(input: Tensor | float, p: float = 0.5, training: bool = True) -> Tensor:
    """Zeros in whole channels of x[n, c, w], or of x[c, w], with probability p, the others divided by 1 - p. Raises
    ValueError for other shapes, or unless 0 <= p <= 1."""
    return _of_channels("dropout1d", input, p, training, (2, 3), 3)


def dropout2d(input: Tensor | float, p: float = 0.5, training: bool = True) -> Tensor:
    """Zeros in whole channels of x[n, c, h, w] with probability p, the others divided by 1 - p. Raises ValueError for
    other shapes, or unless 0 <= p <= 1."""
    return _of_channels("dropout2d", input, p, training, (4,), 4)


def dropout3d(input: Tensor | float, p: float = 0.5, training: bool = True) -> Tensor:
    """Zeros in whole channels of x[n, c, d, h, w] with probability p, the others divided by 1 - p. Raises ValueError
    for other shapes, or unless 0 <= p <= 1."""
    return _of_channels("dropout3d", input, p, training, (5,), 5)


def pixel_shuffle(input: Tensor | float, upscale_factor: int) -> Tensor:
    """x[.., c r^2, h, w] becomes x[.., c, h r, w r]. Raises ValueError for channels that do not divide, or less than
    three dimensions."""
    return shuffled("pixel_shuffle", input, upscale_factor, channel_first=True)


def pixel_unshuffle(input: Tensor | float, downscale_factor: int) -> Tensor:
    """x[.., c, h r, w r] becomes x[.., c r^2, h, w]. Raises ValueError for sizes that do not divide, or less than three
    dimensions."""
    return unshuffled("pixel_unshuffle", input, downscale_factor, channel_first=True)


def channel_shuffle(x: Tensor | float, groups: int) -> Tensor:
    """x[n, c, ..] with the channels of its groups one after the other: the first of each, then the second of each."""
    x = as_tensor(x, "channel_shuffle")
    if x.ndim < 3 or groups < 1 or x.shape[1] % groups:
        raise ValueError(
            f"[channel_shuffle] channels do not divide into groups, got shape {x.shape} and {groups} groups, expected a"
            " multiple of them"
        )
    parts = reshape(x, [x.shape[0], groups, x.shape[1] // groups, math.prod(x.shape[2:])])
    return reshape(transpose(parts, (0, 2, 1, 3)), x.shape)
