"""Layers over channels, edges of tensors, and activations that leave out a side."""

from partita.common import dtype as mstype
from partita.common._types import DType, Init, Ints, Number
from partita.common.initializer import initializer
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.layers_of_parts import _Edges
from partita.nn.made import cell, cell_of
from partita.ops import functional as F
from partita.ops.channels import instance_norm

_FUNCTIONS = {
    "ChannelShuffle": F.channel_shuffle,
    "HShrink": F.hardshrink,
    "LRN": F.lrn,
    "PixelUnshuffle": F.pixel_unshuffle,
    "RReLU": F.rrelu,
    "SoftShrink": F.softshrink,
    "Upsample": F.upsample,
}
__all__ = [
    *_FUNCTIONS,
    *"ConstantPad3d Dropout1d Dropout2d Dropout3d InstanceNorm1d InstanceNorm2d InstanceNorm3d ReflectionPad1d".split(),
    *"ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d Softmax2d Threshold".split(),
]
globals().update({name: cell_of(name, function) for name, function in _FUNCTIONS.items()})


@cell
def Threshold(threshold: Number, value: Number):
    """x where it is above `threshold`, else `value`."""
    return lambda input_x: F.threshold(input_x, threshold, value)


def _over_channels(x):
    if x.ndim not in (3, 4):
        raise ValueError(f"[Softmax2d] wrong number of dimensions, got {x.shape}, expected 3 or 4")
    return F.softmax(x, -3)


@cell
def Softmax2d():
    """exp(x) over its sum over the channels of x[.., c, h, w]."""
    return _over_channels


class _Dropout(Cell):
    def __init__(self, p: float = 0.5):
        super().__init__()
        if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0 <= p <= 1:
            raise ValueError(f"[{type(self).__name__}] bad probability, got {p!r}, expected a number from 0 to 1")
        self.p = p

    def construct(self, x: Tensor) -> Tensor:
        return type(self)._function(x, self.p, self.training)

    def extend_repr(self) -> str:
        return f"p={self.p}"


class Dropout1d(_Dropout):
    """In a training, sets whole channels of x[n, c, w] to 0 with probability p and divides the others by 1 - p. Gives
    the shape of x. Raises ValueError for p outside of 0 to 1."""

    _function = staticmethod(F.dropout1d)


class Dropout2d(_Dropout):
    """In a training, sets whole channels of x[n, c, h, w] to 0 with probability p and divides the others by 1 - p.
    Gives the shape of x. Raises ValueError for p outside of 0 to 1; a call does for other dimensions."""

    _function = staticmethod(F.dropout2d)


class Dropout3d(_Dropout):
    """In a training, sets whole channels of x[n, c, d, h, w] to 0 with probability p, and divides the others by 1 - p.
    Gives the shape of x. Raises ValueError for p outside of 0 to 1."""

    _function = staticmethod(F.dropout3d)


class _InstanceNorm(Cell):
    """Normalizes each channel of each sample by itself, in trainings and outside of them, times gamma[c], plus beta[c].
    The moving statistics, which the layer has for files, do not count."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        gamma_init: Init = "ones",
        beta_init: Init = "zeros",
        dtype: DType = mstype.float32,
    ):
        super().__init__()
        where, dtype = type(self).__name__, self._with_masters(dtype)
        if isinstance(num_features, bool) or not isinstance(num_features, int) or num_features < 1:
            raise ValueError(f"[{where}] bad num_features, got {num_features!r}, expected an integer from 1")
        if not 0 <= momentum <= 1:
            raise ValueError(f"[{where}] momentum out of range, got {momentum}, expected 0 to 1")
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        for name, init, trains in (
            ("moving_mean", "zeros", False),
            ("moving_variance", "ones", False),
            ("gamma", gamma_init, affine),
            ("beta", beta_init, affine),
        ):
            setattr(self, name, Parameter(initializer(init, [num_features], dtype), requires_grad=bool(trains)))

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim != self._rank or x.shape[1] != self.num_features:
            raise ValueError(
                f"[{type(self).__name__}] wrong shape, got {x.shape}, expected {self._rank} dimensions and "
                f"{self.num_features} channels"
            )
        made = instance_norm(F.cast(x, self.gamma.dtype), self.gamma, self.beta, self.eps)
        return F.cast(made, x.dtype)

    def extend_repr(self):
        return f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}"


class InstanceNorm1d(_InstanceNorm):
    """Normalizes each line of x[n, c, w] by itself, times gamma[c], plus beta[c], which are trained with `affine`.
    Gives the shape of x. A call raises ValueError for other dimensions or channels than num_features."""

    _rank = 3


class InstanceNorm2d(_InstanceNorm):
    """Normalizes each image of x[n, c, h, w] by itself, times gamma[c], plus beta[c], which are trained with `affine`.
    Gives the shape of x. A call raises ValueError for other dimensions or channels than num_features."""

    _rank = 4


class InstanceNorm3d(_InstanceNorm):
    """Normalizes each volume of x[n, c, d, h, w] by itself, times gamma[c], plus beta[c], which are trained with
    `affine`. Gives the shape of x. A call raises ValueError for other dimensions or channels than num_features."""

    _rank = 5


def _edges(name, dims, mode, what):
    def __init__(self, padding: Ints):
        _Edges.__init__(self, padding, mode)

    doc = f"Elements around the last {dims} dimensions that {what}: those before and after each, the last one first."
    return type(name, (_Edges,), {"_dims": dims, "__init__": __init__, "__doc__": doc, "__module__": __name__})


for _name, _dims, _mode, _what in (
    ("ReflectionPad1d", 1, "reflect", "mirror those within"),
    ("ReflectionPad3d", 3, "reflect", "mirror those within"),
    ("ReplicationPad1d", 1, "replicate", "repeat those at the edge"),
    ("ReplicationPad2d", 2, "replicate", "repeat those at the edge"),
    ("ReplicationPad3d", 3, "replicate", "repeat those at the edge"),
):
    globals()[_name] = _edges(_name, _dims, _mode, _what)


class ConstantPad3d(_Edges):
    """One number around the last three dimensions: those before and after each, the last first."""

    _dims = 3

    def __init__(self, padding: Ints, value: Number):
        super().__init__(padding, "constant", value)
