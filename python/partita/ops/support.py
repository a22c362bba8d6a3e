"""Helpers that the functions of tensors share."""

import numbers
import operator

import numpy as np

from partita import _core, _trace
from partita._sliced.functions import functions
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops import strategies


class _Functions:
    """The functions of the library on symbols. The strategy of the primitive that is being called is told of each op
    that they make."""

    def __init__(self, library):
        for name in [name for name in dir(library) if name != "apply" and not name.startswith("_")]:
            setattr(self, name, self._noted(name, getattr(library, name)))
        self.rounded, self._apply = library.rounded, library.apply

    @staticmethod
    def _noted(name, function):
        def call(*args):
            made = function(*args)
            if strategies.is_active():
                symbols, others = [], []
                for one in args:
                    (symbols if isinstance(one, _core.Symbol) else others).append(one)
                strategies.note(name, symbols, others, made)
            return made

        call.__name__ = call.__qualname__ = name
        return call

    def apply(self, trace, op, operands, attrs):
        made = self._apply(trace, op, operands, attrs)
        if strategies.is_active():
            strategies.note(op, operands, dict(attrs), made)
        return made


F = _Functions(functions)


run, number = _trace.run, _trace.number


def is_number(value):
    """Whether this is a number of Python or NumPy, not a tensor."""
    if isinstance(value, Tensor):  # which is asked most, and numbers.Number costs more to ask for
        return False
    return isinstance(value, (numbers.Number, np.bool_, np.generic)) and not isinstance(value, complex)


def as_tensor(value, where="op"):
    """The tensor that `value` is or holds; TypeError for what is none."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (np.ndarray, list, tuple)) or is_number(value):
        return Tensor(value)
    raise TypeError(f"[{where}] operand is not a tensor, got {type(value).__name__}, expected a Tensor or a number")


def number_dtype(tensor, number):
    """The element type in which a number meets a tensor: that of the tensor, unless it holds numbers of a lower kind
    (bools, integers, floats)."""
    whole = isinstance(number, (numbers.Integral, np.bool_))
    if mstype.is_float(tensor.dtype) or (whole and tensor.dtype != mstype.bool_):
        return tensor.dtype
    if isinstance(number, (bool, np.bool_)):
        return tensor.dtype
    return mstype.int64 if whole else mstype.float32


def attributes(**values):
    """Attributes of an op as the library reads them."""
    return [(name, _text(value)) for name, value in values.items()]


def _text(value):
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, mstype.DType):
        return value.core
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_text(one) for one in value) + "]"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, numbers.Integral):
        return str(int(value))
    return repr(float(value))


def axis_of(where, axis, rank):
    try:
        axis = operator.index(axis)
    except TypeError:
        raise TypeError(f"[{where}] axis is not an integer, got {axis!r}, expected one") from None
    if -rank <= axis < rank:
        return axis + rank if axis < 0 else axis
    raise ValueError(f"[{where}] axis is outside the tensor, got {axis}, expected {-rank} to {rank - 1}")


def axes_of(where, axis, rank):
    if axis is None or axis == ():
        return []
    axes = list(axis) if isinstance(axis, (tuple, list)) or hasattr(axis, "__iter__") else [axis]
    return [axis_of(where, one, rank) for one in axes]


def broadcast_shape(where, *shapes):
    """The shape to which several broadcast. Raises ValueError where they do not."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " and ".join(str(tuple(one)) for one in shapes)
        raise ValueError(
            f"[{where}] shapes do not broadcast, got {listed}, expected equal sizes or 1 from the right"
        ) from None


def apply_op(op, *operands, **attrs):
    """Any op of the library by name; see ops.registry. A tensor, or a tuple of several."""
    tensors = [as_tensor(one, op) for one in operands]
    made = run(lambda trace, *xs: tuple(F.apply(trace, op, list(xs), attributes(**attrs))), *tensors)
    return made[0] if len(made) == 1 else made
