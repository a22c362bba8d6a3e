"""The part of the documented module of this name that libraries use."""

from partita._names import refuse_missing, refused
from partita.boost.grad_accumulation import GradientAccumulation  # noqa: F401

globals().update(refused("boost"))
__getattr__ = refuse_missing(globals())
