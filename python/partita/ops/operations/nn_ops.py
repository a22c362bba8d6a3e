"""Ops that are objects, under another name of the documented system."""

from partita._names import refuse_missing
from partita.ops.absent import ABSENT
from partita.ops.angle_primitives import *  # noqa: F401,F403
from partita.ops.attention_primitives import *  # noqa: F401,F403
from partita.ops.derived_primitives import *  # noqa: F401,F403
from partita.ops.element_primitives import *  # noqa: F401,F403
from partita.ops.primitives import *  # noqa: F401,F403

globals().update(ABSENT)

__getattr__ = refuse_missing(globals())
