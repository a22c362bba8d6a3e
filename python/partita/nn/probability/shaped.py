"""Distributions that concentrations describe."""

from collections.abc import Sequence

from partita.common import dtype as mstype
from partita.common._types import DType
from partita.common.tensor import Tensor
from partita.nn.probability.base import Distribution, require_positive, special
from partita.nn.probability.counts import generator
from partita.ops import functional as F
from partita.ops.picked import require_known


def _log_beta(a, b):
    lgamma = special("lgamma")
    return F.sub(F.add(lgamma(a), lgamma(b)), lgamma(F.add(a, b)))


class Gamma(Distribution):
    """The distribution of a concentration and a rate."""

    def __init__(
        self,
        concentration: Tensor | float | Sequence[float] | None = None,
        rate: Tensor | float | Sequence[float] | None = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Gamma",
    ):
        require_positive("Gamma", "concentration", concentration)
        require_positive("Gamma", "rate", rate)
        super().__init__(seed, dtype, name, {"concentration": concentration, "rate": rate})

    def _mean(self, *args, **kwargs):
        return F.div(*self.get_dist_args(*args, **kwargs))

    def _var(self, *args, **kwargs):
        a, rate = self.get_dist_args(*args, **kwargs)
        return F.div(a, F.square(rate))

    def _sd(self, *args, **kwargs):
        a, rate = self.get_dist_args(*args, **kwargs)
        return F.div(F.sqrt(a), rate)

    def _mode(self, *args, **kwargs):
        a, rate = self.get_dist_args(*args, **kwargs)
        made = F.div(F.sub(a, 1.0), rate)
        return F.select(F.greater(made, 0.0), made, F.full_like(made, float("nan")))

    def _entropy(self, *args, **kwargs):
        a, rate = self.get_dist_args(*args, **kwargs)
        total = F.add(F.sub(a, F.log(rate)), special("lgamma")(a))
        return F.add(total, F.mul(F.sub(1.0, a), special("digamma")(a)))

    def _log_prob(self, value, *args, **kwargs):
        a, rate = self.get_dist_args(*args, **kwargs)
        value = self._value(value)
        norm = F.sub(special("lgamma")(a), F.mul(a, F.log(rate)))
        return F.sub(F.sub(F.mul(F.sub(a, 1.0), F.log(value)), F.mul(rate, value)), norm)

    def _cdf(self, value, *args, **kwargs):
        a, rate = self.get_dist_args(*args, **kwargs)
        scaled = F.mul(rate, self._value(value))
        return special("igamma")(F.add(a, F.mul(scaled, 0.0)), F.add(scaled, F.mul(a, 0.0)))

    def _kl_loss(self, dist, *args):
        (a, rate), (own, own_rate) = self._other(dist, args)
        lgamma, digamma = special("lgamma"), special("digamma")
        made = F.add(F.mul(F.sub(own, a), digamma(own)), F.sub(lgamma(a), lgamma(own)))
        made = F.add(made, F.mul(a, F.sub(F.log(own_rate), F.log(rate))))
        return F.add(made, F.mul(own, F.sub(F.div(rate, own_rate), 1.0)))

    def _sample(self, shape=(), *args, **kwargs):
        a, rate = self.get_dist_args(*args, **kwargs)
        require_known("Gamma.sample", a, rate)
        sizes = self._drawn_shape(shape, a, rate)
        return Tensor(generator().gamma(a.asnumpy(), 1 / rate.asnumpy(), sizes), self._dtype)


class Beta(Distribution):
    """The distribution of a share, of two concentrations: that of 1 and that of 0."""

    def __init__(
        self,
        concentration1: Tensor | float | Sequence[float] | None = None,
        concentration0: Tensor | float | Sequence[float] | None = None,
        seed: int | None = None,
        dtype: DType = mstype.float32,
        name: str = "Beta",
    ):
        require_positive("Beta", "concentration1", concentration1)
        require_positive("Beta", "concentration0", concentration0)
        super().__init__(seed, dtype, name, {"concentration1": concentration1, "concentration0": concentration0})

    def _mean(self, *args, **kwargs):
        a, b = self.get_dist_args(*args, **kwargs)
        return F.div(a, F.add(a, b))

    def _var(self, *args, **kwargs):
        a, b = self.get_dist_args(*args, **kwargs)
        total = F.add(a, b)
        return F.div(F.mul(a, b), F.mul(F.square(total), F.add(total, 1.0)))

    def _mode(self, *args, **kwargs):
        a, b = self.get_dist_args(*args, **kwargs)
        made = F.div(F.sub(a, 1.0), F.sub(F.add(a, b), 2.0))
        inside = F.logical_and(F.greater(a, 1.0), F.greater(b, 1.0))
        return F.select(inside, made, F.full_like(made, float("nan")))

    def _entropy(self, *args, **kwargs):
        a, b = self.get_dist_args(*args, **kwargs)
        digamma, total = special("digamma"), F.add(a, b)
        parts = F.add(F.mul(F.sub(a, 1.0), digamma(a)), F.mul(F.sub(b, 1.0), digamma(b)))
        return F.add(F.sub(_log_beta(a, b), parts), F.mul(F.sub(total, 2.0), digamma(total)))

    def _log_prob(self, value, *args, **kwargs):
        a, b = self.get_dist_args(*args, **kwargs)
        value = self._value(value)
        made = F.add(F.mul(F.sub(a, 1.0), F.log(value)), F.mul(F.sub(b, 1.0), F.log1p(F.neg(value))))
        return F.sub(made, _log_beta(a, b))

    def _kl_loss(self, dist, *args):
        (a, b), (own_a, own_b) = self._other(dist, args)
        digamma, total, own_total = special("digamma"), F.add(a, b), F.add(own_a, own_b)
        made = F.sub(_log_beta(a, b), _log_beta(own_a, own_b))
        made = F.sub(made, F.add(F.mul(F.sub(a, own_a), digamma(own_a)), F.mul(F.sub(b, own_b), digamma(own_b))))
        return F.add(made, F.mul(F.sub(total, own_total), digamma(own_total)))

    def _sample(self, shape=(), *args, **kwargs):
        a, b = self.get_dist_args(*args, **kwargs)
        require_known("Beta.sample", a, b)
        return Tensor(generator().beta(a.asnumpy(), b.asnumpy(), self._drawn_shape(shape, a, b)), self._dtype)
