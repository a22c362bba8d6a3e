"""Layers over windows of lines: x[n, c, w], as images of one row."""

from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.layer import AvgPool2d, MaxPool2d
from partita.ops import functional as F

__all__ = "AdaptiveAvgPool1d AdaptiveMaxPool1d AvgPool1d MaxPool1d".split()


class _OfLines(Cell):
    """A pool of images of one row, called with lines."""

    def __init__(self, pool):
        super().__init__()
        self._pool = pool

    def __repr__(self):
        return f"{type(self).__name__}({self.extend_repr()})"

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim not in (2, 3):
            raise ValueError(f"[{type(self).__name__}] wrong number of dimensions, got {x.shape}, expected 2 or 3")
        rows = x if x.ndim == 3 else F.expand_dims(x, 0)
        made = self._pool(F.expand_dims(rows, 2))
        lines = [F.squeeze(one, 2) for one in (made if isinstance(made, tuple) else [made])]
        lines = lines if x.ndim == 3 else [F.squeeze(one, 0) for one in lines]
        return tuple(lines) if isinstance(made, tuple) else lines[0]

    def extend_repr(self) -> str:
        return self._pool.extend_repr()


class MaxPool1d(_OfLines):
    """The largest element of each window. Takes (n, c, w) or (c, w), gives as many channels of w' elements; see
    `MaxPool2d` for the options. Raises ValueError for sizes below 1, for options that only `pad_mode` "pad" has, and
    for inputs of other dimensions."""

    def __init__(
        self,
        kernel_size: int = 1,
        stride: int = 1,
        pad_mode: str = "valid",
        padding: int = 0,
        dilation: int = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        around, gaps = (0, padding), (1, dilation)
        if pad_mode != "pad" and (return_indices or dilation != 1):
            raise ValueError(
                f"[MaxPool1d] options of pad_mode='pad', got dilation={dilation!r} and return_indices={return_indices} "
                f"with {pad_mode!r}, expected defaults"
            )
        super().__init__(MaxPool2d((1, kernel_size), (1, stride), pad_mode, around, gaps, return_indices, ceil_mode))


class AvgPool1d(_OfLines):
    """The mean of each window; with "same", of its elements that are in the line. Takes (n, c, w) or (c, w), gives as
    many channels of w' elements. Raises ValueError for sizes below 1, a padding without `pad_mode` "pad", and inputs of
    other dimensions."""

    def __init__(
        self,
        kernel_size: int = 1,
        stride: int = 1,
        pad_mode: str = "valid",
        padding: int = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ):
        around = (0, padding)
        super().__init__(AvgPool2d((1, kernel_size), (1, stride), pad_mode, around, ceil_mode, count_include_pad))


class AdaptiveAvgPool1d(Cell):
    """Means over equal parts: takes (n, c, w), gives (n, c, output_size). A call raises ValueError if the size is not
    divisible by their number."""

    def __init__(self, output_size: int):
        super().__init__()
        self.output_size = output_size

    def construct(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveMaxPool1d(Cell):
    """The largest elements of equal parts: takes (n, c, w), gives (n, c, output_size). A call raises ValueError if the
    size is not divisible by their number."""

    def __init__(self, output_size: int):
        super().__init__()
        self.output_size = output_size

    def construct(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool1d(input, self.output_size)
