"""Methods of tensors of elements, and those that change a tensor and return it; the same as functions."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.generator import Generator, by_generator
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.assignment import assign_item
from partita.ops.support import is_number


def _written(tensor, values):
    """Writes values of any type, broadcast, into the tensor, and returns it."""
    assign_item(tensor, Ellipsis, values)
    return tensor


def _of_one(function):
    def call(self) -> Tensor:
        return _written(self, function(self))

    call.__doc__ = f"Writes `{function.__name__}` of the elements into the tensor, and returns it."
    return call


_CHANGING = {  # methods without arguments by the functions whose results they write
    "abs_": F.abs,
    "exp_": F.exp,
    "floor_": F.floor,
    "log_": F.log,
    "neg_": F.neg,
    "relu_": F.relu,
    "sigmoid_": F.sigmoid,
    "sign_": F.sign,
    "sqrt_": F.sqrt,
    "tanh_": F.tanh,
}
_CASTS = {"bfloat16": mstype.bfloat16, "byte": mstype.uint8, "double": mstype.float64, "short": mstype.int16}


def _cast_to(dtype):
    def call(self) -> Tensor:
        return F.cast(self, dtype)

    call.__doc__ = f"The elements as {dtype}."
    return call


class Elements:
    """Methods whose parameters are not those of a function, and those that change a tensor."""

    @by_generator
    def bernoulli(self, *, generator: Generator | None = None) -> Tensor:
        """1 with the probability of each element, else 0."""
        return F.bernoulli_ext(self)

    def is_signed(self) -> bool:
        """Whether the element type has numbers below 0."""
        return self.dtype not in (*mstype.uint_type, mstype.bool_)

    def new_empty(
        self, size: int | Sequence[int], *, dtype: mstype.DType | str | type | None = None, device: str | None = None
    ) -> Tensor:
        """A tensor of a shape, of this element type unless another one is given; it holds zeros."""
        return F.full(size, 0, dtype=dtype or self.dtype)

    def float_power(self, other: Tensor | float) -> Tensor:
        """A power, broadcast, computed in float64 and given as it."""
        return F.float_power(self, other)

    @by_generator
    def uniform(self, from_: float = 0.0, to: float = 1.0, generator: Generator | None = None) -> Tensor:
        """Numbers between two others, in this shape and element type."""
        return F.cast(_between(self, from_, to), self.dtype)

    def log_normal(self, mean: float = 1.0, std: float = 2.0) -> Tensor:
        """Powers of e whose exponents are normal, in this shape and element type."""
        return F.cast(F.exp(F.normal(self.shape, mean, std)), self.dtype)

    def cauchy(self, median: float = 0.0, sigma: float = 1.0) -> Tensor:
        """Numbers of the distribution of Cauchy, in this shape and element type."""
        return F.cast(F.cauchy(self.shape, median, sigma), self.dtype)

    def inplace_update(self, v: Tensor, indices: int | Sequence[int]) -> Tensor:
        """The tensor with rows in place of those of these numbers."""
        return F.inplace_update(self, v, indices)

    def add_(self, other: Tensor | float, *, alpha: float = 1) -> Tensor:
        """Adds a tensor or a number, times alpha."""
        return _written(self, F.add(self, other if alpha == 1 else F.mul(other, alpha)))

    def sub_(self, other: Tensor | float, *, alpha: float = 1) -> Tensor:
        """Subtracts a tensor or a number, times alpha."""
        return _written(self, F.sub(self, other if alpha == 1 else F.mul(other, alpha)))

    def div_(self, other: Tensor | float, *, rounding_mode: str | None = None) -> Tensor:
        """Divides by a tensor or a number; see `ops.div`."""
        return _written(self, F.div(self, other, rounding_mode=rounding_mode))

    def floor_divide_(self, other: Tensor | float) -> Tensor:
        """Divides by a tensor or a number, rounded down."""
        return _written(self, F.floor_div(self, other))

    def remainder_(self, other: Tensor | float) -> Tensor:
        """Takes the remainders of a division that rounds down."""
        return _written(self, F.remainder(self, other))

    def clamp_(self, min: Tensor | float | None = None, max: Tensor | float | None = None) -> Tensor:
        """Moves elements below `min` to it, and those above `max` to that."""
        return _written(self, F.clamp(self, min, max))

    @by_generator
    def bernoulli_(self, p: Tensor | float = 0.5, *, generator: Generator | None = None) -> Tensor:
        """Writes 1 with probability p, else 0."""
        return _written(self, F.bernoulli(self, p))

    @by_generator
    def normal_(self, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
        """Writes numbers of a normal distribution."""
        if is_number(std) and std < 0:
            raise ValueError(f"[normal_] bad std, got {std}, expected a number from 0")
        return _written(self, F.normal(self.shape, mean, std))

    @by_generator
    def uniform_(self, from_: float = 0, to: float = 1, *, generator: Generator | None = None) -> Tensor:
        """Writes numbers between two others."""
        return _written(self, _between(self, from_, to))

    @by_generator
    def exponential_(self, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
        """Writes numbers of the exponential distribution of a rate."""
        if lambd <= 0:
            raise ValueError(f"[exponential_] bad rate, got {lambd}, expected a positive number")
        return _written(self, F.div(F.neg(F.log(_between(self, 0.0, 1.0))), float(lambd)))

    @by_generator
    def random_(self, from_: float = 0, to: float | None = None, *, generator: Generator | None = None) -> Tensor:
        """Writes integers from `from_` to below `to`: without it up to the largest that the element type has, of floats
        up to the largest below which it has all. With one number this is `to`."""
        limit = _limit(self.dtype) if to is None and from_ == 0 else to
        low, high = (0, int(from_)) if limit is None else (int(from_), int(limit))
        if high <= low:
            raise ValueError(f"[random_] no integers, got {low} to {high}, expected a larger second number")
        return _written(self, F.randint_like(F.full(self.shape, 0, dtype=mstype.int64), low, high))


def _limit(dtype):
    if dtype == mstype.bool_:
        return 2
    if mstype.is_float(dtype):
        return 2 ** (8 if dtype == mstype.bfloat16 else np.finfo(dtype.numpy).nmant + 1)
    return int(np.iinfo(dtype.numpy).max)


def _between(tensor, low, high):
    """Numbers between two others, in the shape of the tensor, as float32."""
    if is_number(low) and is_number(high) and high < low:
        raise ValueError(f"[uniform_] bad bounds, got {low} to {high}, expected rising ones")
    return F.uniform(tensor.shape, low, high)


for _name, _function in _CHANGING.items():
    setattr(Elements, _name, _of_one(_function))
for _name, _dtype in _CASTS.items():
    setattr(Elements, _name, _cast_to(_dtype))


def _function(name):
    method = getattr(Elements, name)

    def call(input, *args, **kwargs):
        return method(input, *args, **kwargs)

    first, *others = inspect.signature(method).parameters.values()
    first = first.replace(name="input", annotation="Tensor")
    call.__signature__ = inspect.Signature([first, *others], return_annotation="Tensor")
    call.__name__ = call.__qualname__ = name
    call.__doc__ = method.__doc__
    return call


_OF_METHODS = "bernoulli_ clamp_ exponential_ normal_ random_ tanh_ uniform_".split()
__all__ = [*_OF_METHODS, "zero_"]
for _name in _OF_METHODS:
    globals()[_name] = _function(_name)


def zero_(input: Tensor) -> Tensor:
    """Writes 0 everywhere, and returns the tensor."""
    return _written(input, 0)


CLASSES = (Elements,)
