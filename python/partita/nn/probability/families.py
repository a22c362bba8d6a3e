"""Distributions of numbers with a fraction that a place and a scale describe."""

import math
from collections.abc import Sequence

from partita.common import dtype as mstype
from partita.common._types import DType
from partita.common.tensor import Tensor
from partita.nn.probability.base import Distribution, normal, require_positive, special, uniform
from partita.ops import functional as F

_EULER = 0.5772156649015329


class _OfPlaceAndScale(Distribution):
    """A distribution of (value - place) / scale."""

    def _standard(self, value, *args, **kwargs):
        """(the value less the place over the scale, place, scale)."""
        place, scale = self.get_dist_args(*args, **kwargs)
        return F.div(F.sub(self._value(value), place), scale), place, scale

    def _drawn(self, shape, args, kwargs, standard):
        place, scale = self.get_dist_args(*args, **kwargs)
        drawn = standard(self._drawn_shape(shape, place, scale))
        return self._of_type(F.add(place, F.mul(scale, drawn)))

    def _mean(self, *args, **kwargs):
        place, scale = self.get_dist_args(*args, **kwargs)
        return F.add(place, F.mul(scale, 0.0))

    _mode = _mean

    def _scale(self, args, kwargs):
        place, scale = self.get_dist_args(*args, **kwargs)
        return F.add(scale, F.mul(place, 0.0))


class Normal(_OfPlaceAndScale):
    """The normal distribution of a mean and a standard deviation, of shapes that broadcast: `prob` and `log_prob` of
    values, `mean`, `sd`, `entropy`, `sample(shape)` and the others of `Distribution` give tensors of these shapes.
    Raises ValueError for a deviation that is not above 0."""

    def __init__(
        self,
        mean: Tensor | float | Sequence[float] | None = None,
        sd: Tensor | float | Sequence[float] | None = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Normal",
    ):
        require_positive("Normal", "standard deviation", sd)
        super().__init__(seed, dtype, name, {"mean": mean, "sd": sd})

    def _sd(self, *args, **kwargs):
        return self._scale(args, kwargs)

    def _log_prob(self, value, *args, **kwargs):
        z, _, scale = self._standard(value, *args, **kwargs)
        return F.sub(F.mul(F.square(z), -0.5), F.add(F.log(scale), 0.5 * math.log(2 * math.pi)))

    def _cdf(self, value, *args, **kwargs):
        z, _, _ = self._standard(value, *args, **kwargs)
        return F.mul(F.add(F.erf(F.mul(z, math.sqrt(0.5))), 1.0), 0.5)

    def _entropy(self, *args, **kwargs):
        return F.add(F.log(self._scale(args, kwargs)), 0.5 * math.log(2 * math.pi * math.e))

    def _kl_loss(self, dist, *args):
        (place, scale), (own, own_scale) = self._other(dist, args)
        gap = F.sub(F.log(own_scale), F.log(scale))
        half = F.mul(F.square(F.div(F.sub(own, place), scale)), 0.5)
        return F.sub(F.add(half, F.mul(F.expm1(F.mul(gap, 2.0)), 0.5)), gap)

    def _sample(self, shape=(), *args, **kwargs):
        return self._drawn(shape, args, kwargs, normal)


class LogNormal(Normal):
    """The distribution of the exponential of a normal one of mean `loc` and standard deviation `scale`."""

    def __init__(
        self,
        loc: Tensor | float | Sequence[float] | None = None,
        scale: Tensor | float | Sequence[float] | None = None,
        seed: int = 0,
        dtype: DType = mstype.float32,
        name: str = "LogNormal",
    ):
        require_positive("LogNormal", "scale", scale)
        Distribution.__init__(self, seed, dtype, name, {"loc": loc, "scale": scale})

    def _mean(self, *args, **kwargs):
        place, scale = self.get_dist_args(*args, **kwargs)
        return F.exp(F.add(place, F.mul(F.square(scale), 0.5)))

    def _mode(self, *args, **kwargs):
        place, scale = self.get_dist_args(*args, **kwargs)
        return F.exp(F.sub(place, F.square(scale)))

    def _var(self, *args, **kwargs):
        place, scale = self.get_dist_args(*args, **kwargs)
        square = F.square(scale)
        return F.mul(F.expm1(square), F.exp(F.add(F.mul(place, 2.0), square)))

    def _sd(self, *args, **kwargs):
        return F.sqrt(self._var(*args, **kwargs))

    def _log_prob(self, value, *args, **kwargs):
        logs = F.log(self._value(value))
        return F.sub(super()._log_prob(logs, *args, **kwargs), logs)

    def _cdf(self, value, *args, **kwargs):
        return super()._cdf(F.log(self._value(value)), *args, **kwargs)

    def _entropy(self, *args, **kwargs):
        return F.add(super()._entropy(*args, **kwargs), self.get_dist_args(*args, **kwargs)[0])

    def _sample(self, shape=(), *args, **kwargs):
        return F.exp(super()._sample(shape, *args, **kwargs))


