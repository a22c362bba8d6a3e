"""Ops that are objects, under the name of the module that has some of them in the documented system."""

from partita import _later
from partita.ops import functional as F
from partita.ops import later
from partita.ops.absent import ABSENT
from partita.ops.derived_primitives import *  # noqa: F401,F403
from partita.ops.primitive import Primitive
from partita.ops.primitives import *  # noqa: F401,F403

globals().update(ABSENT)


class Scatter(Primitive):
    """(x, dim, index, src, reduce) gives x with the elements of src at index along a dimension, or with `reduce` "add"
    the sums of these."""

    def compute(self, x, dim, index, src, reduce="none"):
        return F.tensor_scatter_elements(x, index, src, dim, reduce)


__getattr__, __dir__ = _later.names_later(globals(), _later.places_of(later.OBJECTS, "partita.ops"))
