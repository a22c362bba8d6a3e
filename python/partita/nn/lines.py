"""Layers over windows of lines: x[n, c, w], as images of one row."""

from partita.nn.cell import Cell
from partita.nn.layer import AvgPool2d, MaxPool2d
from partita.ops import functional as F

__all__ = "AdaptiveAvgPool1d AdaptiveMaxPool1d AvgPool1d MaxPool1d".split()


class _OfLines(Cell):
    """A pool of images of one row, called with lines."""

    def __init__(self, pool):
        super().__init__()
        self._pool = pool

    def construct(self, x):
        if x.ndim not in (2, 3):
            raise ValueError(f"[{type(self).__name__}] wrong number of dimensions, got {x.shape}, expected 2 or 3")
        rows = x if x.ndim == 3 else F.expand_dims(x, 0)
        made = F.squeeze(self._pool(F.expand_dims(rows, 2)), 2)
        return made if x.ndim == 3 else F.squeeze(made, 0)


class MaxPool1d(_OfLines):
    """The largest element of each window of x[n, c, w]."""

    def __init__(
        self, kernel_size=1, stride=1, pad_mode="valid", padding=0, dilation=1, return_indices=False, ceil_mode=False
    ):
        around = (0, padding)
        super().__init__(
            MaxPool2d((1, kernel_size), (1, stride), pad_mode, around, dilation, return_indices, ceil_mode)
        )


class AvgPool1d(_OfLines):
    """The mean of each window of x[n, c, w]; with `same`, of its elements that are in the line."""

    def __init__(
        self, kernel_size=1, stride=1, pad_mode="valid", padding=0, ceil_mode=False, count_include_pad=True
    ):
        around = (0, padding)
        super().__init__(AvgPool2d((1, kernel_size), (1, stride), pad_mode, around, ceil_mode, count_include_pad))


class AdaptiveAvgPool1d(Cell):
    """Means over equal parts of x[n, c, w]. A call raises ValueError if the size is not divisible by their number."""

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def construct(self, input):
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveMaxPool1d(Cell):
    """The largest elements of equal parts of x[n, c, w]. A call raises ValueError if the size is not divisible by their
    number."""

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def construct(self, input):
        return F.adaptive_max_pool1d(input, self.output_size)
