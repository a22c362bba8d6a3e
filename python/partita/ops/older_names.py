"""Functions under the names that client libraries import from the module of functions."""

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.elementwise import add, cast, div, floor_div, mul, pow, sub
from partita.ops.shapes import swapaxes
from partita.ops.support import as_tensor

__all__ = (
    "addn floor_divide mixed_precision_cast multiply t tensor_add tensor_div tensor_mul tensor_pow tensor_sub"
    " true_divide"
).split()


def addn(x):
    """The sum of the tensors of a tuple or list, or the only one. Raises ValueError without one."""
    parts = list(x) if isinstance(x, (tuple, list)) else [x]
    if not parts:
        raise ValueError("[addn] nothing to add, got no tensors, expected one or more")
    total = as_tensor(parts[0], "addn")
    for one in parts[1:]:
        total = add(total, one)
    return total


def mixed_precision_cast(dst_type, x):
    """A tensor of floating-point numbers in another element type, also in tuples and lists; others as they are."""
    if isinstance(x, (tuple, list)):
        return type(x)(mixed_precision_cast(dst_type, one) for one in x)
    return cast(x, dst_type) if isinstance(x, Tensor) and mstype.is_float(x.dtype) else x


def t(input):
    """A matrix with its dimensions exchanged; a vector or a number as it is. Raises ValueError for more dimensions."""
    x = as_tensor(input, "t")
    if x.ndim > 2:
        raise ValueError(f"[t] not a matrix, got shape {x.shape}, expected at most two dimensions")
    return swapaxes(x, 0, 1) if x.ndim == 2 else x


floor_divide, multiply, true_divide = floor_div, mul, div
tensor_add, tensor_div, tensor_mul, tensor_pow, tensor_sub = add, div, mul, pow, sub
