"""The names of NumPy for functions of tensors, with the defaults of the documented system."""

import math
import numbers

import numpy as np

from partita._names import refuse_missing
from partita.common.dtype import bool_, float16, float32, float64, int32, int64, uint8, uint32  # noqa: F401
from partita.common.tensor import Tensor
from partita.ops import functional as F

pi, inf, nan, e = math.pi, math.inf, math.nan, math.e
newaxis = None
PINF, NINF = inf, -inf


def _typed(x, dtype):
    return x if dtype is None else F.cast(x, dtype)


def _tensor(a, dtype=None):
    """The tensor that an array is or holds; integers of Python are int32, numbers with a fraction float32."""
    if not isinstance(a, Tensor):
        if isinstance(a, (list, tuple)):
            a = [one.asnumpy() if isinstance(one, Tensor) else one for one in a]
        values = np.asarray(a)
        if not isinstance(a, (np.ndarray, np.generic)):
            kinds = {"i": np.int32, "f": np.float32}
            values = values.astype(kinds.get(values.dtype.kind, values.dtype))
        a = Tensor(values)
    return _typed(a, dtype)


def array(obj, dtype=None, copy=True, ndmin=0):
    """A tensor of numbers, of at least `ndmin` dimensions."""
    x = _tensor(obj, dtype)
    x = x.copy() if copy and x is obj and x._symbol is None else x
    return F.reshape(x, [1] * (ndmin - x.ndim) + list(x.shape)) if x.ndim < ndmin else x


def asarray(a, dtype=None):
    """A tensor of numbers."""
    return _tensor(a, dtype)


asfarray = asarray


def _sizes(shape):
    return [shape] if isinstance(shape, numbers.Integral) else list(shape)


def zeros(shape, dtype=float32):
    """Zeros."""
    return F.full(_sizes(shape), 0, dtype=dtype)


def ones(shape, dtype=float32):
    """Ones."""
    return F.full(_sizes(shape), 1, dtype=dtype)


def empty(shape, dtype=float32):
    """Zeros: values that are not set do not exist here."""
    return zeros(shape, dtype)


def full(shape, fill_value, dtype=None):
    """One number, or the elements of a tensor, broadcast."""
    return F.broadcast_to(_tensor(fill_value, dtype), _sizes(shape))


def _like(a, shape, dtype, value):
    x = _tensor(a)
    return full(x.shape if shape is None else shape, value, dtype or x.dtype)


def zeros_like(a, dtype=None, shape=None):
    """Zeros of the shape and element type of a tensor."""
    return _like(a, shape, dtype, 0)


def ones_like(a, dtype=None, shape=None):
    """Ones of the shape and element type of a tensor."""
    return _like(a, shape, dtype, 1)


def full_like(a, fill_value, dtype=None, shape=None):
    """One number, of the shape and element type of a tensor."""
    return _like(a, shape, dtype, fill_value)


empty_like = zeros_like


def arange(start, stop=None, step=None, dtype=None):
    """Numbers from `start`, or 0, to below `stop`: int32, or float32 where one of the three is a float."""
    step = 1 if step is None else step
    values = np.arange(0, start, step) if stop is None else np.arange(start, stop, step)
    return Tensor(values, dtype or (float32 if values.dtype.kind == "f" else int32))


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    """Numbers from `start` to `stop`, in equal steps; (numbers, step) with `retstep`."""
    start, stop = (one.asnumpy() if isinstance(one, Tensor) else one for one in (start, stop))
    values, step = np.linspace(start, stop, int(num), endpoint, True, axis=axis)
    made = Tensor(values, dtype or float32)
    return (made, Tensor(step, float32)) if retstep else made


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """Powers of `base` whose exponents are in equal steps."""
    return Tensor(np.logspace(start, stop, int(num), endpoint, base, axis=axis), dtype or float32)


def eye(N, M=None, k=0, dtype=float32):
    """A matrix with 1 on a diagonal, else 0."""
    return Tensor(np.eye(N, M, k), dtype)


def identity(n, dtype=float32):
    """A square matrix with 1 on its diagonal, else 0."""
    return eye(n, dtype=dtype)


