"""Layers that are made of others, or of functions of `ops`."""

from collections.abc import Sequence

from partita.common import dtype as mstype
from partita.common._types import DType, Init, Ints, Number
from partita.common.initializer import initializer
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.convolution_parts import biases, convolution_text, filters, require_channels, require_sizes
from partita.nn.layer import BatchNorm2d
from partita.ops import functional as F

__all__ = (
    "BatchNorm3d ConstantPad1d ConstantPad2d Conv1d GroupNorm Norm OneHot Pad PixelShuffle ReflectionPad2d Unflatten"
    " ZeroPad2d"
).split()


class GroupNorm(Cell):
    """Normalizes each sample over groups of its channels: x[n, c, ..], times gamma[c], plus beta[c]. Takes and gives
    (n, num_channels, ..). Parameters: gamma and beta (num_channels), trained with `affine`. Raises ValueError for sizes
    that are no integers from 1, and for channels that do not divide into the groups; a call does for other channels."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-05,
        affine: bool = True,
        gamma_init: Init = "ones",
        beta_init: Init = "zeros",
        dtype: DType = mstype.float32,
    ):
        super().__init__()
        dtype = self._with_masters(dtype)
        for name, value in (("num_groups", num_groups), ("num_channels", num_channels)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"[GroupNorm] bad {name}, got {value!r}, expected an integer from 1")
        if num_channels % num_groups:
            raise ValueError(
                f"[GroupNorm] channels do not divide into groups, got {num_channels} in {num_groups}, expected a"
                " multiple"
            )
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.gamma = Parameter(initializer(gamma_init, [num_channels], dtype), requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, [num_channels], dtype), requires_grad=affine)

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim < 2 or x.shape[1] != self.num_channels:
            raise ValueError(f"[GroupNorm] wrong channels, got shape {x.shape}, expected {self.num_channels} of them")
        wide = F.cast(x, self.gamma.dtype)
        rows = F.reshape(wide, [x.shape[0], self.num_groups, -1])
        centred = F.sub(rows, F.reduce_mean(rows, 2, True))
        scale = F.rsqrt(F.add(F.reduce_mean(F.square(centred), 2, True), self.eps))
        normal = F.reshape(F.mul(centred, scale), x.shape)
        shape = [1, self.num_channels] + [1] * (x.ndim - 2)
        return F.cast(F.add(F.mul(normal, F.reshape(self.gamma, shape)), F.reshape(self.beta, shape)), x.dtype)

    def extend_repr(self):
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}"


class Conv1d(Cell):
    """Convolution of lines, by one of images of one row. Takes (n, in_channels, w), gives (n, out_channels, w'); see
    `Conv2d` for `pad_mode` and the other options, which are one integer each here. Parameters: weight (out_channels,
    in_channels / group, 1, kernel_size), and bias (out_channels) with `has_bias`. Raises ValueError for sizes below 1,
    channels that do not divide into groups, a padding without "pad", and inputs of another shape.

    >>> layer = nn.Conv1d(1, 1, 3, pad_mode="valid", weight_init="ones")
    >>> layer(ops.ones((1, 1, 5))).asnumpy().tolist()
    [[[3.0, 3.0, 3.0]]]
    """

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
        super().__init__()
        dtype = self._with_masters(dtype)
        require_channels("Conv1d", in_channels, out_channels, group, pad_mode, padding)
        self.in_channels, self.out_channels, self.has_bias = in_channels, out_channels, bool(has_bias)
        self.kernel_size, self.stride, self.dilation = (1, kernel_size), (1, stride), (1, dilation)
        require_sizes("Conv1d", kernel_size=kernel_size, stride=stride, dilation=dilation)
        self.pad_mode, self.padding, self.group = pad_mode, (0, 0, padding, padding), group
        shape = [out_channels, in_channels // group, 1, kernel_size]
        if isinstance(weight_init, Tensor) and weight_init.ndim == 3:
            weight_init = F.expand_dims(weight_init, 2)
        self.weight = filters(weight_init, shape, dtype)
        self.bias = biases(bias_init, out_channels, shape, dtype) if self.has_bias else None

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim != 3:
            raise ValueError(f"[Conv1d] wrong number of dimensions, got {x.shape}, expected 3")
        options = self.stride, self.pad_mode, self.padding, self.dilation, self.group
        return F.squeeze(F.conv2d(F.expand_dims(x, 2), self.weight, self.bias, *options), 2)

    def extend_repr(self) -> str:
        return convolution_text(self)


class BatchNorm3d(Cell):
    """Batch normalization of x[n, c, d, h, w] per channel; the options are those of `BatchNorm2d`. Parameters:
    bn2d.gamma, bn2d.beta, bn2d.moving_mean and bn2d.moving_variance, each (num_features). A call raises ValueError for
    inputs of other dimensions or channels."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Init = "ones",
        beta_init: Init = "zeros",
        moving_mean_init: Init = "zeros",
        moving_var_init: Init = "ones",
        use_batch_statistics: bool | None = None,
        dtype: DType = mstype.float32,
    ):
        super().__init__()
        self.bn2d = BatchNorm2d(
            num_features,
            eps,
            momentum,
            affine,
            gamma_init,
            beta_init,
            moving_mean_init,
            moving_var_init,
            use_batch_statistics,
            dtype=dtype,
        )

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim != 5:
            raise ValueError(f"[BatchNorm3d] wrong number of dimensions, got {x.shape}, expected 5")
        flat = F.reshape(x, [*x.shape[:2], x.shape[2] * x.shape[3], x.shape[4]])
        return F.reshape(self.bn2d(flat), x.shape)


