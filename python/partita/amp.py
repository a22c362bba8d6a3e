"""Networks in 16 bits, and the scaling of losses."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from partita import _loss_scale
from partita._described import Described
from partita._loss_scale import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager  # noqa: F401
from partita._names import refuse_missing
from partita._precision import precision_of
from partita._warnings import warn
from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita import nn

from partita.nn.cell import Cell
from partita.nn.optim import Optimizer
from partita.nn.wrap import TrainOneStepCell, TrainOneStepWithLossScaleCell, WithLossCell
from partita.nn.wrap.loss_scale import all_finite  # noqa: F401
from partita.ops import functional as F
from partita.ops.primitive import Primitive

_PRODUCTS = "Conv1d Conv2d Conv3d Conv1dTranspose Conv2dTranspose Conv3dTranspose Dense LSTM GRU RNN"
AMP_WHITE_LIST = [getattr(nn, name) for name in _PRODUCTS.split() if hasattr(nn, name)]
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm)
AMP_BLACK_LIST = list(_NORMS)  # scripts add classes of cells that stay in float32 at level O2


_numbers = itertools.count()
_LARGEST_SCALE = float(np.finfo(np.float32).max)  # the scale is a float32


class LossScaler(Described):
    """The base of loss scalers. The scale is a parameter, so that programs that use it stay when it changes."""

    def __init__(self, scale_value: float):
        _loss_scale.require_scale(type(self).__name__, "scale_value", scale_value, most=_LARGEST_SCALE)
        number = next(_numbers)
        name = f"scale_value.{number}" if number else "scale_value"
        self.scale_value = Parameter(Tensor(float(scale_value)), name=name, requires_grad=False)

    def _times(self, inputs, factor):
        if isinstance(inputs, (tuple, list)):
            return type(inputs)(self._times(one, factor) for one in inputs)
        return F.mul(inputs, factor)

    def scale(self, inputs: Tensor | Sequence[Tensor]):
        """Tensors times the scale."""
        return self._times(inputs, self.scale_value)

    def unscale(self, inputs: Tensor | Sequence[Tensor]):
        """Tensors over the scale."""
        return self._times(inputs, F.div(1.0, self.scale_value))

    def adjust(self, grads_finite: Tensor | bool):
        """Changes the scale after a step."""


class StaticLossScaler(LossScaler):
    """A scale that stays: `scale` multiplies a loss by `scale_value`, `unscale` divides gradients by it. Raises
    ValueError for a scale below 1."""


class DynamicLossScaler(LossScaler):
    """A loss scale that adapts. It is multiplied by `scale_factor` after `scale_window` steps in a row with finite
    gradients, as long as it stays finite. It is divided by the factor, down to 1, when gradients are not finite."""

    def __init__(self, scale_value: float, scale_factor: float, scale_window: int):
        where = type(self).__name__
        _loss_scale.require_scale(where, "scale_factor", scale_factor)
        _loss_scale.require_window(where, scale_window)
        super().__init__(scale_value)
        self.scale_factor, self.scale_window, self.counter = scale_factor, scale_window, 0

    def adjust(self, grads_finite: Tensor | bool):
        """Changes the scale after a step, outside of programs, and returns True."""
        scale = float(self.scale_value)
        if bool(grads_finite):
            self.counter += 1
            if self.counter >= self.scale_window:
                grown, self.counter = scale * self.scale_factor, 0
                scale = grown if grown <= _LARGEST_SCALE else scale
        else:
            scale, self.counter = max(1.0, scale / self.scale_factor), 0
        self.scale_value.set_data(Tensor(scale))
        return True


def auto_mixed_precision(network: Cell, amp_level: str = "O0", dtype: mstype.DType = mstype.float16) -> Cell:
    """The network, whose products are then computed from operands of 16 bits: in `Model`, in loops of one's own and in
    calls. Parameters, sums, norms, losses and updates stay in float32 at each level but O0, which changes nothing. A
    cell within the network may have a precision of its own; at level O2 cells of the classes that a script adds to
    AMP_BLACK_LIST are float32. Raises TypeError unless `network` is a cell, ValueError for an unknown level or a dtype
    of other than 16 bits."""
    if not isinstance(network, Cell):
        raise TypeError(
            f"[auto_mixed_precision] the network is not a cell, got {type(network).__name__}, expected an nn.Cell"
        )
    precision = precision_of("auto_mixed_precision", amp_level, dtype)
    if precision is not None:
        network._set_precision(precision)
        added = tuple(set(AMP_BLACK_LIST) - set(_NORMS)) if amp_level == "O2" else ()
        for _, cell in network.cells_and_names():
            if isinstance(cell, added):
                cell._set_precision("f32")
    return network


def get_white_list() -> list[type]:
    """The cells whose products `auto_mixed_precision` computes in 16 bits at level O1, as a new list: those that have
    products."""
    return list(AMP_WHITE_LIST)


def get_black_list() -> list[type]:
    """The cells that `auto_mixed_precision` leaves in float32 at level O2, as a new list: norms."""
    return list(AMP_BLACK_LIST)


def _require_classes(name, classes, kinds):
    if not isinstance(classes, list):
        raise TypeError(f"[custom_mixed_precision] {name} is not a list, got {type(classes).__name__}, expected one")
    for one in classes:
        if not isinstance(one, type) or not issubclass(one, kinds):
            raise TypeError(f"[custom_mixed_precision] no class of cells in {name}, got {one!r}, expected a class")


def custom_mixed_precision(
    network: Cell,
    *,
    white_list: list[type] | None = None,
    black_list: list[type] | None = None,
    dtype: mstype.DType = mstype.float16,
) -> Cell:
    """The network, whose cells of the classes of `white_list` compute their products in 16 bits, or all cells but those
    of `black_list`. Primitives compute as the cells that call them. Raises ValueError unless one list is given."""
    if not isinstance(network, Cell):
        raise TypeError(
            f"[custom_mixed_precision] the network is not a cell, got {type(network).__name__}, expected an nn.Cell"
        )
    if (white_list is None) == (black_list is None):
        raise ValueError(
            "[custom_mixed_precision] one list is needed, got none or two, expected white_list or black_list"
        )
    precision = precision_of("custom_mixed_precision", "O1", dtype)
    if white_list is None:
        _require_classes("black_list", black_list, Cell)
        network._set_precision(precision)
        kinds, own = tuple(black_list), "f32"
    else:
        _require_classes("white_list", white_list, (Cell, Primitive))
        kinds, own = tuple(one for one in white_list if issubclass(one, Cell)), precision
    for _, cell in network.cells_and_names():
        if isinstance(cell, kinds):
            cell._set_precision(own)
    return network


def build_train_network(
    network: Cell,
    optimizer: Optimizer,
    loss_fn: Callable | None = None,
    level: str = "O0",
    boost_level: str = "O0",
    **kwargs,
) -> Cell:
    """The cell whose calls are steps of a training: the network with its loss, in the precision of a level, and the
    optimizer. `loss_scale_manager` scales the loss. Raises TypeError for other optimizers, ValueError for unknown
    options."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"[build_train_network] no optimizer, got {type(optimizer).__name__}, expected an nn.Optimizer")
    unknown = set(kwargs) - {"loss_scale_manager", "cast_model_type", "keep_batchnorm_fp32"}
    if unknown:
        raise ValueError(f"[build_train_network] unknown options, got {sorted(unknown)}, expected loss_scale_manager")
    auto_mixed_precision(network, "O0" if kwargs.get("cast_model_type") == mstype.float32 else level)
    cell = network if loss_fn is None else WithLossCell(network, loss_fn)
    manager = kwargs.get("loss_scale_manager")
    update = None if manager is None else manager.get_update_cell()
    if update is not None:
        return TrainOneStepWithLossScaleCell(cell, optimizer, update).set_train()
    return TrainOneStepCell(cell, optimizer, 1.0 if manager is None else manager.get_loss_scale()).set_train()


