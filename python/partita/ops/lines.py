"""Convolutions and means over windows of lines: x[n, c, w], as images of one row."""

import numbers

from partita.ops.layers import avg_pool2d, conv2d, max_pool2d
from partita.ops.shapes import expand_dims, squeeze
from partita.ops.support import as_tensor

__all__ = "adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d conv1d".split()


def _one(where, what, value):
    """The integer that `value` is or holds."""
    values = [value] if isinstance(value, numbers.Integral) and not isinstance(value, bool) else value
    if (
        not isinstance(values, (tuple, list))
        or len(values) != 1
        or isinstance(values[0], bool)
        or not isinstance(values[0], numbers.Integral)
    ):
        raise TypeError(f"[{where}] bad {what}, got {value!r}, expected an integer")
    return int(values[0])


def _line(where, value):
    x = as_tensor(value, where)
    if x.ndim != 3:
        raise ValueError(f"[{where}] wrong number of dimensions, got {x.shape}, expected 3")
    return expand_dims(x, 2)


def conv1d(input, weight, bias=None, stride=1, pad_mode="valid", padding=0, dilation=1, groups=1):
    """Convolution of x[n, c, w] with weight[out, c / groups, k]."""
    x, filters = _line("conv1d", input), _line("conv1d", weight)
    around = _one("conv1d", "padding", padding)
    options = (1, _one("conv1d", "stride", stride)), pad_mode, (0, 0, around, around)
    y = conv2d(x, filters, bias, *options, (1, _one("conv1d", "dilation", dilation)), groups)
    return squeeze(y, 2)


def avg_pool1d(input_x, kernel_size=1, stride=1, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window of x[n, c, w]."""
    x, where = _line("avg_pool1d", input_x), "avg_pool1d"
    kernel, step, around = (
        _one(where, name, value)
        for name, value in (("kernel_size", kernel_size), ("stride", stride), ("padding", padding))
    )
    return squeeze(avg_pool2d(x, (1, kernel), (1, step), (0, around), ceil_mode, count_include_pad), 2)


def _parts(where, input, output_size):
    """(the line as an image, size of each of `output_size` equal parts)."""
    x, count = _line(where, input), _one(where, "output_size", output_size)
    if count < 1 or x.shape[-1] % count:
        raise ValueError(f"[{where}] parts are not equal, got {count} of {x.shape[-1]}, expected a divisor")
    return x, x.shape[-1] // count


def adaptive_avg_pool1d(input, output_size):
    """Means over equal parts of lines. Raises ValueError if the size is not divisible by the number of parts."""
    x, size = _parts("adaptive_avg_pool1d", input, output_size)
    return squeeze(avg_pool2d(x, (1, size), (1, size)), 2)


def adaptive_max_pool1d(input, output_size):
    """The largest elements of equal parts of lines. Raises ValueError if the size is not divisible by the number of
    parts."""
    x, size = _parts("adaptive_max_pool1d", input, output_size)
    return squeeze(max_pool2d(x, (1, size), (1, size)), 2)
