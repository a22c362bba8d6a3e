"""Ops that are objects, under another name of the documented system."""

from partita import _later
from partita.ops import later
from partita.ops.absent import ABSENT, INNER
from partita.ops.derived_primitives import *  # noqa: F401,F403
from partita.ops.primitives import *  # noqa: F401,F403

globals().update(ABSENT)
Dequant, SyncBatchNorm = INNER["Dequant"], INNER["SyncBatchNorm"]

__getattr__, __dir__ = _later.names_later(globals(), _later.places_of(later.OBJECTS, "partita.ops"))
