"""Functions of elements, and products, with the names of NumPy."""

from __future__ import annotations

import math
import numbers

from partita.common.dtype import DTypeLike, bool_, float16, float32, is_float, uint8
from partita.common.tensor import Tensor
from partita.numpy.shapes import ravel
from partita.numpy.tensors import ArrayLike, tensor_of, typed
from partita.ops import functional as F

__all__ = "clip isclose take where".split()


def unary(function, doc):
    """A function of a tensor that takes an element type for its result."""

    def call(x: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
        return typed(function(tensor_of(x)), dtype)

    call.__doc__ = doc
    return call


def binary(function, doc):
    """A function of two tensors that takes an element type for its result."""

    def call(x1: ArrayLike, x2: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
        return typed(function(tensor_of(x1), tensor_of(x2)), dtype)

    call.__doc__ = doc
    return call


def _is_short_float(x):
    return x.dtype in (float16, float32)


def _short_float(x):
    """A tensor of 16 or 32 bits as it is, others as float32."""
    return x if _is_short_float(x) else F.cast(x, float32)


def _angles(x):
    """Bytes and bools as float16, other integers as float32."""
    return F.cast(x, float16) if x.dtype in (uint8, bool_) else F.as_float(x)


def _of_angles(function):
    return lambda x: function(_angles(x))


def _reciprocal(x):
    """1 / x; of integers the integer next to it towards 0."""
    made = F.div(1, x)
    return made if is_float(x.dtype) else F.cast(made, x.dtype)


def _quotient(x1, x2):
    """The quotient: float32 unless one of the two has 16 or 32 bits and a fraction."""
    if not _is_short_float(x1) and not _is_short_float(x2):
        x1, x2 = F.cast(x1, float32), F.cast(x2, float32)
    return F.div(*_as_arrays(x1, x2))


def _as_arrays(x1, x2):
    """Two tensors, of which one without dimensions has one, so that it decides about the type like any other."""
    if (x1.ndim == 0) == (x2.ndim == 0):
        return x1, x2
    return tuple(F.reshape(one, [1]) if one.ndim == 0 else one for one in (x1, x2))


def _product(x1, x2):
    """The product, in which a tensor without dimensions decides about the type like any other."""
    return F.mul(*_as_arrays(x1, x2))


def _of_type_of_array(function):
    """A function of two tensors whose result has the type of the one that is an array, if the other is a number."""

    def call(x1, x2):
        made = function(x1, x2)
        if (x1.ndim == 0) == (x2.ndim == 0):
            return made
        return F.cast(made, x2.dtype if x1.ndim == 0 else x1.dtype)

    return call


_OF_ANGLES = "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh".split()
_UNARY = {
    "abs": (F.abs, "The magnitude of each element, of the same element type."),
    "absolute": (F.abs, "The magnitude of each element, of the same element type."),
    "ceil": (
        lambda x: F.ceil(F.cast(x, float32)),
        "The smallest integers that are not below the elements, as float32.",
    ),
    "exp": (F.exp, "e to the power of each element; integers give float32."),
    "expm1": (F.expm1, "exp(x) - 1."),
    "fix": (lambda x: F.trunc(_short_float(x)), "The integers next to the elements towards 0."),
    "floor": (F.floor, "The largest integers that are not above the elements, of the same element type."),
    "isfinite": (F.isfinite, "Whether elements are finite, as bools."),
    "isinf": (F.isinf, "Whether elements are infinite, as bools."),
    "isnan": (F.isnan, "Whether elements are no numbers (NaN), as bools."),
    "log": (F.log, "The natural logarithm of each element: -inf at 0, NaN below; integers give float32."),
    "log1p": (F.log1p, "log(1 + x)."),
    "log2": (lambda x: F.mul(F.log(x), 1 / math.log(2)), "The logarithm to base 2."),
    "log10": (lambda x: F.mul(F.log(x), 1 / math.log(10)), "The logarithm to base 10."),
    "logical_not": (F.logical_not, "Whether an element is 0, or False, as bools."),
    "negative": (F.neg, "-x."),
    "reciprocal": (_reciprocal, "1 / x; of integers the integer next to it towards 0."),
    "rint": (F.round, "The nearest integers."),
    "sign": (
        lambda x: F.sign(F.as_float(x)),
        "-1, 0 or 1, the sign of each element, as numbers with a fraction: integers give float32.",
    ),
    "sqrt": (F.sqrt, "The square root of each element, NaN below 0; integers give float32."),
    "square": (F.square, "x^2."),
    "trunc": (lambda x: F.trunc(_short_float(x)), "The integers next to the elements towards 0."),
}
_UNARY |= {
    name: (_of_angles(getattr(F, name)), getattr(F, name).__doc__.replace("`input`", "`x`")) for name in _OF_ANGLES
}
_BINARY = {
    "add": (F.add, "The sum of each pair of elements, broadcast."),
    "arctan2": (F.atan2, "The angle from -pi to pi of the point (x2, x1), broadcast."),
    "divide": (_quotient, "The quotient of each pair of elements, broadcast; of integers as float32."),
    "equal": (F.equal, "Whether x1 = x2 for each pair of elements, broadcast, as bools."),
    "floor_divide": (F.floor_div, "The largest integers that are not above x1 / x2."),
    "greater": (F.greater, "Whether x1 > x2 for each pair of elements, broadcast, as bools."),
    "greater_equal": (F.greater_equal, "Whether x1 >= x2 for each pair of elements, broadcast, as bools."),
    "less": (F.less, "Whether x1 < x2 for each pair of elements, broadcast, as bools."),
    "less_equal": (F.less_equal, "Whether x1 <= x2 for each pair of elements, broadcast, as bools."),
    "logical_and": (F.logical_and, "Whether both of a pair of elements are other than 0, broadcast, as bools."),
    "logical_or": (F.logical_or, "Whether one of a pair of elements is other than 0, broadcast, as bools."),
    "logical_xor": (F.logical_xor, "Whether one of a pair is other than 0, and the other one not, as bools."),
    "matmul": (
        F.matmul,
        "The products of matrices [..,n,m] and [..,m,k], other dimensions broadcast; vectors are rows or columns.",
    ),
    "maximum": (_of_type_of_array(F.maximum), "The larger of each pair of elements, broadcast; NaN where one is NaN."),
    "minimum": (_of_type_of_array(F.minimum), "The smaller of each pair of elements, broadcast; NaN where one is NaN."),
    "mod": (F.floor_mod, "x1 - floor(x1 / x2) x2."),
    "multiply": (_product, "The product of each pair of elements, broadcast."),
    "not_equal": (F.not_equal, "Whether x1 and x2 differ, for each pair of elements, broadcast, as bools."),
    "power": (F.pow, "x1 to the power of x2, for each pair of elements, broadcast."),
    "remainder": (F.floor_mod, "x1 - floor(x1 / x2) x2."),
    "subtract": (F.sub, "The difference of each pair of elements, broadcast."),
    "true_divide": (_quotient, "The quotient of each pair of elements, broadcast; of integers as float32."),
}
for _kind, _table in ((unary, _UNARY), (binary, _BINARY)):
    for _name, (_function, _doc) in _table.items():
        globals()[_name] = _kind(_function, _doc)
        globals()[_name].__name__ = globals()[_name].__qualname__ = _name
        __all__.append(_name)


def clip(x: ArrayLike, xmin: ArrayLike | None, xmax: ArrayLike | None, dtype: DTypeLike | None = None) -> Tensor:
    """Elements below `xmin` become it, those above `xmax` that; numbers are of the type of the tensor."""
    if xmin is None and xmax is None:
        raise ValueError("[clip] no limit is given, got None and None, expected xmin or xmax")
    made = tensor_of(x)
    if xmin is not None:
        made = _of_type_of_array(F.maximum)(made, tensor_of(xmin))
    if xmax is not None:
        made = _of_type_of_array(F.minimum)(made, tensor_of(xmax))
    return typed(made, dtype)


def where(condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None):
    """`x` where the condition is other than 0, else `y`, all broadcast to one shape. Raises TypeError without both."""
    if x is None or y is None:
        raise TypeError("[where] a choice needs two tensors, got one or none, expected x and y")
    x, y = (one if isinstance(one, numbers.Number) else tensor_of(one) for one in (x, y))
    if isinstance(x, numbers.Number) and isinstance(y, numbers.Number):
        x = tensor_of(x)
    condition = tensor_of(condition)
    return F.select(condition if condition.dtype == bool_ else F.cast(condition, bool_), x, y)


def isclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether |a - b| <= atol + rtol |b|."""
    return F.isclose(tensor_of(a), tensor_of(b), rtol, atol, equal_nan)


def take(a: ArrayLike, indices: ArrayLike, axis: int | None = None, mode: str = "clip") -> Tensor:
    """The slices along a dimension at some places; those beyond the ends are the first and the last one."""
    if mode not in ("clip", "wrap", "raise"):
        raise ValueError(f"[take] unknown mode, got {mode!r}, expected clip, wrap or raise")
    x, ids = tensor_of(a), tensor_of(indices)
    x, axis = (ravel(x), 0) if axis is None else (x, axis)
    size = x.shape[axis]
    if mode == "clip":
        ids = F.clip(ids, 0, size - 1)
    elif mode == "wrap":
        ids = F.floor_mod(ids, size)
    return F.gather(x, ids, axis)
