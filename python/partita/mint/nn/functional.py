"""Functions of layers under the names that PyTorch has."""

from partita._names import refuse_missing
from partita.ops.functional import (  # noqa: F401
    cross_entropy,
    dropout,
    gelu,
    l1_loss,
    layer_norm,
    leaky_relu,
    log_softmax,
    mse_loss,
    relu,
    sigmoid,
    silu,
    softmax,
    softplus,
    tanh,
)
from partita.ops import functional as _F


def linear(input, weight, bias=None):
    """x weight^T + bias."""
    y = _F.matmul(input, weight, transpose_b=True)
    return y if bias is None else _F.add(y, bias)


__getattr__ = refuse_missing(globals())
