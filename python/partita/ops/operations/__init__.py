"""The ops that are objects, under the name that old scripts import: `from partita.ops import operations as P`."""

from partita._names import refuse_missing
from partita.ops.derived_primitives import *  # noqa: F401,F403
from partita.ops.primitives import *  # noqa: F401,F403
from partita.ops.primitive import Primitive  # noqa: F401

__getattr__ = refuse_missing(globals())
