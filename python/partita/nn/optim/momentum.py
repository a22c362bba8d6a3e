"""Momentum, where old scripts import it from."""

from partita._names import refuse_missing
from partita.nn.optim import Momentum  # noqa: F401

__getattr__ = refuse_missing(globals())
