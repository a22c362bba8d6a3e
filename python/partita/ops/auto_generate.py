"""Ops that are objects, under the name of the module that has some of them in the documented system. Its modules
`gen_ops_def` and `gen_ops_prim` are this one."""

from partita import _later
from partita.ops import functional as F
from partita.ops import later
from partita.ops.absent import ABSENT, INNER, refusing_function
from partita.ops.derived_primitives import *  # noqa: F401,F403
from partita.ops.elementwise import mul
from partita.ops.primitive import Primitive
from partita.ops.primitives import *  # noqa: F401,F403
from partita.ops.scattered import added_at

globals().update({**ABSENT, **INNER})
apply_rotary_pos_emb_ = refusing_function(
    "apply_rotary_pos_emb_", "positions that are turned in place", "ops.rotary_position_embedding"
)


class Scatter(Primitive):
    """(x, dim, index, src, reduce) gives x with the elements of src at index along a dimension, or with `reduce` "add"
    the sums of these."""

    def compute(self, x, dim, index, src, reduce="none"):
        return F.tensor_scatter_elements(x, index, src, dim, reduce)


def index_add_ext_op(input, dim, index, source, alpha=1):
    """The tensor with `alpha` times slices of another one along a dimension added to those at places."""
    return added_at(input, index, mul(source, alpha), dim)


_FUNCTIONS = {"value_tools": "deepcopy", "tables": "embedding_op"}
__getattr__, __dir__ = _later.names_later(globals(), _later.places_of({**later.OBJECTS, **_FUNCTIONS}, "partita.ops"))
