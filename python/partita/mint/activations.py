"""Functions of single elements and of parts of a line, as layers use them."""

from partita.common import dtype as mstype
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


def elu(input, alpha=1.0, inplace=False):
    """x above 0, else alpha (exp(x) - 1)."""
    below = F.mul(F.expm1(F.smaller(input, 0.0)), alpha)
    return _made(input, F.select(F.greater(input, 0.0), input, below), inplace)


def elu_(input, alpha=1.0):
    """`elu`, which the tensor itself takes."""
    return elu(input, alpha, True)


def selu(input):
    """scale elu(x, alpha), as `ops.selu`."""
    return F.selu(input)


def glu(input, dim=-1):
    """The first half of a dimension times the sigmoid of the second."""
    return F.glu(input, dim)


def hardshrink(input, lambd=0.5):
    """0 from -lambd to lambd, else x."""
    return F.hardshrink(input, lambd)


def softshrink(input, lambd=0.5):
    """x nearer to 0 by lambd, and 0 where it is less far."""
    return F.softshrink(input, lambd)


def hardsigmoid(input):
    """min(max(x + 3, 0), 6) / 6."""
    return F.hardsigmoid(input)


def hardswish(input):
    """x min(max(x + 3, 0), 6) / 6."""
    return F.hardswish(input)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x between two numbers, else the nearer one; the gradient is 0 from these on."""
    made = F.select(F.greater_equal(input, max_val), F.full_like(input, max_val), input)
    return _made(input, F.select(F.less_equal(input, min_val), F.full_like(input, min_val), made), inplace)


def hardtanh_(input, min_val=-1, max_val=1):
    """`hardtanh`, which the tensor itself takes."""
    return hardtanh(input, min_val, max_val, True)


def logsigmoid(input):
    """log(sigmoid(x)), without underflow."""
    return F.logsigmoid(input)


def mish(input):
    """x tanh(softplus(x))."""
    return F.mish(input)


def prelu(input, weight):
    """x, or of numbers below 0 the weight, one or one for each channel, times x."""
    return F.prelu(input, weight)


def relu(input, inplace=False):
    """max(x, 0)."""
    return _made(input, F.relu(input), inplace)


def relu_(input):
    """`relu`, which the tensor itself takes."""
    return relu(input, True)


def relu6(input, inplace=False):
    """min(max(x, 0), 6)."""
    return hardtanh(input, 0, 6, inplace)


def sigmoid_(input):
    """`sigmoid`, which the tensor itself takes."""
    return _made(input, F.sigmoid(input), True)


def silu(input, inplace=False):
    """x sigmoid(x)."""
    return _made(input, F.silu(input), inplace)


def softplus(input, beta=1, threshold=20):
    """log(1 + exp(beta x)) / beta, and x where beta x is above a threshold."""
    return F.softplus(input, beta, threshold)


def threshold(input, threshold, value, inplace=False):
    """x above a threshold, else a value."""
    made = F.select(F.greater(input, threshold), input, F.full_like(input, value))
    return _made(input, made, inplace)


def threshold_(input, threshold, value):
    """`threshold`, which the tensor itself takes."""
    made = F.select(F.greater(input, threshold), input, F.full_like(input, value))
    return _made(input, made, True)


def softmax(input, dim=None, dtype=None):
    """exp(x) over its sum along a dimension: without one the first of 0, 1 and 3 dimensions, the second of others."""
    return F.softmax(_typed(input, dtype), _usual_dim(input, dim))


def normalize(input, p=2.0, dim=1, eps=1e-12):
    """x over the norm `p` of its vectors along a dimension, or over eps where that is larger."""
    return F.div(input, F.maximum(vector_norm(input, p, dim, True), eps))


def dropout(input, p=0.5, training=True, inplace=False):
    """In a training zeros with probability p, the others divided by 1 - p."""
    if training and p == 1:
        return _made(input, F.mul(input, 0.0), inplace)
    return _made(input, F.dropout(input, p, training), inplace)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """`dropout` of whole channels of x[n, c, ..]."""
    kept = F.ones([*input.shape[:2], *[1] * (input.ndim - 2)], mstype.float32)
    mask = F.cast(dropout(kept, p, training), input.dtype)
    return _made(input, F.mul(input, mask), inplace)
