"""Windows of lines, images and volumes: their largest elements, their means, and what undoes them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.creation import ones_like
from partita.ops.drawn import rand
from partita.ops.elementwise import add, cast, div, floor, larger, mul, pow, sub
from partita.ops.layers import _pool
from partita.ops.reductions import argmax
from partita.ops.resampling import parts_of, weighted
from partita.ops.shapes import broadcast_to, concat, expand_dims, reshape, squeeze
from partita.ops.support import F, as_tensor, attributes, run
from partita.ops.pool_windows import around_all, maxima, part_of, room, several, window_maxima

__all__ = (
    "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d avg_pool3d fractional_max_pool2d"
    " fractional_max_pool3d lp_pool1d lp_pool2d max_pool3d max_unpool1d max_unpool2d max_unpool3d"
).split()


def batched(where, x, count):
    """(the tensor with a dimension of samples, whether it had one): of `count` + 1 or + 2 dimensions."""
    x = as_tensor(x, where)
    if x.ndim not in (count + 1, count + 2):
        raise ValueError(
            f"[{where}] wrong number of dimensions, got {x.shape}, expected {count + 1} or {count + 2}"
        )
    return (x, True) if x.ndim == count + 2 else (expand_dims(x, 0), False)


def _without(found, has_samples):
    if has_samples:
        return found
    return tuple(squeeze(one, 0) for one in found) if isinstance(found, tuple) else squeeze(found, 0)


def _over_volume(op, x, kernel, strides, pads, **others):
    """A pool of x[n, c, d, h, w], by one of images and one of their rows. `pads` are pairs."""
    n, c, d, h, w = x.shape
    (front, back), (top, bottom), (left, right) = pads
    x = reshape(x, [n, c * d, h, w])
    x = _pool(op, x, kernel[1:], strides[1:], "pad", (top, bottom, left, right), **others)
    rows, columns = x.shape[2:]
    x = reshape(x, [n, c, d, rows * columns])
    x = _pool(op, x, (kernel[0], 1), (strides[0], 1), "pad", (front, back, 0, 0), **others)
    return reshape(x, [n, c, x.shape[2], rows, columns])


def max_pool3d(
    x: Tensor | float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of each window of x[n, c, d, h, w], or of x[c, d, h, w]. With `return_indices` also its place
    in the volume. Sizes are elements, or (depth, rows, columns). Raises ValueError for other dimensions, or a window
    larger than the volume."""
    where = "max_pool3d"
    kernel = several(where, "kernel_size", kernel_size, 3)
    strides = kernel if stride is None else several(where, "stride", stride, 3)
    pads, gaps = several(where, "padding", padding, 3, 0), several(where, "dilation", dilation, 3)
    x, has_samples = batched(where, x, 3)
    if return_indices or gaps != [1, 1, 1]:
        found = window_maxima(where, x, kernel, strides, pads, gaps, ceil_mode)
        return _without(found if return_indices else found[0], has_samples)
    pads = room(where, x.shape[2:], kernel, strides, pads, gaps, ceil_mode)
    return _without(_over_volume("max_pool", x, kernel, strides, pads), has_samples)


