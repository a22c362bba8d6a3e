"""Ops of each element by itself, broadcast."""

from __future__ import annotations

import builtins
import numbers

import numpy as np

from partita import _trace
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.support import F, as_tensor, attributes, is_number, number, number_dtype, run


def unary(name, text, of_integers=None):
    """An op of the elements of floats, which a text says; integers become float32, or go through `of_integers` and stay
    integers."""
    function = getattr(F, name)

    def call(input: Tensor | float) -> Tensor:
        x = as_tensor(input, name)
        if not mstype.is_float(x.dtype):
            if of_integers is not None and x.dtype != mstype.bool_:
                return of_integers(x)
            x = cast(x, mstype.float32)
        return run(lambda trace, a: function(a), x)

    call.__name__ = name
    numbers_become = "bools become" if of_integers else "integers and bools become"
    call.__doc__ = f"""{text} `input` has any shape, which the result has, and {numbers_become} float32. Raises
    TypeError for what holds no numbers."""
    return call


for _name, _text in {
    "exp": "e to the power of each element.",
    "log": "The natural logarithm of each element; NaN below 0.",
    "rsqrt": "1 / sqrt(x) of each element; NaN below 0.",
    "tanh": "The hyperbolic tangent of each element.",
    "sigmoid": "1 / (1 + exp(-x)) of each element.",
    "silu": "x / (1 + exp(-x)) of each element.",
    "erf": "The error function of each element.",
}.items():
    globals()[_name] = unary(_name, _text)
_sqrt, _softplus = unary("sqrt", "The square root."), unary("softplus", "log(1 + exp(x)).")
_relu = unary("relu", "max(x, 0).", lambda x: larger(x, 0))
neg = unary("neg", "Each element with the other sign.", lambda x: sub(0, x))
square = unary("square", "Each element times itself.", lambda x: mul(x, x))
_abs = unary("abs", "The magnitude.", lambda x: larger(x, neg(x)) if x.dtype in mstype.int_type else x)


def abs(input: Tensor | float) -> Tensor:
    """The magnitude of each element, in the shape and the element type of `input`; bools stay as they are. Raises
    TypeError for what holds no numbers."""
    x = as_tensor(input, "abs")
    return x if x.dtype == mstype.bool_ else _abs(x)


def sqrt(x: Tensor | float) -> Tensor:
    """The square root of each element; NaN below 0. `x` has any shape, which the result has; integers and bools become
    float32. Raises TypeError for what holds no numbers.

    >>> ops.sqrt(ms.Tensor([4.0, 9.0])).asnumpy().tolist()
    [2.0, 3.0]
    """
    return _sqrt(x)


def relu(input: Tensor | float, inplace: bool = False) -> Tensor:
    """max(x, 0) of each element, in the shape and the element type of `input`. Raises NotImplementedError for
    `inplace=True`, TypeError for what holds no numbers."""
    if inplace:
        raise NotImplementedError("[relu] tensors cannot be changed in place, got inplace=True, expected False")
    x = as_tensor(input, "relu")
    return x if x.dtype == mstype.bool_ else _relu(x)


def softplus(input: Tensor | float, beta: float = 1, threshold: float = 20) -> Tensor:
    """log(1 + exp(beta x)) / beta of each element; x where beta x is above `threshold`. Above 20 float32 has the same
    number. `input` has any shape, which the result has; integers and bools become float32. Raises TypeError for what
    holds no numbers."""
    scaled = input if beta == 1 else mul(input, beta)
    made = _softplus(scaled) if beta == 1 else div(_softplus(scaled), beta)
    return made if threshold >= 20 else select(greater(scaled, threshold), cast(input, made.dtype), made)


def logical_not(input: Tensor | float) -> Tensor:
    """Whether each element is 0, or False: bools in the shape of `input`, which holds numbers of any type. Raises
    TypeError for what holds none."""
    return run(lambda trace, a: F.logical_not(a), cast(input, mstype.bool_))


def _has_digits(number, dtype):
    """Whether an integer has more digits than the float64 of a constant."""
    return dtype == mstype.int64 and builtins.abs(number) > 2**53


