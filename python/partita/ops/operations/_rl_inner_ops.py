"""Ops for other devices, under the name of the module that has them in the documented system."""

from partita._names import refuse_missing
from partita.ops.absent import ABSENT

CudnnGRU = ABSENT["CudnnGRU"]

__getattr__ = refuse_missing(globals())
