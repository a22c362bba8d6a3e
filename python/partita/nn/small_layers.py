"""Layers of one or two ops, and layers with a norm and an activation."""

import math
from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common._types import DType, Init, Ints, Number
from partita.common.initializer import Uniform, initializer
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.layer import BatchNorm1d, BatchNorm2d, Conv2d, Dense
from partita.nn.made import cell
from partita.nn.usual_activations import LeakyReLU, get_activation
from partita.ops import functional as F
from partita.ops.margin_losses import root
from partita.ops.other_losses import require_number
from partita.ops.tables import looked_up

__all__ = (
    "BiDense CentralCrop ClipByNorm Conv2dBnAct DenseBnAct EmbeddingLookup L1Regularizer MatMul Moments Range"
    " ReduceLogSumExp Roll Tril Triu"
).split()


@cell
def Moments(axis: Ints | None = None, keep_dims: bool | None = None):
    """(mean, variance) over dimensions, or over all, in the shape without them, or with `keep_dims` with size 1 there;
    of float16 computed as float32."""
    axes = () if axis is None else axis

    def call(x):
        wide = F.cast(x, mstype.float32) if x.dtype == mstype.float16 else x
        mean = F.reduce_mean(wide, axes, True)
        variance = F.reduce_mean(F.square(F.sub(wide, F.stop_gradient(mean))), axes, bool(keep_dims))
        mean = mean if keep_dims else F.reshape(mean, variance.shape)
        return F.cast(mean, x.dtype), F.cast(variance, x.dtype)

    return call


@cell
def ClipByNorm(axis: int | None = None):
    """(x, norm) gives x over its root of the sum of squares over dimensions, or over all, times the norm, where that
    root is larger; as float32."""
    axes = () if axis is None else axis

    def call(x, clip_norm):
        x, most = F.cast(x, mstype.float32), F.cast(clip_norm, mstype.float32)
        squares = F.reduce_sum(F.square(x), axes, True)
        return F.div(F.mul(x, most), F.maximum(root(squares), most))

    return call


@cell
def L1Regularizer(scale: float):
    """The sum of magnitudes, times a number."""
    if not math.isfinite(require_number("L1Regularizer", "scale", scale, 0)):
        raise ValueError(f"[L1Regularizer] bad scale, got {scale}, expected a finite number above 0")
    return lambda weights: F.mul(F.reduce_sum(F.abs(F.cast(weights, mstype.float32))), float(scale))


@cell
def MatMul(transpose_x1: bool = False, transpose_x2: bool = False):
    """Products of matrices: see `ops.matmul`."""
    return lambda x1, x2: F.matmul(x1, x2, transpose_x1 and x1.ndim > 1, transpose_x2 and x2.ndim > 1)


@cell
def Range(start: Number, limit: Number | None = None, delta: float = 1):
    """Numbers from `start` to below `limit`, or from 0 to below `start`: of integers as int32, else as float32."""
    first, end = (0, start) if limit is None else (start, limit)
    if delta == 0:
        raise ValueError("[Range] bad delta, got 0, expected another number")
    whole = all(isinstance(one, int) for one in (first, end, delta))
    values = np.arange(first, end, delta, dtype=np.int32 if whole else np.float32)
    return lambda: Tensor(values)


@cell
def ReduceLogSumExp(axis: int, keep_dims: bool = False):
    """log of the sum of exp over dimensions."""
    return lambda x: F.logsumexp(x, axis, keep_dims)


@cell
def Roll(shift: Ints, axis: Ints):
    """The elements moved along dimensions, those beyond the last place to the first: see `ops.roll`."""
    return lambda input_x: F.roll(input_x, shift, axis)


@cell
def Tril():
    """(x, k) gives the elements of matrices up to their diagonal k, else 0."""
    return lambda x, k=0: F.tril(x, k)


@cell
def Triu():
    """(x, k) gives the elements of matrices from their diagonal k on, else 0."""
    return lambda x, k=0: F.triu(x, k)


@cell
def CentralCrop(central_fraction: float):
    """The middle of images x[.., h, w]: this share of both sizes."""
    require_number("CentralCrop", "central_fraction", central_fraction, 0)
    if central_fraction > 1:
        raise ValueError(f"[CentralCrop] bad share, got {central_fraction}, expected a number above 0, at most 1")

    def call(image):
        h, w = image.shape[-2:]
        top, left = int((h - h * central_fraction) / 2), int((w - w * central_fraction) / 2)
        return image[..., top : h - top, left : w - left]

    return call


