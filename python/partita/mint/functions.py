"""Functions whose parameters are not those of ops: dimensions are `dim`, as PyTorch has them."""

import builtins
import functools

from partita import _trace
from partita.common import dtype as mstype
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


def add(input, other, *, alpha=1):
    """input + alpha other."""
    return F.add(input, _times(other, alpha, input))


def sub(input, other, *, alpha=1):
    """input - alpha other."""
    return F.sub(input, _times(other, alpha, input))


def equal(input, other):
    """Whether two tensors have the same shape and elements; within a network a tensor."""
    same = input.shape == other.shape
    found = F.all(F.equal(input, other)) if same else Tensor(False)
    build = _trace.current()
    return bool(found) if build is None or build.is_recorded else found


def sum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum over dimensions, or of all elements."""
    return F.sum(input, dim, keepdim, dtype=dtype)


def mean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean over dimensions, or of all elements."""
    return F.mean(_typed(input, dtype), dim, keepdim)


def all(input, dim=None, keepdim=False):
    """Whether all elements are other than zero."""
    return F.all(input, dim, keepdim)


def any(input, dim=None, keepdim=False):
    """Whether one element is other than zero."""
    return F.any(input, dim, keepdim)


def max(input, dim=None, keepdim=False):
    """(largest, where) along a dimension; of all elements, the largest alone; of two tensors, elements of both."""
    return F.maximum(input, dim) if isinstance(dim, Tensor) else F.largest(input, dim=dim, keepdim=keepdim)


def min(input, dim=None, keepdim=False):
    """(smallest, where) along a dimension; of all elements, the smallest alone; of two tensors, elements of both."""
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
def cumsum(input, dim, dtype=None):
    """Sums of the elements up to each one; of bools as int64 without `dtype`."""
    kind = mstype.int64 if dtype is None and input.dtype == mstype.bool_ else dtype
    return F.cumsum(_typed(input, kind), dim)


def _usual_dim(input, dim):
    return dim if dim is not None else 0 if input.ndim in (0, 1, 3) else 1


@_of_scalars
def softmax(input, dim, *, dtype=None):
    """exp(x) over its sum along a dimension."""
    return F.softmax(_typed(input, dtype), dim)


def log_softmax(input, dim=None, *, dtype=None):
    """log(softmax(x)), without underflow: without `dim` along the first of 0, 1 and 3 dimensions, the second of
    others."""
    return F.log_softmax(_typed(input, dtype), _usual_dim(input, dim))


def cat(tensors, dim=0):
    """Tensors one after the other along a dimension."""
    return F.concat(tensors, dim)


concat = cat


def stack(tensors, dim=0):
    """Tensors of one shape along a new dimension."""
    return F.stack(tensors, dim)


def split(tensor, split_size_or_sections, dim=0):
    """Parts along a dimension: of a size, or of the sizes given."""
    return F.split(tensor, split_size_or_sections, dim)


def transpose(input, dim0, dim1):
    """With two dimensions swapped."""
    return F.swapaxes(input, dim0, dim1)


def permute(input, dims):
    """Dimensions in another order."""
    return F.transpose(input, dims)


def flatten(input, start_dim=0, end_dim=-1):
    """The dimensions from `start_dim` to `end_dim` as one."""
    return F.flatten(input, start_dim=start_dim, end_dim=end_dim)


def squeeze(input, dim=None):
    """Without dimensions of size 1: those named that are, or all."""
    if dim is None:
        return F.squeeze(input)
    dims = [axis_of("squeeze", one, input.ndim) for one in ([dim] if isinstance(dim, int) else dim)]
    return F.squeeze(input, tuple(one for one in dims if input.shape[one] == 1)) if input.ndim else input


def unsqueeze(input, dim):
    """With a dimension of size 1 more."""
    return F.expand_dims(input, dim)


def gather(input, dim, index):
    """The elements at places along a dimension: the result has the shape of the indices."""
    return F.gather_elements(input, dim, index)


@_of_scalars
def index_select(input, dim, index):
    """The slices along a dimension at some places."""
    return F.index_select(input, dim, index)


def argmin(input, dim=None, keepdim=False):
    """Where the smallest element is, as int64; the first of equal ones."""
    return F.cast(F.argmin(input, dim, keepdim), mstype.int64)


@_of_scalars
def topk(input, k, dim=-1, largest=True, sorted=True):
    """(the k largest elements along a dimension, falling, where they were, as int64); with `largest=False` the
    smallest, rising."""
    values, places = F.topk(input, builtins.max(k, 1), dim, largest)
    made = values, F.cast(places, mstype.int64)
    return made if k else tuple(F.narrow(one, dim, 0, 0) for one in made)


@_of_scalars
def sort(input, *, dim=-1, descending=False, stable=False):
    """(elements in rising order along a dimension, where they were, as int64); equal ones keep their order."""
    values, places = F.sort(input, dim, descending)
    return values, F.cast(places, mstype.int64)


def argsort(input, dim=-1, descending=False, stable=False):
    """Where the elements in rising order along a dimension are, as int64."""
    return sort(input, dim=dim, descending=descending)[1]


def narrow(input, dim, start, length):
    """The elements of a dimension from `start` on."""
    return F.narrow(input, dim, start, length)


def select(input, dim, index):
    """The slice of a dimension at an index, without that dimension."""
    at = dim + input.ndim if dim < 0 else dim
    return input[tuple([slice(None)] * at + [int(index)])]


def zeros(*size, dtype=None):
    """A tensor of zeros; its sizes are given one by one, or as one."""
    return F.zeros(_sizes(size), dtype or mstype.float32)


def ones(*size, dtype=None):
    """A tensor of ones; its sizes are given one by one, or as one."""
    return F.ones(_sizes(size), dtype or mstype.float32)


def _sizes(given):
    return given[0] if len(given) == 1 else given


def gelu(input, *, approximate="none"):
    """x times the normal distribution function, or its form with tanh."""
    return F.gelu(input, approximate)


def leaky_relu(input, negative_slope=0.01):
    """x, or of negative numbers `negative_slope` x."""
    return F.leaky_relu(input, negative_slope)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last dimensions."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    scale = F.ones(shape, input.dtype) if weight is None else weight
    return F.layer_norm(input, shape, scale, F.zeros(shape, input.dtype) if bias is None else bias, eps)


def linear(input, weight, bias=None):
    """x weight^T + bias."""
    y = F.matmul(input, weight, transpose_b=True)
    return y if bias is None else F.add(y, bias)