def _binary(name):
    function = getattr(F, name)

    def call(input: Tensor | float, other: Tensor | float) -> Tensor:
        if isinstance(input, Tensor) and isinstance(other, Tensor):
            return run(lambda trace, a, b: function(a, b), input, other)
        if is_number(input) and is_number(other):
            input = Tensor(input)
        if is_number(other):
            input = as_tensor(input, name)
            dtype = number_dtype(input, other)
            if not _has_digits(other, dtype):
                return run(lambda trace, a, b: function(a, number(trace, b, dtype.core)), input, float(other))
            other = Tensor(other, dtype)
        if is_number(input):
            other = as_tensor(other, name)
            dtype = number_dtype(other, input)
            if not _has_digits(input, dtype):
                return run(lambda trace, a, b: function(number(trace, a, dtype.core), b), float(input), other)
            input = Tensor(input, dtype)
        return run(lambda trace, a, b: function(a, b), as_tensor(input, name), as_tensor(other, name))

    call.__name__ = name
    return call


for _name, _text in {
    "equal": "equals the second",
    "not_equal": "differs from the second; NaN differs from itself",
    "less": "is below the second",
    "less_equal": "is at most the second; False of NaN",
    "greater": "is above the second",
    "greater_equal": "is at least the second; False of NaN",
}.items():
    globals()[_name] = _binary(_name)
    globals()[_name].__doc__ = f"""Whether the first of each pair of elements {_text}: bools in the shape to which those
    of the operands broadcast, of numbers of any types. Raises ValueError for shapes that do not, TypeError for what
    holds no numbers."""


_logical_and, _logical_or = _binary("logical_and"), _binary("logical_or")


