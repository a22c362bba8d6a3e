"""Layers of volumes, and windows of images as a layer."""

from collections.abc import Sequence

from partita.common import dtype as mstype
from partita.common._types import DType, Init, Ints
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.convolution_parts import biases, convolution_text, filters, require_channels, require_sizes
from partita.ops import functional as F
from partita.ops.patches import _several, convolved, windows

__all__ = "Conv3d Conv3dTranspose Unfold".split()


class Conv3d(Cell):
    """Convolution of volumes. Takes (n, in_channels, d, h, w), gives (n, out_channels, d', h', w'). With `pad_mode`
    "same" zeros keep the size over the stride, rounded up; "valid" adds none; "pad" adds `padding` on all sides, or
    (front, back, top, bottom, left, right). Parameters: weight (out_channels, in_channels / group, kd, kh, kw), and
    bias (out_channels) with `has_bias`. Raises ValueError for sizes below 1, channels that do not divide into groups, a
    padding without "pad", and inputs of another shape."""

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
        weight_init: Init | None = None,
        bias_init: Init | None = None,
        data_format: str = "NCDHW",
        dtype: DType = mstype.float32,
    ):
        super().__init__()
        dtype = self._with_masters(dtype)
        if data_format != "NCDHW":
            raise ValueError(f"[Conv3d] this order of dimensions is not there, got {data_format!r}, expected 'NCDHW'")
        require_channels("Conv3d", in_channels, out_channels, group, pad_mode, padding)
        self.in_channels, self.out_channels, self.group = in_channels, out_channels, group
        self.kernel_size = tuple(_several("Conv3d", "kernel_size", kernel_size, 3))
        self.stride = tuple(_several("Conv3d", "stride", stride, 3))
        self.dilation = tuple(_several("Conv3d", "dilation", dilation, 3))
        require_sizes("Conv3d", kernel_size=self.kernel_size, stride=self.stride, dilation=self.dilation)
        self.pad_mode, self.padding, self.has_bias = pad_mode, padding, bool(has_bias)
        shape = [out_channels, in_channels // group, *self.kernel_size]
        self.weight = filters(weight_init, shape, dtype)
        self.bias = biases(bias_init, out_channels, shape, dtype) if self.has_bias else None

    def construct(self, x: Tensor) -> Tensor:
        options = self.stride, self.pad_mode, self.padding, self.dilation, self.group
        return convolved(x, self.weight, self.bias, *options)

    def extend_repr(self) -> str:
        return convolution_text(self)


class Conv3dTranspose(Cell):
    """The transposed convolution of volumes. Takes (n, in_channels, d, h, w), gives (n, out_channels, d', h', w'), with
    "same" sizes multiplied by the stride. `output_padding` is the number of elements that the result has more at the
    end of its dimensions. Parameters: weight (in_channels, out_channels / group, kd, kh, kw), and bias (out_channels)
    with `has_bias`. Raises ValueError for sizes below 1 and channels that do not divide into groups."""

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
        output_padding: Ints = 0,
        has_bias: bool = False,
        weight_init: Init | None = None,
        bias_init: Init | None = None,
        data_format: str = "NCDHW",
        dtype: DType = mstype.float32,
    ):
        super().__init__()
        dtype, where = self._with_masters(dtype), "Conv3dTranspose"
        if data_format != "NCDHW":
            raise ValueError(f"[{where}] this order of dimensions is not there, got {data_format!r}, expected 'NCDHW'")
        require_channels(where, in_channels, out_channels, group, pad_mode, padding)
        self.in_channels, self.out_channels, self.group = in_channels, out_channels, group
        self.kernel_size, self.stride, self.dilation = (
            tuple(_several(where, name, value, 3))
            for name, value in (("kernel_size", kernel_size), ("stride", stride), ("dilation", dilation))
        )
        require_sizes(where, kernel_size=self.kernel_size, stride=self.stride, dilation=self.dilation)
        self.pad_mode, self.padding, self.has_bias = pad_mode, padding, bool(has_bias)
        self.output_padding = output_padding
        shape = [in_channels, out_channels // group, *self.kernel_size]
        self.weight = filters(weight_init, shape, dtype)
        self.bias = biases(bias_init, out_channels, shape, dtype) if self.has_bias else None

    def construct(self, x: Tensor) -> Tensor:
        options = self.pad_mode, self.padding, self.stride, self.dilation, self.group, self.output_padding
        y = F.conv3d_transpose(x, self.weight, *options)
        return F.bias_add(y, self.bias) if self.has_bias else y

    def extend_repr(self) -> str:
        return convolution_text(self)


class Unfold(Cell):
    """The elements of each window of x[n, c, h, w] as channels: [n, kh * kw * c, rows, columns]. Sizes are [1, rows,
    columns, 1]; with the padding "same" windows reach over the edges, where elements are 0."""

    def __init__(self, ksizes: Sequence[int], strides: Sequence[int], rates: Sequence[int], padding: str = "valid"):
        super().__init__()
        for name, value in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
            if not isinstance(value, (tuple, list)):
                raise TypeError(f"[Unfold] {name} is not a tuple, got {type(value).__name__}, expected one")
            if len(value) != 4 or value[0] != 1 or value[3] != 1:
                raise ValueError(f"[Unfold] bad {name}, got {value}, expected [1, rows, columns, 1]")
            if any(not isinstance(one, int) or one < 1 for one in value):
                raise ValueError(f"[Unfold] bad {name}, got {value}, expected integers from 1")
        if str(padding).lower() not in ("same", "valid"):
            raise ValueError(f"[Unfold] unknown padding, got {padding!r}, expected 'same' or 'valid'")
        self.kernel, self.strides, self.gaps = (list(one[1:3]) for one in (ksizes, strides, rates))
        self.pads = str(padding).lower() == "same"

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim != 4:
            raise ValueError(f"[Unfold] wrong number of dimensions, got {x.shape}, expected 4")
        if self.pads:
            more = []
            for size, k, step, gap in zip(x.shape[2:], self.kernel, self.strides, self.gaps):
                total = max(0, (-(-size // step) - 1) * step + gap * (k - 1) + 1 - size)
                more = [total // 2, total - total // 2, *more]
            x = F.pad(x, more)
        parts = windows("Unfold", x, self.kernel, self.strides, self.gaps)  # [n, c, kh, kw, rows, columns]
        n, c, *_, rows, columns = parts.shape
        return F.reshape(F.transpose(parts, (0, 2, 3, 1, 4, 5)), [n, -1, rows, columns])
