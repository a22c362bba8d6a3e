"""Cells around a network: with its loss, in micro-batches, as one step of a training."""

import math
import numbers

from partita import _core, context
from partita._program import Program
from partita.common.tensor import Tensor
from partita.communication import management as ranks
from partita.context import ParallelMode
from partita.nn.cell import Cell
from partita.nn.layer import Identity
from partita.nn.reducer import DistributedGradReducer
from partita.ops import functional as F
from partita.ops.composite import GradOperation, value_and_grad


class WithLossCell(Cell):
    """The loss of a network, from (data, label)."""

    def __init__(self, backbone, loss_fn):
        super().__init__(auto_prefix=False)
        self._backbone, self._loss_fn = backbone, loss_fn

    def construct(self, data, label):
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self):
        return self._backbone


def _require_size(where, name, value):
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"[{where}] {name} is not an integer, got {value!r}, expected one from 1")
    if value < 1:
        raise ValueError(f"[{where}] bad {name}, got {value}, expected an integer from 1")


class _Divided(Cell):
    """A network whose batches are computed in parts; a training reads `micro_batches`."""

    def __init__(self, network, micro_size):
        super().__init__(auto_prefix=False)
        _require_size(type(self).__name__, "micro_size", micro_size)
        self.network, self.micro_batches = network, micro_size

    def construct(self, *inputs):
        return self.network(*inputs)


class PipelineCell(_Divided):
    """A network in micro-batches over pipeline stages; `stage_config` names the stage of cells by their paths."""

    def __init__(self, network, micro_size, stage_config=None):
        super().__init__(network, micro_size)
        if stage_config is not None:
            self._set_stages(network, stage_config)

    @staticmethod
    def _set_stages(network, stage_config):
        cells = dict(network.cells_and_names())
        for path, stage in stage_config.items():
            if path not in cells:
                near = _core.nearest(path, list(cells))
                raise KeyError(
                    f"[PipelineCell] unknown cell, got '{path}', expected one of {len(cells)} paths"
                    + (f", did you mean '{near}'?" if near else "")
                )
            cells[path].pipeline_stage = stage


class GradAccumulationCell(_Divided):
    """A network in micro-batches whose gradients are added up before the update."""


GradAccumulation = GradAccumulationCell


class MicroBatchInterleaved(_Divided):
    """A network whose batch is computed in parts."""

    def __init__(self, network, interleave_num=2):
        super().__init__(network, interleave_num)


def _step_of(network, optimizer, reducer, sens, return_grad):
    """Returns one step of a training of a network whose result is its loss, as a program: the loss and, when they are
    to be returned, the gradients of the loss times `sens`, which the reducer has changed."""

    def scaled(*inputs):
        loss = network(*inputs)
        return F.mul(loss, sens), loss

    def step(*inputs):
        if sens == 1.0:
            loss, gradients = value_and_grad(network, None, optimizer.parameters)(*inputs)
        else:
            (_, loss), gradients = value_and_grad(scaled, None, optimizer.parameters, has_aux=True)(*inputs)
        gradients = reducer(gradients)
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
    `sens`. With `return_grad` it gives (loss, {name of a parameter: its gradient})."""

    _internals = Cell._internals | {"_step_of", "_step", "grad", "grad_no_sens", "weights"}

    def __init__(self, network, optimizer, sens=None, return_grad=False):
        super().__init__(auto_prefix=False)
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

    def construct(self, *inputs):
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


class ForwardValueAndGrad(Cell):
    """Not there: see value_and_grad."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            "[ForwardValueAndGrad] this cell is not supported, got a call, expected value_and_grad"
        )
