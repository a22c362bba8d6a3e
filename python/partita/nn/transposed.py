"""Transposed convolutions, by convolutions of images with zeros between their elements."""

from partita.common import dtype as mstype
from partita.common._types import DType, Init, Ints
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.convolution_parts import biases, convolution_text, filters, require_channels, require_sizes
from partita.ops import functional as F
from partita.ops.transposed import filters_of, spread

__all__ = "Conv1dTranspose Conv2dTranspose".split()


class Conv2dTranspose(Cell):
    """The transposed convolution of images. Takes (n, in_channels, h, w), gives (n, out_channels, h', w'): with "same"
    h and w times the stride, with "valid" what all windows cover, with "pad" `padding` rows and columns less on each
    side, or (top, bottom, left, right). `output_padding` adds zeros below and on the right. Parameters: weight
    (in_channels, out_channels / group, rows, columns), and bias (out_channels) with `has_bias`. Raises ValueError for
    sizes below 1, channels that do not divide into groups, paddings without "pad", an output_padding that reaches the
    stride and the dilation, and inputs of another shape."""

    _where = "Conv2dTranspose"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        pad_mode: str = "same",
        padding: Ints = 0,
        output_padding: Ints = 0,
        dilation: Ints = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Init | None = None,
        bias_init: Init | None = None,
        dtype: DType = mstype.float32,
    ):
        super().__init__()
        dtype, where = self._with_masters(dtype), self._where
        require_channels(where, in_channels, out_channels, group, pad_mode)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.group, self.has_bias = group, bool(has_bias)
        self.kernel_size = tuple(F.pair(where, "kernel_size", kernel_size))
        self.stride, self.dilation = (
            tuple(F.pair(where, name, value)) for name, value in (("stride", stride), ("dilation", dilation))
        )
        require_sizes(where, kernel_size=self.kernel_size, stride=self.stride, dilation=self.dilation)
        self.output_padding = tuple(F.pair(where, "output_padding", output_padding))
        for name, more, step, gap in zip(("rows", "columns"), self.output_padding, self.stride, self.dilation):
            if not 0 <= more < max(step, gap):
                raise ValueError(f"[{where}] bad output_padding, got {more} {name}, expected 0 to {max(step, gap) - 1}")
        self.pad_mode = pad_mode
        self.padding = (padding,) * 4 if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != 4 or (pad_mode != "pad" and (any(self.padding) or any(self.output_padding))):
            raise ValueError(
                f"[{where}] bad padding, got {padding!r} and {output_padding!r} with {pad_mode}, expected an integer or"
                " four with pad, else 0"
            )
        shape = [in_channels, out_channels // group, *self.kernel_size]
        if isinstance(weight_init, Tensor) and weight_init.ndim == 3:
            weight_init = F.expand_dims(weight_init, 2)
        self.weight = filters(weight_init, shape, dtype)
        self.bias = biases(bias_init, out_channels, shape, dtype) if self.has_bias else None

    def _cut(self, sizes):
        """Rows or columns of the largest result that are left out: (top, bottom, left, right), below 0 for more."""
        if self.pad_mode == "pad":
            return self.padding
        if self.pad_mode == "valid":  # a stride beyond the filter leaves zeros at the end
            more = [min(0, gap * (k - 1) + 1 - step) for k, step, gap in self._windows()]
            return 0, more[0], 0, more[1]
        cut = []
        for size, (k, step, gap) in zip(sizes, self._windows()):
            total = (size - 1) * step + gap * (k - 1) + 1 - size * step
            before = total // 2 if total > 0 else 0
            cut += [before, total - before]
        return tuple(cut)

    def _windows(self):
        return list(zip(self.kernel_size, self.stride, self.dilation))

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim != 4:
            raise ValueError(f"[{self._where}] wrong number of dimensions, got {x.shape}, expected 4")
        reach = [gap * (k - 1) for gap, k in zip(self.dilation, self.kernel_size)]
        top, bottom, left, right = self._cut(x.shape[2:])
        wide = F.pad(spread(x, self.stride), (reach[1] - left, reach[1] - right, reach[0] - top, reach[0] - bottom))
        filters = filters_of(self.weight, self.group)
        y = F.conv2d(wide, filters, self.bias, 1, "valid", 0, self.dilation, self.group)
        return F.pad(y, (0, self.output_padding[1], 0, self.output_padding[0]))

    def extend_repr(self) -> str:
        return convolution_text(self)


class Conv1dTranspose(Conv2dTranspose):
    """The transposed convolution of lines, by one of images of one row. Takes (n, in_channels, w), gives (n,
    out_channels, w'), with "same" w times the stride; see `Conv2dTranspose`. Parameters: weight (in_channels,
    out_channels / group, 1, kernel_size), and bias (out_channels) with `has_bias`. Raises ValueError for sizes below 1
    and inputs of another shape."""

    _where = "Conv1dTranspose"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        pad_mode: str = "same",
        padding: int = 0,
        dilation: int = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Init | None = None,
        bias_init: Init | None = None,
        dtype: DType = mstype.float32,
    ):
        of_images = (1, kernel_size), (1, stride), pad_mode, (0, 0, padding, padding), 0, (1, dilation), group
        super().__init__(in_channels, out_channels, *of_images, has_bias, weight_init, bias_init, dtype)

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim != 3:
            raise ValueError(f"[{self._where}] wrong number of dimensions, got {x.shape}, expected 3")
        return F.squeeze(super().construct(F.expand_dims(x, 2)), 2)
