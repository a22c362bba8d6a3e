"""Ops that are objects: of places, segments, orders, diagonals, blocks and boxes."""

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.boxes import best_boxes
from partita.ops.diagonals import diag_part, fill_diagonal
from partita.ops.filled import index_put, masked_scatter, scatter_along
from partita.ops.op_classes import Classes, MUST
from partita.ops.picked import require_known
from partita.ops.placed import change, change_rows
from partita.ops.ranked import unravelled
from partita.ops.segments import sorted_segments
from partita.ops.tables import looked_up

__all__ = []
_CLASSES = Classes(globals())
_plain, _options = _CLASSES.plain, _CLASSES.options


def _of_slices():
    for kind in ("add", "sub", "mul", "div", "max", "min", "update"):
        word = kind.capitalize()
        _plain(f"TensorScatter{word}", getattr(F, f"tensor_scatter_{kind}"))
        locking = kind == "update"

        def rows(op, x, indices, updates, kind=kind):
            return change_rows(op.name, kind, x, indices, updates)

        def slices(op, x, indices, updates, kind=kind):
            return change(op.name, kind, x, indices, updates)

        about = getattr(F, f"scatter_nd_{kind}").__doc__
        _options(f"ScatterNd{word}", slices, about, use_locking=locking)
        about = about.replace("at places indices[.., q]", "of some numbers along the first dimension")
        _options(f"Scatter{word}", rows, about, use_locking=locking)


def _of_segments():
    for kind, word in (("add", "Sum"), ("max", "Max"), ("min", "Min"), ("mul", "Prod"), ("mean", "Mean")):

        def over(x, segment_ids, kind=kind, name=f"Segment{word}"):
            return sorted_segments(name, kind, x, segment_ids)

        what = {"add": "sums", "max": "largest", "min": "smallest", "mul": "products", "mean": "means"}[kind]
        empty = 1 if kind == "mul" else 0
        over.__doc__ = f"(x, ids that rise): the {what} of the slices of each segment, {empty} of none."
        _plain(f"Segment{word}", over)
        if kind != "mean":
            _plain(f"UnsortedSegment{word}", getattr(F, f"unsorted_segment_{word.lower()}"))


_of_slices()
_of_segments()
_plain("ScatterNd", F.scatter_nd)
_plain("MaskedScatter", masked_scatter)
_plain("IndexFill", F.index_fill)
_plain("MatrixBandPart", F.matrix_band_part)
_plain("Diag", F.diag)
_plain("DiagPart", diag_part)
_plain("UniqueWithPad", F.unique_with_pad)
_plain("NonZero", F.nonzero)
_plain("Unique", F.unique)
_plain("CheckValid", F.check_valid)
_plain("NonMaxSuppressionV3", best_boxes)
_plain("TensorShape", F.dyn_shape)
_plain("Expand", F.expand)
_plain("StopGradient", F.stop_gradient)
_plain("ScalarToArray", F.scalar_to_array)
_plain("TupleToArray", F.tuple_to_array)
_plain("BatchToSpaceNDV2", F.batch_to_space_nd)


def _scatter_non_aliasing_add(x, indices, updates):
    """(parameter, places [.., q], updates): the parameter with its slices increased by the updates."""
    return change("ScatterNonAliasingAdd", "add", x, indices, updates)


def _invert_permutation(input_x):
    """A tuple of the integers from 0 in some order: where each of them is."""
    numbers = [int(one) for one in input_x]
    if sorted(numbers) != list(range(len(numbers))):
        raise ValueError(f"[InvertPermutation] not an order, got {numbers}, expected the integers from 0, each once")
    return tuple(np.argsort(numbers).tolist())


def _unravel_index(indices, dims):
    """(numbers of elements in a row, shape): their places, a row for each dimension."""
    require_known("UnravelIndex", dims)
    return F.stack(unravelled(indices, [int(one) for one in dims.asnumpy()]), 0)


