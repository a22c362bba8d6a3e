"""Convolutions of lines, images and volumes as layers, with biases and without padding unless told to."""

import math
from collections.abc import Sequence

from partita.common import dtype as mstype
from partita.common._types import DType, Ints
from partita.common.initializer import HeUniform, Uniform, initializer
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.mint import convolutions as C
from partita.nn.cell import Cell
from partita.nn.convolution_parts import require_sizes
from partita.ops import functional as F
from partita.ops.pools import require_integers

_PADDINGS = {"zeros": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}


class _Convolution(Cell):
    """The parameters and settings: filters are drawn as those of a layer with a relu, biases by what a filter sums."""

    count, function, transposed = 2, None, False

    def _take(self, channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, dtype):
        where, (inner, outer) = type(self).__name__, channels
        dtype = self._with_masters(mstype.float32 if dtype is None else dtype)
        sizes = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation}
        require_sizes(where, in_channels=inner, out_channels=outer, groups=groups, **sizes)
        if inner % groups or outer % groups:
            raise ValueError(
                f"[{where}] channels do not divide into groups, got {inner} to {outer} in {groups}, expected multiples"
            )
        if padding_mode not in _PADDINGS or (self.transposed and padding_mode != "zeros"):
            known = ["zeros"] if self.transposed else list(_PADDINGS)
            raise ValueError(f"[{where}] unknown padding_mode, got {padding_mode!r}, expected one of {known}")
        self.in_channels, self.out_channels, self.groups = inner, outer, groups
        self.kernel_size = C.several(where, "kernel_size", kernel_size, self.count)
        self.stride = C.several(where, "stride", stride, self.count)
        self.dilation = C.several(where, "dilation", dilation, self.count)
        self.padding = padding if isinstance(padding, str) else C.several(where, "padding", padding, self.count)
        self.padding_mode = padding_mode
        first, second = (inner, outer) if self.transposed else (outer, inner)
        shape = [first, second // groups, *self.kernel_size]
        self.weight = Parameter(initializer(HeUniform(math.sqrt(5)), shape, dtype))
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        self.bias = Parameter(initializer(Uniform(bound), [outer], dtype)) if bias else None

    def construct(self, input: Tensor) -> Tensor:
        return self._convolved(input, self.padding)

    def _convolved(self, x, padding):
        if self.padding_mode != "zeros":
            sides = C.sides_of(type(self).__name__, padding, self.kernel_size, self.stride, self.dilation)
            x = F.pad(x, [one for pair in reversed(sides) for one in pair], _PADDINGS[self.padding_mode])
            padding = 0
        call = type(self).function
        return call(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extend_repr(self) -> str:
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, padding={self.padding}, dilation={self.dilation}, groups={self.groups}, "
            f"bias={self.bias is not None}"
        )


class _Plain(_Convolution):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: Ints | str = 0,
        dilation: Ints = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        dtype: DType | None = None,
    ):
        super().__init__()
        channels = in_channels, out_channels
        self._take(channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, dtype)


class Conv1d(_Plain):
    """Convolution of lines. Takes (n, in_channels, w) or (in_channels, w), gives as many of out_channels and w'
    elements. `padding` is the number of zeros at both ends, or "valid" (none) or "same" (as many as keep the size, with
    a stride of 1); `padding_mode` says what stands there in place of zeros ("reflect", "replicate", "circular").
    Parameters: weight (out_channels, in_channels / groups, kernel_size), and bias (out_channels) with `bias`. Raises
    ValueError for channels that do not divide into groups, sizes below 1, an unknown padding_mode, and inputs of other
    shapes."""

    count, function = 1, staticmethod(C.conv1d)


class Conv2d(_Plain):
    """Convolution of images, with options as `Conv1d` has them. Takes (n, in_channels, h, w) or (in_channels, h, w),
    gives as many of out_channels, h' rows and w' columns. Parameters: weight (out_channels, in_channels / groups, rows,
    columns), and bias (out_channels) with `bias`. Raises ValueError for channels that do not divide into groups, sizes
    below 1, and inputs of other shapes."""

    count, function = 2, staticmethod(C.conv2d)


class Conv3d(_Plain):
    """Convolution of volumes, with options as `Conv1d` has them. Takes (n, in_channels, d, h, w) or (in_channels, d, h,
    w), gives as many of out_channels and other sizes. Parameters: weight (out_channels, in_channels / groups, kd, kh,
    kw), and bias (out_channels) with `bias`. Raises ValueError for channels that do not divide into groups, sizes below
    1, and inputs of other shapes."""

    count, function = 3, staticmethod(C.conv3d)


class ConvTranspose2d(_Convolution):
    """The transposed convolution of images: see `nn.functional.conv_transpose2d`. Takes (n, in_channels, h, w), gives
    (n, out_channels, h', w'). A call may give the size of the result, (rows, columns), of those that the stride allows.
    Parameters: weight (in_channels, out_channels / groups, rows, columns), and bias (out_channels) with `bias`. Raises
    ValueError for channels that do not divide into groups, and for a size that no output_padding gives."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: Ints = 0,
        output_padding: Ints = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Ints = 1,
        padding_mode: str = "zeros",
        dtype: DType | None = None,
    ):
        super().__init__()
        channels = in_channels, out_channels
        self._take(channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, dtype)
        self.output_padding = C.several("ConvTranspose2d", "output_padding", output_padding, 2)

    def construct(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        more = self.output_padding if output_size is None else self._more(input.shape[-2:], output_size)
        options = self.stride, self.padding, more, self.groups, self.dilation
        return C.conv_transpose2d(input, self.weight, self.bias, *options)

    def _more(self, sizes, output_size):
        """The output padding that gives a size. Raises ValueError if none does."""
        made = []
        given = require_integers("ConvTranspose2d", "output_size", output_size)
        windows = zip(sizes, given[-2:], self.kernel_size, self.stride, self.padding, self.dilation)
        for size, wanted, k, step, less, gap in windows:
            more = wanted - ((size - 1) * step - 2 * less + gap * (k - 1) + 1)
            if not 0 <= more < step:
                raise ValueError(
                    f"[ConvTranspose2d] bad output_size, got {output_size}, expected {wanted - more} to "
                    f"{wanted - more + step - 1} in place of {wanted}"
                )
            made.append(more)
        return tuple(made)
