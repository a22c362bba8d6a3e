"""Kept for imports: the cells of partita.nn.wrap."""

from partita._names import refuse_missing
from partita.nn.wrap import *  # noqa: F401, F403
from partita.nn.wrap import _MicroBatch, _VirtualDatasetCell  # noqa: F401

__getattr__ = refuse_missing(globals())
