"""Distributions: functions of values, and draws."""

import sys

from partita._names import refuse_missing
from partita.nn.probability.base import Distribution  # noqa: F401
from partita.nn.probability.counts import Bernoulli, Categorical, Geometric, Poisson  # noqa: F401
from partita.nn.probability.families import (  # noqa: F401
    Cauchy,
    Exponential,
    Gumbel,
    HalfNormal,
    Laplace,
    Logistic,
    LogNormal,
    Normal,
    StudentT,
    Uniform,
)
from partita.nn.probability.shaped import Beta, Gamma  # noqa: F401
from partita.nn.probability.transformed import TransformedDistribution  # noqa: F401

distribution = sys.modules[__name__]  # the name of its file in the documented system
__getattr__ = refuse_missing(globals())
