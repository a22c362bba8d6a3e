"""Layers of windows of lines, images and volumes."""

from partita.common._types import Ints
from partita.nn.convolution_parts import require_padding
from partita.nn.made import cell, cell_of
from partita.ops import functional as F
from partita.ops.pools import pooled_volume
from partita.ops.pool_windows import several

_FUNCTIONS = {
    "AdaptiveAvgPool3d": F.adaptive_avg_pool3d,
    "AdaptiveMaxPool2d": F.adaptive_max_pool2d,
    "AdaptiveMaxPool3d": F.adaptive_max_pool3d,
    "FractionalMaxPool2d": F.fractional_max_pool2d,
    "FractionalMaxPool3d": F.fractional_max_pool3d,
    "LPPool1d": F.lp_pool1d,
    "LPPool2d": F.lp_pool2d,
}
__all__ = [*_FUNCTIONS, "AvgPool3d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]
globals().update({name: cell_of(name, function) for name, function in _FUNCTIONS.items()})


@cell
def MaxPool3d(
    kernel_size: Ints = 1,
    stride: Ints = 1,
    pad_mode: str = "valid",
    padding: Ints | str = 0,
    dilation: Ints = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
):
    """The largest element of each window of x[n, c, d, h, w], or of x[c, d, h, w]. With `return_indices` also its place
    in the volume."""
    if str(pad_mode).lower() != "pad":
        if padding or return_indices or ceil_mode or several("MaxPool3d", "dilation", dilation, 3) != [1, 1, 1]:
            raise ValueError(
                f"[MaxPool3d] options of pad_mode='pad', got padding={padding!r}, dilation={dilation!r}, "
                f"return_indices={return_indices} and ceil_mode={ceil_mode} with {pad_mode!r}, expected defaults"
            )
        return lambda x: pooled_volume("MaxPool3d", "max_pool", x, kernel_size, stride, pad_mode, 0, False)
    return lambda x: F.max_pool3d(x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@cell
def AvgPool3d(
    kernel_size: Ints = 1,
    stride: Ints = 1,
    pad_mode: str = "valid",
    padding: Ints | str = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
):
    """The mean of each window of x[n, c, d, h, w], or of x[c, d, h, w]; with `same`, of its elements that are in the
    volume."""
    require_padding("AvgPool3d", str(pad_mode).lower(), padding)
    options = pad_mode, padding, ceil_mode, count_include_pad, divisor_override or 0
    return lambda x: pooled_volume("AvgPool3d", "avg_pool", x, kernel_size, stride, *options)


def _undone(function):
    def maker(kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0):
        return lambda x, indices, output_size=None: function(x, indices, kernel_size, stride, padding, output_size)

    maker.__name__, maker.__doc__ = function.__name__.title().replace("_", "").replace("D", "d"), function.__doc__
    return cell(maker)


MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = (_undone(one) for one in (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d))
