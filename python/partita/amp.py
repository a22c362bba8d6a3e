"""Networks in 16 bits, and the scaling of losses."""

import itertools

import numpy as np

from partita import _loss_scale
from partita._loss_scale import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager  # noqa: F401
from partita._names import refuse_missing
from partita._precision import precision_of
from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.wrap.loss_scale import all_finite  # noqa: F401
from partita.ops import functional as F


_numbers = itertools.count()
_LARGEST_SCALE = float(np.finfo(np.float32).max)  # the scale is a float32


class LossScaler:
    """The base of loss scalers. The scale is a parameter, so that programs that use it stay when it changes."""

    def __init__(self, scale_value):
        _loss_scale.require_scale(type(self).__name__, "scale_value", scale_value, most=_LARGEST_SCALE)
        number = next(_numbers)
        name = f"scale_value.{number}" if number else "scale_value"
        self.scale_value = Parameter(Tensor(float(scale_value)), name=name, requires_grad=False)

    def _times(self, inputs, factor):
        if isinstance(inputs, (tuple, list)):
            return type(inputs)(self._times(one, factor) for one in inputs)
        return F.mul(inputs, factor)

    def scale(self, inputs):
        """Tensors times the scale."""
        return self._times(inputs, self.scale_value)

    def unscale(self, inputs):
        """Tensors over the scale."""
        return self._times(inputs, F.div(1.0, self.scale_value))

    def adjust(self, grads_finite):
        """Changes the scale after a step."""


class StaticLossScaler(LossScaler):
    """A scale that stays."""


class DynamicLossScaler(LossScaler):
    """A loss scale that adapts. It is multiplied by `scale_factor` after `scale_window` steps in a row with finite
    gradients, as long as it stays finite. It is divided by the factor, down to 1, when gradients are not finite."""

    def __init__(self, scale_value, scale_factor, scale_window):
        where = type(self).__name__
        _loss_scale.require_scale(where, "scale_factor", scale_factor)
        _loss_scale.require_window(where, scale_window)
        super().__init__(scale_value)
        self.scale_factor, self.scale_window, self.counter = scale_factor, scale_window, 0

    def adjust(self, grads_finite):
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


def auto_mixed_precision(network, amp_level="O0", dtype=mstype.float16):
    """The network, whose products are then computed from operands of 16 bits: in `Model`, in loops of one's own and in
    calls. Parameters, sums, norms, losses and updates stay in float32 at each level but O0, which changes nothing. A
    cell within the network may have a precision of its own. Raises TypeError unless `network` is a cell, ValueError for
    an unknown level or a dtype of other than 16 bits."""
    if not isinstance(network, Cell):
        raise TypeError(
            f"[auto_mixed_precision] the network is not a cell, got {type(network).__name__}, expected an nn.Cell"
        )
    precision = precision_of("auto_mixed_precision", amp_level, dtype)
    if precision is not None:
        network._set_precision(precision)
    return network


__getattr__ = refuse_missing(globals())
