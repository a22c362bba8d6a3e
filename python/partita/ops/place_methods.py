"""Methods of tensors that scatter, rank and rearrange."""

from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common._types import Ints, Number
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.assignment import assigned
from partita.ops.diagonals import fill_diagonal
from partita.ops.extremes import at_rank
from partita.ops.filled import index_put, masked_scatter, scatter_along
from partita.ops.support import axis_of
from partita.ops.program_tools import shown


def _scattered(self, dim: int, index: Tensor, src: Tensor | Number, *, reduce: str | None = None) -> Tensor:
    """Shows the parameters of `scatter`."""


def _added(self, indices: Tensor, updates: Tensor) -> Tensor:
    """Shows the parameters of `scatter_add`."""


def _places_first(args, kwargs):
    """Whether places along a dimension are given, which begin with the dimension: (dim, index, src)."""
    return "dim" in kwargs or "index" in kwargs or "src" in kwargs or len(args) == 3


def _shape_of(args):
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else args


class Places:
    """Methods whose parameters are not those of the function."""

    @shown(_scattered)
    def scatter(self, *args, **kwargs) -> Tensor:
        """(dim or axis, index, src): the tensor with elements at places along a dimension replaced by others or a
        number, with `reduce="add"` increased."""
        names = ("dim", "index", "src")
        given = dict(zip(names, args)) | {{"axis": "dim", "value": "src"}.get(k, k): v for k, v in kwargs.items()}
        reduce = given.pop("reduce", None)
        if set(given) != set(names) or reduce not in (None, "add", "none"):
            raise TypeError(
                f"[Tensor.scatter] bad arguments, got {sorted(given)} and reduce={reduce!r}, expected dim, index, src, "
                "and reduce None or 'add'"
            )
        kind = "add" if reduce == "add" else "update"
        return scatter_along("Tensor.scatter", kind, self, given["dim"], given["index"], given["src"])

    @shown(_added)
    def scatter_add(self, *args, **kwargs) -> Tensor:
        """(dim, index, src): the tensor with elements added at places along a dimension. (indices, updates): slices
        added at places, see ops.tensor_scatter_add."""
        if not _places_first(args, kwargs):
            return F.tensor_scatter_add(self, *args, **kwargs)
        given = dict(zip(("dim", "index", "src"), args)) | kwargs
        return scatter_along("Tensor.scatter_add", "add", self, given["dim"], given["index"], given["src"])

    def masked_scatter(self, mask: Tensor, tensor: Tensor) -> Tensor:
        """The tensor with the elements of another one, in order, where a mask holds."""
        return masked_scatter(self, mask, tensor)

    def index_put(self, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
        """The tensor with values at places of its first dimensions: replaced, or added to."""
        return index_put(self, indices, values, accumulate)

    def reverse_sequence(self, seq_lengths: Tensor, seq_dim: int = 0, batch_dim: int = 0) -> Tensor:
        """The tensor with the first elements of each line reversed: see ops.reverse_sequence."""
        return F.reverse_sequence(self, seq_lengths, seq_dim, batch_dim)

    def fill_diagonal(self, fill_value: Number, wrap: bool = False) -> Tensor:
        """The tensor with a number on its main diagonal, with `wrap` again below it."""
        return fill_diagonal(self, fill_value, wrap)

    def median(
        self, axis: int = -1, keepdims: bool = False, *, dim: int | None = None, keepdim: bool | None = None
    ) -> tuple[Tensor, Tensor]:
        """(the element in the middle of the order along a dimension, the lower of two, where it is), both in the shape
        without it, or with `keepdims` with size 1 there."""
        return F.median(self, axis if dim is None else dim, keepdims if keepdim is None else keepdim)

    def kthvalue(self, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
        """(the k-th smallest element along a dimension, from 1, where it is)."""
        return kth(self, k, dim, keepdim)

    def argmax_with_value(self, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
        """(largest element along an axis, where it is)."""
        return F.max(self, axis, keep_dims)

    def argmin_with_value(self, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
        """(smallest element along an axis, where it is)."""
        return F.min(self, axis, keep_dims)

    def sort(
        self, axis: int = -1, descending: bool = False, *, dim: int | None = None, stable: bool = False
    ) -> tuple[Tensor, Tensor]:
        """(elements in rising order along a dimension, or with `descending` in falling order, where they were), both in
        this shape; equal ones keep their order. Raises ValueError for a dimension that the tensor has not."""
        return F.sort(self, axis if dim is None else dim, descending)

    def argsort(
        self, axis: int = -1, descending: bool = False, *, dim: int | None = None, stable: bool = False
    ) -> Tensor:
        """Where the elements in rising order along a dimension are, or with `descending` in falling order, in this
        shape; equal ones keep their order. Raises ValueError for a dimension that the tensor has not."""
        return F.argsort(self, axis if dim is None else dim, descending)

    def ptp(self, axis: Ints | None = None, keepdims: bool = False) -> Tensor:
        """The largest less the smallest element along dimensions, or of all."""
        return F.sub(F.amax(self, axis, keepdims), F.amin(self, axis, keepdims))

    def choose(self, choices: Sequence, mode: str = "clip") -> Tensor:
        """From tensors, or arrays, the elements of those that these integers number. Numbers outside are moved to the
        ends, or with "wrap" counted around, or with "raise" refused."""
        if mode not in ("clip", "wrap", "raise"):
            raise ValueError(f"[Tensor.choose] unknown mode, got {mode!r}, expected clip, wrap or raise")
        parts = [one if isinstance(one, Tensor) else Tensor(one) for one in choices]
        shape = np.broadcast_shapes(self.shape, *(one.shape for one in parts))
        count, ids = len(parts), F.broadcast_to(self, shape)
        if mode == "raise" and self.size and (self._values().min() < 0 or self._values().max() >= count):
            raise ValueError(f"[Tensor.choose] a number is outside, got {self._values()}, expected 0 to {count - 1}")
        ids = F.floor_mod(ids, count) if mode == "wrap" else F.clamp(ids, 0, count - 1)
        stacked = F.stack([F.broadcast_to(one, shape) for one in parts], 0)
        return F.squeeze(F.gather_elements(stacked, 0, F.expand_dims(ids, 0)), 0)

    def itemset(self, *args) -> Tensor:
        """(number of an element, value) or (its place, value): a tensor with this element replaced; of one element
        (value)."""
        *place, value = args
        if len(place) > 1 or (not place and self.size != 1):
            raise IndexError(f"[Tensor.itemset] no place, got {args} for shape {self.shape}, expected a place, a value")
        if place and not isinstance(place[0], tuple):
            return F.reshape(assigned(F.reshape(self, [-1]), place[0], value), self.shape)
        return assigned(self, place[0] if place else Ellipsis, value)

    def resize(self, *new_shape: Ints) -> Tensor:
        """The elements in one row in another shape: those beyond are left out, missing ones are 0."""
        shape = _shape_of(new_shape)
        size, flat = int(np.prod(shape)), F.reshape(self, [-1])
        if size <= self.size:
            return F.reshape(F.narrow(flat, 0, 0, size), shape)
        return F.reshape(F.concat([flat, F.full([size - self.size], 0, dtype=self.dtype)], 0), shape)

    def sum_to_size(self, *size: Ints) -> Tensor:
        """The sums over dimensions that a shape does not have, or of which it has one element."""
        shape = _shape_of(size)
        extra = self.ndim - len(shape)
        if extra < 0 or any(n not in (1, m) for n, m in zip(shape, self.shape[max(extra, 0) :])):
            raise ValueError(f"[Tensor.sum_to_size] bad shape, got {shape} of {self.shape}, expected one that repeats")
        axes = [i for i, m in enumerate(self.shape) if i < extra or (shape[i - extra] == 1 and m != 1)]
        return F.reshape(F.sum(self, tuple(axes)) if axes else self, shape)

    def stride(self, dim: int | None = None) -> int | list[int]:
        """By how many elements each dimension advances, or one of them."""
        steps = [one // self.itemsize for one in self.strides]
        return steps if dim is None else steps[axis_of("Tensor.stride", dim, self.ndim)]

    def storage_offset(self) -> int:
        """Number of elements before the first one: always 0."""
        return 0


def kth(x, k, dim=-1, keepdim=False):
    """(the k-th smallest element along a dimension, from 1, where it is as int64)."""
    if x.ndim == 0:
        return x, F.full([], 0, dtype=mstype.int64)
    size = x.shape[axis_of("kthvalue", dim, x.ndim)]
    if not 1 <= k <= size:
        raise ValueError(f"[kthvalue] bad k, got {k}, expected 1 to {size}")
    return at_rank("kthvalue", x, dim, int(k) - 1, bool(keepdim))


class PlacesInPlace:
    """Methods that change a tensor at places and return it."""

    def scatter_(self, dim: int, index: Tensor, src: Tensor | Number, *, reduce: str | None = None) -> Tensor:
        """Replaces elements at places along a dimension, or with `reduce="add"` adds to them."""
        return self.copy_(self.scatter(dim, index, src, reduce=reduce))

    def scatter_add_(self, dim: int, index: Tensor, src: Tensor) -> Tensor:
        """Adds elements at places along a dimension."""
        return self.copy_(self.scatter_add(dim, index, src))

    def index_add_(self, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
        """Adds slices, times alpha, at places along a dimension."""
        return self.copy_(self.index_add(dim, index, source, alpha=alpha))

    def index_copy_(self, dim: int, index: Tensor, tensor: Tensor) -> Tensor:
        """Replaces slices at places along a dimension."""
        axis = axis_of("Tensor.index_copy_", dim, self.ndim)
        rows = F.moveaxis(self, axis, 0)
        made = F.tensor_scatter_update(rows, F.reshape(index, [-1, 1]), F.moveaxis(tensor, axis, 0))
        return self.copy_(F.moveaxis(made, 0, axis))

    def index_fill_(self, dim: int, index: Tensor, value: Number) -> Tensor:
        """Writes a number into slices at places along a dimension."""
        return self.copy_(F.index_fill(self, dim, index, value))

    def index_put_(self, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
        """Replaces, or adds to, values at places of the first dimensions."""
        return self.copy_(index_put(self, indices, values, accumulate))

    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """Writes the elements of another tensor, in order, where a mask holds."""
        return self.copy_(masked_scatter(self, mask, source))

    def fill_diagonal_(self, fill_value: Number, wrap: bool = False) -> Tensor:
        """Writes a number on the main diagonal, with `wrap` again below it."""
        return self.copy_(fill_diagonal(self, fill_value, wrap))


CLASSES = (Places, PlacesInPlace)
