"""Random numbers of more distributions. Like those of `drawn`, they differ from those of the documented system.
Those that are computed from uniform numbers are there within programs; those that NumPy draws (Poisson, gamma, and
choices) only where Python runs in every step."""

from __future__ import annotations

from collections.abc import Sequence

import zlib

import numpy as np

from partita.common import dtype as mstype
from partita.common import seed as seeds
from partita.common.generator import Generator, by_generator
from partita.common.tensor import Tensor
from partita.ops.angles import tan
from partita.ops.drawn import _drawn, _sizes, fine_shares, integers_below, multinomial
from partita.ops.elementwise import abs, add, cast, clip, exp, floor, less, log, mul, neg, select, smaller, sub
from partita.ops.kinds import typed, wide
from partita.ops.picked import require_known
from partita.ops.reductions import amax
from partita.ops.searched import randperm
from partita.ops.shapes import gather, split
from partita.ops.support import as_tensor, broadcast_shape, is_number

__all__ = (
    "bernoulli bernoulli_ext cauchy choice_with_mask gamma laplace multinomial_with_replacement normal poisson"
    " randint_like random_categorical random_gamma random_poisson shuffle standard_laplace truncated_normal"
    " uniform"
).split()


def _shape(where, shape):
    return _sizes(where, (shape,))


def _broadcast(where, shape, *operands):
    """The sizes of numbers of a shape, broadcast with the operands."""
    return list(broadcast_shape(where, tuple(_shape(where, shape)), *[getattr(one, "shape", ()) for one in operands]))


def _generator(where, *operands):
    """NumPy's generator of the next draw, which follows from the seed. Raises NotImplementedError in programs that are
    compiled once, whose numbers would be the same in every step."""
    require_known(where, *operands)
    name = seeds.next_name("draw")
    return np.random.default_rng([seeds.seed_or_default(), zlib.crc32(name.encode())])


def _values(x):
    return as_tensor(x).asnumpy().astype(np.float64)


def bernoulli(input: Tensor | float, p: Tensor | float = 0.5, seed: int | None = None) -> Tensor:
    """1 with probability p, a number or a tensor that is broadcast, else 0, in the shape and the element type of a
    tensor. Raises ValueError for a number outside of 0 to 1, or shapes that do not broadcast."""
    x = as_tensor(input, "bernoulli")
    if is_number(p) and not 0 <= p <= 1:
        raise ValueError(f"[bernoulli] no probability, got {p}, expected a number from 0 to 1")
    share = _drawn("uniform", list(x.shape))
    return cast(less(share, float(p) if is_number(p) else typed(p, mstype.float32)), x.dtype)


