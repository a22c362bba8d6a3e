"""Transposed convolutions, by convolutions of images with zeros between their elements."""

from partita.ops.layers import conv2d
from partita.ops.pads import pad
from partita.ops.reversal import reversed_along
from partita.ops.shapes import reshape, transpose


def spread(x, strides):
    """The images with zeros between rows and columns."""
    n, c, h, w = x.shape
    if tuple(strides) == (1, 1):
        return x
    x = pad(reshape(x, [n, c, h, 1, w, 1]), (0, strides[1] - 1, 0, 0, 0, strides[0] - 1))
    x = reshape(x, [n, c, h * strides[0], w * strides[1]])
    return pad(x, (0, 1 - strides[1], 0, 1 - strides[0]))


def filters_of(weight, group):
    """Filters [in, out / groups, h, w] of a transposed convolution as those of another: [out, in / groups, h, w]."""
    inner, outer, h, w = weight.shape
    parts = reshape(reversed_along(reversed_along(weight, 2), 3), [group, inner // group, outer, h, w])
    return reshape(transpose(parts, (0, 2, 1, 3, 4)), [group * outer, inner // group, h, w])


def input_gradient(dout, weight, sizes, strides, before, gaps, group):
    """The gradient of images of these sizes, (rows, columns), of a convolution that has `before` (top, left) zeros
    before them, from that of its result."""
    kernel = weight.shape[2:]
    wide = spread(dout, strides)
    sides = []
    for size, own, k, gap, first in zip(sizes, wide.shape[2:], kernel, gaps, before):
        reach = gap * (k - 1)
        sides.append((reach - first, size + first - own))  # so that each of `size` places has a window
    wide = pad(wide, (*sides[1], *sides[0]))
    return conv2d(wide, filters_of(weight, group), None, 1, "valid", 0, list(gaps), group)
