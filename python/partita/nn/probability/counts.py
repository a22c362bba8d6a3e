"""Distributions of integers."""

import math
from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common._types import DType
from partita.common.tensor import Tensor
from partita.nn.probability.base import Distribution, require_positive, special, uniform
from partita.ops import functional as F
from partita.ops.picked import require_known


def generator():
    """A generator of NumPy, seeded by a draw of the program. Raises an error within programs that are compiled once."""
    return np.random.default_rng([int(one * 2**24) for one in F.rand(4).asnumpy()])


class _OfProbability(Distribution):
    """A distribution of one probability."""

    def __init__(self, probs, seed, dtype, name):
        require_positive(name, "probability", probs, 1)
        super().__init__(seed, dtype, name, {"probs": probs})

    def _both(self, args, kwargs):
        """(probability, its rest)."""
        probs = self.get_dist_args(*args, **kwargs)[0]
        return probs, F.sub(1.0, probs)

    def _own_entropy(self, probs, rest):
        return F.neg(F.add(F.mul(probs, F.log(probs)), F.mul(rest, F.log(rest))))

    def _divergence(self, dist, args):
        """(divergence of one trial, probability of this one)."""
        (probs,), (own,) = self._other(dist, args)
        rest, own_rest = F.sub(1.0, probs), F.sub(1.0, own)
        of_ones = F.mul(own, F.sub(F.log(own), F.log(probs)))
        return F.add(of_ones, F.mul(own_rest, F.sub(F.log(own_rest), F.log(rest)))), own


class Bernoulli(_OfProbability):
    """1 with a probability, else 0. `sample(shape)` gives a tensor of `shape` and that of the probabilities. Raises
    ValueError for probabilities outside of 0 to 1."""

    def __init__(
        self,
        probs: Tensor | float | Sequence[float] | None = None,
        seed: int | None = None,
        dtype: DType = mstype.int32,
        name: str = "Bernoulli",
    ):
        super().__init__(probs, seed, dtype, name)

    def _mean(self, *args, **kwargs):
        return self._both(args, kwargs)[0]

    def _mode(self, *args, **kwargs):
        return self._of_type(F.greater(self._both(args, kwargs)[0], 0.5))

    def _var(self, *args, **kwargs):
        return F.mul(*self._both(args, kwargs))

    def _entropy(self, *args, **kwargs):
        return self._own_entropy(*self._both(args, kwargs))

    def _log_prob(self, value, *args, **kwargs):
        (probs, rest), value = self._both(args, kwargs), self._value(value)
        return F.add(F.mul(F.log(probs), value), F.mul(F.log(rest), F.sub(1.0, value)))

    def _cdf(self, value, *args, **kwargs):
        (_, rest), value = self._both(args, kwargs), self._value(value)
        made = F.add(rest, F.mul(value, 0.0))
        made = F.select(F.less(F.add(value, F.mul(rest, 0.0)), 0.0), F.mul(made, 0.0), made)
        return F.select(F.less(F.add(value, F.mul(rest, 0.0)), 1.0), made, F.ones_like(made))

    def _kl_loss(self, dist, *args):
        return self._divergence(dist, args)[0]

    def _sample(self, shape=(), *args, **kwargs):
        probs = self._both(args, kwargs)[0]
        return self._of_type(F.less(uniform(self._drawn_shape(shape, probs)), probs))


class Geometric(_OfProbability):
    """The number of trials before the first one that succeeds."""

    def __init__(
        self,
        probs: Tensor | float | Sequence[float] | None = None,
        seed: int | None = None,
        dtype: DType = mstype.int32,
        name: str = "Geometric",
    ):
        super().__init__(probs, seed, dtype, name)

    def _mean(self, *args, **kwargs):
        probs, rest = self._both(args, kwargs)
        return F.div(rest, probs)

    def _mode(self, *args, **kwargs):
        return self._of_type(F.mul(self._both(args, kwargs)[0], 0.0))

    def _var(self, *args, **kwargs):
        probs, rest = self._both(args, kwargs)
        return F.div(rest, F.square(probs))

    def _entropy(self, *args, **kwargs):
        probs, rest = self._both(args, kwargs)
        return F.div(self._own_entropy(probs, rest), probs)

    def _prob(self, value, *args, **kwargs):
        (probs, rest), value = self._both(args, kwargs), F.floor(self._value(value))
        made = F.mul(F.exp(F.mul(F.log(rest), value)), probs)
        return F.select(F.less(F.add(value, F.mul(probs, 0.0)), 0.0), F.mul(made, 0.0), made)

    def _cdf(self, value, *args, **kwargs):
        (_, rest), value = self._both(args, kwargs), F.floor(self._value(value))
        made = F.sub(1.0, F.exp(F.mul(F.log(rest), F.add(value, 1.0))))
        return F.select(F.less(F.add(value, F.mul(rest, 0.0)), 0.0), F.mul(made, 0.0), made)

    def _kl_loss(self, dist, *args):
        one, own = self._divergence(dist, args)
        return F.div(one, own)

    def _sample(self, shape=(), *args, **kwargs):
        probs, rest = self._both(args, kwargs)
        return self._of_type(F.floor(F.div(F.log(uniform(self._drawn_shape(shape, probs))), F.log(rest))))


