"""Functions of single elements and of parts of a line, as layers use them."""

from partita.common import dtype as mstype
from partita.common._types import DType, Number
from partita.common.tensor import Tensor
from partita.mint.functions import _typed, _usual_dim
from partita.mint.reduced import vector_norm
from partita.ops import functional as F

__all__ = (
    "dropout dropout2d elu elu_ glu hardshrink hardsigmoid hardswish hardtanh hardtanh_ logsigmoid mish"
    " normalize prelu relu relu6 relu_ selu sigmoid_ silu softmax softplus softshrink threshold threshold_"
).split()


def _made(input, value, inplace):
    """The value; with `inplace` the tensor itself, which takes it."""
    return input.copy_(value) if inplace else value


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x above 0, else alpha (exp(x) - 1), in the shape of x; with `inplace` x takes it."""
    below = F.mul(F.expm1(F.smaller(input, 0.0)), alpha)
    return _made(input, F.select(F.greater(input, 0.0), input, below), inplace)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu`, which the tensor itself takes."""
    return elu(input, alpha, True)


def selu(input: Tensor) -> Tensor:
    """scale elu(x, alpha), as `ops.selu`."""
    return F.selu(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second: a size of 2 n becomes n. Raises ValueError for an
    odd size."""
    return F.glu(input, dim)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 from -lambd to lambd, else x."""
    return F.hardshrink(input, lambd)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x nearer to 0 by lambd, and 0 where it is less far."""
    return F.softshrink(input, lambd)


def hardsigmoid(input: Tensor) -> Tensor:
    """min(max(x + 3, 0), 6) / 6."""
    return F.hardsigmoid(input)


def hardswish(input: Tensor) -> Tensor:
    """x min(max(x + 3, 0), 6) / 6, in the shape of x."""
    return F.hardswish(input)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x between two numbers, else the nearer one; the gradient is 0 from these on."""
    made = F.select(F.greater_equal(input, max_val), F.full_like(input, max_val), input)
    return _made(input, F.select(F.less_equal(input, min_val), F.full_like(input, min_val), made), inplace)


def hardtanh_(input: Tensor, min_val: float = -1, max_val: float = 1) -> Tensor:
    """`hardtanh`, which the tensor itself takes."""
    return hardtanh(input, min_val, max_val, True)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), without underflow, in the shape of x: numbers up to 0."""
    return F.logsigmoid(input)


def mish(input: Tensor) -> Tensor:
    """x tanh(softplus(x))."""
    return F.mish(input)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x, or of numbers below 0 the weight, one or one for each channel, times x."""
    return F.prelu(input, weight)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0), in the shape and the element type of x; with `inplace` x takes it."""
    return _made(input, F.relu(input), inplace)


def relu_(input: Tensor) -> Tensor:
    """`relu`, which the tensor itself takes."""
    return relu(input, True)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6)."""
    return hardtanh(input, 0, 6, inplace)


def sigmoid_(input: Tensor) -> Tensor:
    """`sigmoid`, which the tensor itself takes."""
    return _made(input, F.sigmoid(input), True)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x sigmoid(x), in the shape of x; of integers as float32. With `inplace` x takes it."""
    return _made(input, F.silu(input), inplace)


def softplus(input: Tensor, beta: Number = 1, threshold: Number = 20) -> Tensor:
    """log(1 + exp(beta x)) / beta, and x where beta x is above a threshold, in the shape of x."""
    return F.softplus(input, beta, threshold)


def threshold(input: Tensor, threshold: Number, value: Number, inplace: bool = False) -> Tensor:
    """x above a threshold, else a value."""
    made = F.select(F.greater(input, threshold), input, F.full_like(input, value))
    return _made(input, made, inplace)


def threshold_(input: Tensor, threshold: Number, value: Number) -> Tensor:
    """`threshold`, which the tensor itself takes."""
    made = F.select(F.greater(input, threshold), input, F.full_like(input, value))
    return _made(input, made, True)


def softmax(input: Tensor, dim: int | None = None, dtype: DType | None = None) -> Tensor:
    """exp(x) over its sum along a dimension, numbers from 0 to 1 in the shape of x: without one along the first of 0, 1
    and 3 dimensions, the second of others. Raises ValueError for a dimension that x has not."""
    return F.softmax(_typed(input, dtype), _usual_dim(input, dim))


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x over the norm `p` of its vectors along a dimension, or over eps where that is larger, in the shape of x."""
    return F.div(input, F.maximum(vector_norm(input, p, dim, True), eps))


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In a training zeros with probability p, the others divided by 1 - p, in the shape of x; otherwise x. Raises
    ValueError for p outside of 0 to 1."""
    if training and p == 1:
        return _made(input, F.mul(input, 0.0), inplace)
    return _made(input, F.dropout(input, p, training), inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of x[n, c, ..]."""
    kept = F.ones([*input.shape[:2], *[1] * (input.ndim - 2)], mstype.float32)
    mask = F.cast(dropout(kept, p, training), input.dtype)
    return _made(input, F.mul(input, mask), inplace)
