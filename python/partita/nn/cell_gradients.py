"""Gradients of a call that has been made: the documented system differentiates it, and does not call the cell anew."""

from partita import _trace, context
from partita._program import Program
from partita.common import dtype as mstype
from partita.common.tensor import Tensor


class CellGradients:
    """A call of a network in training whose `set_grad` was called computes the gradients of its loss in one program
    with it. The gradient function of the cell takes them, once, for the same arguments: so the Python of the network,
    its random numbers and its moving statistics are those of one call."""

    def _keeps_gradients(self, kwargs):
        values = self.__dict__
        return values["requires_grad"] and values["training"] and not kwargs and context.is_eager()

    def _called_with_gradients(self, args):
        made = self._program("gradients", lambda: Program(self._and_gradients))(*args)
        value, gradients = made
        if gradients:
            kept = {id(one): gradient for one, gradient in zip(self.trainable_params(), gradients)}
            self.__dict__["_kept"] = args, value, kept
        return value

    def _and_gradients(self, *args):
        value, parameters = self(*args), self.trainable_params()
        if not parameters or not isinstance(value, Tensor) or value.size != 1 or not mstype.is_float(value.dtype):
            return value, ()
        return value, tuple(_trace.current().differentiate(value if value.ndim == 0 else value.sum(), parameters))

    def take_gradients(self, args, parameters):
        """(loss, gradients by these parameters) of the last call if it had these arguments, else None. They are given
        up in any case."""
        found = self.__dict__.pop("_kept", None)
        if found is None or len(found[0]) != len(args) or any(a is not b for a, b in zip(found[0], args)):
            return None
        _, value, kept = found
        if any(id(one) not in kept for one in parameters):
            return None
        return value, tuple(kept[id(one)] for one in parameters)
