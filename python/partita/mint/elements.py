"""Functions of elements, of creation and of random draws under the names and with the parameters that PyTorch has."""

import numbers
from collections.abc import Sequence

from partita.common import dtype as mstype
from partita.common._types import DType, Number
from partita.common.generator import Generator, by_generator
from partita.common.tensor import Tensor
from partita.ops import functional as F

_SAME = """
    addcdiv addcmul allclose bitwise_and bitwise_not bitwise_or bitwise_xor divide eq exp2 float_power floor_divide
    fmod frac gcd gt isinf isneginf le lerp log10 log2 logaddexp logaddexp2 lt nan_to_num ne negative real sinc xlogy
    clip clamp ge fix
    """.split()
__all__ = [
    *_SAME,
    *"bernoulli clone empty empty_like isnan linspace multinomial normal".split(),
    *"rand rand_like randint randint_like randn randn_like".split(),
    "randperm",
]
globals().update((name, getattr(F, name)) for name in _SAME)
isnan = F.isnan_ext


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    """input + value tensor1 tensor2."""
    return F.addcmul(input, tensor1, tensor2, value)


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    """input + value tensor1 / tensor2."""
    return F.addcdiv(input, tensor1, tensor2, value)


def clone(input: Tensor) -> Tensor:
    """A tensor of the same shape and elements, through which gradients pass."""
    return input.copy()


def _sizes(where, given):
    sizes = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
    for one in sizes:
        if isinstance(one, bool) or not isinstance(one, numbers.Integral) or one < 0:
            raise ValueError(f"[{where}] bad size, got {one!r}, expected an integer from 0")
    return tuple(int(one) for one in sizes)


def empty(
    *size: int | Sequence[int], dtype: DType | None = None, device: str | None = None, pin_memory: bool = False
) -> Tensor:
    """A tensor of a shape, given as numbers or as one tuple, float32 without `dtype`; it holds zeros. Raises ValueError
    for sizes that are no integers from 0."""
    return F.zeros(_sizes("empty", size), dtype or mstype.float32)


def empty_like(
    input: Tensor, *, dtype: DType | None = None, device: str | None = None, pin_memory: bool = False
) -> Tensor:
    """A tensor of the shape and, without `dtype`, the element type of another one; it holds zeros."""
    return F.zeros_like(input, dtype=dtype)


def linspace(start: Number, end: Number, steps: int, *, dtype: DType | None = None) -> Tensor:
    """`steps` numbers at equal distances from `start` to `end`, both included, as float32 without `dtype`: [steps].
    Raises ValueError for steps below 1."""
    return F.cast(F.linspace(start, end, steps), dtype or mstype.float32)


@by_generator
def bernoulli(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability of each element, a number from 0 to 1, else 0, in its shape and element type."""
    return F.bernoulli_ext(input)


@by_generator
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Places, drawn in proportion to the weights along the last dimension, as int64: [n] gives [num_samples], [m, n]
    gives [m, num_samples]. Each stands at most once without `replacement`. Raises ValueError for more samples than
    weights then."""
    return F.cast(F.multinomial(input, num_samples, replacement), mstype.int64)


@by_generator
def normal(
    mean: Tensor | float = 0.0,
    std: Tensor | float = 1.0,
    size: Sequence[int] | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Numbers of a normal distribution of means and standard deviations, in the shape `size` or in that of these, of
    the type of the means. Raises ValueError for two numbers without `size`."""
    if size is not None:
        return F.normal(tuple(size), mean, std)
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        raise ValueError("[normal] no shape, got two numbers, expected a tensor among them, or size")
    shape = F.add(mean, std).shape
    kind = (mean if isinstance(mean, Tensor) else std).dtype
    return F.cast(F.reshape(F.normal(shape or (1,), mean, std), shape), kind)


@by_generator
def rand(
    *size: int | Sequence[int],
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: str | None = None,
) -> Tensor:
    """Numbers from 0 to below 1, drawn evenly, float32 without `dtype`; the sizes are given one by one, or as one
    tuple. Raises TypeError for a `generator` that is none."""
    return F.rand(*(size or ((),)), dtype=dtype)


@by_generator
def randn(
    *size: int | Sequence[int],
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: str | None = None,
) -> Tensor:
    """Numbers of the standard normal distribution, float32 without `dtype`; the sizes are given one by one, or as one
    tuple. Raises TypeError for a `generator` that is none."""
    return F.randn(*(size or ((),)), dtype=dtype)


def rand_like(input: Tensor, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Numbers from 0 to below 1, of the shape and, without `dtype`, the element type of a tensor. Raises ValueError for
    a type of integers."""
    return F.rand_like(input, dtype=dtype)


def randn_like(input: Tensor, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Numbers of the standard normal distribution, of the shape and, without `dtype`, the element type of a tensor.
    Raises ValueError for a type of integers."""
    return F.randn_like(input, dtype=dtype or input.dtype)


@by_generator
def randint(
    *args: int | Sequence[int],
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: str | None = None,
    **bounds,
) -> Tensor:
    """([low,] high, size): integers from `low`, or 0, to below `high`, as int64 without `dtype`, in the shape `size`.
    Raises ValueError where there is none."""
    names = ("high", "size") if len(args) + len(bounds) == 2 else ("low", "high", "size")
    given = {"low": 0, **dict(zip([one for one in names if one not in bounds], args)), **bounds}
    return F.randint(given["low"], given["high"], tuple(given["size"]), dtype=dtype)


def randint_like(
    input: Tensor, *args: int | Sequence[int], dtype: DType | None = None, device: str | None = None, **bounds
) -> Tensor:
    """(input, [low,] high): integers from `low`, or 0, to below `high`, of the shape and, without `dtype`, the element
    type of a tensor."""
    names = ("high",) if len(args) + len(bounds) == 1 else ("low", "high")
    given = {"low": 0, **dict(zip([one for one in names if one not in bounds], args)), **bounds}
    return F.randint_like(input, given["low"], given["high"], dtype=dtype)


@by_generator
def randperm(n: int, *, generator: Generator | None = None, dtype: DType = mstype.int64) -> Tensor:
    """The integers below n in an order that is drawn, [n], as int64 without `dtype`, which is any type of numbers.
    Raises ValueError for a negative n."""
    return F.randperm(n, dtype=dtype)