@by_generator
def bernoulli_ext(input: Tensor | float, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability of each element, else 0, in its element type."""
    x = as_tensor(input, "bernoulli_ext")
    return bernoulli(x, x)


def _laplace(sizes):
    """-sign(u) log(1 - 2 |u|) of u between -1/2 and 1/2: the numbers of the standard distribution of Laplace."""
    share = sub(_drawn("uniform", sizes), 0.5)
    size = log(clip(sub(1.0, mul(abs(share), 2.0)), float(np.finfo(np.float32).tiny), 1.0))
    return select(less(share, 0.0), size, neg(size))


def standard_laplace(shape: int | Sequence[int], seed: int | None = None) -> Tensor:
    """Numbers of the distribution of Laplace with mean 0 and scale 1, in a shape, as float32. Raises ValueError for
    sizes below 1."""
    return _laplace(_shape("standard_laplace", shape))


def laplace(
    shape: int | Sequence[int], mean: Tensor | float, lambda_param: Tensor | float, seed: int | None = None
) -> Tensor:
    """Numbers of the distribution of Laplace, as float32, or in the wider type of the means or scales; the shape is
    broadcast with both. Raises ValueError where it does not, and for sizes below 1."""
    return add(mul(_laplace(_broadcast("laplace", shape, mean, lambda_param)), lambda_param), mean)


def cauchy(shape: int | Sequence[int], median: float = 0.0, sigma: float = 1.0) -> Tensor:
    """Numbers of the distribution of Cauchy: the tangents of angles that are uniform in half a turn."""
    turn = mul(sub(_drawn("uniform", _shape("cauchy", shape)), 0.5), np.pi)
    return add(mul(tan(turn), float(sigma)), float(median))


def normal(shape: int | Sequence[int], mean: Tensor | float, stddev: Tensor | float, seed: int | None = None) -> Tensor:
    """Numbers of a normal distribution, as float32, or in the wider type of the means or deviations; the shape is
    broadcast with both. `seed` has no effect: draws follow from `set_seed`. Raises ValueError where it does not
    broadcast, and for sizes below 1."""
    return add(mul(_drawn("normal", _broadcast("normal", shape, mean, stddev)), stddev), mean)


def truncated_normal(shape: int | Sequence[int], dtype: mstype.DType | str | type = mstype.float32) -> Tensor:
    """Numbers of the standard normal distribution within two deviations: the first of twelve that is within, since all
    of them are outside once in 10^16 times."""
    sizes = _shape("truncated_normal", shape)
    tries = split(_drawn("normal", [12, *sizes]), 1, 0)
    found = tries[0]
    for one in tries[1:]:
        found = select(less(abs(found), 2.0), found, one)
    return cast(clip(found, -2.0, 2.0).reshape(sizes), dtype)


def uniform(
    shape: int | Sequence[int],
    minval: Tensor | float,
    maxval: Tensor | float,
    seed: int | None = None,
    dtype: mstype.DType | str | type = mstype.float32,
) -> Tensor:
    """Numbers between two others, the second excluded, as floats, or as int32 or int64; the shape is broadcast with
    both. `seed` has no effect: draws follow from `set_seed`. Raises ValueError where it does not broadcast, and for
    sizes below 1, TypeError for other types."""
    kind = mstype.to_dtype(dtype)
    sizes = _broadcast("uniform", shape, minval, maxval)
    if mstype.is_float(kind):
        return typed(add(mul(_drawn("uniform", sizes), sub(maxval, minval)), minval), kind)
    if kind not in (mstype.int32, mstype.int64):
        raise TypeError(f"[uniform] bad dtype, got {kind}, expected floats, int32 or int64")
    low, high = (typed(as_tensor(one, "uniform"), mstype.int64) for one in (minval, maxval))
    count = cast(sub(high, low), mstype.float64)  # that of two integers may be none of their own type
    found = smaller(floor(mul(fine_shares(sizes), count)), sub(count, 1.0))
    return typed(add(cast(found, mstype.int64), low), kind)


def randint_like(
    input: Tensor | float,
    low: int,
    high: int,
    seed: int | None = None,
    *,
    dtype: mstype.DType | str | type | None = None,
) -> Tensor:
    """Integers from `low` to below `high`, in the shape and, without `dtype`, the element type of a tensor. Raises
    ValueError for a `high` that is not above `low`, TypeError for bounds that are no integers."""
    x = as_tensor(input, "randint_like")
    for one in (low, high):
        if isinstance(one, bool) or not isinstance(one, int):
            raise TypeError(f"[randint_like] not an integer, got {one!r}, expected one")
    if high <= low:
        raise ValueError(f"[randint_like] no integers, got {low} to {high}, expected a larger second number")
    return cast(add(integers_below(high - low, list(x.shape)), low), dtype or x.dtype)


def poisson(shape: int | Sequence[int], mean: Tensor | float, seed: int | None = None) -> Tensor:
    """Numbers of the distribution of Poisson as float32; the shape is broadcast with the means."""
    x = as_tensor(mean, "poisson")
    draws = _generator("poisson", x)
    return Tensor(draws.poisson(_values(x), _broadcast("poisson", shape, x)).astype(np.float32))


def random_poisson(
    shape: int | Sequence[int],
    rate: Tensor | float,
    seed: int | None = None,
    dtype: mstype.DType | str | type = mstype.float32,
) -> Tensor:
    """Numbers of the distribution of Poisson: of `shape` for each of the rates, whose dimensions come last. Raises
    NotImplementedError in a network that is compiled once, ValueError for sizes below 1."""
    x = as_tensor(rate, "random_poisson")
    draws = _generator("random_poisson", x)
    return Tensor(draws.poisson(_values(x), [*_shape("random_poisson", shape), *x.shape]), dtype)


def gamma(shape: int | Sequence[int], alpha: Tensor | float, beta: Tensor | float, seed: int | None = None) -> Tensor:
    """Numbers of the gamma distribution, of shape alpha and rate beta, as float32; the sizes of `shape` are broadcast
    with both. Raises ValueError where they do not, and for sizes below 1, NotImplementedError in a network that is
    compiled once."""
    a, b = as_tensor(alpha, "gamma"), as_tensor(beta, "gamma")
    draws = _generator("gamma", a, b)
    found = draws.gamma(_values(a), 1 / _values(b), _broadcast("gamma", shape, a, b))
    return Tensor(found.astype(np.float32))


def random_gamma(shape: int | Sequence[int], alpha: Tensor | float, seed: int | None = None) -> Tensor:
    """Numbers of the gamma distribution of rate 1, in the type of `alpha`: of `shape` for each alpha, whose dimensions
    come last."""
    x = as_tensor(alpha, "random_gamma")
    draws = _generator("random_gamma", x)
    return Tensor(draws.gamma(_values(x), 1.0, [*_shape("random_gamma", shape), *x.shape]), x.dtype)


def random_categorical(
    logits: Tensor | float, num_sample: int, seed: int = 0, dtype: mstype.DType | str | type = mstype.int64
) -> Tensor:
    """Classes, drawn by the logits of each row of a matrix [n, c], as [n, num_sample]. Raises ValueError for other
    dimensions, or less than one sample."""
    x = as_tensor(logits, "random_categorical")
    if x.ndim != 2:
        raise ValueError(f"[random_categorical] not a matrix, got shape {x.shape}, expected two dimensions")
    z = wide(x)
    return cast(multinomial(exp(sub(z, amax(z, -1, True))), int(num_sample)), dtype)


def multinomial_with_replacement(
    x: Tensor | float, seed: int, offset: int, numsamples: int, replacement: bool = False
) -> Tensor:
    """Places, drawn in proportion to the weights along the last dimension, as int64."""
    return cast(multinomial(x, numsamples, bool(replacement)), mstype.int64)


def shuffle(x: Tensor | float, seed: int | None = None) -> Tensor:
    """The slices along the first dimension in an order that is drawn, in the shape of `x`. Raises NotImplementedError
    in a network that is compiled once."""
    x = as_tensor(x, "shuffle")
    require_known("shuffle")
    return gather(x, randperm(x.shape[0]), 0) if x.ndim else x


def choice_with_mask(input_x: Tensor | float, count: int = 256, seed: int | None = None) -> tuple[Tensor, Tensor]:
    """(places, as int32, of `count` elements that are True, drawn; whether each of these is one). There are zeros after
    the last one."""
    x = as_tensor(input_x, "choice_with_mask")
    if x.dtype != mstype.bool_:
        raise TypeError(f"[choice_with_mask] no mask, got {x.dtype}, expected bools")
    draws = _generator("choice_with_mask", x)
    places = draws.permutation(np.argwhere(x.asnumpy()))[:count]
    found = np.zeros((count, max(x.ndim, 1)), np.int32)
    found[: len(places)] = places
    return Tensor(found), Tensor(np.arange(count) < len(places))
