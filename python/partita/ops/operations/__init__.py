"""The ops that are objects, under the name that old scripts import: `from partita.ops import operations as P`."""

from partita import _later
from partita.ops import later
from partita.ops.absent import ABSENT
from partita.ops.communication import AllGather, AllReduce, Broadcast, Receive, ReduceScatter, Send  # noqa: F401
from partita.ops.derived_primitives import *  # noqa: F401,F403
from partita.ops.primitives import *  # noqa: F401,F403
from partita.ops.updates import *  # noqa: F401,F403
from partita.ops.operations import _inner_ops, _rl_inner_ops, _sequence_ops, nn_ops  # noqa: F401
from partita.ops.primitive import Primitive  # noqa: F401

for _name in ("Sequence", "annotations"):  # of the modules, for their annotations
    del globals()[_name]
globals().update(ABSENT)

__getattr__, __dir__ = _later.names_later(globals(), _later.places_of(later.OBJECTS, "partita.ops"))
