"""Updates by the mean of the gradients of several steps."""

from partita._names import refuse_missing
from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.ops import functional as F
from partita.ops.program_tools import HyperMap, MultitypeFuncGraph, partial

gradient_accumulation_op = MultitypeFuncGraph("gradient_accumulation_op")


@gradient_accumulation_op.register("Int64", "Tensor", "Tensor")
def cumulative_grad_process(accumulation_step, cumulative_grad, grad):
    """Adds a share of a gradient to what was added up."""
    F.assign(cumulative_grad, F.add(cumulative_grad, F.div(grad, accumulation_step)))
    return cumulative_grad


gradient_clear_op = MultitypeFuncGraph("gradient_clear_op")


@gradient_clear_op.register("Tensor")
def clear_grad(cumulative_grad):
    """Sets what was added up to 0."""
    return F.assign(cumulative_grad, F.zeros_like(cumulative_grad))


class GradientAccumulation(Cell):
    """Adds up the gradients of `max_accumulation_step` calls, as their mean, and then has the optimizer update. A call
    takes (loss, gradients) and gives the loss."""

    def __init__(self, max_accumulation_step, optimizer):
        super().__init__()
        if isinstance(max_accumulation_step, bool) or not isinstance(max_accumulation_step, int):
            raise TypeError(
                "[GradientAccumulation] the number of steps is not an integer, got "
                f"{max_accumulation_step!r}, expected one from 1"
            )
        if max_accumulation_step < 1:
            raise ValueError(
                f"[GradientAccumulation] bad number of steps, got {max_accumulation_step}, expected an integer from 1"
            )
        self._max_accumulation_step = max_accumulation_step
        self.optimizer = optimizer
        self.weights = optimizer.parameters
        self.hyper_map = HyperMap()
        self._grad_accumulation = self.weights.clone(prefix="grad_accumulation", init="zeros")
        self._accumulation_step = Parameter(
            Tensor(0, mstype.int32), name="accumulation_step", requires_grad=False
        )

    def construct(self, loss, grads):
        add = partial(gradient_accumulation_op, self._max_accumulation_step)
        self.hyper_map(add, self._grad_accumulation, grads)
        count = int(self._accumulation_step) + 1
        if count >= self._max_accumulation_step:
            self.optimizer(self._grad_accumulation)
            self.hyper_map(gradient_clear_op, self._grad_accumulation)
            count = 0
        self._accumulation_step.set_data(Tensor(count, mstype.int32))
        return loss


__getattr__ = refuse_missing(globals())