class Categorical(Distribution):
    """The integers below the size of the last dimension, with the probabilities `probs` [.., n] that it has:
    `sample(shape)` gives [*shape, ..]. Raises ValueError for probabilities that are not between 0 and 1, and for those
    that do not add up to 1."""

    def __init__(
        self,
        probs: Tensor | float | Sequence[float] | None = None,
        seed: int | None = None,
        dtype: DType = mstype.int32,
        name: str = "Categorical",
    ):
        require_positive("Categorical", "probability", probs, 1)
        super().__init__(seed, dtype, name, {"probs": probs})
        own = self._parameters["probs"]
        if own is not None and own._symbol is None and (abs(own.asnumpy().sum(-1) - 1) > 1e-3).any():
            raise ValueError(f"[Categorical] the probabilities do not add up, got {probs}, expected a sum of 1")

    def _probs(self, args, kwargs):
        return self.get_dist_args(*args, **kwargs)[0]

    def _moment(self, probs, power):
        numbers = Tensor(np.arange(probs.shape[-1], dtype=np.float32) ** power, probs.dtype)
        return F.reduce_sum(F.mul(probs, numbers), -1, True)

    def _mean(self, *args, **kwargs):
        return self._moment(self._probs(args, kwargs), 1)

    def _var(self, *args, **kwargs):
        probs = self._probs(args, kwargs)
        return F.sub(self._moment(probs, 2), F.square(self._moment(probs, 1)))

    def _mode(self, *args, **kwargs):
        return self._of_type(F.argmax(self._probs(args, kwargs), -1))

    def _entropy(self, *args, **kwargs):
        probs = self._probs(args, kwargs)
        return F.neg(F.reduce_sum(F.mul(probs, F.log(probs)), -1))

    def _kl_loss(self, dist, *args):
        (probs,), (own,) = self._other(dist, args)
        return F.reduce_sum(F.mul(own, F.sub(F.log(own), F.log(probs))), -1)

    def _picked(self, table, value):
        """The elements of the last dimension at the values, which are broadcast with the others."""
        at = F.cast(value, mstype.int32)
        hits = F.equal(F.expand_dims(at, -1), Tensor(np.arange(table.shape[-1], dtype=np.int32)))
        return F.reduce_sum(F.select(hits, table, F.mul(table, 0.0)), -1)

    def _prob(self, value, *args, **kwargs):
        return self._picked(self._probs(args, kwargs), value)

    def _log_prob(self, value, *args, **kwargs):
        return F.log(self._prob(value, *args, **kwargs))

    def _cdf(self, value, *args, **kwargs):
        table = F.cumsum(self._probs(args, kwargs), -1)
        at = F.floor(self._value(value))
        return self._picked(table, F.minimum(at, F.full_like(at, float(table.shape[-1] - 1))))

    def _sample(self, shape=(), *args, **kwargs):
        probs = self._probs(args, kwargs)
        drawn = uniform(tuple(shape) + tuple(probs.shape))  # the largest of log p plus numbers of Gumbel's distribution
        return self._of_type(F.argmax(F.sub(F.log(probs), F.log(F.neg(F.log(drawn)))), -1))


class Poisson(Distribution):
    """The number of events of a rate."""

    def __init__(
        self,
        rate: Tensor | float | Sequence[float] | None = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Poisson",
    ):
        require_positive("Poisson", "rate", rate)
        super().__init__(seed, dtype, name, {"rate": rate})

    def _mean(self, *args, **kwargs):
        return self.get_dist_args(*args, **kwargs)[0]

    _var = _mean

    def _mode(self, *args, **kwargs):
        return F.floor(self._mean(*args, **kwargs))

    def _log_prob(self, value, *args, **kwargs):
        rate, value = self._mean(*args, **kwargs), self._value(value)
        made = F.sub(F.sub(F.mul(F.log(rate), value), rate), special("lgamma")(F.add(value, 1.0)))
        return F.select(F.less(F.add(value, F.mul(rate, 0.0)), 0.0), F.full_like(made, -math.inf), made)

    def _cdf(self, value, *args, **kwargs):
        rate, value = self._mean(*args, **kwargs), F.floor(self._value(value))
        count = F.add(F.add(value, 1.0), F.mul(rate, 0.0))
        made = special("igammac")(F.maximum(count, F.full_like(count, 1.0)), F.add(rate, F.mul(count, 0.0)))
        return F.select(F.less(count, 1.0), F.mul(made, 0.0), made)

    def _sample(self, shape=(), *args, **kwargs):
        rate = self._mean(*args, **kwargs)
        require_known("Poisson.sample", rate)
        return Tensor(generator().poisson(rate.asnumpy(), self._drawn_shape(shape, rate)), self._dtype)