class Cauchy(_OfPlaceAndScale):
    """The distribution of Cauchy, which has no mean and no variance."""

    def __init__(
        self,
        loc: Tensor | float | Sequence[float] | None = None,
        scale: Tensor | float | Sequence[float] | None = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Cauchy",
    ):
        require_positive("Cauchy", "scale", scale)
        super().__init__(seed, dtype, name, {"loc": loc, "scale": scale})

    def _mean(self, *args, **kwargs):
        raise ValueError("[Cauchy] this distribution has no mean and no variance, got a call, expected mode")

    _sd = _var = _mean

    def _mode(self, *args, **kwargs):
        return super()._mode(*args, **kwargs)

    def _log_prob(self, value, *args, **kwargs):
        z, _, scale = self._standard(value, *args, **kwargs)
        return F.sub(-math.log(math.pi), F.add(F.log(scale), F.log1p(F.square(z))))

    def _cdf(self, value, *args, **kwargs):
        return F.add(F.mul(F.atan(self._standard(value, *args, **kwargs)[0]), 1 / math.pi), 0.5)

    def _entropy(self, *args, **kwargs):
        return F.add(F.log(self._scale(args, kwargs)), math.log(4 * math.pi))

    def _kl_loss(self, dist, *args):
        """By F. Chyzak and F. Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy
        distributions" (2019)."""
        (place, scale), (own, own_scale) = self._other(dist, args)
        total = F.add(F.square(F.add(own_scale, scale)), F.square(F.sub(own, place)))
        return F.log(F.div(total, F.mul(F.mul(own_scale, scale), 4.0)))

    def _sample(self, shape=(), *args, **kwargs):
        return self._drawn(shape, args, kwargs, lambda sizes: F.tan(F.mul(F.sub(uniform(sizes), 0.5), math.pi)))


class Gumbel(_OfPlaceAndScale):
    """The distribution of the largest of many numbers."""

    def __init__(
        self,
        loc: Tensor | float | Sequence[float],
        scale: Tensor | float | Sequence[float],
        seed: int = 0,
        dtype: DType = mstype.float32,
        name: str = "Gumbel",
    ):
        require_positive("Gumbel", "scale", scale)
        super().__init__(seed, dtype, name, {"loc": loc, "scale": scale})

    def _mean(self, *args, **kwargs):
        place, scale = self.get_dist_args(*args, **kwargs)
        return F.add(place, F.mul(scale, _EULER))

    def _mode(self, *args, **kwargs):
        return super()._mean(*args, **kwargs)

    def _sd(self, *args, **kwargs):
        return F.mul(self._scale(args, kwargs), math.pi / math.sqrt(6))

    def _log_prob(self, value, *args, **kwargs):
        z, _, scale = self._standard(value, *args, **kwargs)
        return F.neg(F.add(F.add(z, F.exp(F.neg(z))), F.log(scale)))

    def _log_cdf(self, value, *args, **kwargs):
        return F.neg(F.exp(F.neg(self._standard(value, *args, **kwargs)[0])))

    def _cdf(self, value, *args, **kwargs):
        return F.exp(self._log_cdf(value, *args, **kwargs))

    def _entropy(self, *args, **kwargs):
        return F.add(F.log(self._scale(args, kwargs)), 1 + _EULER)

    def _kl_loss(self, dist, *args):
        (place, scale), (own, own_scale) = self._other(dist, args)
        share = F.div(own_scale, scale)
        gap = F.div(F.sub(place, own), scale)
        tail = F.expm1(F.add(gap, special("lgamma")(F.add(share, 1.0))))
        return F.add(F.sub(F.sub(F.log(scale), F.log(own_scale)), gap), F.add(F.mul(F.sub(share, 1.0), _EULER), tail))

    def _sample(self, shape=(), *args, **kwargs):
        return self._drawn(shape, args, kwargs, lambda sizes: F.neg(F.log(F.neg(F.log(uniform(sizes))))))


