"""Ops that are objects: of orders, sums so far, blocks, boxes and edges."""

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.blocks import depth_to_space, space_to_depth
from partita.ops.boxes import nms_with_mask, roi_align
from partita.ops.extremes import at_rank
from partita.ops.op_classes import Classes, MUST
from partita.ops.picked import require_known
from partita.ops.ranked import bound
from partita.ops.support import axis_of

__all__ = []
_CLASSES = Classes(globals())
_options = _CLASSES.options


def _axis_of(axis):
    return int(axis.asnumpy().reshape(-1)[0]) if isinstance(axis, Tensor) else int(axis)


def _so_far(op, function, x, axis, beginning):
    """Results so far along an axis: with `reverse` from the end, with `exclusive` of the elements before each one."""
    axis = axis_of(op.name, _axis_of(axis), x.ndim)
    x = F.flip(x, [axis]) if op.reverse else x
    if op.exclusive:
        size = x.shape[axis]
        first = F.full([1 if i == axis else n for i, n in enumerate(x.shape)], beginning, dtype=x.dtype)
        x = F.concat([first, F.narrow(x, axis, 0, size - 1)], axis) if size > 1 else first
    made = F.cast(function(x, axis), x.dtype)
    return F.flip(made, [axis]) if op.reverse else made


def _log_sum(op, x, axis):
    """(x, axis): log(sum(exp(x))) of the elements so far; of none the smallest number."""
    return _so_far(op, F.logcumsumexp, x, axis, float(np.finfo(x.dtype.numpy).min))


def _product(op, x, axis):
    """(x, axis): products of the elements so far; of none 1."""
    return _so_far(op, F.cumprod, x, axis, 1)


def _median(op, x):
    """(the element in the middle of the order along an axis, where it is), or of all elements."""
    function = F.nanmedian if op.ignore_nan else F.median
    if op.global_median:
        value, _ = function(F.reshape(x, [-1]), 0)
        return value, F.zeros([], mstype.int64)
    return function(x, op.axis, op.keep_dims)


def _quantile(op, x, q):
    """(x, q): the q-quantiles of all elements, or along a dimension."""
    return (F.nanquantile if op.ignore_nan else F.quantile)(x, q, op.dim, op.keep_dims)


def _with_value(function):
    def call(op, x):
        value, place = function(x, op.axis, op.keep_dims)
        return place, value

    return call


def _deviation(op, x):
    """(standard deviation, mean) over axes, or of all elements; unbiased over one less than the count."""
    axis = tuple(op.axis) if isinstance(op.axis, (list, tuple)) else op.axis
    axis = None if axis == () else axis
    return F.std_mean(x, axis, int(bool(op.unbiased)), op.keep_dims)


def _reduced_product(op, x, axis=()):
    """(x, axis): the product over axes, or of all elements, of their element type."""
    return F.cast(F.prod(x, axis, op.keep_dims), x.dtype)


def _consecutive(op, x):
    """(elements without those that are equal to the one before, which of them each is, how many there are of each). 0
    in the places of what is not asked for."""
    found = F.unique_consecutive(x, op.return_inverse, op.return_counts, op.dim)
    found = list(found) if isinstance(found, tuple) else [found]
    nothing = F.zeros([], mstype.int64)
    which = found.pop(1) if op.return_inverse else nothing
    return found[0], which, found[1] if op.return_counts else nothing


def _difference(op, x, y):
    """(x, y): (the elements of a row that are not in another one, where they are)."""
    require_known("ListDiff", x, y)
    values = x.asnumpy()
    places = np.flatnonzero(~np.isin(values, y.asnumpy()))
    return Tensor(values[places]), Tensor(places.astype(mstype.to_dtype(op.out_idx).numpy))


def _nth(op, x, n):
    """(x, n): the n-th smallest element of the last dimension, or largest, from 0."""
    n, size = _axis_of(n), x.shape[-1] if x.ndim else 0
    if not 0 <= n < size:
        raise ValueError(f"[NthElement] no such element, got n={n} of shape {x.shape}, expected 0 to below {size}")
    return at_rank("NthElement", x, -1, size - 1 - n if op.reverse else n, False)[0]


def _bound(side):
    def call(op, rows, values):
        return bound(op.name, side, mstype.to_dtype(op.out_type), rows, values)

    return call


def _searched(op, rows, values, sorter=None):
    """(rows that rise, values): where the values belong in the rows."""
    small = mstype.to_dtype(op.dtype) == mstype.int32
    return F.searchsorted(rows, values, out_int32=small, right=op.right, sorter=sorter)


def _bucket(op, x):
    """In which bucket each element is, as int32: the number of boundaries that are at most it."""
    return F.bucketize(x, op.boundaries, right=True)