# Names that libraries import from within the documented module.
_INNER_AMP_BLACK_LIST = []


def _auto_black_list(network, black_list, dtype=mstype.float16):
    """`custom_mixed_precision` of all cells but those of a list."""
    return custom_mixed_precision(network, black_list=list(black_list), dtype=dtype)


def _auto_mixed_precision_rewrite(network, dtype, *, white_list=None, black_list=None):
    """`custom_mixed_precision` by one of two lists."""
    return custom_mixed_precision(network, white_list=white_list, black_list=black_list, dtype=dtype)


def _add_loss_network(network, loss_fn, cast_model_type=mstype.float32):
    """The network with its loss, which is computed in float32."""
    return WithLossCell(network, loss_fn)


def _do_keep_batchnorm_fp32(network):
    """Kept, without effect: norms compute in float32."""


# What the levels of `build_train_network` are made of in the documented system.
_config_level = {
    level: {"keep_batchnorm_fp32": level == "O2", "cast_model_type": kind, "loss_scale_manager": None}
    for level, kind in {
        "O0": mstype.float32, "O1": mstype.float32, "O2": mstype.float16, "O3": mstype.float16, "auto": mstype.float32,
    }.items()
}  # fmt: skip
_config_level["O2"]["loss_scale_manager"] = DynamicLossScaleManager()


def _config_amp(*, enable_rewrite=None, cast_op=None):
    """Kept, without effect: networks are not rewritten to compute in 16 bits. Warns of a cast of a script's own."""
    if cast_op is not None:
        warn("[_config_amp] casts are the library's own, got cast_op, which has no effect")


__getattr__ = refuse_missing(globals())
