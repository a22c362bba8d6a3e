"""Distributions of values that a map is applied to."""

from partita.nn.probability.base import Distribution
from partita.ops import functional as F


class TransformedDistribution(Distribution):
    """The distribution of bijector.forward(x), for x of a distribution."""

    def __init__(self, bijector, distribution, seed=None, name="transformed_distribution"):
        super().__init__(seed, distribution.dtype, name, {})
        self.bijector, self.distribution = bijector, distribution

    @property
    def is_linear_transformation(self):
        """Whether the map stretches everywhere alike, so that the mean is that of the values."""
        return self.bijector.is_constant_jacobian

    @property
    def batch_shape(self):
        """The shape of the parameters of the distribution."""
        return self.distribution.batch_shape

    def _log_prob(self, value, *args, **kwargs):
        stretch = self.bijector.inverse_log_jacobian(value)
        return F.add(self.distribution.log_prob(self.bijector.inverse(value), *args, **kwargs), stretch)

    def _prob(self, value, *args, **kwargs):
        return F.exp(self._log_prob(value, *args, **kwargs))

    def _cdf(self, value, *args, **kwargs):
        return self.distribution.cdf(self.bijector.inverse(value), *args, **kwargs)

    def _log_cdf(self, value, *args, **kwargs):
        return self.distribution.log_cdf(self.bijector.inverse(value), *args, **kwargs)

    def _survival_function(self, value, *args, **kwargs):
        return self.distribution.survival_function(self.bijector.inverse(value), *args, **kwargs)

    def _log_survival(self, value, *args, **kwargs):
        return self.distribution.log_survival(self.bijector.inverse(value), *args, **kwargs)

    def _mean(self, *args, **kwargs):
        if not self.is_linear_transformation:
            raise ValueError("[TransformedDistribution] no mean, got a map that is not linear, expected ScalarAffine")
        return self.bijector.forward(self.distribution.mean(*args, **kwargs))

    def _sample(self, *args, **kwargs):
        return self.bijector.forward(self.distribution.sample(*args, **kwargs))
