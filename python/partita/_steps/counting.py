"""Integers that a step counts with: they are known while its Python runs."""

from partita._current import outside
from partita._trace import count, run

_TYPES = frozenset(("i32", "i64", "bool"))


def _is_count(one):
    """Whether an operand is a known integer, or a bool, and no parameter."""
    if one.__class__ is float or one._symbol is not None or one._array is None or one._array.shape:
        return False
    return not one.is_parameter and one._array.dtype in _TYPES


class Counting:
    """The part of a recording that computes with known integers as outside of a step: a loop that counts by a tensor
    asks for each of its values, and need not end a program for them."""

    def run(self, body, operands):
        if not operands or not _is_count(operands[0]):
            return self._added(body, operands)
        if not all(one.__class__ is float or _is_count(one) for one in operands):
            return self._added(body, operands)
        with outside():
            made = run(body, *operands)
        self.born += made if isinstance(made, (list, tuple)) else [made]
        return made

    def count_call(self, parameter):
        with outside():  # a call of the step would end its program before the update of parameters
            count(parameter)

    def _added(self, body, operands):
        """Adds a call of a body, as `run` does for other operands."""
        raise NotImplementedError