class Logistic(_OfPlaceAndScale):
    """The distribution whose sums of probabilities are a sigmoid."""

    def __init__(
        self,
        loc: Tensor | float | Sequence[float] | None = None,
        scale: Tensor | float | Sequence[float] | None = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Logistic",
    ):
        require_positive("Logistic", "scale", scale)
        super().__init__(seed, dtype, name, {"loc": loc, "scale": scale})

    def _sd(self, *args, **kwargs):
        return F.mul(self._scale(args, kwargs), math.pi / math.sqrt(3))

    def _log_prob(self, value, *args, **kwargs):
        z, _, scale = self._standard(value, *args, **kwargs)
        return F.add(F.sub(F.mul(F.logsigmoid(z), 2.0), z), F.neg(F.log(scale)))

    def _cdf(self, value, *args, **kwargs):
        return F.sigmoid(self._standard(value, *args, **kwargs)[0])

    def _log_cdf(self, value, *args, **kwargs):
        return F.logsigmoid(self._standard(value, *args, **kwargs)[0])

    def _survival_function(self, value, *args, **kwargs):
        return F.sigmoid(F.neg(self._standard(value, *args, **kwargs)[0]))

    def _log_survival(self, value, *args, **kwargs):
        return F.logsigmoid(F.neg(self._standard(value, *args, **kwargs)[0]))

    def _entropy(self, *args, **kwargs):
        return F.add(F.log(self._scale(args, kwargs)), 2.0)

    def _sample(self, shape=(), *args, **kwargs):
        def standard(sizes):
            drawn = uniform(sizes)
            return F.sub(F.log(drawn), F.log1p(F.neg(drawn)))

        return self._drawn(shape, args, kwargs, standard)


class HalfNormal(Normal):
    """Twice the density of the normal distribution from 0 on, else 0: that of numbers above a mean of 0."""

    def __init__(
        self,
        mean: Tensor | float | Sequence[float] | None = None,
        sd: Tensor | float | Sequence[float] | None = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "HalfNormal",
    ):
        super().__init__(mean, sd, seed, dtype, name)

    def _prob(self, value, *args, **kwargs):
        density = F.mul(F.exp(super()._log_prob(value, *args, **kwargs)), 2.0)
        below = F.less(F.add(self._value(value), F.mul(density, 0.0)), 0.0)
        return F.select(below, F.mul(density, 0.0), density)

    def _log_prob(self, value, *args, **kwargs):
        return F.log(self._prob(value, *args, **kwargs))


class Laplace(_OfPlaceAndScale):
    """The distribution of exponential tails on both sides of the mean."""

    def __init__(
        self,
        mean: Tensor | float | Sequence[float] | None = None,
        sd: Tensor | float | Sequence[float] | None = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Laplace",
    ):
        require_positive("Laplace", "scale", sd)
        super().__init__(seed, dtype, name, {"mean": mean, "sd": sd})

    def _log_prob(self, value, *args, **kwargs):
        z, _, scale = self._standard(value, *args, **kwargs)
        return F.neg(F.add(F.abs(z), F.add(F.log(scale), math.log(2))))


class StudentT(Distribution):
    """The distribution of Student with `df` degrees of freedom, a mean and a scale."""

    def __init__(
        self,
        df: Tensor | float | Sequence[float] | None = None,
        mean: Tensor | float | Sequence[float] | None = None,
        sd: Tensor | float | Sequence[float] | None = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "StudentT",
    ):
        require_positive("StudentT", "df", df)
        require_positive("StudentT", "scale", sd)
        super().__init__(seed, dtype, name, {"df": df, "mean": mean, "sd": sd})

    def _log_prob(self, value, *args, **kwargs):
        df, place, scale = self.get_dist_args(*args, **kwargs)
        lgamma, half = special("lgamma"), F.mul(df, 0.5)
        z = F.div(F.sub(self._value(value), place), scale)
        tail = F.mul(F.add(half, 0.5), F.log1p(F.div(F.square(z), df)))
        norm = F.add(F.add(F.log(scale), F.mul(F.log(F.mul(df, math.pi)), 0.5)), lgamma(half))
        return F.sub(lgamma(F.add(half, 0.5)), F.add(tail, norm))


