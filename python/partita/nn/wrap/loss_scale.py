"""Steps of a training whose loss is scaled while it is differentiated."""

from partita._loss_scale import DynamicLossScaleManager, FixedLossScaleManager, require_scale, require_window
from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.wrap.steps import TrainOneStepCell
from partita.ops import functional as F
from partita.ops.program_tools import HyperMap, MultitypeFuncGraph


class DynamicLossScaleUpdateCell(Cell):
    """The scale of a loss after a step, called as (scale, overflow): divided by `scale_factor`, down to 1, after a step
    whose gradients are not finite, and multiplied by it after `scale_window` other steps in a row. It is written into
    `scale`, a parameter; the result is `overflow`. Raises ValueError for a scale or a factor below 1, and for a window
    below 1."""

    def __init__(self, loss_scale_value: float, scale_factor: float, scale_window: int):
        super().__init__()
        where = type(self).__name__
        require_scale(where, "loss_scale_value", loss_scale_value)
        require_scale(where, "scale_factor", scale_factor)
        require_window(where, scale_window)
        self.loss_scale_value, self.scale_factor, self.scale_window = loss_scale_value, scale_factor, scale_window
        self.cur_iter = Parameter(Tensor(1, mstype.int32), name="current_iterator_step", requires_grad=False)
        self.last_overflow_iter = Parameter(
            Tensor(0, mstype.int32), name="last_overflow_iterator_step", requires_grad=False
        )

    def get_loss_scale(self) -> float:
        """The scale that a training begins with."""
        return self.loss_scale_value

    def construct(self, loss_scale: Tensor, overflow: Tensor | bool) -> Tensor | bool:
        step, last = int(self.cur_iter), int(self.last_overflow_iter)
        scale, grows = float(F.reshape(loss_scale, ())), step - last >= self.scale_window
        if bool(overflow):
            scale = max(1.0, scale / self.scale_factor)
        elif grows:
            scale = scale * self.scale_factor
        if bool(overflow) or grows:
            self.last_overflow_iter.set_data(Tensor(step, mstype.int32))
        self.cur_iter.set_data(Tensor(step + 1, mstype.int32))
        loss_scale.set_data(F.full(loss_scale.shape, scale, dtype=mstype.float32))
        return overflow


class FixedLossScaleUpdateCell(Cell):
    """A scale of a loss that stays; called as (scale, overflow), gives `overflow`. Raises ValueError for a scale below
    1."""

    def __init__(self, loss_scale_value: float):
        super().__init__()
        require_scale(type(self).__name__, "loss_scale_value", loss_scale_value)
        self.loss_scale_value = loss_scale_value

    def get_loss_scale(self) -> float:
        """The scale."""
        return self.loss_scale_value

    def construct(self, _, overflow: Tensor | bool) -> Tensor | bool:
        return overflow


def _cell_of_fixed(self):
    """The cell of a scale that stays; None if no step is left out."""
    return FixedLossScaleUpdateCell(self.get_loss_scale()) if self.get_drop_overflow_update() else None


def _cell_of_dynamic(self):
    """The cell of a scale that begins as this one, and follows the gradients in the same way."""
    return DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)


FixedLossScaleManager.get_update_cell, DynamicLossScaleManager.get_update_cell = _cell_of_fixed, _cell_of_dynamic


def all_finite(inputs):
    """Whether all elements of a tensor, or of all of several, are finite, as a tensor of one bool."""
    found = [F.all(F.isfinite(one)) for one in (inputs if isinstance(inputs, (tuple, list)) else [inputs])]
    result = found[0]
    for one in found[1:]:
        result = F.logical_and(result, one)
    return result


_grad_overflow = MultitypeFuncGraph("_grad_overflow")


@_grad_overflow.register("Tensor")
def _tensor_grad_overflow(grad):
    """A tensor of one float32: 1 if an element is not finite, else 0."""
    return F.cast(F.reshape(F.logical_not(all_finite(grad)), [1]), mstype.float32)


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """One step of a training whose loss is multiplied by a scale while it is differentiated. A step whose gradients are
    not finite leaves the parameters as they are. `scale_sense` is a tensor of one number, or a cell that changes the
    scale after each step, such as DynamicLossScaleUpdateCell. A call gives (loss, whether gradients were not finite,
    scale). Raises TypeError for a scale that is neither, ValueError for a tensor of several numbers."""

    def __init__(self, network: Cell, optimizer: Cell, scale_sense: Cell | Tensor):
        super().__init__(network, optimizer, sens=None)
        self.hyper_map, self.loss_scaling_manager = HyperMap(), None
        if isinstance(scale_sense, Cell):
            self.loss_scaling_manager = scale_sense
            scale_sense = Tensor(float(scale_sense.get_loss_scale()), mstype.float32)
        if not isinstance(scale_sense, Tensor):
            raise TypeError(
                f"[TrainOneStepWithLossScaleCell] bad scale_sense, got {type(scale_sense).__name__}, expected a Tensor "
                "or a Cell"
            )
        if scale_sense.shape not in ((), (1,)):
            raise ValueError(
                f"[TrainOneStepWithLossScaleCell] scale_sense is no number, got shape {scale_sense.shape}, expected () "
                "or (1,)"
            )
        self.scale_sense = Parameter(scale_sense, name="scale_sense")

    def construct(self, *inputs: Tensor):
        loss, scale = self.network(*inputs), self.scale_sense
        status, scale = self.start_overflow_check(loss, scale)
        sens = F.mul(F.ones_like(loss), F.cast(F.reshape(scale, ()), loss.dtype))
        gradients = self.grad(self.network, self.weights)(*inputs, sens)
        gradients = tuple(F.div(one, F.cast(F.reshape(scale, ()), one.dtype)) for one in gradients)
        gradients = self.grad_reducer(gradients)
        overflow = self.get_overflow_status(status, gradients)
        before = F.mul(scale, 1.0)  # what this step was scaled by
        if not self.process_loss_scale(overflow):
            self.optimizer(gradients)
        return loss, overflow, before

    def set_sense_scale(self, sens: Tensor) -> None:
        """Sets the scale. Raises TypeError for what is no tensor."""
        if not isinstance(sens, Tensor):
            raise TypeError(
                f"[TrainOneStepWithLossScaleCell] the scale is no tensor, got {type(sens).__name__}, expected a Tensor"
            )
        self.scale_sense.set_data(sens)

    def start_overflow_check(self, pre_cond, compute_input):
        """Gives (a status, `compute_input`): elements that are not finite are found in the gradients themselves."""
        return False, compute_input

    def get_overflow_status(self, status, compute_output):
        """Whether elements of the gradients are not finite. They are those of all ranks, and so is the answer."""
        return F.logical_not(all_finite(compute_output))

    def process_loss_scale(self, overflow):
        """Lets the cell of the scale, if there is one, change it, and gives `overflow`."""
        if self.loss_scaling_manager is not None:
            return self.loss_scaling_manager(self.scale_sense, overflow)
        return overflow