def _embedding_lookup(input_params, input_indices, offset):
    """(table [v, z], ids, the number of the first row): rows by id, 0 for ids without a row."""
    return looked_up(input_params, input_indices, offset)


def _equal_count(x, y):
    """(x, y): how many elements are equal, of their element type, as one element."""
    return F.cast(F.reshape(F.reduce_sum(F.cast(F.equal(x, y), mstype.int32)), [1]), x.dtype)


def _tensor_to_tuple(x):
    """The numbers of a row, as a tuple."""
    require_known("TensorToTuple", x)
    return tuple(x.asnumpy().tolist())


def _identity_n(x):
    """The tensors of a tuple or list, as a tuple."""
    return tuple(F.identity(one) for one in x)


def _sub_and_filter(input_x, max_num, offset):
    """(integers, limit, offset): those that are from 0 to below the limit after the offset is taken away, and their
    places."""
    require_known("SubAndFilter", input_x)
    values = input_x.asnumpy() - int(offset)
    places = np.flatnonzero((values >= 0) & (values < int(max_num)))
    return Tensor(values[places]), Tensor(places.astype(values.dtype))


def _parallel_concat(values):
    """The tensors of a tuple, whose first dimension has one element, one after the other along it."""
    return F.concat(list(values), 0)


for _one in (
    ("ScatterNonAliasingAdd", _scatter_non_aliasing_add),
    ("InvertPermutation", _invert_permutation),
    ("UnravelIndex", _unravel_index),
    ("EmbeddingLookup", _embedding_lookup),
    ("EqualCount", _equal_count),
    ("TensorToTuple", _tensor_to_tuple),
    ("IdentityN", _identity_n),
    ("SubAndFilter", _sub_and_filter),
    ("ParallelConcat", _parallel_concat),
):
    _plain(*_one)

_options(
    "TensorScatterElements",
    lambda op, x, indices, updates: F.tensor_scatter_elements(x, indices, updates, op.axis, op.reduction),
    F.tensor_scatter_elements.__doc__,
    axis=0,
    reduction="none",
)
_options(
    "ScatterAddWithAxis",
    lambda op, x, indices, updates: scatter_along(op.name, "add", x, op.axis, indices, updates),
    "(x, places, updates): the tensor with the updates added at places along an axis.",
    axis=0,
)
_options(
    "IndexAdd",
    lambda op, x, indices, y: F.inplace_index_add(x, indices, y, op.axis),
    F.inplace_index_add.__doc__,
    axis=MUST,
    use_lock=True,
    check_index_bound=True,
)
_options(
    "InplaceIndexAdd",
    lambda op, var, indices, updates: F.inplace_index_add(var, indices, updates, op.axis),
    F.inplace_index_add.__doc__,
    axis=MUST,
)
_options(
    "IndexPut",
    lambda op, x1, x2, indices: index_put(x1, indices, x2, bool(op.accumulate)),
    index_put.__doc__,
    accumulate=0,
)
_options(
    "ReverseSequence",
    lambda op, x, lengths: F.reverse_sequence(x, lengths, op.seq_dim, op.batch_dim),
    F.reverse_sequence.__doc__,
    seq_dim=MUST,
    batch_dim=0,
)
_options("ReverseV2", lambda op, x: F.flip(x, op.axis), F.flip.__doc__, axis=MUST)
_options(
    "FillDiagonal",
    lambda op, x: fill_diagonal(x, op.fill_value, op.wrap),
    fill_diagonal.__doc__,
    fill_value=MUST,
    wrap=False,
)
_options("Triu", lambda op, x: F.triu(x, op.diagonal), F.triu.__doc__, diagonal=0)
for _name, _function in (
    ("MatrixDiagV3", F.matrix_diag),
    ("MatrixDiagPartV3", F.matrix_diag_part),
    ("MatrixSetDiagV3", F.matrix_set_diag),
):
    _options(
        _name,
        lambda op, *args, function=_function: function(*args, align=op.align),
        _function.__doc__,
        align="RIGHT_LEFT",
    )
