"""Windows of images, and convolutions of volumes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partita.common.tensor import Tensor
from partita.ops.elementwise import add, bias_add
from partita.ops.layers import conv2d
from partita.ops.pads import pad
from partita.ops.shapes import gather, reshape, sliced, transpose
from partita.ops.support import as_tensor

__all__ = "conv3d unfold".split()


def _several(where, what, value, count):
    """`count` integers, of one or of as many."""
    values = [value] * count if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(values, (tuple, list)) or len(values) != count or any(not isinstance(one, int) for one in values):
        raise TypeError(f"[{where}] bad {what}, got {value!r}, expected an integer or {count}")
    return list(values)


def windows(where, x, kernel, strides, gaps):
    """The elements of the windows of x[n, c, h, w], as [n, c, kh, kw, rows, columns]; windows are within the image."""
    n, c, h, w = x.shape
    counts = [(size - gap * (k - 1) - 1) // step + 1 for size, k, step, gap in zip((h, w), kernel, strides, gaps)]
    if min(counts) < 1:
        raise ValueError(f"[{where}] no window is within the image, got {tuple(kernel)} of {h} x {w}, expected smaller")
    rows, columns = (
        (np.arange(k) * gap)[:, None] + np.arange(count) * step
        for k, gap, count, step in zip(kernel, gaps, counts, strides)
    )
    places = rows[:, None, :, None] * w + columns[None, :, None, :]
    pixels = reshape(x, [n, c, h * w])
    return gather(pixels, Tensor(places.astype(np.int32)), 2)


def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The elements of each window of x[n, c, h, w], as columns: [n, c * kh * kw, windows]. Sizes are pixels, or (rows,
    columns); `padding` is the number of zeros around the image. Raises ValueError for other shapes, sizes below 1, or
    where no window is within the image, TypeError for sizes that are no integers."""
    x = as_tensor(input, "unfold")
    if x.ndim != 4:
        raise ValueError(f"[unfold] wrong number of dimensions, got {x.shape}, expected 4")
    kernel, gaps, strides, around = (
        _several("unfold", name, value, 2)
        for name, value in (
            ("kernel_size", kernel_size),
            ("dilation", dilation),
            ("stride", stride),
            ("padding", padding),
        )
    )
    if min(kernel + gaps + strides) < 1 or min(around) < 0:
        raise ValueError(
            f"[unfold] bad window, got kernel_size={kernel_size!r}, dilation={dilation!r}, stride={stride!r} and "
            f"padding={padding!r}, expected sizes from 1, and padding from 0"
        )
    if any(around):
        x = pad(x, (around[1], around[1], around[0], around[0]))
    parts = windows("unfold", x, kernel, strides, gaps)
    return reshape(parts, [x.shape[0], x.shape[1] * kernel[0] * kernel[1], -1])


def _around(where, pad_mode, padding, sizes, kernel, strides, gaps):
    """Zeros before and after each of the three dimensions."""
    if pad_mode == "valid":
        return [(0, 0)] * 3
    if pad_mode == "same":
        pairs = []
        for size, k, step, gap in zip(sizes, kernel, strides, gaps):
            more = max(0, (-(-size // step) - 1) * step + gap * (k - 1) + 1 - size)
            pairs.append((more // 2, more - more // 2))
        return pairs
    if pad_mode != "pad":
        raise ValueError(f"[{where}] unknown pad_mode, got {pad_mode!r}, expected same, valid or pad")
    given = [padding] * 6 if isinstance(padding, int) else list(padding)
    given = [one for one in given for _ in range(2)] if len(given) == 3 else given
    if len(given) != 6:
        raise ValueError(f"[{where}] bad padding, got {padding!r}, expected an integer, three or six")
    return [tuple(given[i : i + 2]) for i in (0, 2, 4)]


def conv3d(
    input: Tensor | float,
    weight: Tensor | float,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    pad_mode: str = "valid",
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of x[n, c, d, h, w] with weight[out, c / groups, kd, kh, kw], as a sum of convolutions of images: [n,
    out, depth, rows, columns]. `padding`, of the mode "pad", is the number of zeros at both ends of the dimensions, or
    one number for each of them. Raises ValueError for shapes that do not fit and another mode, TypeError for integers,
    operands of two types, and sizes that are no integers."""
    if not isinstance(padding, int) and (not isinstance(padding, (tuple, list)) or len(padding) != 3):
        raise ValueError(f"[conv3d] bad padding, got {padding!r}, expected an integer or three")
    return convolved(input, weight, bias, stride, pad_mode, padding, dilation, groups)


def convolved(input, weight, bias, stride, pad_mode, padding, dilation, groups):
    """`conv3d`, whose padding may also be six numbers: front, back, top, bottom, left, right."""
    x, filters = as_tensor(input, "conv3d"), as_tensor(weight, "conv3d")
    if x.ndim != 5 or filters.ndim != 5:
        raise ValueError(f"[conv3d] wrong number of dimensions, got {x.shape} and {filters.shape}, expected 5")
    strides, gaps = _several("conv3d", "stride", stride, 3), _several("conv3d", "dilation", dilation, 3)
    kernel = list(filters.shape[2:])
    front, *sides = _around("conv3d", pad_mode, padding, x.shape[2:], kernel, strides, gaps)
    if any(front):
        x = pad(x, (0, 0, 0, 0, *front))
    count = (x.shape[2] - gaps[0] * (kernel[0] - 1) - 1) // strides[0] + 1
    if count < 1:
        raise ValueError(f"[conv3d] no window is within the volume, got {kernel} of {x.shape[2:]}, expected smaller")
    total = None
    for k in range(kernel[0]):
        begin = k * gaps[0]
        images = x[:, :, begin : begin + (count - 1) * strides[0] + 1 : strides[0]]
        n, c, d, h, w = images.shape
        images = reshape(transpose(images, (0, 2, 1, 3, 4)), [n * d, c, h, w])
        own = sliced(filters, [(k, k + 1) if i == 2 else (0, size) for i, size in enumerate(filters.shape)])
        own = reshape(own, [*own.shape[:2], *own.shape[3:]])
        part = conv2d(images, own, None, strides[1:], "pad", [*sides[0], *sides[1]], gaps[1:], groups)
        total = part if total is None else add(total, part)
    total = total if bias is None else bias_add(total, bias)
    made = reshape(total, [n, d, *total.shape[1:]])
    return transpose(made, (0, 2, 1, 3, 4))