def tri(N, M=None, k=0, dtype=float32):
    """A matrix with 1 up to a diagonal, 0 above it."""
    return Tensor(np.tri(N, M, k), dtype)


def tril(m, k=0):
    """The elements up to a diagonal, 0 above it."""
    return F.tril(_tensor(m), k)


def triu(m, k=0):
    """The elements from a diagonal on, 0 below it."""
    return F.triu(_tensor(m), k)


def meshgrid(*xi, sparse=False, indexing="xy"):
    """The coordinates of the points of a grid, as a list."""
    if sparse:
        raise NotImplementedError("[meshgrid] sparse grids are not supported, got sparse=True, expected False")
    return list(F.meshgrid(*[_tensor(one) for one in xi], indexing=indexing))


# Shapes.


def reshape(x, new_shape):
    """The elements in another shape."""
    return F.reshape(_tensor(x), new_shape)


def ravel(x):
    """The elements in one row."""
    return F.reshape(_tensor(x), [-1])


def transpose(a, axes=None):
    """The dimensions in another order, or reversed."""
    x = _tensor(a)
    return F.transpose(x, tuple(reversed(range(x.ndim))) if axes is None else axes)


def swapaxes(x, axis1, axis2):
    """The tensor with two dimensions exchanged."""
    return F.swapaxes(_tensor(x), axis1, axis2)


def moveaxis(a, source, destination):
    """The dimensions in an order in which some have other places."""
    return F.moveaxis(_tensor(a), source, destination)


def expand_dims(a, axis):
    """The tensor with dimensions of one element more."""
    x = _tensor(a)
    axes = [axis] if isinstance(axis, numbers.Integral) else list(axis)
    rank = x.ndim + len(axes)
    for one in sorted(one + rank if one < 0 else one for one in axes):
        x = F.expand_dims(x, one)
    return x


def squeeze(a, axis=None):
    """The tensor without dimensions of one element."""
    return F.squeeze(_tensor(a), axis)


def broadcast_to(array, shape):
    """The elements repeated along dimensions, as a tensor of a shape."""
    return F.broadcast_to(_tensor(array), _sizes(shape))


def atleast_1d(*arys):
    """Tensors of at least one dimension."""
    made = [F.reshape(one, [1]) if one.ndim == 0 else one for one in map(_tensor, arys)]
    return made[0] if len(made) == 1 else made


def concatenate(arrays, axis=0):
    """Tensors one after the other along a dimension; in one row without an axis."""
    parts = [_tensor(one) for one in arrays]
    return F.concat([ravel(one) for one in parts] if axis is None else parts, axis or 0)


def stack(arrays, axis=0):
    """Tensors one after the other along a new dimension."""
    return F.stack([_tensor(one) for one in arrays], axis)


def hstack(tup):
    """Tensors one after the other along the second dimension, or the only one."""
    return F.hstack([_tensor(one) for one in tup])


def vstack(tup):
    """Tensors one after the other along the first dimension; vectors are rows."""
    return F.vstack([_tensor(one) for one in tup])


def column_stack(tup):
    """Tensors one after the other along the second dimension; vectors are columns."""
    parts = [_tensor(one) for one in tup]
    return F.concat([F.reshape(one, [-1, 1]) if one.ndim < 2 else one for one in parts], 1)


