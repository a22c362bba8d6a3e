"""Convolutions and means over windows of lines: x[n, c, w], as images of one row."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

from partita.common.tensor import Tensor
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


def conv1d(
    input: Tensor | float,
    weight: Tensor | float,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    pad_mode: str = "valid",
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of x[n, c, w] with weight[out, c / groups, k], as [n, out, places]; `bias` has `out` elements.
    `padding`, of the mode "pad", is the number of zeros at both ends. Raises ValueError for shapes that do not fit and
    another mode, TypeError for integers, operands of two types, and a stride, padding or dilation that is no integer.
    """
    x, filters = _line("conv1d", input), _line("conv1d", weight)
    around = _one("conv1d", "padding", padding)
    options = (1, _one("conv1d", "stride", stride)), pad_mode, (0, 0, around, around)
    y = conv2d(x, filters, bias, *options, (1, _one("conv1d", "dilation", dilation)), groups)
    return squeeze(y, 2)


def avg_pool1d(
    input_x: Tensor | float,
    kernel_size: int | Sequence[int] = 1,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of x[n, c, w], as [n, c, places]; zeros at the ends count unless `count_include_pad` is
    False. Raises ValueError for other shapes, or a window larger than the line, TypeError for integers, and sizes that
    are no integers."""
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


def adaptive_avg_pool1d(input: Tensor | float, output_size: int) -> Tensor:
    """Means over equal parts of lines: x[n, c, w] becomes [n, c, output_size]. Raises ValueError for other shapes, and
    if the size is not divisible by the number of parts, TypeError for integers."""
    x, size = _parts("adaptive_avg_pool1d", input, output_size)
    return squeeze(avg_pool2d(x, (1, size), (1, size)), 2)


def adaptive_max_pool1d(input: Tensor | float, output_size: int) -> Tensor:
    """The largest elements of equal parts of lines: x[n, c, w] becomes [n, c, output_size]. Raises ValueError for other
    shapes, and if the size is not divisible by the number of parts, TypeError for integers."""
    x, size = _parts("adaptive_max_pool1d", input, output_size)
    return squeeze(max_pool2d(x, (1, size), (1, size)), 2)
