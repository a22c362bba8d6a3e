"""Functions whose parameters are not those of ops: dimensions are `dim`, as PyTorch has them."""

import builtins
import functools
from collections.abc import Sequence

from partita import _trace
from partita.common import dtype as mstype
from partita.common._types import DType, Ints, Number
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.support import axis_of


def _typed(x, dtype):
    return x if dtype is None else F.cast(x, dtype)


def _times(other, alpha, input):
    """alpha other; that of bools has the element type of the tensor that it is added to."""
    made = other if alpha == 1 else F.mul(other, alpha)
    is_bool = getattr(other, "dtype", None) == mstype.bool_ and hasattr(input, "dtype")
    return F.cast(made, input.dtype) if is_bool and alpha != 1 else made


def add(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """input + alpha other, in the shape to which both broadcast. Raises ValueError for shapes that do not."""
    return F.add(input, _times(other, alpha, input))


def sub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """input - alpha other, in the shape to which both broadcast. Raises ValueError for shapes that do not."""
    return F.sub(input, _times(other, alpha, input))


def equal(input: Tensor, other: Tensor) -> bool | Tensor:
    """Whether two tensors have the same shape and elements: a bool; within a network a tensor."""
    same = input.shape == other.shape
    found = F.all(F.equal(input, other)) if same else Tensor(False)
    build = _trace.current()
    return bool(found) if build is None or build.is_recorded else found


def sum(input: Tensor, dim: Ints | None = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """The sum over dimensions, or of all elements; of integers and bools as int64, or in `dtype`. Gives the shape
    without these dimensions, or with `keepdim` with size 1 there. Raises ValueError for a dimension that the tensor has
    not."""
    return F.sum(input, dim, keepdim, dtype=dtype)


def mean(input: Tensor, dim: Ints | None = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """The mean over dimensions, or of all elements; of integers an integer, rounded towards 0, unless `dtype` is one of
    floats. Gives the shape without these dimensions, or with `keepdim` with size 1 there. Raises ValueError for a
    dimension that the tensor has not."""
    return F.mean(_typed(input, dtype), dim, keepdim)


def all(input: Tensor, dim: Ints | None = None, keepdim: bool = False) -> Tensor:
    """Whether all elements, or those over dimensions, are other than zero: bools in the shape without these dimensions,
    or with `keepdim` with size 1 there. Raises ValueError for a dimension that the tensor has not."""
    return F.all(input, dim, keepdim)


def any(input: Tensor, dim: Ints | None = None, keepdim: bool = False) -> Tensor:
    """Whether one element, of all or over dimensions, is other than zero: bools in the shape without these dimensions,
    or with `keepdim` with size 1 there. Raises ValueError for a dimension that the tensor has not."""
    return F.any(input, dim, keepdim)


def max(input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    """(largest, where) along a dimension, both in the shape without it, or with `keepdim` with size 1 there; places are
    int64. Of all elements, the largest alone; of two tensors, the larger elements of both. Raises ValueError for a
    dimension that the tensor has not."""
    return F.maximum(input, dim) if isinstance(dim, Tensor) else F.largest(input, dim=dim, keepdim=keepdim)


def min(input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    """(smallest, where) along a dimension, both in the shape without it, or with `keepdim` with size 1 there; places
    are int64. Of all elements, the smallest alone; of two tensors, the smaller elements of both. Raises ValueError for
    a dimension that the tensor has not."""
    return F.minimum(input, dim) if isinstance(dim, Tensor) else F.smallest(input, dim=dim, keepdim=keepdim)


def _of_scalars(function):
    """A function along a dimension, which takes a tensor without dimensions as a line of one element."""

    @functools.wraps(function)
    def call(input, *args, **kwargs):
        if getattr(input, "ndim", 1):
            return function(input, *args, **kwargs)
        made = function(F.reshape(input, (1,)), *args, **kwargs)
        return tuple(F.reshape(one, ()) for one in made) if isinstance(made, tuple) else F.reshape(made, ())

    return call


@_of_scalars
def cumsum(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """Sums of the elements up to each one along a dimension, in the shape of the tensor and its element type, or in
    `dtype`; of bools as int64 without `dtype`. Raises IndexError for a dimension that the tensor has not."""
    kind = mstype.int64 if dtype is None and input.dtype == mstype.bool_ else dtype
    return F.cumsum(_typed(input, kind), dim)


def _usual_dim(input, dim):
    return dim if dim is not None else 0 if input.ndim in (0, 1, 3) else 1


@_of_scalars
def softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """exp(x) over its sum along a dimension: numbers from 0 to 1 in the shape of the tensor; of integers as float32.
    Raises ValueError for a dimension that the tensor has not."""
    return F.softmax(_typed(input, dtype), dim)


def log_softmax(input: Tensor, dim: int | None = None, *, dtype: DType | None = None) -> Tensor:
    """log(softmax(x)), without underflow, in the shape of the tensor: without `dim` along the first of 0, 1 and 3
    dimensions, the second of others. Raises ValueError for a dimension that the tensor has not."""
    return F.log_softmax(_typed(input, dtype), _usual_dim(input, dim))


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors one after the other along a dimension, whose sizes add up; the others are those of all. Raises ValueError
    for other sizes that differ and for a dimension that they have not, TypeError for what is no list of tensors."""
    return F.concat(tensors, dim)


concat = cat


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape along a new dimension `dim`, whose size is their number. Raises ValueError for shapes that
    differ, TypeError without tensors."""
    return F.stack(tensors, dim)


def split(tensor: Tensor, split_size_or_sections: Ints, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along a dimension: of a size, of which the last may be smaller, or of the sizes given. A tuple. Raises
    ValueError for sizes below 1, and for sizes that do not add up."""
    return F.split(tensor, split_size_or_sections, dim)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """The tensor with two dimensions exchanged. Raises ValueError for dimensions that it has not."""
    return F.swapaxes(input, dim0, dim1)


def permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Dimensions in another order: dimension i of the result is dimension `dims[i]`. Raises ValueError unless each
    stands once."""
    return F.transpose(input, dims)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one: [2, 3, 4] from 1 on becomes [2, 12]. Raises ValueError for
    dimensions that the tensor has not."""
    return F.flatten(input, start_dim=start_dim, end_dim=end_dim)


def squeeze(input: Tensor, dim: Ints | None = None) -> Tensor:
    """Without dimensions of size 1: those named that are, or all. Raises ValueError for dimensions that the tensor has
    not."""
    if dim is None:
        return F.squeeze(input)
    dims = [axis_of("squeeze", one, input.ndim) for one in ([dim] if isinstance(dim, int) else dim)]
    return F.squeeze(input, tuple(one for one in dims if input.shape[one] == 1)) if input.ndim else input


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a dimension of size 1 more, which is dimension `dim` of the result. Raises ValueError for one beyond its
    end."""
    return F.expand_dims(input, dim)


def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The elements at places along a dimension: the result has the shape of the indices, which have as many dimensions
    as the tensor. Raises IndexError for places outside, ValueError for other dimensions."""
    return F.gather_elements(input, dim, index)


@_of_scalars
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices along a dimension at some places, in their order: its size becomes their number. Raises IndexError for
    places outside."""
    return F.index_select(input, dim, index)


def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Where the smallest element is, as int64; the first of equal ones. Of all elements in one row, or along a
    dimension in the shape without it, or with `keepdim` with size 1 there."""
    return F.cast(F.argmin(input, dim, keepdim), mstype.int64)


@_of_scalars
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """(the k largest elements along a dimension, falling, where they were, as int64); with `largest=False` the
    smallest, rising. The dimension has size k in both."""
    values, places = F.topk(input, builtins.max(k, 1), dim, largest)
    made = values, F.cast(places, mstype.int64)
    return made if k else tuple(F.narrow(one, dim, 0, 0) for one in made)


@_of_scalars
def sort(input: Tensor, *, dim: int = -1, descending: bool = False, stable: bool = False) -> tuple[Tensor, Tensor]:
    """(elements in rising order along a dimension, or with `descending` in falling order, where they were, as int64),
    both in the shape of the tensor; equal ones keep their order. Raises ValueError for a dimension that the tensor has
    not."""
    values, places = F.sort(input, dim, descending)
    return values, F.cast(places, mstype.int64)


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Where the elements in rising order along a dimension are, or with `descending` in falling order, as int64, in the
    shape of the tensor. Raises ValueError for a dimension that the tensor has not."""
    return sort(input, dim=dim, descending=descending)[1]


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """The `length` elements of a dimension from `start` on. Raises ValueError where the dimension has less."""
    return F.narrow(input, dim, start, length)


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice of a dimension at an index, without that dimension. Raises IndexError for an index outside."""
    at = dim + input.ndim if dim < 0 else dim
    return input[tuple([slice(None)] * at + [int(index)])]


def zeros(*size: int | Sequence[int], dtype: DType | None = None) -> Tensor:
    """A tensor of zeros, float32 without `dtype`; its sizes are given one by one, or as one tuple. Raises ValueError
    for sizes below 0."""
    return F.zeros(_sizes(size), dtype or mstype.float32)


def ones(*size: int | Sequence[int], dtype: DType | None = None) -> Tensor:
    """A tensor of ones, float32 without `dtype`; its sizes are given one by one, or as one tuple. Raises ValueError for
    sizes below 0."""
    return F.ones(_sizes(size), dtype or mstype.float32)


def _sizes(given):
    return given[0] if len(given) == 1 else given


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """x times the normal distribution function, or with `approximate` "tanh" its form with tanh, in the shape of x.
    Raises ValueError for another form, TypeError for integers."""
    return F.gelu(input, approximate)


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """x, or of negative numbers `negative_slope` x, in the shape of x."""
    return F.leaky_relu(input, negative_slope)


def layer_norm(
    input: Tensor, normalized_shape: Ints, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last dimensions. Takes and gives (..,
    *normalized_shape), the shape of weight and bias. Raises ValueError for other last sizes."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    scale = F.ones(shape, input.dtype) if weight is None else weight
    return F.layer_norm(input, shape, scale, F.zeros(shape, input.dtype) if bias is None else bias, eps)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x weight^T + bias: takes (.., in), weight (out, in) and bias (out), gives (.., out). Raises ValueError for sizes
    that do not fit."""
    y = F.matmul(input, weight, transpose_b=True)
    return y if bias is None else F.add(y, bias)
