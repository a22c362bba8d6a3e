"""Convolutions of lines, images and volumes, with PyTorch's way to pad: as many zeros as are given at both ends."""

import numbers

from partita.common._types import Ints
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.support import as_tensor
from partita.ops.transposed import filters_of, spread

__all__ = "conv1d conv2d conv3d conv_tbc conv_transpose2d".split()


def several(where, what, value, count):
    """`count` integers, of one or of as many. Raises TypeError for others."""
    values = [value] * count if isinstance(value, numbers.Integral) else list(value)
    values = values * count if len(values) == 1 else values
    if len(values) != count or not all(isinstance(one, numbers.Integral) for one in values):
        raise TypeError(f"[{where}] bad {what}, got {value!r}, expected an integer or {count}")
    return tuple(int(one) for one in values)


def sides_of(where, padding, kernel, strides, gaps):
    """(zeros before, zeros after) of each dimension: as many as are given, or those of "valid" or "same", which keeps
    the size. Raises ValueError for other names, and for "same" with strides."""
    if not isinstance(padding, str):
        return [(one, one) for one in several(where, "padding", padding, len(kernel))]
    if padding not in ("valid", "same") or (padding == "same" and set(strides) != {1}):
        raise ValueError(
            f"[{where}] bad padding, got {padding!r} with stride {tuple(strides)}, expected 'valid', or 'same' with 1"
        )
    totals = [gap * (k - 1) if padding == "same" else 0 for k, gap in zip(kernel, gaps)]
    return [(total // 2, total - total // 2) for total in totals]


def _convolved(where, count, input, weight, bias, stride, padding, dilation, groups):
    """The convolution over the last `count` dimensions; without a dimension of samples that of one."""
    x, filters = as_tensor(input, where), as_tensor(weight, where)
    if x.ndim not in (count + 1, count + 2) or filters.ndim != count + 2:
        raise ValueError(
            f"[{where}] wrong number of dimensions, got {x.shape} and {filters.shape}, expected {count + 2}"
        )
    if x.ndim == count + 1:
        rows = F.expand_dims(x, 0)
        return F.squeeze(_convolved(where, count, rows, filters, bias, stride, padding, dilation, groups), 0)
    strides, gaps = several(where, "stride", stride, count), several(where, "dilation", dilation, count)
    sides = sides_of(where, padding, filters.shape[2:], strides, gaps)
    if count == 1:
        x, filters = F.expand_dims(x, 2), F.expand_dims(filters, 2)
        pads = (0, 0, *sides[0])
        return F.squeeze(F.conv2d(x, filters, bias, (1, *strides), "pad", pads, (1, *gaps), groups), 2)
    if count == 2:
        return F.conv2d(x, filters, bias, strides, "pad", (*sides[0], *sides[1]), gaps, groups)
    if any(before != after for before, after in sides):
        x, sides = F.pad(x, [one for pair in reversed(sides) for one in pair]), [(0, 0)] * 3
    around = tuple(before for before, _ in sides)
    return F.conv3d(x, filters, bias, strides, "pad", around, gaps, groups)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of lines: takes (n, c, w) or (c, w) and weight (out, c / groups, k), gives (n, out, w') or (out, w').
    `padding` is the number of zeros at both ends, or "valid" (none) or "same" (as many as keep the size, with a stride
    of 1). Raises ValueError for other dimensions, channels that do not fit, and an unknown padding."""
    return _convolved("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of images: takes (n, c, h, w) or (c, h, w) and weight (out, c / groups, kh, kw), gives (n, out, h',
    w') or (out, h', w'). `padding` is the number of zeros at both ends of both dimensions, or one for each of them, or
    "valid" (none) or "same" (as many as keep the size, with a stride of 1). Raises ValueError for other dimensions,
    channels that do not fit, and an unknown padding."""
    return _convolved("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of volumes: takes (n, c, d, h, w) or (c, d, h, w) and weight (out, c / groups, kd, kh, kw), gives (n,
    out, d', h', w') or (out, d', h', w'). `padding` is the number of zeros at both ends of the dimensions, or one for
    each of them, or "valid" or "same", which keeps the size, with a stride of 1. Raises ValueError for other
    dimensions, channels that do not fit, and an unknown padding."""
    return _convolved("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor | None, pad: int = 0) -> Tensor:
    """Convolution along the first dimension of x[w, n, c] with weight[k, c, out]."""
    rows, filters = F.transpose(input, (1, 2, 0)), F.transpose(weight, (2, 1, 0))
    return F.transpose(conv1d(rows, filters, bias, 1, pad), (2, 0, 1))


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """The transposed convolution of images: takes (n, c, h, w) or (c, h, w) and weight (c, out / groups, kh, kw), gives
    (n, out, h', w') or (out, h', w') with h' = (h - 1) stride - 2 padding + dilation (kh - 1) + output_padding + 1.
    Each element adds the filter, times it, at a place that the stride says; `padding` rows and columns are left out at
    both ends, and `output_padding` fewer at the end. Raises ValueError for other dimensions."""
    where, x, filters = "conv_transpose2d", as_tensor(input), as_tensor(weight)
    if x.ndim not in (3, 4) or filters.ndim != 4:
        raise ValueError(f"[{where}] wrong number of dimensions, got {x.shape} and {filters.shape}, expected 4")
    if x.ndim == 3:
        options = stride, padding, output_padding, groups, dilation
        return F.squeeze(conv_transpose2d(F.expand_dims(x, 0), filters, bias, *options), 0)
    strides, cut, more, gaps = (
        several(where, name, value, 2)
        for name, value in (
            ("stride", stride),
            ("padding", padding),
            ("output_padding", output_padding),
            ("dilation", dilation),
        )
    )
    if any(not 0 <= one < max(step, gap) for one, step, gap in zip(more, strides, gaps)):
        raise ValueError(f"[{where}] bad output_padding, got {output_padding!r}, expected less than stride or dilation")
    sides = []
    for k, gap, less, one in zip(filters.shape[2:], gaps, cut, more):
        sides.append((gap * (k - 1) - less, gap * (k - 1) - less + one))
    wide = F.pad(spread(x, strides), (*sides[1], *sides[0]))
    return F.conv2d(wide, filters_of(filters, groups), bias, 1, "valid", 0, gaps, groups)
