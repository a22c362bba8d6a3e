"""The ops that are objects, under the name that old scripts import: `from partita.ops import operations as P`."""

from partita._names import refuse_missing
from partita.ops.absent import ABSENT
from partita.ops.communication import AllGather, AllReduce, Broadcast, Receive, ReduceScatter, Send  # noqa: F401
from partita.ops.angle_primitives import *  # noqa: F401,F403
from partita.ops.attention_primitives import *  # noqa: F401,F403
from partita.ops.derived_primitives import *  # noqa: F401,F403
from partita.ops.primitives import *  # noqa: F401,F403
from partita.ops.updates import *  # noqa: F401,F403
from partita.ops.element_primitives import *  # noqa: F401,F403
from partita.ops.draw_primitives import *  # noqa: F401,F403
from partita.ops.operations import _inner_ops, _rl_inner_ops, _sequence_ops, nn_ops  # noqa: F401
from partita.ops.primitive import Primitive  # noqa: F401

globals().update(ABSENT)

__getattr__ = refuse_missing(globals())
