"""Functions of numbers of Python, and sums of tensors, under the names of the module of functions."""

from __future__ import annotations

import math
import operator

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.angles import expm1
from partita.ops.elementwise import (
    exp,
    floor_div,
    floor_mod,
    greater,
    greater_equal,
    less,
    less_equal,
    mul,
    pow,
    real_div,
)
from partita.ops.older_names import addn
from partita.ops.windows import range

_OF_NUMBERS = {
    "add": operator.add,
    "div": operator.truediv,
    "eq": operator.eq,
    "floordiv": operator.floordiv,
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "log": math.log,
    "lt": operator.lt,
    "max": max,
    "min": min,
    "mod": operator.mod,
    "mul": operator.mul,
    "ne": operator.ne,
    "pow": operator.pow,
    "sub": operator.sub,
    "uadd": operator.pos,
    "usub": operator.neg,
}
_OF_BOOLS = {
    "bool_and": lambda x, y: bool(x and y),
    "bool_eq": lambda x, y: bool(x) == bool(y),
    "bool_not": lambda x: not x,
    "bool_or": lambda x, y: bool(x or y),
}
__all__ = [
    *(f"scalar_{name}" for name in _OF_NUMBERS),
    *_OF_BOOLS,
    *"accumulate_n is_ is_not numel scalar_cast string_concat string_eq tensor_div tensor_exp tensor_expm1".split(),
    *"tensor_floordiv tensor_ge tensor_gt tensor_le tensor_lt tensor_mod tensor_muls tensor_range pows".split(),
]


def _scalar(name, function):
    def of_one(x: float) -> float:
        return function(x)

    def of_two(x: float, y: float) -> float:
        return function(x, y)

    call = of_one if name in ("log", "uadd", "usub") else of_two
    call.__name__ = call.__qualname__ = f"scalar_{name}"
    call.__doc__ = f"`{function.__module__}.{function.__name__}` of numbers of Python."
    return call


globals().update((f"scalar_{_name}", _scalar(_name, _function)) for _name, _function in _OF_NUMBERS.items())
for _name, _text in {
    "bool_and": "Whether two values of Python are both true.",
    "bool_eq": "Whether two values of Python are both true, or both not.",
    "bool_not": "Whether a value of Python is not true.",
    "bool_or": "Whether one of two values of Python is true.",
}.items():
    globals()[_name] = _OF_BOOLS[_name]
    globals()[_name].__doc__ = _text
is_, is_not, string_concat, string_eq = operator.is_, operator.is_not, operator.concat, operator.eq
accumulate_n, tensor_div, tensor_exp, tensor_expm1, tensor_floordiv = addn, real_div, exp, expm1, floor_div
tensor_ge, tensor_gt, tensor_le, tensor_lt = greater_equal, greater, less_equal, less
tensor_mod, tensor_muls, tensor_range, pows = floor_mod, mul, range, pow


def scalar_cast(input_x: float, input_y: mstype.DType | str | type) -> bool | int | float:
    """A number of Python as a bool, an integer or a float, as an element type says."""
    kind = mstype.to_dtype(input_y)
    return bool(input_x) if kind == mstype.bool_ else float(input_x) if mstype.is_float(kind) else int(input_x)


def numel(input: Tensor) -> int:
    """The number of elements, the product of the sizes, an integer of Python. Raises TypeError for what is no tensor.
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"[numel] operand is not a tensor, got {type(input).__name__}, expected a Tensor")
    return input.size
