"""The base of layers of convolutions, for those that a library derives from it."""

from partita._names import refuse_missing
from partita.common import dtype as mstype
from partita.nn.cell import Cell
from partita.nn.convolution_parts import biases, filters, require_channels
from partita.nn.layer import Conv2d  # noqa: F401
from partita.nn.layers_of_parts import Conv1d  # noqa: F401
from partita.nn.transposed import Conv1dTranspose, Conv2dTranspose  # noqa: F401
from partita.nn.volumes import Conv3d, Conv3dTranspose  # noqa: F401


class _Conv(Cell):
    """The parameters and settings of a convolution: `kernel_size` is a tuple, and filters have the shape [out, in /
    group, *kernel_size], those of a transposed convolution [in, out / group, *kernel_size]. Subclasses compute it."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        pad_mode,
        padding,
        dilation,
        group,
        has_bias,
        weight_init,
        bias_init,
        data_format="NCHW",
        transposed=False,
        dtype=mstype.float32,
    ):
        super().__init__()
        dtype, where = self._with_masters(dtype), type(self).__name__
        require_channels(where, in_channels, out_channels, group, pad_mode, padding)
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, tuple(kernel_size)
        self.stride, self.pad_mode, self.padding, self.dilation = stride, pad_mode, padding, dilation
        self.group, self.has_bias, self.format = group, bool(has_bias), data_format
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        shape = [first, second // group, *self.kernel_size]
        self.weight = filters(weight_init, shape, dtype)
        self.bias = biases(bias_init, out_channels, shape, dtype) if self.has_bias else None


def _deconv_output_length(is_valid, is_same, is_pad, input_length, filter_size, stride_size, dilation_size, padding):
    """Size of the result of a transposed convolution along a dimension; `padding` is the sum of both sides."""
    if not (is_valid or is_same or is_pad):
        return 0
    length = input_length * stride_size
    if is_same:
        return length
    reach = filter_size + (filter_size - 1) * (dilation_size - 1) - stride_size
    return length + max(reach, 0) if is_valid else length - padding + reach


__getattr__ = refuse_missing(globals())