def _counted(op, x):
    """How many elements over dimensions, or of all, are other than 0; the result has the shape without these
    dimensions."""
    return F.count_nonzero(x, () if op.dims is None else op.dims)


def _padded(op, x, paddings, constant_value=0):
    """(x, numbers of elements, value): elements before and after dimensions, the last one first."""
    pairs = [int(one) for one in (paddings.asnumpy().tolist() if isinstance(paddings, Tensor) else paddings)]
    if not op.paddings_contiguous:
        half = len(pairs) // 2
        pairs = [one for pair in zip(pairs[:half], pairs[half:]) for one in pair]
    mode = {"edge": "replicate"}.get(op.mode, op.mode)
    if mode != "constant":
        return F.pad(x, pairs, mode)
    value = constant_value.asnumpy().item() if isinstance(constant_value, Tensor) else constant_value
    return F.pad(x, pairs, "constant", value)


def _split(op, x):
    """Parts of sizes along a dimension; -1 for what is left."""
    sizes, axis = [int(one) for one in op.size_splits], op.split_dim
    if len(sizes) != op.num_split or sizes.count(-1) > 1:
        raise ValueError(f"[SplitV] bad sizes, got {sizes}, expected {op.num_split} with at most one -1")
    rest = x.shape[axis] - sum(one for one in sizes if one != -1)
    return tuple(F.split(x, [rest if one == -1 else one for one in sizes], axis))


def _ragged(op, starts, limits, deltas):
    """(begins, ends, steps): (where rows of numbers begin in one row of all, this row)."""
    require_known("RaggedRange", starts, limits, deltas)
    parts = [np.arange(*one) for one in zip(*(np.atleast_1d(x.asnumpy()) for x in (starts, limits, deltas)))]
    ends = np.cumsum([0] + [len(one) for one in parts]).astype(mstype.to_dtype(op.Tsplits).numpy)
    return Tensor(ends), Tensor(np.concatenate(parts).astype(starts.dtype.numpy))


def _turned(op, x):
    """Numbers of dimensions of `dst_format` as those of `src_format`."""
    places = Tensor(np.array([op.src_format.index(one) for one in op.dst_format], np.int32))
    ids = F.select(F.less(x, 0), F.add(x, len(op.src_format)), x)
    return F.cast(F.gather(places, ids, 0), x.dtype)


def _permuted(op, x):
    """A row, or rows, of one number for each dimension of a format, in the order of another one."""
    return F.gather(x, Tensor(np.array([op.src_format.index(one) for one in op.dst_format], np.int32)), 0)


def _aligned(op, features, rois):
    """(features [n, c, h, w], regions [k, 5]: image, x0, y0, x1, y1): [k, c, pooled_height, pooled_width] means of
    points between elements. The gradient reaches the features."""
    if op.sample_num < 1:
        raise NotImplementedError(
            f"[ROIAlign] numbers of points by region are not supported, got sample_num={op.sample_num}, expected from 1"
        )
    if op.roi_end_mode not in (0, 1):
        raise ValueError(f"[ROIAlign] unknown roi_end_mode, got {op.roi_end_mode}, expected 0 or 1")
    sizes = int(op.pooled_height), int(op.pooled_width)
    return roi_align(features, rois, sizes, float(op.spatial_scale), int(op.sample_num), op.roi_end_mode)


def _orders():
    _options("Cummax", lambda op, x: F.cummax(x, op.axis), F.cummax.__doc__, axis=MUST)
    _options("Cummin", lambda op, x: F.cummin(x, op.axis), F.cummin.__doc__, axis=MUST)
    _options("CumulativeLogsumexp", _log_sum, exclusive=False, reverse=False)
    _options("CumProd", _product, exclusive=False, reverse=False)
    _options("Median", _median, global_median=False, axis=0, keep_dims=False, ignore_nan=False)
    _options("Quantile", _quantile, dim=None, keep_dims=False, ignore_nan=False)
    at = (
        "(where, {} element) along an axis; the first of equal ones. Both have the shape without the axis, or with "
        "`keep_dims` with size 1 there. Raises ValueError for an axis that x has not."
    ).format
    _options("ArgMaxWithValue", _with_value(F.max), at("largest"), axis=0, keep_dims=False)
    _options("ArgMinWithValue", _with_value(F.min), at("smallest"), axis=0, keep_dims=False)
    _options(
        "Argmin",
        lambda op, x: F.cast(F.argmin(x, op.axis), op.output_type),
        F.argmin.__doc__,
        axis=-1,
        output_type=mstype.int32,
    )
    _options("ReduceProd", _reduced_product, keep_dims=False)
    _options("ReduceStd", _deviation, axis=[], unbiased=True, keep_dims=False)
    _options("UniqueConsecutive", _consecutive, return_inverse=False, return_counts=False, dim=None)
    _options("InTopK", lambda op, x1, x2: F.intopk(x1, x2, op.k), F.intopk.__doc__, k=MUST)
    _options("SearchSorted", _searched, dtype=mstype.int64, right=False)
    _options("Bucketize", _bucket, boundaries=MUST)
    before = "(rows that rise, rows of values): where these belong, {} equal elements.".format
    _options("LowerBound", _bound("left"), before("before"), out_type=mstype.int32)
    _options("UpperBound", _bound("right"), before("after"), out_type=mstype.int32)
    _options("ListDiff", _difference, out_idx=mstype.int32)
    _options("NthElement", _nth, reverse=False)
    _options("CountNonZero", _counted, dims=None)
    _options("Roll", lambda op, x: F.roll(x, op.shifts, op.dims), F.roll.__doc__, shifts=MUST, dims=None)
    _options("RaggedRange", _ragged, Tsplits=MUST)
    _options("DynamicShape", lambda op, x: F.dyn_shape(x), F.dyn_shape.__doc__, dtype=9)


