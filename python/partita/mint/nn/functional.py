"""Functions of layers under the names that PyTorch has."""

from partita._names import refuse_missing
from partita.mint.functions import (  # noqa: F401
    gelu,
    layer_norm,
    leaky_relu,
    linear,
    log_softmax,
    softmax,
)
from partita.ops.functional import (  # noqa: F401
    cross_entropy,
    dropout,
    l1_loss,
    mse_loss,
    relu,
    sigmoid,
    silu,
    softplus,
    tanh,
)

__getattr__ = refuse_missing(globals())
