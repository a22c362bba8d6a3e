"""Layers under the names that PyTorch has."""

import math

from partita import nn
from partita._names import refuse_missing
from partita.common.initializer import HeUniform, Uniform
from partita.mint.nn import functional  # noqa: F401
from partita.nn import (  # noqa: F401
    GELU,
    CrossEntropyLoss,
    Dropout,
    Embedding,
    Identity,
    L1Loss,
    MSELoss,
    ReLU,
    Softmax,
)


class Linear(nn.Dense):
    """x weight^T + bias."""

    def __init__(self, in_features, out_features, bias=True, weight_init=None, bias_init=None, dtype=None):
        super().__init__(
            in_features,
            out_features,
            weight_init or HeUniform(math.sqrt(5)),
            bias_init or Uniform(1 / math.sqrt(in_features)),
            has_bias=bias,
        )


__getattr__ = refuse_missing(globals())