def logical_and(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Whether both elements are other than 0, or True: bools in the shape to which those of the operands broadcast.
    Raises ValueError for shapes that do not, TypeError for what holds no numbers."""
    return _logical_and(_truth(input), _truth(other))


def logical_or(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Whether one of two elements is other than 0, or True: bools in the shape to which those of the operands
    broadcast. Raises ValueError for shapes that do not, TypeError for what holds no numbers."""
    return _logical_or(_truth(input), _truth(other))


def _truth(one):
    return bool(one) if is_number(one) else cast(as_tensor(one, "logical"), mstype.bool_)


_add, _sub, _mul, _div = _binary("add"), _binary("sub"), _binary("mul"), _binary("div")
_power, _floor_div, _remainder = _binary("power"), _binary("floor_div"), _binary("remainder")
# The first of equal operands has the whole gradient.
larger, smaller = _binary("maximum"), _binary("minimum")
_shared_maximum, _shared_minimum = _binary("shared_maximum"), _binary("shared_minimum")


def maximum(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The larger of each pair of elements, NaN if one of them is; equal ones share the gradient. Shapes and element
    types are those of `add`. Raises ValueError for shapes that do not broadcast, TypeError for what holds no numbers.
    """
    return _shared_maximum(input, other)


def minimum(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The smaller of each pair of elements, NaN if one of them is; equal ones share the gradient. Shapes and element
    types are those of `add`. Raises ValueError for shapes that do not broadcast, TypeError for what holds no numbers.
    """
    return _shared_minimum(input, other)


def _scaled(x, factor, offset):
    if x.dtype in (mstype.float16, mstype.bfloat16):  # a number meets a tensor in the type of the tensor
        factor, offset = F.rounded(factor, x.dtype.core), F.rounded(offset, x.dtype.core)
    dtype = x.dtype.core

    def body(trace, a, factor, offset):
        if type(factor) is float and type(offset) is float:
            return F.scale(a, factor, offset)
        scaled = a if factor == 1.0 else F.mul(a, number(trace, factor, dtype))
        return scaled if offset == 0.0 else F.add(scaled, number(trace, offset, dtype))

    return run(body, x, factor, offset)


def _scales(x, number):
    return not isinstance(number, Tensor) and is_number(number) and isinstance(x, Tensor) and mstype.is_float(x.dtype)


def add(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The sum of each pair of elements, in the shape to which those of the operands broadcast. Of two tensors the
    result has the wider type, of float16 and bfloat16 float32. A number does not widen the type of a tensor, but
    integers meet a float as float32, and bools an integer as int64. Raises ValueError for shapes that do not broadcast,
    TypeError for what holds no numbers."""
    if _scales(input, other):
        return _scaled(input, 1.0, float(other))
    if _scales(other, input):
        return _scaled(other, 1.0, float(input))
    return _add(input, other)


def sub(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The difference of each pair of elements, `input` less `other`. Shapes and element types are those of `add`.
    Raises ValueError for shapes that do not broadcast, TypeError for what holds no numbers."""
    if _scales(input, other):
        return _scaled(input, 1.0, -float(other))
    if _scales(other, input):
        return _scaled(other, -1.0, float(input))
    return _sub(input, other)


def mul(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The product of each pair of elements. Shapes and element types are those of `add`, but a tensor without
    dimensions takes the type of one with dimensions where both hold floats, or both integers. Raises ValueError for
    shapes that do not broadcast, TypeError for what holds no numbers."""
    if _scales(input, other):
        return _scaled(input, float(other), 0.0)
    if _scales(other, input):
        return _scaled(other, float(input), 0.0)
    return _mul(*_kept_types(input, other))


def _kept_types(*operands):
    """Two operands; a tensor without dimensions takes the element type of one with dimensions, of the same kind."""
    if not all(isinstance(one, Tensor) for one in operands):
        return operands
    a, b = operands
    if a.dtype == b.dtype or (a.ndim == 0) == (b.ndim == 0) or _kind(a.dtype) != _kind(b.dtype):
        return operands
    return (cast(a, b.dtype), b) if a.ndim == 0 else (a, cast(b, a.dtype))


def _kind(dtype):
    return "float" if mstype.is_float(dtype) else "bool" if dtype == mstype.bool_ else "integer"


def div(input: Tensor | float, other: Tensor | float, *, rounding_mode: str | None = None) -> Tensor:
    """The quotient of each pair of elements, broadcast as in `add`; of integers as float32. A float over 0 is infinite
    or NaN. With `rounding_mode` "floor" it is `floor_div`, with "trunc" it is rounded towards 0; of integers both are
    integers. Raises ValueError for another mode or shapes that do not broadcast, TypeError for what holds no numbers
    and, with a mode, for bools."""
    if rounding_mode == "floor":
        return floor_div(input, other)
    if rounding_mode == "trunc":
        made = real_div(input, other)
        low = floor(abs(made)) if mstype.is_float(made.dtype) else None
        return made if low is None else select(less(made, 0.0), neg(low), low)
    if rounding_mode is not None:
        raise ValueError(f"[div] unknown rounding, got {rounding_mode!r}, expected None, 'floor' or 'trunc'")
    a, b = [one if is_number(one) else as_tensor(one, "div") for one in (input, other)]
    if is_number(a) and is_number(b):
        a = Tensor(float(a))
    if not any(isinstance(one, Tensor) and mstype.is_float(one.dtype) for one in (a, b)):
        a, b = [one if is_number(one) else as_float(one) for one in (a, b)]
    return _div(*_kept_types(a, b))


def real_div(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The quotient of each pair of elements, broadcast as in `add`; of integers an integer, rounded towards 0. Raises
    ValueError for shapes that do not broadcast, TypeError for what holds no numbers."""
    a, b = _both(input, other, "real_div")
    if mstype.is_float(a.dtype) or mstype.is_float(b.dtype):
        return _div(a, b)
    kind = mstype.to_dtype(np.result_type(a.dtype.numpy, b.dtype.numpy))
    a, b = cast(a, kind), cast(b, kind)
    low = floor_div(a, b)
    is_below = logical_and(logical_and(less(low, 0), not_equal(b, 0)), not_equal(mul(low, b), a))
    return select(is_below, add(low, 1), low)


def as_float(x):
    """The tensor itself, or as float32 when it holds integers."""
    return x if mstype.is_float(x.dtype) else cast(x, mstype.float32)


def pow(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """Each element of `input` to the power of one of `exponent`, broadcast as in `add`. Of integers it is exact, and
    without the fraction that a negative exponent makes; of a negative number to a fraction NaN. Raises ValueError for
    shapes that do not broadcast, TypeError for two tensors of bools."""
    if is_number(exponent):
        input = as_tensor(input, "pow")
        if mstype.is_float(input.dtype) or not isinstance(exponent, (numbers.Integral, np.bool_)):
            return run(lambda trace, a: F.pow(a, float(exponent)), as_float(input))
    return _power(input, exponent)


def bias_add(input_x: Tensor | float, bias: Tensor | float) -> Tensor:
    """x[n, c, ..] + bias[c], in the shape of `input_x`, of floats. Raises ValueError unless `bias` has one element for
    each of dimension 1, TypeError for integers, bools and operands of two types."""
    return run(
        lambda trace, x, b: F.apply(trace, "bias_add", [x, b], attributes(axis=1))[0],
        as_tensor(input_x, "bias_add"),
        as_tensor(bias, "bias_add"),
    )


def cast(input: Tensor | float, dtype: mstype.DType | str | type) -> Tensor:
    """The same values in another element type and the same shape. Towards integers fractions are cut off, NaN is 0, and
    what is beyond the type becomes its nearest number; towards bools it is whether they differ from 0. Raises TypeError
    for an unknown type, and for what holds no numbers.

    >>> ops.cast(ms.Tensor([1.7, -1.7]), ms.int32).asnumpy().tolist()
    [1, -1]
    """
    dtype = mstype.to_dtype(dtype)
    return run(lambda trace, x: F.cast(x, dtype.core), as_tensor(input, "cast"))


def duplicate(input: Tensor) -> Tensor:
    """The same values, in the same shape and type, as another tensor: an assignment of items of one does not reach the
    other."""
    shape = list(input.shape)
    return run(lambda trace, x: F.reshape(x, shape), input)


def gelu(input: Tensor | float, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x, or ("tanh") GPT-2's form of it, of each element, in the shape and
    the type of `input`. Raises ValueError for another form, TypeError for integers and bools."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"[gelu] unknown form, got '{approximate}', expected none or tanh")
    return run(lambda trace, a: F.gelu(a, approximate == "tanh"), as_tensor(input, "gelu"))


def leaky_relu(input: Tensor | float, alpha: float = 0.2) -> Tensor:
    """x, or of negative numbers alpha x, of each element, in the shape and the type of `input`; `alpha` is an integer,
    rounded towards 0, for integers. Raises ValueError for an `alpha` that is no number, TypeError for what holds none.
    """
    x = as_tensor(input, "leaky_relu")
    if x.dtype == mstype.bool_:
        return x
    if not mstype.is_float(x.dtype):
        return larger(x, mul(x, int(alpha)))
    return run(lambda trace, a: F.apply(trace, "leaky_relu", [a], attributes(slope=alpha))[0], x)


def select(condition: Tensor | float, input: Tensor | float, other: Tensor | float) -> Tensor:
    """`input` where the condition holds, else `other`, in the shape to which the three broadcast, and in the type in
    which `input` and `other` meet. Raises ValueError for shapes that do not broadcast, TypeError for a condition that
    is not of bools.

    >>> ops.where(ms.Tensor([True, False]), ms.Tensor([1, 2]), ms.Tensor([3, 4])).asnumpy().tolist()
    [1, 4]
    """
    a, b = _both(input, other, "select")
    return run(lambda trace, c, x, y: F.select(c, x, y), as_tensor(condition, "select"), a, b)


def _both(a, b, where):
    """Two tensors; a number has the element type in which it meets the other one."""
    if is_number(a) and isinstance(b, Tensor):
        return Tensor(a, number_dtype(b, a)), b
    if is_number(b) and isinstance(a, Tensor):
        return a, Tensor(b, number_dtype(a, b))
    return as_tensor(a, where), as_tensor(b, where)


where = select


def masked_fill(input_x: Tensor | float, mask: Tensor | float, value: Tensor | float) -> Tensor:
    """`value`, in the element type of `input_x`, where the mask of bools holds, else the elements of `input_x`; the
    three broadcast. Raises ValueError for shapes that do not, TypeError for a mask of other types, and for a number
    with a fraction among integers."""
    x = as_tensor(input_x, "masked_fill")
    if isinstance(value, float) and not mstype.is_float(x.dtype):
        raise TypeError(f"[masked_fill] the value has the wrong type, got {value} for {x.dtype}, expected an integer")
    return select(mask, Tensor(value, x.dtype) if is_number(value) else cast(value, x.dtype), x)


def clip(input: Tensor | float, min: Tensor | float | None = None, max: Tensor | float | None = None) -> Tensor:
    """Elements below `min` become it, those above `max` that, of `max` last; elements that are a bound have their
    gradient. Bounds are numbers, or tensors that broadcast with `input`; element types are those of `add`. Raises
    ValueError for no bound at all, or shapes that do not broadcast."""
    return _clipped("clip", larger, smaller, input, min, max)


clamp = clip


def clip_by_value(
    x: Tensor | float, clip_value_min: Tensor | float | None = None, clip_value_max: Tensor | float | None = None
) -> Tensor:
    """Elements below the one value become it, those above the other that; bounds share the gradient of elements that
    are equal to them. They are numbers, or tensors that broadcast with `x`. The result has the element type of `x`:
    integers stay integers, without the fractions of bounds. A tuple or list of tensors gives a tuple. Raises ValueError
    for no bound at all or shapes that do not broadcast, TypeError for bools."""
    if isinstance(x, (tuple, list)):
        return tuple(clip_by_value(one, clip_value_min, clip_value_max) for one in x)
    x = as_tensor(x, "clip_by_value")
    if x.dtype == mstype.bool_:
        raise TypeError("[clip_by_value] bools cannot be clipped, got Bool, expected numbers")
    found = _clipped("clip_by_value", maximum, minimum, x, clip_value_min, clip_value_max)
    return cast(found, x.dtype)


def _clipped(where, at_least, at_most, x, low, high):
    if low is None and high is None:
        raise ValueError(f"[{where}] no bound, got None and None, expected one of them or both")
    x = as_tensor(x, where)
    x = x if low is None else at_least(x, low)
    return x if high is None else at_most(x, high)


def isfinite(input: Tensor | float) -> Tensor:
    """Whether each element is a number, and neither infinite nor NaN: bools in the shape of `input`. Raises TypeError
    for what holds no numbers."""
    x = as_tensor(input, "isfinite")
    return equal(sub(x, x), 0.0)


def stop_gradient(value: Tensor | float) -> Tensor:
    """The tensor, in its shape and type, as one that has no gradient. Raises TypeError for what holds no numbers."""
    x, build = as_tensor(value, "stop_gradient"), _trace.current()
    if build is None or not mstype.is_float(x.dtype):
        return x
    return build.with_gradient("stop_gradient", lambda a: a, lambda a, out, dout: (None,), [x])


def floor(input: Tensor | float) -> Tensor:
    """The largest integers that are not above the elements, in the shape and the type of `input`, without a gradient.
    Elements beyond 2^62 are integers already; NaN stays. Raises TypeError for what holds no numbers."""
    x = as_tensor(input, "floor")
    if not mstype.is_float(x.dtype):
        return x
    usual = less(globals()["abs"](x), 2.0**62)
    whole = cast(cast(select(usual, x, Tensor(0.0, x.dtype)), mstype.int64), x.dtype)
    return stop_gradient(select(usual, sub(whole, cast(greater(whole, x), x.dtype)), x))


def floor_div(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The largest integers that are not above input / other; of integers as integers, and their largest or smallest
    number over 0. Shapes and element types are those of `add`. Raises ValueError for shapes that do not broadcast,
    TypeError for two tensors of bools."""
    return _floor_div(input, other)


def floor_mod(input: Tensor | float, other: Tensor | float) -> Tensor:
    """input - floor_div(input, other) * other: with the sign of `other`. Shapes and element types are those of `add`.
    Raises ValueError for shapes that do not broadcast, TypeError for two tensors of bools."""
    return _remainder(input, other)


remainder = floor_mod