class BiDense(Cell):
    """x1^T weight[out] x2 + bias: see `ops.bidense`."""

    def __init__(
        self,
        in1_channels: int,
        in2_channels: int,
        out_channels: int,
        weight_init: Init | None = None,
        bias_init: Init | None = None,
        has_bias: bool = True,
        dtype: DType = mstype.float32,
    ):
        super().__init__()
        dtype = self._with_masters(dtype)
        for name, one in (("in1", in1_channels), ("in2", in2_channels), ("out", out_channels)):
            if isinstance(one, bool) or not isinstance(one, int) or one < 1:
                raise ValueError(f"[BiDense] bad {name}_channels, got {one!r}, expected an integer from 1")
        self.in1_channels, self.in2_channels, self.out_channels = in1_channels, in2_channels, out_channels
        self.has_bias, start = bool(has_bias), Uniform(1 / math.sqrt(in1_channels))
        shape = [out_channels, in1_channels, in2_channels]
        self.weight = Parameter(initializer(start if weight_init is None else weight_init, shape, dtype))
        self.bias = None
        if self.has_bias:
            self.bias = Parameter(initializer(start if bias_init is None else bias_init, [out_channels], dtype))

    def construct(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bidense(input1, input2, self.weight, self.bias)

    def extend_repr(self):
        return f"in1_channels={self.in1_channels}, in2_channels={self.in2_channels}, out_channels={self.out_channels}"


class _WithNorm(Cell):
    """A layer, then a norm, then an activation, each if it is there."""

    def _set_rest(self, norm, activation, alpha):
        self.has_bn, self.batchnorm = norm is not None, norm
        self.has_act = activation is not None
        self.activation = LeakyReLU(alpha) if activation == "leakyrelu" else get_activation(activation)

    def _finished(self, x):
        x = x if self.batchnorm is None else self.batchnorm(x)
        return x if self.activation is None else self.activation(x)


class Conv2dBnAct(_WithNorm):
    """A convolution, then a batch normalization and an activation, each if it is asked for."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        pad_mode: str = "same",
        padding: Ints = 0,
        dilation: Ints = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Init = "normal",
        bias_init: Init = "zeros",
        has_bn: bool = False,
        momentum: float = 0.997,
        eps: float = 1e-05,
        activation: str | Cell | None = None,
        alpha: float = 0.2,
        after_fake: bool = True,
    ):
        super().__init__()
        windows = kernel_size, stride, pad_mode, padding, dilation, group
        self.conv = Conv2d(in_channels, out_channels, *windows, has_bias, weight_init, bias_init)
        self._set_rest(BatchNorm2d(out_channels, eps, momentum) if has_bn else None, activation, alpha)

    def construct(self, x: Tensor) -> Tensor:
        return self._finished(self.conv(x))


class DenseBnAct(_WithNorm):
    """A dense layer, then a batch normalization and an activation, each if it is asked for."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Init = "normal",
        bias_init: Init = "zeros",
        has_bias: bool = True,
        has_bn: bool = False,
        momentum: float = 0.9,
        eps: float = 1e-05,
        activation: str | Cell | None = None,
        alpha: float = 0.2,
        after_fake: bool = True,
    ):
        super().__init__()
        self.dense = Dense(in_channels, out_channels, weight_init, bias_init, has_bias)
        self._set_rest(BatchNorm1d(out_channels, eps, momentum) if has_bn else None, activation, alpha)

    def construct(self, x: Tensor) -> Tensor:
        return self._finished(self.dense(x))


class EmbeddingLookup(Cell):
    """Looks up rows of a table by their ids; those outside of it are zeros. With `max_norm` rows whose root of the sum
    of squares is larger are made shorter. How the table is kept there on devices and ranks has no effect here."""

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        param_init: Init = "normal",
        target: str = "CPU",
        slice_mode: str = "batch_slice",
        manual_shapes: Sequence | None = None,
        max_norm: float | None = None,
        sparse: bool = True,
        dtype: DType = mstype.float32,
    ):
        super().__init__()
        dtype = self._with_masters(dtype)
        if target not in ("CPU", "DEVICE") or (target == "CPU" and not sparse):
            raise ValueError(f"[EmbeddingLookup] bad target, got {target!r}, sparse={sparse}, expected CPU or DEVICE")
        self.vocab_size, self.embedding_size = vocab_size, embedding_size
        self.target, self.sparse = target, sparse
        self.max_norm = None if max_norm is None else require_number("EmbeddingLookup", "max_norm", max_norm, 0)
        self.embedding_table = Parameter(initializer(param_init, [vocab_size, embedding_size], dtype))

    def construct(self, indices: Tensor) -> Tensor:
        rows = looked_up(self.embedding_table, indices)
        if self.max_norm is None:
            return rows
        axes = tuple(range(indices.ndim, rows.ndim))
        return F.clip_by_norm(rows, self.max_norm) if not axes else _shorter(rows, axes, self.max_norm)


def _shorter(rows, axes, most):
    """Rows whose norms are at most a number."""
    squares = F.maximum(F.reduce_sum(F.square(rows), axes, True), 1e-38)
    return F.mul(rows, F.minimum(F.mul(F.rsqrt(squares), most), 1.0))
