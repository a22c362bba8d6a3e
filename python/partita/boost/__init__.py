"""The part of the documented module of this name that libraries use."""

from partita._names import refuse_missing
from partita.boost.grad_accumulation import GradientAccumulation  # noqa: F401

__getattr__ = refuse_missing(globals())
