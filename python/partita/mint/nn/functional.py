"""Functions of layers under the names that PyTorch has."""

from partita._names import refuse_missing
from partita.common.tensor import Tensor
from partita.mint.activations import *  # noqa: F401,F403
from partita.mint.convolutions import conv1d, conv2d, conv3d, conv_transpose2d  # noqa: F401
from partita.mint.functions import flatten, gelu, layer_norm, leaky_relu, linear, log_softmax  # noqa: F401
from partita.mint.images import *  # noqa: F401,F403
from partita.mint.losses import (  # noqa: F401
    batch_norm,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    group_norm,
    kl_div,
    nll_loss,
    smooth_l1_loss,
)
from partita.ops.functional import (  # noqa: F401
    clamp,
    cosine_embedding_loss,
    l1_loss,
    mse_loss,
    sigmoid,
    soft_margin_loss,
    tanh,
)

__getattr__ = refuse_missing(globals())