def _blocks():
    to_batch, to_space = F.space_to_batch_nd, F.batch_to_space_nd
    for name, size in (("SpaceToBatch", "block_size"), ("SpaceToBatchND", "block_shape")):

        def spread(op, x, size=size):
            return to_batch(x, getattr(op, size), op.paddings)

        _options(name, spread, to_batch.__doc__, **{size: MUST}, paddings=MUST)
    for name, size in (("BatchToSpace", "block_size"), ("BatchToSpaceND", "block_shape")):

        def joined(op, x, size=size):
            return to_space(x, getattr(op, size), op.crops)

        _options(name, joined, to_space.__doc__, **{size: MUST}, crops=MUST)
    _options("SpaceToDepth", lambda op, x: space_to_depth(x, op.block_size), space_to_depth.__doc__, block_size=MUST)
    _options("DepthToSpace", lambda op, x: depth_to_space(x, op.block_size), depth_to_space.__doc__, block_size=MUST)
    _options("Padding", lambda op, x: F.padding(x, op.pad_dim_size), F.padding.__doc__, pad_dim_size=8)
    _options("PadV3", _padded, mode="constant", paddings_contiguous=True)
    _options("MirrorPad", lambda op, x, pairs: F.mirror_pad(x, pairs, op.mode), F.mirror_pad.__doc__, mode="REFLECT")
    _options("SplitV", _split, size_splits=MUST, split_dim=MUST, num_split=MUST)
    _options("Pack", lambda op, x: F.stack(list(x), op.axis), F.stack.__doc__, axis=0)
    _options("Unpack", lambda op, x: F.unstack(x, op.axis), F.unstack.__doc__, axis=0)
    _options("DataFormatDimMap", _turned, src_format="NHWC", dst_format="NCHW")
    _options("DataFormatVecPermute", _permuted, src_format="NHWC", dst_format="NCHW")


def _boxes():
    no_means, no_stds = (0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0)
    about = """(boxes with scores [n, 5]) gives (boxes with the highest scores first, their numbers in this order,
    whether each stays): one is left out that shares more than a part of an area with a better one that stays."""
    _options("NMSWithMask", lambda op, x: nms_with_mask(x, op.iou_threshold), about, iou_threshold=0.5)
    _options("IOU", lambda op, anchors, boxes: F.iou(anchors, boxes, op.mode), F.iou.__doc__, mode="iou")
    _options(
        "BoundingBoxEncode",
        lambda op, anchors, boxes: F.bounding_box_encode(anchors, boxes, op.means, op.stds),
        F.bounding_box_encode.__doc__,
        means=no_means,
        stds=no_stds,
    )
    _options(
        "BoundingBoxDecode",
        lambda op, *args: F.bounding_box_decode(*args, op.max_shape, op.means, op.stds, op.wh_ratio_clip),
        F.bounding_box_decode.__doc__,
        max_shape=MUST,
        means=no_means,
        stds=no_stds,
        wh_ratio_clip=0.016,
    )
    _options(
        "ROIAlign",
        _aligned,
        pooled_height=MUST,
        pooled_width=MUST,
        spatial_scale=MUST,
        sample_num=2,
        roi_end_mode=1,
    )
    _options(
        "CropAndResize",
        lambda op, *args: F.crop_and_resize(*args, op.method, op.extrapolation_value),
        F.crop_and_resize.__doc__,
        method="bilinear",
        extrapolation_value=0.0,
    )


_orders()
_blocks()
_boxes()