def _counts(sizes, kernel, strides, pads, around, count_include_pad):
    """The number of elements of each window: those of the volume, or of the padding as well, but not those of the room
    for the last windows."""
    counts = np.ones([1] * len(sizes))
    for i, (size, k, step, (before, after)) in enumerate(zip(sizes, kernel, strides, around)):
        begins = np.arange((size + before + after - k) // step + 1) * step - before
        first, end = (-before, size + pads[i]) if count_include_pad else (0, size)
        line = np.minimum(begins + k, end) - np.maximum(begins, first)
        counts = counts * line.reshape([-1 if j == i else 1 for j in range(len(sizes))])
    return counts


def mean_of_windows(where, x, kernel, strides, pads, around, count_include_pad, divisor):
    """Means of windows of a volume, over the number of their elements or over a number. `pads` are the elements after
    each dimension that count, `around` all that are there."""
    means = _over_volume("avg_pool", x, kernel, strides, around, count_include_pad=True)
    counts = divisor or _counts(x.shape[2:], kernel, strides, pads, around, count_include_pad)
    factor = math.prod(kernel) / np.asarray(counts, np.float64)
    if (factor == 1).all():
        return means
    return mul(means, float(factor) if factor.ndim == 0 else Tensor(factor.astype(np.float32), x.dtype))


def avg_pool3d(
    input_x: Tensor | float,
    kernel_size: int | Sequence[int] = 1,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Tensor:
    """The mean of each window of x[n, c, d, h, w], or of x[c, d, h, w], or its sum over `divisor_override`. Sizes are
    elements, or (depth, rows, columns). Raises ValueError for other dimensions, or a window larger than the volume."""
    where = "avg_pool3d"
    kernel, strides = several(where, "kernel_size", kernel_size, 3), several(where, "stride", stride, 3)
    pads = several(where, "padding", padding, 3, 0)
    x, has_samples = batched(where, input_x, 3)
    around = room(where, x.shape[2:], kernel, strides, pads, [1] * 3, ceil_mode)
    made = mean_of_windows(where, x, kernel, strides, pads, around, count_include_pad, divisor_override)
    return _without(made, has_samples)


def pooled_volume(where, op, x, kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad=True, divisor=0):
    """A pool of volumes as layers and ops describe it; `op` is "max_pool" or "avg_pool"."""
    kernel, strides = several(where, "kernel_size", kernel_size, 3), several(where, "stride", stride, 3)
    x, has_samples = batched(where, x, 3)
    sizes = x.shape[2:]
    around = around_all(where, pad_mode, padding, sizes, kernel, strides, ceil_mode)
    if op == "max_pool":
        return _without(_over_volume(op, x, kernel, strides, around), has_samples)
    padded = around_all(where, pad_mode, padding, sizes, kernel, strides, False)
    pads = [pair[1] for pair in padded] if str(pad_mode).lower() == "same" else [pair[0] for pair in around]
    return _without(mean_of_windows(where, x, kernel, strides, pads, around, count_include_pad, divisor), has_samples)


def _wanted(where, x, output_size, count):
    """The sizes of the result: those of the tensor in place of None."""
    given = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size] * count
    if len(given) != count:
        raise ValueError(f"[{where}] wrong number of sizes, got {output_size!r}, expected an integer or {count}")
    return several(
        where, "output_size", [size if one is None else one for one, size in zip(given, x.shape[-count:])], count
    )


def _adaptive_means(where, x, output_size, count):
    x = batched(where, x, count)[0] if as_tensor(x, where).ndim not in (count + 1, count + 2) else as_tensor(x)
    wanted = _wanted(where, x, output_size, count)
    for axis, size in enumerate(wanted, x.ndim - count):
        if size != x.shape[axis]:
            x = weighted(x, axis, parts_of(x.shape[axis], size))
    return x


def adaptive_avg_pool2d(input: Tensor | float, output_size: int | Sequence[int | None]) -> Tensor:
    """Means over parts of height and width: x[.., h, w], of three or four dimensions, becomes x[.., *output_size]. An
    integer is both sizes, None keeps a size. Parts of a size that is not divisible overlap by less than an element.
    Raises ValueError for other dimensions, or a size below 1."""
    return _adaptive_means("adaptive_avg_pool2d", input, output_size, 2)


def adaptive_avg_pool3d(input: Tensor | float, output_size: int | Sequence[int | None]) -> Tensor:
    """Means over parts of the last three dimensions, as `adaptive_avg_pool2d` has them of two. Raises ValueError for
    other than four or five dimensions, or a size below 1."""
    return _adaptive_means("adaptive_avg_pool3d", input, output_size, 3)


def _adaptive_maxima(where, x, output_size, count, return_indices):
    x, has_samples = batched(where, x, count)
    wanted, sizes = _wanted(where, x, output_size, count), x.shape[-count:]
    found = maxima(x, sizes, [part_of(size, one) for size, one in zip(sizes, wanted)])
    return _without(found if return_indices else found[0], has_samples)


def adaptive_max_pool2d(
    input: Tensor | float, output_size: int | Sequence[int], return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest elements of parts of height and width, which are those of `adaptive_avg_pool2d`. With
    `return_indices` also their places in the image. x[.., h, w] becomes x[.., *output_size]. Raises ValueError for
    other than three or four dimensions, or a size below 1."""
    return _adaptive_maxima("adaptive_max_pool2d", input, output_size, 2, return_indices)


def adaptive_max_pool3d(
    input: Tensor | float, output_size: int | Sequence[int], return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest elements of parts of the last three dimensions. With `return_indices` also their places in the
    volume. Raises ValueError for other than four or five dimensions, or a size below 1."""
    found = _adaptive_maxima("adaptive_max_pool3d", input, output_size, 3, return_indices)
    return (found[0], cast(found[1], mstype.int32)) if return_indices else found


def _powers(where, x, norm_type, kernel, strides, ceil_mode, count):
    """The roots of degree p of the sums of x^p over windows of the last `count` dimensions: of a mean over the elements
    that a window has, times those of a whole one, as documented."""
    x, has_samples = batched(where, x, count)
    around = room(where, x.shape[2:], kernel, strides, [0] * count, [1] * count, ceil_mode)
    p = float(norm_type)
    raised = pow(x, p)
    volume = reshape(raised, [*x.shape[:2], *[1] * (3 - count), *x.shape[2:]])
    ones, none = [1] * (3 - count), [(0, 0)] * (3 - count)
    windows = ones + kernel, ones + strides, [0] * 3, none + around
    means = mean_of_windows(where, volume, *windows, True, 0)
    sums = mul(reshape(means, [*means.shape[:2], *means.shape[5 - count :]]), float(math.prod(kernel)))
    return _without(pow(sums, 1 / p), has_samples)


def lp_pool1d(
    x: Tensor | float,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The root of degree `norm_type` of the sum of powers of each window of x[n, c, w], or of x[c, w]. Raises
    ValueError for other dimensions."""
    kernel = several("lp_pool1d", "kernel_size", kernel_size, 1)
    strides = kernel if stride is None else several("lp_pool1d", "stride", stride, 1)
    return _powers("lp_pool1d", x, norm_type, kernel, strides, ceil_mode, 1)


def lp_pool2d(
    x: Tensor | float,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The root of degree `norm_type` of the sum of powers of each window of x[n, c, h, w], or of x[c, h, w]. Raises
    ValueError for other dimensions."""
    kernel = several("lp_pool2d", "kernel_size", kernel_size, 2)
    strides = kernel if stride is None else several("lp_pool2d", "stride", stride, 2)
    return _powers("lp_pool2d", x, norm_type, kernel, strides, ceil_mode, 2)


def put_along(x, places, size):
    """y[.., size], the sum of the elements of x[.., k] at their places[.., k] of the last dimension."""
    attrs = attributes(size=size, total=size)
    return run(lambda trace, a, i: F.apply(trace, "put_along", [a, i], attrs)[0], x, places)


def unpooled(where, x, indices, sizes):
    """The elements at their places in volumes of these sizes, else 0. Elements with one place are the same maximum: the
    result has their mean."""
    ids, count = as_tensor(indices, where), len(sizes)
    if ids.shape != x.shape:
        raise ValueError(f"[{where}] the shapes differ, got {x.shape} and indices {ids.shape}, expected one")
    lead, size = list(x.shape[: x.ndim - count]), math.prod(sizes)
    flat, ids = (reshape(one, [*lead, -1]) for one in (x, ids))
    sums = put_along(flat, ids, size)
    times = put_along(ones_like(flat), ids, size)
    return reshape(div(sums, larger(times, 1.0)), [*lead, *sizes])


def require_integers(where, name, given):
    """Returns a tuple or list of integers. Raises TypeError for others."""
    if not isinstance(given, (tuple, list)) or not all(isinstance(one, numbers.Integral) for one in given):
        raise TypeError(f"[{where}] {name} is not a tuple of integers, got {given!r}, expected one")
    return given


def _undone(where, x, indices, kernel_size, stride, padding, output_size, count):
    kernel = several(where, "kernel_size", kernel_size, count)
    strides = kernel if stride is None else several(where, "stride", stride, count)
    pads = several(where, "padding", padding, count, 0)
    x = as_tensor(x, where)
    if x.ndim not in (count + 1, count + 2):
        raise ValueError(f"[{where}] wrong number of dimensions, got {x.shape}, expected {count + 1} or {count + 2}")
    usual = [(n - 1) * step - 2 * pad + k for n, step, pad, k in zip(x.shape[-count:], strides, pads, kernel)]
    sizes = usual
    if output_size is not None and len(require_integers(where, "output_size", output_size)):
        sizes = [int(one) for one in output_size][-count:]
        if len(output_size) not in (count, x.ndim) or any(
            not 0 <= one + step - own <= 2 * step for one, own, step in zip(sizes, usual, strides)
        ):
            raise ValueError(
                f"[{where}] bad output_size, got {tuple(output_size)}, expected {tuple(usual)}, or within a stride"
            )
    return unpooled(where, x, indices, sizes)


def max_unpool1d(
    x: Tensor | float,
    indices: Tensor | float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """x[n, c, w], or x[c, w], at the places of a line, as `nn.MaxPool1d` with `return_indices` gives them; else 0.
    Raises ValueError for other dimensions."""
    return _undone("max_unpool1d", x, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(
    x: Tensor | float,
    indices: Tensor | float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """x[n, c, h, w], or x[c, h, w], at the places of an image, as `max_pool2d` with `return_indices` gives them; else
    0. Raises ValueError for other dimensions."""
    return _undone("max_unpool2d", x, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(
    x: Tensor | float,
    indices: Tensor | float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """x[n, c, d, h, w], or x[c, d, h, w], at the places of a volume, as `max_pool3d` with `return_indices` gives them;
    else 0. Raises ValueError for other dimensions."""
    return _undone("max_unpool3d", x, indices, kernel_size, stride, padding, output_size, 3)


def _fractions(where, x, kernel_size, output_size, output_ratio, return_indices, samples, order, kind):
    """The largest elements of windows whose places are drawn: B. Graham, Fractional Max-Pooling, arXiv:1412.6071.
    `order` is where the share of each dimension is among those of `samples[n, c, dimensions]`."""
    count = len(order)
    if (output_size is None) == (output_ratio is None):
        raise ValueError(
            f"[{where}] one of two is to be given, got output_size={output_size!r} and output_ratio={output_ratio!r},"
            " expected one"
        )
    kernel = several(where, "kernel_size", kernel_size, count)
    x, has_samples = batched(where, x, count)
    n, c, *sizes = x.shape
    if output_size is None:
        ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else [output_ratio] * count
        output_size = [int(size * one) for size, one in zip(sizes, ratios)]
    wanted = several(where, "output_size", output_size, count)
    if any(k + one - 1 > size for k, one, size in zip(kernel, wanted, sizes)):
        raise ValueError(
            f"[{where}] too many windows, got {tuple(wanted)} of {tuple(kernel)} in {tuple(sizes)}, expected less"
        )
    shares = rand(n, c, count) if samples is None else as_tensor(samples, where)
    places = None
    for i, (k, one, size) in enumerate(zip(kernel, wanted, sizes)):
        begins = _begins(shares[:, :, order[i] : order[i] + 1], k, one, size)
        line = add(expand_dims(begins, -1), Tensor(np.arange(k, dtype=np.int32)))  # [n, c, windows, k]
        shape = [n, c] + [1] * (2 * count)
        shape[2 + i], shape[2 + count + i] = one, k
        part = mul(reshape(line, shape), math.prod(sizes[i + 1 :]))
        places = part if places is None else add(places, part)
    places = reshape(places, [n, c, math.prod(wanted) * math.prod(kernel)])
    flat = reshape(x, [n, c, math.prod(sizes)])
    parts = run(lambda trace, a, i: F.take_along(a, i), flat, places)
    found = _first_of(parts, places, [n, c, math.prod(wanted), math.prod(kernel)], [n, c, *wanted], kind)
    return _without(found if return_indices else found[0], has_samples)


def _first_of(parts, places, shape, wanted, kind):
    """(the largest of the last dimension, its place) of elements in this shape."""
    parts, places = reshape(parts, shape), reshape(places, shape)
    at = expand_dims(argmax(parts, -1), -1)
    values = run(lambda trace, a, i: F.take_along(a, i), parts, at)
    exact = cast(places, mstype.float64)
    where = run(lambda trace, a, i: F.take_along(a, i), exact, at)
    return reshape(values, wanted), cast(reshape(where, wanted), kind)


def _begins(share, k, wanted, size):
    """Where windows begin: floor((i + share) alpha) - floor(share alpha) with alpha = (size - k) / (wanted - 1), the
    last one at the end."""
    last = Tensor(np.array([size - k], np.int32))
    if wanted == 1:
        return broadcast_to(last, [*share.shape[:2], 1])
    alpha = np.float32(size - k) / np.float32(wanted - 1)
    steps = Tensor(np.arange(wanted - 1, dtype=np.float32), share.dtype)
    found = sub(floor(mul(add(share, steps), float(alpha))), floor(mul(share, float(alpha))))
    return concat([cast(found, mstype.int32), broadcast_to(last, [*share.shape[:2], 1])], -1)


def fractional_max_pool2d(
    input: Tensor | float,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest elements of windows of x[n, c, h, w], or of x[c, h, w], of which there are `output_size`, or this
    share of the sizes. Their places depend on two numbers for each channel, from 0 to 1, which are drawn unless they
    are given. Raises ValueError for other dimensions, or unless one of the two is given."""
    options = kernel_size, output_size, output_ratio, return_indices, _random_samples
    return _fractions("fractional_max_pool2d", input, *options, (1, 0), mstype.int64)


def fractional_max_pool3d(
    input: Tensor | float,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest elements of windows of x[n, c, d, h, w], or of x[c, d, h, w], as `fractional_max_pool2d` has them of
    images; three numbers for each channel. Raises ValueError for other dimensions, or unless one of the two is given.
    """
    options = kernel_size, output_size, output_ratio, return_indices, _random_samples
    return _fractions("fractional_max_pool3d", input, *options, (0, 1, 2), mstype.int64)
