"""Layers under the names that PyTorch has."""

import math

from partita import nn
from partita._names import refuse_missing
from partita.common import dtype as mstype
from partita.common.initializer import HeUniform, Normal, Uniform
from partita.mint import functions as F
from partita.mint.nn import functional  # noqa: F401
from partita.nn import CrossEntropyLoss, Identity, L1Loss, MSELoss, ReLU, Sigmoid, Tanh  # noqa: F401


class Linear(nn.Dense):
    """x weight^T + bias."""

    def __init__(self, in_features, out_features, bias=True, weight_init=None, bias_init=None, dtype=None):
        super().__init__(
            in_features,
            out_features,
            HeUniform(math.sqrt(5)) if weight_init is None else weight_init,
            Uniform(1 / math.sqrt(in_features)) if bias_init is None else bias_init,
            has_bias=bias,
            dtype=mstype.float32 if dtype is None else dtype,
        )


class GELU(nn.Cell):
    """x times the normal distribution function, or its form with tanh."""

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def construct(self, input):
        return F.gelu(input, approximate=self.approximate)


class Softmax(nn.Cell):
    """exp(x) over its sum along a dimension."""

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def construct(self, input):
        return F.softmax(input, self.dim)


class Dropout(nn.Dropout):
    """In a training zeros with probability p, the others divided by 1 - p."""

    def __init__(self, p=0.5):
        super().__init__(p=p)


class Embedding(nn.Embedding):
    """Rows of a table by their numbers, drawn from a normal distribution."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
        if padding_idx is not None:
            raise NotImplementedError(
                f"[Embedding] a row without gradients is not supported, got padding_idx={padding_idx}, expected None:"
                " see nn.Embedding"
            )
        super().__init__(num_embeddings, embedding_dim, False, Normal(1.0))


__getattr__ = refuse_missing(globals())
