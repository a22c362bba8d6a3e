"""Places of the elements of windows of lines, images and volumes, and the largest element of each window."""

import math

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.elementwise import add, cast
from partita.ops.reductions import argmax
from partita.ops.shapes import expand_dims, reshape, slices_at
from partita.ops.support import F, run


def several(where, what, value, count, least=1):
    """`count` integers, of one or of as many. Raises TypeError for others, ValueError for those below `least`."""
    values = list(value) if isinstance(value, (tuple, list)) else [value] * count
    if len(values) != count or any(isinstance(one, bool) or not isinstance(one, (int, np.integer)) for one in values):
        raise TypeError(f"[{where}] bad {what}, got {value!r}, expected an integer or {count}")
    if min(values) < least:
        raise ValueError(f"[{where}] bad {what}, got {value!r}, expected integers from {least}")
    return [int(one) for one in values]


def room(where, sizes, kernel, strides, pads, gaps, ceil_mode):
    """Elements before and after each dimension: the padding, and with `ceil_mode` room for the last windows, which
    begin within the elements or before them. Raises ValueError where no window is within them."""
    made = []
    for size, k, step, pad, gap in zip(sizes, kernel, strides, pads, gaps):
        before, after = pad if isinstance(pad, tuple) else (pad, pad)
        reach = gap * (k - 1) + 1
        left = size + before + after - reach
        steps = -(-left // step) if ceil_mode else left // step
        if ceil_mode and steps * step >= size + before:
            steps -= 1
        if left < 0 and steps < 0 or left < 0 and not ceil_mode:
            raise ValueError(
                f"[{where}] no window is within the elements, got {tuple(kernel)} of {tuple(sizes)}, expected smaller"
            )
        made.append((before, max(after, steps * step + reach - size - before)))
    return made


def around_all(where, pad_mode, padding, sizes, kernel, strides, ceil_mode):
    """Elements before and after each dimension, as a layer of pools describes them."""
    count, mode = len(sizes), str(pad_mode).lower()
    gaps = [1] * count
    if mode == "same":
        pairs = []
        for size, k, step in zip(sizes, kernel, strides):
            more = max(0, (-(-size // step) - 1) * step + k - size)
            pairs.append((more // 2, more - more // 2))
        return pairs
    if mode not in ("valid", "pad"):
        raise ValueError(f"[{where}] unknown pad_mode, got {pad_mode!r}, expected same, valid or pad")
    if mode == "valid":
        pads = [(0, 0)] * count
    elif isinstance(padding, (tuple, list)) and len(padding) == 2 * count:
        pads = [tuple(padding[i : i + 2]) for i in range(0, 2 * count, 2)]
    else:
        pads = several(where, "padding", padding, count, 0)
    return room(where, sizes, kernel, strides, pads, gaps, ceil_mode)


def line_of(size, k, step, before, after, gap):
    """The places of the elements of windows of a line, [windows, k], those outside of it below 0 or from `size` on."""
    count = (size + before + after - gap * (k - 1) - 1) // step + 1
    return np.arange(count)[:, None] * step - before + np.arange(k)[None, :] * gap


def part_of(size, wanted):
    """The places of the elements of `wanted` parts of a line, which overlap by less than an element. Shorter parts
    repeat their last element."""
    begins = np.arange(wanted) * size // wanted
    ends = -(-(np.arange(wanted) + 1) * size // wanted)
    return np.minimum(begins[:, None] + np.arange((ends - begins).max())[None, :], ends[:, None] - 1)


def within(line, size):
    """The places of a line, those outside of it replaced by the first of their window that is within."""
    inner = (line >= 0) & (line < size)
    first = np.take_along_axis(line, inner.argmax(1)[:, None], 1)
    return np.where(inner, line, first)


def places_of(sizes, lines):
    """The places of the elements of all windows in one row of elements, [windows, elements of a window], from those of
    each dimension."""
    count, total = len(sizes), 0
    for i, line in enumerate(lines):
        shape = [1] * (2 * count)
        shape[i], shape[count + i] = line.shape
        total = total + line.reshape(shape) * math.prod(sizes[i + 1 :])
    return total.reshape(math.prod(len(line) for line in lines), -1)


def maxima(x, sizes, lines, kind=mstype.int64):
    """(the largest element of each window, its place in one row of the last dimensions). The first of equal ones."""
    places = places_of(sizes, lines).astype(np.int32)
    lead = list(x.shape[: x.ndim - len(sizes)])
    flat = reshape(x, [*lead, math.prod(sizes)])
    parts = slices_at(flat, Tensor(places), len(lead))
    at = argmax(parts, -1)
    found = run(lambda trace, a, i: F.take_along(a, i), parts, expand_dims(at, -1))
    begins = Tensor((np.arange(len(places)) * places.shape[1]).astype(np.int32))
    where = slices_at(Tensor(places.reshape(-1)), add(cast(at, mstype.int32), begins), 0)
    shape = [*lead, *(len(line) for line in lines)]
    return reshape(found, shape), cast(reshape(where, shape), kind)


def window_maxima(where, x, kernel, strides, pads, gaps, ceil_mode, kind=mstype.int64):
    """`maxima` of windows with padding, which is never the largest."""
    sizes = x.shape[x.ndim - len(kernel) :]
    pads = room(where, sizes, kernel, strides, pads, gaps, ceil_mode)
    lines = [
        within(line_of(size, k, step, *pad, gap), size)
        for size, k, step, pad, gap in zip(sizes, kernel, strides, pads, gaps)
    ]
    return maxima(x, sizes, lines, kind)
