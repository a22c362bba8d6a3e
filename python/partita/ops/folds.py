"""Images from the columns of their windows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from partita.common.tensor import Tensor
from partita.ops.pools import put_along
from partita.ops.shapes import broadcast_to, reshape, sliced
from partita.ops.support import as_tensor
from partita.ops.pool_windows import line_of, places_of, several

__all__ = ("col2im", "fold")


def _summed(where, x, output_size, kernel, gaps, pads, strides):
    """Images of these sizes, which are the sums of the elements of x[n, c, elements of a window, windows] at their
    places."""
    given = output_size.asnumpy().tolist() if isinstance(output_size, Tensor) else output_size
    sizes = several(where, "output_size", given, 2)
    wide = [size + 2 * pad for size, pad in zip(sizes, pads)]
    lines = [line_of(size, k, step, 0, 0, gap) for size, k, step, gap in zip(wide, kernel, strides, gaps)]
    places = places_of(wide, lines).T.astype(np.int32)  # [elements, windows]
    if x.shape[2:] != places.shape:
        raise ValueError(
            f"[{where}] wrong number of columns, got {x.shape[2:]}, expected {places.shape}: elements of a window, and "
            "windows"
        )
    flat = reshape(x, [*x.shape[:2], places.size])
    ids = broadcast_to(Tensor(places.reshape(1, 1, -1)), flat.shape)
    images = reshape(put_along(flat, ids, math.prod(wide)), [*x.shape[:2], *wide])
    return sliced(images, [(0, n) for n in x.shape[:2]] + [(pad, pad + n) for n, pad in zip(sizes, pads)])


def _options(where, kernel_size, dilation, padding, stride):
    return (
        several(where, "kernel_size", kernel_size, 2),
        several(where, "dilation", dilation, 2),
        several(where, "padding", padding, 2, 0),
        several(where, "stride", stride, 2),
    )


def fold(
    input: Tensor | float,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Images x[n, c, *output_size] from the columns of their windows, [n, c * kh * kw, windows], as `unfold` makes
    them; elements of several windows are added. Raises ValueError for other shapes."""
    x, options = as_tensor(input, "fold"), _options("fold", kernel_size, dilation, padding, stride)
    count = math.prod(options[0])
    if x.ndim != 3 or x.shape[1] % count:
        raise ValueError(f"[fold] wrong shape, got {x.shape}, expected [n, a multiple of {count}, windows]")
    parts = reshape(x, [x.shape[0], x.shape[1] // count, count, x.shape[2]])
    return _summed("fold", parts, output_size, *options)


def col2im(
    input_x: Tensor | float,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int],
    padding_value: int | Sequence[int],
    stride: int | Sequence[int],
) -> Tensor:
    """Images x[n, c, *output_size] from the columns of their windows, [n, c, kh * kw, windows]; elements of several
    windows are added."""
    x, options = as_tensor(input_x, "col2im"), _options("col2im", kernel_size, dilation, padding_value, stride)
    if x.ndim != 4:
        raise ValueError(f"[col2im] wrong number of dimensions, got {x.shape}, expected 4")
    return _summed("col2im", x, output_size, *options)
