"""Layers under the names that PyTorch has."""

import math
from collections.abc import Sequence

from partita import nn
from partita._names import refuse_missing
from partita.common import dtype as mstype
from partita.common._types import DType, Init, Ints
from partita.common.initializer import HeUniform, Normal, Uniform, initializer
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.mint import activations as _activations
from partita.mint import images as _images
from partita.mint.nn import functional  # noqa: F401
from partita.mint.nn import of_functions as _of_functions
from partita.mint.nn import padding as _padding
from partita.mint.nn.convolutions import Conv1d, Conv2d, Conv3d, ConvTranspose2d  # noqa: F401
from partita.mint.nn.norms import (  # noqa: F401
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    LayerNorm,
    SyncBatchNorm,
)
from partita.nn import Cell  # noqa: F401
from partita.nn.convolution_parts import require_sizes as _require_sizes
from partita.ops import functional as _F


class Identity(nn.Cell):
    """The input, of any shape; settings have no effect."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def construct(self, input: Tensor) -> Tensor:
        return input


class Linear(nn.Dense):
    """x weight^T + bias. Takes (.., in_features), gives (.., out_features). Parameters: weight (out_features,
    in_features) and, with `bias`, bias (out_features), which begin uniform in +-1 / sqrt(in_features). Raises
    ValueError for features below 1; a call does for another last size."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        weight_init: Init | None = None,
        bias_init: Init | None = None,
        dtype: DType | None = None,
    ):
        _require_sizes("Linear", in_features=in_features, out_features=out_features)
        super().__init__(
            in_features,
            out_features,
            HeUniform(math.sqrt(5)) if weight_init is None else weight_init,
            Uniform(1 / math.sqrt(in_features)) if bias_init is None else bias_init,
            has_bias=bias,
            dtype=mstype.float32 if dtype is None else dtype,
        )
        self.in_features, self.out_features = in_features, out_features


def _share(p):
    if not 0 <= p <= 1:
        raise ValueError(f"[Dropout] probability out of range, got {p}, expected 0 to 1")
    return p


class Dropout(nn.Cell):
    """In a training zeros with probability p, the others divided by 1 - p, in the shape of the input; otherwise the
    input. Raises ValueError for p outside of 0 to 1."""

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        self.p, self.inplace = _share(p), inplace

    def construct(self, input: Tensor) -> Tensor:
        return _activations.dropout(input, self.p, self.training, self.inplace)

    def extend_repr(self):
        return f"p={self.p}"


class Dropout2d(nn.Cell):
    """`Dropout` of whole channels of x[n, c, ..]. Raises ValueError for p outside of 0 to 1."""

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        self.p, self.inplace = _share(p), inplace

    def construct(self, input: Tensor) -> Tensor:
        return _activations.dropout2d(input, self.p, self.training, self.inplace)

    def extend_repr(self):
        return f"p={self.p}"


class Embedding(nn.Cell):
    """Rows of a table by their numbers: takes integers (..), gives (.., embedding_dim). Parameter: weight
    (num_embeddings, embedding_dim), drawn from a normal distribution. The row `padding_idx` begins as zeros and gets no
    gradient. Raises ValueError for a padding_idx that is no row; a call raises IndexError for numbers outside,
    TypeError for what are no integers, NotImplementedError for `max_norm` and `scale_grad_by_freq`."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        dtype: DType | None = None,
    ):
        super().__init__()
        dtype = self._with_masters(mstype.float32 if dtype is None else dtype)
        shape = [num_embeddings, embedding_dim]
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(f"[Embedding] bad padding_idx, got {padding_idx}, expected one of {num_embeddings} rows")
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        table = initializer(Normal(1.0) if _weight is None else _weight, shape, dtype)
        self.weight = Parameter(table, requires_grad=not _freeze)
        if _weight is None and padding_idx is not None:
            self.weight[padding_idx] = 0.0

    def construct(self, input: Tensor) -> Tensor:
        options = self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq
        return _images.embedding(input, self.weight, *options)

    def extend_repr(self) -> str:
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, padding_idx={self.padding_idx}"
        )


class PReLU(nn.Cell):
    """x, or of numbers below 0 a weight that is trained, one or one for each channel of x[n, c, ..], times x.
    Parameter: weight (num_parameters), which begins as `init`."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: DType | None = None):
        super().__init__()
        dtype = self._with_masters(mstype.float32 if dtype is None else dtype)
        self.num_parameters = num_parameters
        self.weight = Parameter(_F.full([num_parameters], float(init), dtype=dtype))

    def construct(self, input: Tensor) -> Tensor:
        return _activations.prelu(input, self.weight)


class UpsamplingNearest2d(nn.Cell):
    """Images of another size, of the nearest elements."""

    mode, align_corners = "nearest", None

    def __init__(self, size: Ints | None = None, scale_factor: float | Sequence[float] | None = None):
        super().__init__()
        self.size, self.scale_factor = size, scale_factor

    def construct(self, input: Tensor) -> Tensor:
        return _images.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners)


class UpsamplingBilinear2d(UpsamplingNearest2d):
    """Images of another size, of the elements between which each is; those of corners stay."""

    mode, align_corners = "bilinear", True


globals().update(_of_functions.LAYERS)
globals().update(_padding.LAYERS)
__getattr__ = refuse_missing(globals())
