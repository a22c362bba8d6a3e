"""Distributions, and maps of their values."""

from partita._names import refuse_missing
from partita.nn.probability import bijector, bnn_layers, distribution  # noqa: F401

__getattr__ = refuse_missing(globals())
