"""Boxes of images in one size, rows of tables, and sums that are normalized."""

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.channels import normalized_rows
from partita.ops.creation import ones_like
from partita.ops.derived import stop_gradient
from partita.ops.elementwise import (
    add,
    cast,
    equal,
    floor,
    greater_equal,
    less_equal,
    logical_and,
    mul,
    rsqrt,
    select,
    square,
    sub,
)
from partita.ops.grids import sampled
from partita.ops.padding import pad
from partita.ops.reductions import reduce_mean
from partita.ops.shapes import broadcast_to, expand_dims, gather, reshape, transpose
from partita.ops.support import as_tensor
from partita.ops.pool_windows import several

__all__ = ("add_layer_norm", "add_rms_norm", "crop_and_resize", "embedding", "mirror_pad")


def _along(begin, end, size, wanted):
    """The places of `wanted` elements of each box along a dimension, [boxes, wanted], and which are within."""
    first, last = expand_dims(begin, -1), expand_dims(end, -1)
    if wanted == 1:
        places = mul(add(first, last), 0.5 * (size - 1))
    else:
        step = mul(sub(last, first), (size - 1) / (wanted - 1))
        places = add(mul(first, float(size - 1)), mul(step, Tensor(np.arange(wanted, dtype=np.float32)[None])))
    return places, logical_and(greater_equal(places, 0.0), less_equal(places, float(size - 1)))


def crop_and_resize(image, boxes, box_indices, crop_size, method="bilinear", extrapolation_value=0.0):
    """The boxes [n, 4] of images [images, h, w, c] as float32 images of one size, [n, *crop_size, c]: of the elements
    around each place, or of the nearest. A box is (top, left, bottom, right) as shares of the size less 1, of the image
    that `box_indices` has; places outside of it have `extrapolation_value`. Raises NotImplementedError for the method
    "bilinear_v2"."""
    where = "crop_and_resize"
    if method == "bilinear_v2":
        raise NotImplementedError(f"[{where}] this method is not supported, got {method!r}, expected 'bilinear'")
    if method not in ("bilinear", "nearest"):
        raise ValueError(f"[{where}] unknown method, got {method!r}, expected 'bilinear' or 'nearest'")
    x, places = cast(as_tensor(image, where), mstype.float32), as_tensor(boxes, where)
    wanted = several(where, "crop_size", list(crop_size), 2)
    if x.ndim != 4 or places.ndim != 2 or places.shape[1] != 4:
        raise ValueError(
            f"[{where}] the shapes do not fit, got {x.shape} and boxes {places.shape}, expected [n, h, w, c] and [n, 4]"
        )
    own = gather(transpose(x, (0, 3, 1, 2)), as_tensor(box_indices, where), 0)
    sides = [reshape(places[:, i : i + 1], [-1]) for i in range(4)]
    n, (height, width) = places.shape[0], wanted
    rows, in_rows = _along(sides[0], sides[2], x.shape[1], height)
    columns, in_columns = _along(sides[1], sides[3], x.shape[2], width)
    shape = [n, height, width]
    grid = [
        reshape(broadcast_to(expand_dims(one, axis), shape), [n, -1]) for one, axis in ((rows, -1), (columns, 1))
    ]
    grid = grid if method == "bilinear" else [floor(add(one, 0.5)) for one in grid]
    inner = logical_and(expand_dims(in_rows, -1), expand_dims(in_columns, 1))
    found = transpose(reshape(sampled(own, grid, method), [n, x.shape[3], height, width]), (0, 2, 3, 1))
    return select(broadcast_to(expand_dims(inner, -1), found.shape), found, Tensor(float(extrapolation_value)))


def mirror_pad(input_x, paddings, mode):
    """More elements, (before, after) of each dimension, which mirror those within: "REFLECT" without the edges,
    "SYMMETRIC" with them."""
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"[mirror_pad] unknown mode, got {mode!r}, expected REFLECT or SYMMETRIC")
    rows = np.asarray(paddings.asnumpy() if isinstance(paddings, Tensor) else paddings).tolist()
    return pad(input_x, [int(one) for pair in reversed(rows) for one in pair], mode.lower())


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False):
    """The rows of a table at ids; that of `padding_idx` has no gradient. Raises NotImplementedError for tables that
    change (`max_norm`), and for gradients that are divided by counts."""
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError(
            f"[embedding] this form is not supported, got max_norm={max_norm} and scale_grad_by_freq="
            f"{scale_grad_by_freq}, expected None and False"
        )
    ids, table = as_tensor(input, "embedding"), as_tensor(weight, "embedding")
    rows = gather(table, ids, 0)
    if padding_idx is None:
        return rows
    wanted = padding_idx + table.shape[0] if padding_idx < 0 else padding_idx
    is_none = broadcast_to(expand_dims(equal(ids, int(wanted)), -1), rows.shape)
    return select(is_none, stop_gradient(rows), rows)


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
