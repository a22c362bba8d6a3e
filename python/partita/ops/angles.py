"""Functions of angles, hyperbolic and special functions, each an op of the library. Integers become float32."""

from __future__ import annotations

from partita.common.tensor import Tensor
from partita.ops.elementwise import as_float, unary
from partita.ops.support import F, as_tensor, is_number, number_dtype, run

_TEXTS = {
    "sin": "The sine of each element, in radians.",
    "cos": "The cosine of each element, in radians.",
    "tan": "The tangent of each element, in radians.",
    "asin": "The angle from -pi / 2 to pi / 2 whose sine each element is; NaN beyond -1 and 1.",
    "acos": "The angle from 0 to pi whose cosine each element is; NaN beyond -1 and 1.",
    "atan": "The angle from -pi / 2 to pi / 2 whose tangent each element is.",
    "sinh": "The hyperbolic sine of each element.",
    "cosh": "The hyperbolic cosine of each element.",
    "asinh": "The inverse hyperbolic sine of each element.",
    "acosh": "The inverse hyperbolic cosine of each element; NaN below 1.",
    "atanh": "The inverse hyperbolic tangent of each element; NaN beyond -1 and 1.",
    "expm1": "exp(x) - 1 of each element, precise near 0.",
    "log1p": "log(1 + x) of each element, precise near 0; NaN below -1.",
    "erfc": "1 minus the error function of each element.",
    "erfinv": "The number whose error function each element is; NaN beyond -1 and 1.",
    "lgamma": (
        "The logarithm of the magnitude of the gamma function of each element; infinite at 0 and the negative integers."
    ),
    "digamma": "The derivative of lgamma at each element; NaN at the negative integers.",
}
_OLDER = {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}

for _name, _text in _TEXTS.items():
    globals()[_name] = unary(_name, _text)
for _name, _of in _OLDER.items():
    globals()[_name] = globals()[_of]

__all__ = [*_TEXTS, *_OLDER, "arctan2", "atan2", "polygamma"]


def atan2(input: Tensor | float, other: Tensor | float) -> Tensor:
    """The angle in radians, from -pi to pi, of the point (other, input), broadcast. input, other: tensors or numbers;
    integers become float32. Raises ValueError for shapes that do not broadcast."""
    if is_number(input):
        input = Tensor(input, number_dtype(as_tensor(other, "atan2"), float(input)))
    if is_number(other):
        other = Tensor(other, number_dtype(as_tensor(input, "atan2"), float(other)))
    a, b = as_float(as_tensor(input, "atan2")), as_float(as_tensor(other, "atan2"))
    return run(lambda trace, y, x: F.atan2(y, x), a, b)


arctan2 = atan2


def polygamma(n: int, input: Tensor | float) -> Tensor:
    """The derivative of order n of digamma, of each element; digamma itself for 0. n: an int, or an integer tensor of
    one element. The result has the shape of `input`; integers become float32. Raises ValueError for a negative order,
    or one above 100."""
    order = int(n)
    if order == 0:
        return globals()["digamma"](input)
    if not 0 < order <= 100:
        raise ValueError(f"[polygamma] the order is outside its range, got {n}, expected 0 to 100")
    return run(lambda trace, x: F.polygamma(x, order), as_float(as_tensor(input, "polygamma")))
