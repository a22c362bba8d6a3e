"""The ops that are objects, under the name that old scripts import: `from partita.ops import operations as P`."""

from partita import _later
from partita.ops import later
from partita.ops.absent import ABSENT
from partita.ops.communication import (  # noqa: F401
    AllGather,
    AllReduce,
    AlltoAll,
    Barrier,
    Broadcast,
    CollectiveGather,
    CollectiveScatter,
    Receive,
    Reduce,
    ReduceOp,
    ReduceScatter,
    Send,
)
from partita.ops.custom import Custom, PyFunc  # noqa: F401
from partita.ops.derived_primitives import *  # noqa: F401,F403
from partita.ops.primitives import *  # noqa: F401,F403
from partita.ops.updates import *  # noqa: F401,F403
from partita.ops.operations import _inner_ops, _rl_inner_ops, _sequence_ops, nn_ops  # noqa: F401
from partita.ops.primitive import Primitive  # noqa: F401

for _name in ("Sequence", "annotations"):  # of the modules, for their annotations
    del globals()[_name]
globals().update(ABSENT)

_MODULES = ("_grad_ops", "_infer_ops", "_quant_ops", "image_ops", "manually_defined")
_PLACES = {name: f"partita.ops.operations.{name}" for name in _MODULES}
__getattr__, __dir__ = _later.names_later(globals(), _PLACES | _later.places_of(later.OBJECTS, "partita.ops"))