class Uniform(Distribution):
    """The uniform distribution from `low` to `high`. Its parameters broadcast; `sample(shape)` gives a tensor of
    `shape` and theirs."""

    def __init__(
        self,
        low: Tensor | float | Sequence[float] | None = None,
        high: Tensor | float | Sequence[float] | None = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Uniform",
    ):
        super().__init__(seed, dtype, name, {"low": low, "high": high})
        if low is not None and high is not None:
            require_positive("Uniform", "high - low", F.sub(self._parameters["high"], self._parameters["low"]))

    def _ends(self, args, kwargs):
        low, high = self.get_dist_args(*args, **kwargs)
        return low, high, F.sub(high, low)

    def _prob(self, value, *args, **kwargs):
        low, high, width = self._ends(args, kwargs)
        value = self._value(value)
        density = F.add(F.div(1.0, width), F.mul(value, 0.0))
        return F.select(F.logical_or(F.less(value, low), F.greater(value, high)), F.mul(density, 0.0), density)

    def _cdf(self, value, *args, **kwargs):
        low, _, width = self._ends(args, kwargs)
        return F.clip(F.div(F.sub(self._value(value), low), width), 0.0, 1.0)

    def _mean(self, *args, **kwargs):
        low, high, _ = self._ends(args, kwargs)
        return F.mul(F.add(low, high), 0.5)

    def _var(self, *args, **kwargs):
        return F.mul(F.square(self._ends(args, kwargs)[2]), 1 / 12)

    def _entropy(self, *args, **kwargs):
        return F.log(self._ends(args, kwargs)[2])

    def _kl_loss(self, dist, *args):
        (low, high), (own_low, own_high) = self._other(dist, args)
        made = F.sub(F.log(F.sub(high, low)), F.log(F.sub(own_high, own_low)))
        inside = F.logical_and(F.less_equal(low, own_low), F.less_equal(own_high, high))
        return F.select(inside, made, F.full_like(made, math.inf))

    def _sample(self, shape=(), *args, **kwargs):
        low, high, width = self._ends(args, kwargs)
        return self._of_type(F.add(low, F.mul(width, uniform(self._drawn_shape(shape, low, high)))))


class Exponential(Distribution):
    """The distribution of waiting times of a rate."""

    def __init__(
        self,
        rate: Tensor | float | Sequence[float] | None = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Exponential",
    ):
        require_positive("Exponential", "rate", rate)
        super().__init__(seed, dtype, name, {"rate": rate})

    def _rate(self, args, kwargs):
        return self.get_dist_args(*args, **kwargs)[0]

    def _mean(self, *args, **kwargs):
        return F.div(1.0, self._rate(args, kwargs))

    _sd = _mean

    def _mode(self, *args, **kwargs):
        return F.mul(self._rate(args, kwargs), 0.0)

    def _log_prob(self, value, *args, **kwargs):
        rate, value = self._rate(args, kwargs), self._value(value)
        made = F.sub(F.log(rate), F.mul(rate, value))
        return F.select(F.less(F.add(value, F.mul(rate, 0.0)), 0.0), F.full_like(made, -math.inf), made)

    def _log_survival(self, value, *args, **kwargs):
        return F.neg(F.mul(self._rate(args, kwargs), F.clip(self._value(value), 0.0, None)))

    def _cdf(self, value, *args, **kwargs):
        return F.neg(F.expm1(self._log_survival(value, *args, **kwargs)))

    def _entropy(self, *args, **kwargs):
        return F.sub(1.0, F.log(self._rate(args, kwargs)))

    def _kl_loss(self, dist, *args):
        (rate,), (own,) = self._other(dist, args)
        return F.add(F.sub(F.log(own), F.log(rate)), F.sub(F.div(rate, own), 1.0))

    def _sample(self, shape=(), *args, **kwargs):
        rate = self._rate(args, kwargs)
        return self._of_type(F.div(F.neg(F.log(uniform(self._drawn_shape(shape, rate)))), rate))
