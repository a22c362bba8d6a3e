"""One step of a training."""

import math
import numbers
import operator

from partita import context
from partita._program import Program
from partita.common.tensor import Tensor
from partita.communication import management as ranks
from partita.context import ParallelMode
from partita.nn.cell import Cell
from partita.nn.layer import Identity
from partita.nn.reducer import DistributedGradReducer
from partita.ops import functional as F
from partita.ops.composite import GradOperation, value_and_grad


def _step_of(network, optimizer, reducer, sens, return_grad):
    """Returns one step of a training of a network whose result is its loss, as a program: the loss and, when they are
    to be returned, the gradients of the loss times `sens`, which the reducer has changed."""

    def scaled(*inputs):
        loss = network(*inputs)
        return F.mul(loss, sens), loss

    known = []  # parameters, and the function of their gradients

    def differentiated():
        parameters = optimizer.parameters
        if not known or len(known[0]) != len(parameters) or any(map(operator.is_not, known[0], parameters)):
            function = network if sens == 1.0 else scaled
            known[:] = list(parameters), value_and_grad(function, None, parameters, has_aux=sens != 1.0)
        return known[1]

    def step(*inputs):
        loss, gradients = differentiated()(*inputs)
        loss = loss if sens == 1.0 else loss[1]
        gradients = gradients if type(reducer) is Identity else reducer(gradients)
        optimizer(gradients)
        return (loss, *gradients) if return_grad else loss

    return Program(step)


def _factor(sens):
    """The factor of a loss as a float, 1 for None. Raises TypeError for what is no number, ValueError for 0 and numbers
    that are not finite."""
    if sens is None:
        return 1.0
    if isinstance(sens, bool) or not isinstance(sens, numbers.Real):
        raise TypeError(f"[TrainOneStepCell] sens is not a number, got {sens!r}, expected one, or None")
    if sens == 0 or not math.isfinite(sens):
        raise ValueError(f"[TrainOneStepCell] bad sens, got {sens!r}, expected a finite number other than 0")
    return float(sens)


class TrainOneStepCell(Cell):
    """One step of a training: a call gives the loss and updates the parameters by the gradients of the loss times
    `sens`. With `return_grad` it gives (loss, {name of a parameter: its gradient}). Raises TypeError for what is no
    optimizer."""

    _internals = Cell._internals | {"_step_of", "_step", "grad", "grad_no_sens", "weights"}

    def __init__(self, network: Cell, optimizer: Cell, sens: float | None = None, return_grad: bool = False):
        super().__init__(auto_prefix=False)
        if not hasattr(optimizer, "parameters"):
            raise TypeError(f"[TrainOneStepCell] not an optimizer, got {type(optimizer).__name__}, expected one of nn")
        self.network, self.sens, self.return_grad = network, _factor(sens), bool(return_grad)
        self.__dict__["optimizer"] = optimizer
        network.set_grad()
        # For a `construct` of one's own: self.grad(self.network, self.weights)(*inputs, sens), and self.grad_reducer.
        self.__dict__.update(weights=optimizer.parameters, grad=GradOperation(get_by_list=True, sens_param=True))
        self.__dict__.update(grad_no_sens=GradOperation(get_by_list=True))
        self.parallel_mode = context.get_auto_parallel_context("parallel_mode")
        self.reducer_flag = self.parallel_mode in (ParallelMode.DATA_PARALLEL, ParallelMode.HYBRID_PARALLEL)
        self.grad_reducer = Identity()
        if self.reducer_flag:
            self.mean = context.get_auto_parallel_context("gradients_mean")
            self.degree = ranks.group_size_or_one()
            self.grad_reducer = DistributedGradReducer(self.weights, self.mean, self.degree)
        self.__dict__.update(_step_of=None, _step=None)

    def construct(self, *inputs: Tensor):
        # What the program is made of lives as long as the function of these identities.
        made_of = self.network, self.optimizer, self.grad_reducer, self.sens, self.return_grad
        of = (*(id(one) for one in made_of[:3]), *made_of[3:])
        if self._step_of != of:
            self.__dict__.update(_step_of=of, _step=_step_of(*made_of))
        if not self.return_grad:
            return self._step(*inputs)
        loss, *gradients = self._step(*inputs)
        return loss, {one.name: gradient for one, gradient in zip(self.weights, gradients)}

    def __call__(self, *inputs):
        inputs = [one if isinstance(one, Tensor) else Tensor(one) for one in inputs]
        if type(self).construct is not TrainOneStepCell.construct:
            return super().__call__(*inputs)
        return self.construct(*inputs)
