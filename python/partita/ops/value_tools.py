"""Questions about the values of a program, and copies of tensors."""

from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.ops.elementwise import mul

__all__ = ("deepcopy", "is_sequence_value_unknown", "typeof")


def typeof(x):
    """The type of a value: of a tensor, a tuple or a list with those of its elements.

    >>> str(ops.typeof((1, ms.Tensor([1.0]))))
    'Tuple[Int64,Tensor[Float32]]'
    """
    return mstype.type_of(x)


def deepcopy(input_x):
    """A copy of a tensor with elements of its own; gradients pass through it. Raises TypeError for other values."""
    if not isinstance(input_x, Tensor):
        raise TypeError(f"[deepcopy] not a tensor, got {type(input_x).__name__}, expected a Tensor")
    is_own = isinstance(input_x, Parameter) and mstype.is_float(input_x.dtype)
    return mul(input_x, 1) if is_own else input_x.copy()  # gradients of parameters pass through ops


def is_sequence_value_unknown(shape):
    """Whether the numbers of a shape are not known while a program is made: they always are."""
    return False
