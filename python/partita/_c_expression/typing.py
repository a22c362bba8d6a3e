"""Kinds of element types, for isinstance."""

from partita._names import refuse_missing
from partita.common.dtype import BFloat, Bool, Complex, Float, Int, Number, TensorType, Type, UInt  # noqa: F401

__getattr__ = refuse_missing(globals())