class Pad(Cell):
    """More elements around all dimensions: (before, after) for each; zeros, or those that mirror, with SYMMETRIC from
    the edge on. A size of n becomes before + n + after. Raises ValueError for an unknown mode and for paddings that are
    no pairs; a call does unless there is a pair for each dimension, and where there are too few elements to mirror."""

    def __init__(self, paddings: Sequence[Sequence[int]], mode: str = "CONSTANT"):
        super().__init__()
        if mode not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
            raise ValueError(f"[Pad] unknown mode, got {mode!r}, expected CONSTANT, REFLECT or SYMMETRIC")
        if not isinstance(paddings, (tuple, list)) or any(
            not isinstance(one, (tuple, list)) or len(one) != 2 for one in paddings
        ):
            raise ValueError(f"[Pad] bad paddings, got {paddings!r}, expected a pair for each dimension")
        self.paddings, self.mode = tuple(tuple(one) for one in paddings), mode

    def construct(self, x: Tensor) -> Tensor:
        if len(self.paddings) != x.ndim:
            raise ValueError(f"[Pad] wrong number of pairs, got {len(self.paddings)}, expected {x.ndim}")
        sizes = [one for pair in reversed(self.paddings) for one in pair]
        return F.pad(x, sizes, {"CONSTANT": "constant", "REFLECT": "reflect", "SYMMETRIC": "symmetric"}[self.mode])


class _Edges(Cell):
    def __init__(self, padding: Ints, mode: str = "constant", value: Number | None = None):
        super().__init__()
        count = 2 * self._dims
        self.padding = (padding,) * count if isinstance(padding, int) else tuple(padding)
        if len(self.padding) not in range(2, count + 1, 2):
            raise ValueError(
                f"[{type(self).__name__}] wrong number of sizes, got {padding!r}, expected an integer or {count}"
            )
        self.mode, self.value = mode, value

    def construct(self, x: Tensor) -> Tensor:
        return F.pad(x, self.padding, self.mode, self.value)


class ConstantPad1d(_Edges):
    """One number around the last dimension: as many on both sides, or (left, right) of them. Takes (.., w), gives (..,
    left + w + right); numbers below 0 cut off. Raises ValueError for another number of sizes."""

    _dims = 1

    def __init__(self, padding: Ints, value: Number):
        super().__init__(padding, "constant", value)


class ConstantPad2d(_Edges):
    """One number around the last two dimensions: as many on all sides, or (left, right, top, bottom) of them. Takes
    (.., h, w), gives (.., top + h + bottom, left + w + right); numbers below 0 cut off. Raises ValueError for another
    number of sizes."""

    _dims = 2

    def __init__(self, padding: Ints, value: Number):
        super().__init__(padding, "constant", value)


class ZeroPad2d(_Edges):
    """Zeros around the last two dimensions: as many on all sides, or (left, right, top, bottom) of them. Takes (.., h,
    w), gives (.., top + h + bottom, left + w + right); numbers below 0 cut off. Raises ValueError for another number of
    sizes."""

    _dims = 2

    def __init__(self, padding: Ints):
        super().__init__(padding)


class ReflectionPad2d(_Edges):
    """Elements around the last two dimensions that mirror those within: as many on all sides, or (left, right, top,
    bottom) of them. Takes (.., h, w), gives (.., top + h + bottom, left + w + right). A call raises ValueError where
    there are too few elements to mirror."""

    _dims = 2

    def __init__(self, padding: Ints):
        super().__init__(padding, "reflect")


class OneHot(Cell):
    """`on_value` at each index along a new dimension `axis`, else `off_value`. Takes integers (..), gives (.., depth)
    of `dtype`. An index outside of the depth gives `off_value` everywhere."""

    def __init__(
        self,
        axis: int = -1,
        depth: int = 1,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: DType = mstype.float32,
    ):
        super().__init__()
        self.axis, self.depth, self.dtype = axis, depth, dtype
        self.on_value, self.off_value = on_value, off_value

    def construct(self, indices: Tensor) -> Tensor:
        on, off = Tensor(self.on_value, self.dtype), Tensor(self.off_value, self.dtype)
        return F.one_hot(indices, self.depth, on, off, self.axis)


class Norm(Cell):
    """The root of the sum of squares over dimensions, or over all: the shape of x without them, or with `keep_dims`
    with size 1 there."""

    def __init__(self, axis: Ints = (), keep_dims: bool = False):
        super().__init__()
        self.axis, self.keep_dims = axis, keep_dims

    def construct(self, x: Tensor) -> Tensor:
        return F.sqrt(F.reduce_sum(F.square(x), self.axis, self.keep_dims))


class PixelShuffle(Cell):
    """x[.., c r^2, h, w] becomes x[.., c, h r, w r], r being the `upscale_factor`. Raises ValueError for a factor below
    1; a call does for channels that r^2 does not divide."""

    def __init__(self, upscale_factor: int):
        super().__init__()
        require_sizes("PixelShuffle", upscale_factor=upscale_factor)
        self.upscale_factor = upscale_factor

    def construct(self, x: Tensor) -> Tensor:
        return F.pixel_shuffle(x, self.upscale_factor)


class Unflatten(Cell):
    """One dimension as several: x[.., n, ..] becomes x[.., *unflattened_size, ..] at `axis`. A call raises ValueError
    if the product of the sizes is not n."""

    def __init__(self, axis: int, unflattened_size: Sequence[int]):
        super().__init__()
        self.axis, self.unflattened_size = axis, tuple(unflattened_size)

    def construct(self, x: Tensor) -> Tensor:
        axis = self.axis + x.ndim if self.axis < 0 else self.axis
        return F.reshape(x, [*x.shape[:axis], *self.unflattened_size, *x.shape[axis + 1 :]])
