"""Functions of elements, of creation and of random draws under the names and with the parameters that PyTorch has."""

import functools
import numbers

from partita.common import dtype as mstype
from partita.common.generator import Generator
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


def addcmul(input, tensor1, tensor2, *, value=1):
    """input + value tensor1 tensor2."""
    return F.addcmul(input, tensor1, tensor2, value)


def addcdiv(input, tensor1, tensor2, *, value=1):
    """input + value tensor1 / tensor2."""
    return F.addcdiv(input, tensor1, tensor2, value)


def clone(input):
    """A tensor of the same elements, through which gradients pass."""
    return input.copy()


def _by_generator(function):
    """A function that draws, whose argument `generator` is one to go on from, instead of the common one."""

    @functools.wraps(function)
    def call(*args, generator=None, **kwargs):
        if generator is None:
            return function(*args, **kwargs)
        if not isinstance(generator, Generator):
            raise TypeError(
                f"[{function.__name__}] no generator, got {type(generator).__name__}, expected a Generator or None"
            )
        with generator.drawing():
            return function(*args, **kwargs)

    return call


def _sizes(where, given):
    sizes = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
    for one in sizes:
        if isinstance(one, bool) or not isinstance(one, numbers.Integral) or one < 0:
            raise ValueError(f"[{where}] bad size, got {one!r}, expected an integer from 0")
    return tuple(int(one) for one in sizes)


def empty(*size, dtype=None, device=None, pin_memory=False):
    """A tensor of a shape, given as numbers or as one tuple, float32 without `dtype`; it holds zeros."""
    return F.zeros(_sizes("empty", size), dtype or mstype.float32)


def empty_like(input, *, dtype=None, device=None, pin_memory=False):
    """A tensor of the shape and, without `dtype`, the element type of another one; it holds zeros."""
    return F.zeros_like(input, dtype=dtype)


def linspace(start, end, steps, *, dtype=None):
    """Numbers at equal distances from `start` to `end`, both included, as float32 without `dtype`."""
    return F.cast(F.linspace(start, end, steps), dtype or mstype.float32)


@_by_generator
def bernoulli(input, *, generator=None):
    """1 with the probability of each element, else 0, in its element type."""
    return F.bernoulli_ext(input)


@_by_generator
def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Places, drawn in proportion to the weights along the last dimension, as int64; each at most once without
    `replacement`."""
    return F.cast(F.multinomial(input, num_samples, replacement), mstype.int64)


@_by_generator
def normal(mean=0.0, std=1.0, size=None, generator=None):
    """Numbers of a normal distribution, in a shape or in that of the means and deviations, of the type of the means."""
    if size is not None:
        return F.normal(tuple(size), mean, std)
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        raise ValueError("[normal] no shape, got two numbers, expected a tensor among them, or size")
    shape = F.add(mean, std).shape
    kind = (mean if isinstance(mean, Tensor) else std).dtype
    return F.cast(F.reshape(F.normal(shape or (1,), mean, std), shape), kind)


@_by_generator
def rand(*size, generator=None, dtype=None, device=None):
    """Numbers from 0 to 1."""
    return F.rand(*size, dtype=dtype)


@_by_generator
def randn(*size, generator=None, dtype=None, device=None):
    """Numbers of the standard normal distribution."""
    return F.randn(*size, dtype=dtype)


def rand_like(input, *, dtype=None, device=None):
    """Numbers from 0 to 1, of the shape and, without `dtype`, the element type of a tensor."""
    return F.rand_like(input, dtype=dtype)


def randn_like(input, *, dtype=None, device=None):
    """Numbers of the standard normal distribution, of the shape and, without `dtype`, the element type of a tensor."""
    return F.randn_like(input, dtype=dtype or input.dtype)


@_by_generator
def randint(*args, generator=None, dtype=None, device=None, **bounds):
    """([low,] high, size): integers from `low`, or 0, to below `high`, as int64 without `dtype`."""
    names = ("high", "size") if len(args) + len(bounds) == 2 else ("low", "high", "size")
    given = {"low": 0, **dict(zip([one for one in names if one not in bounds], args)), **bounds}
    return F.randint(given["low"], given["high"], tuple(given["size"]), dtype=dtype)


def randint_like(input, *args, dtype=None, device=None, **bounds):
    """(input, [low,] high): integers from `low`, or 0, to below `high`, of the shape and, without `dtype`, the element
    type of a tensor."""
    names = ("high",) if len(args) + len(bounds) == 1 else ("low", "high")
    given = {"low": 0, **dict(zip([one for one in names if one not in bounds], args)), **bounds}
    return F.randint_like(input, given["low"], given["high"], dtype=dtype)


@_by_generator
def randperm(n, *, generator=None, dtype=mstype.int64):
    """The integers below n in an order that is drawn, as numbers of any type."""
    return F.randperm(n, dtype=dtype)
