"""Random numbers. Their values differ from those of the documented system: they are functions of the seed and of the
number of the draw, in a network also of the step, on any number of ranks."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

from partita import _core, _trace
from partita.common import dtype as mstype
from partita.common import seed as seeds
from partita.common.tensor import Tensor
from partita.ops.elementwise import add, cast, div, floor, log, mul, neg, smaller, sub
from partita.ops.reductions import argmax, topk
from partita.ops.shapes import expand_dims
from partita.ops.support import F, as_tensor, attributes, run

__all__ = "multinomial rand rand_like randint randn randn_like standard_normal".split()


def _sizes(where, sizes):
    if len(sizes) == 1 and isinstance(sizes[0], Tensor) and sizes[0].ndim < 2:
        sizes = sizes[0].reshape(-1).asnumpy().tolist()
    sizes = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    for one in sizes:
        if isinstance(one, bool) or not isinstance(one, numbers.Integral) or one < 0:
            raise ValueError(f"[{where}] bad size, got {one!r}, expected an integer from 0")
    return [int(one) for one in sizes]


def _drawn(distribution, sizes):
    """Numbers of float32: uniform in (0, 1), or normal. Those of a generator follow from it alone where Python runs in
    every step."""
    build = _trace.current()
    if build is None or (build.is_recorded and not build.is_mapping and seeds.is_of_generator()):
        seed, name = seeds.seed_or_default(), seeds.next_name("draw")
        return Tensor(_core.initial(distribution, [0.0, 1.0], "f32", sizes, seed, name))
    name = build.here.path.replace("/", ".")

    def body(trace):
        key = trace.random_key(name)
        key = key - 2**64 if key >= 2**63 else key
        attrs = attributes(distribution=distribution, key=key, dtype=mstype.float32, shape=sizes)
        return F.apply(trace, "random", [trace.step()], attrs)[0]

    return run(body)


def _typed(where, x, dtype):
    dtype = mstype.to_dtype(dtype or mstype.float32)
    if not mstype.is_float(dtype):
        raise ValueError(f"[{where}] dtype is not a type of floats, got {dtype}, expected one")
    return cast(x, dtype)


def rand(*size: int | Sequence[int], dtype: mstype.DType | str | type | None = None, seed: int | None = None) -> Tensor:
    """Numbers from 0 to 1, in a shape of integers, or one tuple of them, as float32 without a type; without sizes one
    number in a vector. `seed` has no effect: draws follow from `set_seed`. Raises ValueError for sizes below 1, or a
    type that has no fractions."""
    return _typed("rand", _drawn("uniform", _sizes("rand", size or (1,))), dtype)


def randn(
    *size: int | Sequence[int], dtype: mstype.DType | str | type | None = None, seed: int | None = None
) -> Tensor:
    """Numbers of the standard normal distribution, in a shape of integers, or one tuple of them, as float32 without a
    type; without sizes one number in a vector. `seed` has no effect: draws follow from `set_seed`. Raises ValueError
    for sizes below 1, or a type that has no fractions."""
    return _typed("randn", _drawn("normal", _sizes("randn", size or (1,))), dtype)


def rand_like(input: Tensor, seed: int | None = None, *, dtype: mstype.DType | str | type | None = None) -> Tensor:
    """Numbers from 0 to 1, of the shape and, without `dtype`, of the type of a tensor. Raises ValueError for a type
    that has no fractions."""
    return _typed("rand_like", _drawn("uniform", list(input.shape)), dtype or input.dtype)


def randn_like(input: Tensor, seed: int | None = None, *, dtype: mstype.DType | str | type | None = None) -> Tensor:
    """Numbers of the standard normal distribution, of the shape of a tensor, as float32 without `dtype`. Raises
    ValueError for a type that has no fractions."""
    return _typed("randn_like", _drawn("normal", list(input.shape)), dtype)


def randint(
    low: int,
    high: int,
    size: int | Sequence[int],
    seed: int | None = None,
    *,
    dtype: mstype.DType | str | type | None = None,
) -> Tensor:
    """Integers from `low` to below `high`, in a shape, as int64 without a type. `seed` has no effect: draws follow from
    `set_seed`. Raises ValueError for sizes below 1, or a `high` that is not above `low`."""
    if high <= low:
        raise ValueError(f"[randint] no integers, got {low} to {high}, expected a larger second number")
    sizes = _sizes("randint", (size,) if isinstance(size, (tuple, list)) else ([size],))
    return cast(add(integers_below(int(high - low), sizes), int(low)), dtype or mstype.int64)


def fine_shares(sizes):
    """Numbers of float64, uniform in (0, 1), of 48 bits: two draws."""
    first, rest = (cast(_drawn("uniform", sizes), mstype.float64) for _ in range(2))
    return add(first, mul(sub(rest, 0.5), 2.0**-24))


def integers_below(count, sizes):
    """Integers from 0 to below `count`, as int64: of many by two draws, since one has 24 bits."""
    share = _drawn("uniform", sizes) if count <= 2**16 else fine_shares(sizes)
    return cast(smaller(floor(mul(share, float(count))), float(count - 1)), mstype.int64)


def multinomial(input: Tensor | float, num_samples: int, replacement: bool = True, seed: int | None = None) -> Tensor:
    """Places, drawn in proportion to the weights along the last dimension, as int32: weights [.., n] give [..,
    num_samples]; each place at most once without `replacement`. Weights are from 0, which is not checked. Raises
    ValueError for less than one sample, or more than there are places without replacement."""
    x = as_tensor(input, "multinomial")
    count, size = int(num_samples), x.shape[-1]
    if count < 1 or (not replacement and count > size):
        raise ValueError(f"[multinomial] bad num_samples, got {num_samples}, expected 1 to {size}, or replacement")
    # Exponential waiting times with these rates: the shortest one is drawn.
    lead = list(x.shape[:-1])
    share = _drawn("uniform", [*lead, count, size] if replacement else [*lead, size])
    rates = expand_dims(x, -2) if replacement else x
    times = div(neg(log(share)), rates)
    if replacement:
        return cast(argmax(neg(times), -1), mstype.int32)
    return cast(topk(neg(times), count)[1], mstype.int32)


def standard_normal(shape: int | Sequence[int] | Tensor, seed: int | None = None) -> Tensor:
    """Numbers of the standard normal distribution in a shape of integers or of a tensor of them, as float32. `seed` has
    no effect: draws follow from `set_seed`. Raises ValueError for sizes below 1."""
    return _drawn("normal", _sizes("standard_normal", (shape,)))
