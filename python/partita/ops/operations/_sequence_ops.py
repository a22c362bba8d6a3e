"""Ops between tensors and values of Python."""

from partita._names import refuse_missing
from partita.ops.primitive import Primitive


class TensorToScalar(Primitive):
    """The number that a tensor of one element holds, as a value of Python."""

    def compute(self, x):
        return x.item()


__getattr__ = refuse_missing(globals())
