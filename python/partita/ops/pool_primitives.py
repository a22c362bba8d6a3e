"""Ops of windows as objects."""

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.made import op
from partita.ops.pools import pooled_volume
from partita.ops.pool_windows import around_all, several, window_maxima

__all__ = (
    "AdaptiveAvgPool2D AdaptiveAvgPool3D AdaptiveMaxPool2D AdaptiveMaxPool3D AvgPool3D"
    " FractionalMaxPool3DWithFixedKsize FractionalMaxPoolWithFixedKsize MaxPool3D MaxPool3DWithArgmax"
    " MaxPoolWithArgmax MaxPoolWithArgmaxV2 MaxUnpool2D MaxUnpool3D"
).split()


def require_order(where, data_format, expected):
    """Raises ValueError for tensors whose dimensions are in another order."""
    if data_format != expected:
        raise ValueError(f"[{where}] this order of dimensions is not there, got {data_format!r}, expected {expected!r}")


@op
def AdaptiveAvgPool2D(output_size):
    """AdaptiveAvgPool2D(output_size)(x[.., h, w]): the means of parts of height and width, [.., *output_size]: see
    `adaptive_avg_pool2d`. Raises ValueError for other than three or four dimensions."""
    return lambda input_x: F.adaptive_avg_pool2d(input_x, output_size)


@op
def AdaptiveAvgPool3D(output_size):
    """The means of parts of volumes: see `adaptive_avg_pool3d`."""
    return lambda input_x: F.adaptive_avg_pool3d(input_x, output_size)


@op
def AdaptiveMaxPool2D(output_size):
    """(the largest elements of parts of height and width, their places)."""
    return lambda input: F.adaptive_max_pool2d(input, output_size, True)


@op
def AdaptiveMaxPool3D():
    """(x, sizes) gives (the largest elements of parts of volumes, their places)."""
    return lambda x, output_size: F.adaptive_max_pool3d(x, _known(output_size), True)


def _known(sizes):
    return tuple(int(one) for one in (sizes.asnumpy() if hasattr(sizes, "asnumpy") else sizes))


@op
def MaxPool3D(kernel_size=1, strides=1, pad_mode="VALID", pad_list=0, ceil_mode=None, data_format="NCDHW"):
    """The largest element of each window of x[n, c, d, h, w]. Raises ValueError for other dimensions."""
    require_order("MaxPool3D", data_format, "NCDHW")
    return lambda x: pooled_volume(
        "MaxPool3D", "max_pool", x, _last(kernel_size), _last(strides), pad_mode, pad_list, bool(ceil_mode)
    )


def _last(value):
    """The last three of five numbers."""
    return value[-3:] if isinstance(value, (tuple, list)) and len(value) == 5 else value


@op
def AvgPool3D(
    kernel_size=1,
    strides=1,
    pad_mode="valid",
    pad=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=0,
    data_format="NCDHW",
):
    """The mean of each window of x[n, c, d, h, w], or its sum over `divisor_override`. Raises ValueError for other
    dimensions."""
    require_order("AvgPool3D", data_format, "NCDHW")
    options = ceil_mode, count_include_pad, divisor_override
    return lambda x: pooled_volume(
        "AvgPool3D", "avg_pool", x, _last(kernel_size), _last(strides), pad_mode, pad, *options
    )


def _two(where, what, value):
    """(rows, columns), of one number, of two, or of four of which the middle ones count."""
    if isinstance(value, (tuple, list)) and len(value) == 4:
        value = value[1:3] if what == "old" else value[2:]
    return several(where, what, value, 2, 0)


@op
def MaxPoolWithArgmax(kernel_size=1, strides=1, pad_mode="valid", data_format="NCHW"):
    """(the largest element of each window of x[n, c, h, w], its place in the sample as int32)."""
    require_order("MaxPoolWithArgmax", data_format, "NCHW")
    kernel, steps = _two("MaxPoolWithArgmax", "kernel_size", kernel_size), _two("MaxPoolWithArgmax", "strides", strides)

    def call(x):
        pads = around_all("MaxPoolWithArgmax", pad_mode, 0, x.shape[2:], kernel, steps, False)
        found, places = window_maxima("MaxPoolWithArgmax", x, kernel, steps, pads, [1, 1], False, mstype.int32)
        n, c, h, w = x.shape
        begins = Tensor(np.arange(c, dtype=np.int32).reshape(1, c, 1, 1) * (h * w))
        return found, F.add(places, begins)

    return call


def _with_places(where, count, ksize, strides, pads, dilation, ceil_mode, kind):
    kernel = several(where, "ksize", ksize, count)
    steps = kernel if strides is None else several(where, "strides", strides, count)
    around, gaps = several(where, "pads", pads, count, 0), several(where, "dilation", dilation, count)
    return lambda x: window_maxima(where, x, kernel, steps, around, gaps, ceil_mode, kind)


@op
def MaxPoolWithArgmaxV2(kernel_size, strides=None, pads=0, dilation=(1, 1), ceil_mode=False, argmax_type=mstype.int64):
    """(the largest element of each window of x[n, c, h, w], its place in the image)."""
    options = [one[-2:] if isinstance(one, tuple) else one for one in (kernel_size, strides, pads, dilation)]
    return _with_places("MaxPoolWithArgmaxV2", 2, *options, ceil_mode, argmax_type)


@op
def MaxPool3DWithArgmax(
    ksize, strides, pads, dilation=(1, 1, 1), ceil_mode=False, data_format="NCDHW", argmax_type=mstype.int64
):
    """(the largest element of each window of x[n, c, d, h, w], its place in the volume)."""
    require_order("MaxPool3DWithArgmax", data_format, "NCDHW")
    return _with_places("MaxPool3DWithArgmax", 3, ksize, strides, pads, dilation, ceil_mode, argmax_type)


def _undone(function, count, ksize, strides, pads, output_shape):
    steps = None if strides in (0, (0,) * count) else strides
    sizes = tuple(output_shape)[-count:] or None
    return lambda x, argmax: function(x, argmax, ksize, steps, pads, sizes)


@op
def MaxUnpool2D(ksize, strides=0, pads=0, output_shape=(), data_format="NCHW"):
    """(x[n, c, h, w], places) gives x at its places, else 0: see `max_unpool2d`."""
    require_order("MaxUnpool2D", data_format, "NCHW")
    return _undone(F.max_unpool2d, 2, ksize, strides, pads, output_shape)


@op
def MaxUnpool3D(ksize, strides=0, pads=0, output_shape=(), data_format="NCDHW"):
    """(x[n, c, d, h, w], places) gives x at its places, else 0: see `max_unpool3d`."""
    require_order("MaxUnpool3D", data_format, "NCDHW")
    return _undone(F.max_unpool3d, 3, ksize, strides, pads, output_shape)


@op
def FractionalMaxPoolWithFixedKsize(ksize, output_shape, data_format="NCHW"):
    """(x[n, c, h, w], two numbers for each channel) gives (the largest elements of windows, their places)."""
    require_order("FractionalMaxPoolWithFixedKsize", data_format, "NCHW")
    return lambda x, samples: F.fractional_max_pool2d(x, ksize, output_shape, None, True, samples)


@op
def FractionalMaxPool3DWithFixedKsize(ksize, output_shape, data_format="NCDHW"):
    """(x[n, c, d, h, w], three numbers for each channel) gives (the largest elements of windows, their places)."""
    require_order("FractionalMaxPool3DWithFixedKsize", data_format, "NCDHW")
    return lambda x, samples: F.fractional_max_pool3d(x, ksize, output_shape, None, True, samples)
