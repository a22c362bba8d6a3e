"""Transposed convolutions of images and volumes, and convolutions of elements at places of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from partita.common.tensor import Tensor
from partita.ops.elementwise import add, bias_add, mul
from partita.ops.grids import sampled
from partita.ops.layers import matmul
from partita.ops.pads import pad
from partita.ops.patches import conv3d
from partita.ops.reversal import reversed_along
from partita.ops.shapes import broadcast_to, expand_dims, reshape, transpose
from partita.ops.support import as_tensor
from partita.ops.pool_windows import several

__all__ = ("conv3d_transpose", "conv_transpose2d", "deformable_conv2d")


def _spread(x, strides):
    """The volumes with zeros between their elements."""
    n, c, *sizes = x.shape
    if list(strides) == [1, 1, 1]:
        return x
    x = reshape(x, [n, c, *(one for size in sizes for one in (size, 1))])
    x = pad(x, [one for step in reversed(strides) for one in (0, step - 1, 0, 0)])
    x = reshape(x, [n, c, *(size * step for size, step in zip(sizes, strides))])
    return pad(x, [one for step in reversed(strides) for one in (0, 1 - step)])


def _turned(weight, group):
    """Filters [in, out / groups, ..] of a transposed convolution as those of another: [out, in / groups, ..]."""
    inner, outer, *kernel = weight.shape
    for axis in (2, 3, 4):
        weight = reversed_along(weight, axis) if weight.shape[axis] > 1 else weight
    parts = transpose(reshape(weight, [group, inner // group, outer, *kernel]), (0, 2, 1, 3, 4, 5))
    return reshape(parts, [group * outer, inner // group, *kernel])


def transposed(where, x, weight, strides, cut, gaps, group, more=(0, 0, 0)):
    """The transposed convolution of x[n, c, d, h, w] with weight[c, out / groups, ..], without `cut` (before, after)
    elements of each dimension, and with `more` at its end."""
    x, filters = as_tensor(x, where), as_tensor(weight, where)
    if x.ndim != 5 or filters.ndim != 5 or x.shape[1] != filters.shape[0] or filters.shape[0] % group:
        raise ValueError(f"[{where}] the shapes do not fit, got {x.shape} and weight {filters.shape} in {group} groups")
    sides = []
    for k, gap, (before, after), one in zip(filters.shape[2:], gaps, cut, more):
        reach = gap * (k - 1)
        sides.append((reach - before, reach - after + one))
    wide = pad(_spread(x, strides), [one for pair in reversed(sides) for one in pair])
    return conv3d(wide, _turned(filters, group), None, 1, "valid", 0, tuple(gaps), group)


def cut_of(where, pad_mode, padding, sizes, kernel, strides, gaps):
    """Elements of the largest result that are left out, (before, after) of each dimension, below 0 for more."""
    if pad_mode == "pad":
        given = [padding] * 6 if isinstance(padding, int) else list(padding)
        given = [one for one in given for _ in range(2)] if len(given) == 3 else given
        if len(given) != 6:
            raise ValueError(f"[{where}] bad padding, got {padding!r}, expected an integer, three or six")
        return [tuple(given[i : i + 2]) for i in (0, 2, 4)]
    if pad_mode not in ("same", "valid"):
        raise ValueError(f"[{where}] unknown pad_mode, got {pad_mode!r}, expected same, valid or pad")
    cut = []
    for size, k, step, gap in zip(sizes, kernel, strides, gaps):
        reach = gap * (k - 1) + 1
        if pad_mode == "valid":  # a stride beyond the filter leaves zeros at the end
            cut.append((0, min(0, reach - step)))
            continue
        total = (size - 1) * step + reach - size * step
        cut.append((max(total, 0) // 2, total - max(total, 0) // 2))
    return cut


def conv3d_transpose(
    inputs: Tensor | float,
    weight: Tensor | float,
    pad_mode: str = "valid",
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
    dilation: int | Sequence[int] = 1,
    group: int = 1,
    output_padding: int | Sequence[int] = 0,
) -> Tensor:
    """The transposed convolution of x[n, c, d, h, w] with weight[c, out / groups, kd, kh, kw]. `output_padding` is the
    number of elements that the result has more at the end of its dimensions."""
    where = "conv3d_transpose"
    x, filters = as_tensor(inputs, where), as_tensor(weight, where)
    strides, gaps = several(where, "stride", stride, 3), several(where, "dilation", dilation, 3)
    more = several(where, "output_padding", output_padding, 3, 0)
    cut = cut_of(where, pad_mode, padding, x.shape[2:], filters.shape[2:], strides, gaps)
    return transposed(where, x, filters, strides, cut, gaps, group, more)


def conv_transpose2d(
    input: Tensor | float,
    weight: Tensor | float,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """The transposed convolution of x[n, c, h, w], or of x[c, h, w], with weight[c, out / groups, kh, kw].
    `output_padding` is the number of rows and columns that the result has more at its end."""
    where = "conv_transpose2d"
    x, filters = as_tensor(input, where), as_tensor(weight, where)
    if x.ndim not in (3, 4) or filters.ndim != 4:
        raise ValueError(f"[{where}] wrong number of dimensions, got {x.shape} and {filters.shape}, expected 4")
    images = x if x.ndim == 4 else expand_dims(x, 0)
    strides, gaps = several(where, "stride", stride, 2), several(where, "dilation", dilation, 2)
    pads, more = several(where, "padding", padding, 2, 0), several(where, "output_padding", output_padding, 2, 0)
    cut = [(0, 0), *((one, one) for one in pads)]
    volumes = expand_dims(images, 2), expand_dims(filters, 2)
    made = transposed(where, *volumes, [1, *strides], cut, [1, *gaps], groups, [0, *more])
    made = reshape(made, [*made.shape[:2], *made.shape[3:]])
    made = made if bias is None else bias_add(made, bias)
    return made if x.ndim == 4 else reshape(made, made.shape[1:])


def deformable_conv2d(
    x: Tensor | float,
    weight: Tensor | float,
    offsets: Tensor | float,
    kernel_size: int | Sequence[int],
    strides: int | Sequence[int],
    padding: int | Sequence[int],
    bias: Tensor | None = None,
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    modulated: bool = True,
) -> Tensor:
    """The convolution of x[n, c, h, w] with weight[out, c / groups, kh, kw] of elements that are moved by offsets, and
    weighted if `modulated`: X. Zhu et al., Deformable ConvNets v2, 2019. `offsets` has, of each group of channels and
    element of a window, the columns, then the rows, then the weights: [n, 3 groups kh kw, rows, columns]. `strides` and
    `dilations` have rows and columns last, `padding` is top, bottom, left, right. Raises ValueError for shapes that do
    not fit."""
    where = "deformable_conv2d"
    x, filters, moved = (as_tensor(one, where) for one in (x, weight, offsets))
    if x.ndim != 4 or filters.ndim != 4:
        raise ValueError(f"[{where}] wrong number of dimensions, got {x.shape} and {filters.shape}, expected 4")
    kernel, parts, own = several(where, "kernel_size", kernel_size, 2), deformable_groups, 3 if modulated else 2
    (n, c, h, w), count = x.shape, math.prod(kernel)
    steps, gaps = [int(one) for one in strides[-2:]], [int(one) for one in dilations[-2:]]
    top, bottom, left, right = (int(one) for one in padding)
    sizes = [
        (size + around - gap * (k - 1) - 1) // step + 1
        for size, around, gap, k, step in zip((h, w), (top + bottom, left + right), gaps, kernel, steps)
    ]
    if moved.shape != (n, own * parts * count, *sizes) or c % parts or c % groups or len(padding) != 4:
        raise ValueError(
            f"[{where}] the shapes do not fit, got {x.shape}, weight {filters.shape} and offsets {moved.shape}, "
            f"expected offsets {(n, own * parts * count, *sizes)}"
        )
    rows, columns = (
        (np.arange(k) * gap)[:, None] + np.arange(size) * step - before
        for k, gap, size, step, before in zip(kernel, gaps, sizes, steps, (top, left))
    )
    shape = [1, *kernel, *sizes]
    base_rows = np.broadcast_to(rows[:, None, :, None], shape[1:]).reshape(1, -1)
    base_columns = np.broadcast_to(columns[None, :, None, :], shape[1:]).reshape(1, -1)
    moved = reshape(moved, [n, own, parts, count * sizes[0] * sizes[1]])
    across, down = (reshape(moved[:, i], [n * parts, -1]) for i in (0, 1))
    places = [
        add(one, Tensor(base.astype(np.float32), x.dtype)) for one, base in ((down, base_rows), (across, base_columns))
    ]
    found = sampled(reshape(x, [n * parts, c // parts, h, w]), places, "bilinear")
    if modulated:
        found = mul(found, reshape(moved[:, 2], [n * parts, 1, -1]))
    found = reshape(found, [n, groups, c // groups * count, sizes[0] * sizes[1]])
    out = filters.shape[0]
    shape = [groups, out // groups, c // groups * count]
    kernels = broadcast_to(reshape(filters, [1, *shape]), [n, *shape])
    made = reshape(matmul(kernels, found), [n, out, *sizes])
    return made if bias is None else bias_add(made, bias)