def split(x, indices_or_sections, axis=0):
    """Equal parts along a dimension, as a tuple, or those between places, as a list."""
    x = _tensor(x)
    if isinstance(indices_or_sections, numbers.Integral):
        size = x.shape[axis]
        if size % indices_or_sections:
            raise ValueError(f"[split] parts are not equal, got {indices_or_sections} of {size}, expected a divisor")
        return F.split(x, size // indices_or_sections, axis)
    return list(F.tensor_split(x, indices_or_sections, axis))


def array_split(x, indices_or_sections, axis=0):
    """Parts along a dimension, of which the first ones may be larger by one."""
    return F.tensor_split(_tensor(x), indices_or_sections, axis)


def tile(a, reps):
    """The tensor several times along each dimension."""
    return F.tile(_tensor(a), (reps,) if isinstance(reps, numbers.Integral) else tuple(reps))


def repeat(a, repeats, axis=None):
    """Each element, along a dimension each slice, several times."""
    return F.repeat_interleave(_tensor(a), repeats, axis)


def roll(a, shift, axis=None):
    """The elements moved along dimensions, those beyond the last place to the first."""
    x = _tensor(a)
    if not isinstance(shift, numbers.Integral) and isinstance(axis, numbers.Integral):
        axis = [axis] * len(shift)
    return F.roll(x, shift, axis)


def flip(m, axis=None):
    """The elements in the opposite order along dimensions, or all of them."""
    x = _tensor(m)
    return F.flip(x, tuple(range(x.ndim)) if axis is None else axis)


def fliplr(m):
    """The columns in the opposite order."""
    return F.flip(_tensor(m), 1)


def flipud(m):
    """The rows in the opposite order."""
    return F.flip(_tensor(m), 0)


def rot90(a, k=1, axes=(0, 1)):
    """The elements turned by quarters in the plane of two dimensions, from the first to the second."""
    x, (first, second) = _tensor(a), axes
    for _ in range(k % 4):
        x = F.swapaxes(F.flip(x, second), first, second)
    return x


def pad(
    arr, pad_width, mode="constant", stat_length=None, constant_values=0, end_values=0, reflect_type="even", **kwargs
):
    """More elements around all dimensions: an integer, a pair, or one for each; a number, or ("edge", "reflect",
    "wrap") elements of the tensor."""
    x = _tensor(arr)
    modes = {"constant": "constant", "edge": "replicate", "reflect": "reflect", "wrap": "circular"}
    if mode not in modes or stat_length is not None or reflect_type != "even" or kwargs:
        raise NotImplementedError(f"[pad] this mode is not supported, got {mode!r}, expected one of {list(modes)}")
    if not isinstance(constant_values, numbers.Number):
        raise NotImplementedError(f"[pad] several values are not supported, got {constant_values!r}, expected a number")
    pairs = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
    sizes = [one for pair in reversed(pairs) for one in pair]
    return F.pad(x, sizes, modes[mode], constant_values if mode == "constant" else None)


# Products.


def tensordot(a, b, axes=2):
    """Sums of products over the last `axes` dimensions of `a` and the first ones of `b`, or over those of a pair."""
    return F.tensor_dot(_tensor(a), _tensor(b), axes)


# Elements.


def _unary(function, doc):
    def call(x, dtype=None):
        return _typed(function(_tensor(x)), dtype)

    call.__doc__ = doc
    return call


def _binary(function, doc):
    def call(x1, x2, dtype=None):
        x1, x2 = (one if isinstance(one, numbers.Number) else _tensor(one) for one in (x1, x2))
        return _typed(function(x1, x2), dtype)

    call.__doc__ = doc
    return call


_UNARY = {
    "abs": (F.abs, "The magnitude."),
    "absolute": (F.abs, "The magnitude."),
    "ceil": (F.ceil, "The smallest integers that are not below."),
    "cos": (F.cos, "The cosine."),
    "exp": (F.exp, "The exponential."),
    "expm1": (F.expm1, "exp(x) - 1."),
    "fix": (F.trunc, "The integers next to the elements towards 0."),
    "floor": (F.floor, "The largest integers that are not above."),
    "isfinite": (F.isfinite, "Whether elements are finite."),
    "isinf": (F.isinf, "Whether elements are infinite."),
    "isnan": (F.isnan, "Whether elements are no numbers."),
    "log": (F.log, "The natural logarithm."),
    "log1p": (F.log1p, "log(1 + x)."),
    "log2": (lambda x: F.mul(F.log(x), 1 / math.log(2)), "The logarithm to base 2."),
    "log10": (lambda x: F.mul(F.log(x), 1 / math.log(10)), "The logarithm to base 10."),
    "logical_not": (F.logical_not, "Whether an element is 0, or False."),
    "negative": (F.neg, "-x."),
    "reciprocal": (F.reciprocal, "1 / x."),
    "rint": (F.round, "The nearest integers."),
    "sign": (F.sign, "-1, 0 or 1."),
    "sin": (F.sin, "The sine."),
    "sqrt": (F.sqrt, "The square root."),
    "square": (F.square, "x^2."),
    "tan": (F.tan, "The tangent."),
    "tanh": (F.tanh, "The hyperbolic tangent."),
    "trunc": (F.trunc, "The integers next to the elements towards 0."),
}
_BINARY = {
    "add": (F.add, "Sum, broadcast."),
    "divide": (F.div, "Quotient, broadcast."),
    "equal": (F.equal, "Whether elements are equal."),
    "floor_divide": (F.floor_div, "The largest integers that are not above x1 / x2."),
    "greater": (F.greater, "Whether x1 > x2."),
    "greater_equal": (F.greater_equal, "Whether x1 >= x2."),
    "less": (F.less, "Whether x1 < x2."),
    "less_equal": (F.less_equal, "Whether x1 <= x2."),
    "logical_and": (F.logical_and, "Whether both elements are other than 0."),
    "logical_or": (F.logical_or, "Whether one element is other than 0."),
    "logical_xor": (F.logical_xor, "Whether one element is other than 0, and the other one not."),
    "matmul": (F.matmul, "The product of matrices."),
    "maximum": (F.maximum, "The larger of each pair."),
    "minimum": (F.minimum, "The smaller of each pair."),
    "mod": (F.floor_mod, "x1 - floor(x1 / x2) x2."),
    "multiply": (F.mul, "Product, broadcast."),
    "not_equal": (F.not_equal, "Whether elements differ."),
    "power": (F.pow, "A power, broadcast."),
    "remainder": (F.floor_mod, "x1 - floor(x1 / x2) x2."),
    "subtract": (F.sub, "Difference, broadcast."),
    "true_divide": (F.div, "Quotient, broadcast."),
}
for _kind, _table in ((_unary, _UNARY), (_binary, _BINARY)):
    for _name, (_function, _doc) in _table.items():
        globals()[_name] = _kind(_function, _doc)
        globals()[_name].__name__ = globals()[_name].__qualname__ = _name


def clip(x, xmin, xmax, dtype=None):
    """Elements below `xmin` become it, those above `xmax` that."""
    return _typed(F.clip(_tensor(x), xmin, xmax), dtype)


def where(condition, x=None, y=None):
    """`x` where the condition holds, else `y`."""
    if x is None or y is None:
        raise TypeError("[where] a choice needs two tensors, got one or none, expected x and y")
    x, y = (one if isinstance(one, numbers.Number) else _tensor(one) for one in (x, y))
    if isinstance(x, numbers.Number) and isinstance(y, numbers.Number):
        x = _tensor(x)
    return F.select(_tensor(condition), x, y)


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether |a - b| <= atol + rtol |b|."""
    return F.isclose(_tensor(a), _tensor(b), rtol, atol, equal_nan)


def take(a, indices, axis=None, mode="clip"):
    """The slices along a dimension at some places; those beyond the ends are the first and the last one."""
    if mode not in ("clip", "wrap", "raise"):
        raise ValueError(f"[take] unknown mode, got {mode!r}, expected clip, wrap or raise")
    x, ids = _tensor(a), _tensor(indices)
    x, axis = (ravel(x), 0) if axis is None else (x, axis)
    size = x.shape[axis]
    if mode == "clip":
        ids = F.clip(ids, 0, size - 1)
    elif mode == "wrap":
        ids = F.floor_mod(ids, size)
    return F.gather(x, ids, axis)


# Sums and the like.


def sum(a, axis=None, dtype=None, keepdims=False, initial=None):
    """The sum over dimensions, or of all elements."""
    made = F.sum(_tensor(a), axis, keepdims, dtype=dtype)
    return made if initial is None else F.add(made, initial)


def mean(a, axis=None, keepdims=False, dtype=None):
    """The mean over dimensions, or of all elements."""
    return F.reduce_mean(_typed(F.as_float(_tensor(a)), dtype), () if axis is None else axis, keepdims)


def average(x, axis=None, weights=None, returned=False):
    """The mean over dimensions, or of all elements."""
    if weights is not None or returned:
        raise NotImplementedError("[average] weights are not supported, got some, expected None: see sum and multiply")
    return mean(x, axis)


def _extreme(function, a, axis, keepdims, initial, where):
    if initial is not None or where is not True:
        raise NotImplementedError("[max] initial and where are not supported, got one of them, expected neither")
    return function(_tensor(a), () if axis is None else axis, keepdims)


def max(a, axis=None, keepdims=False, initial=None, where=True):
    """The largest element over dimensions, or of all."""
    return _extreme(F.reduce_max, a, axis, keepdims, initial, where)


def min(a, axis=None, keepdims=False, initial=None, where=True):
    """The smallest element over dimensions, or of all."""
    return _extreme(F.reduce_min, a, axis, keepdims, initial, where)


amax, amin = max, min


def argmax(a, axis=None):
    """Where the largest element is."""
    return F.argmax(_tensor(a), axis)


def argmin(a, axis=None):
    """Where the smallest element is."""
    return F.argmin(_tensor(a), axis)


def var(x, axis=None, ddof=0, keepdims=False):
    """The variance over dimensions, or of all elements."""
    return F.var(_tensor(x), axis, ddof, keepdims)


def std(x, axis=None, ddof=0, keepdims=False):
    """The standard deviation over dimensions, or of all elements."""
    return F.std(_tensor(x), axis, ddof, keepdims)


def cumsum(a, axis=None, dtype=None):
    """Sums of the elements up to each one; of all in one row without an axis."""
    x = _tensor(a)
    return F.cumsum(ravel(x) if axis is None else x, 0 if axis is None else axis, dtype)


def count_nonzero(x, axis=None, keepdims=False):
    """The number of elements other than 0."""
    return F.count_nonzero(_tensor(x), () if axis is None else axis, keepdims)


def norm(x, ord=None, axis=None, keepdims=False):
    """The norm of vectors or matrices."""
    return F.norm(_tensor(x), ord, axis, keepdims)


def dot(a, b):
    """Sums of products over the last dimension of the first tensor and the last but one of the second."""
    return F.dot(_tensor(a), _tensor(b))


def inner(a, b):
    """Sums of products over the last dimensions."""
    return F.inner(_tensor(a), _tensor(b))


def outer(a, b):
    """The products of all pairs of elements."""
    return F.outer(ravel(a), ravel(b))


def diag(v, k=0):
    """A diagonal of a matrix, or a matrix with a diagonal."""
    x = _tensor(v)
    if x.ndim == 2:
        return F.diagonal(x, k)
    if x.ndim != 1:
        raise ValueError(f"[diag] no vector or matrix, got shape {x.shape}, expected one or two dimensions")
    size = x.shape[0] + (k if k > 0 else -k)
    where_it_is = Tensor(np.eye(size, k=k, dtype=np.float32), x.dtype)
    row = F.pad(x, (k, 0) if k > 0 else (0, -k))
    return F.mul(where_it_is, row)


def diagonal(a, offset=0, axis1=0, axis2=1):
    """The elements whose places in two dimensions differ by `offset`."""
    return F.diagonal(_tensor(a), offset, axis1, axis2)


def trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    """The sum of a diagonal."""
    return _typed(F.reduce_sum(diagonal(a, offset, axis1, axis2), -1), dtype)


def rand(*shape, dtype=float32):
    """Numbers from 0 to 1."""
    return F.rand(*shape, dtype=dtype)


def randn(*shape, dtype=float32):
    """Numbers of the standard normal distribution."""
    return F.randn(*shape, dtype=dtype)


def randint(minval, maxval=None, shape=None, dtype=int32):
    """Integers from `minval`, or 0, to below the other number."""
    low, high = (0, minval) if maxval is None else (minval, maxval)
    return F.randint(low, high, (1,) if shape is None else tuple(_sizes(shape)), dtype=dtype)


def ndim(a):
    """The number of dimensions."""
    return _tensor(a).ndim


def shape(a):
    """The sizes of dimensions."""
    return _tensor(a).shape


def size(a, axis=None):
    """The number of elements, or of those along a dimension."""
    x = _tensor(a)
    return x.size if axis is None else x.shape[axis]


__getattr__ = refuse_missing(globals())
