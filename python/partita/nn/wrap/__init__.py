"""Cells around a network: with its loss, in micro-batches, as one step of a training."""

from partita import _core
from partita._program import Program
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
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


def _step_of(network, optimizer):
    """Returns one step of a training of a network whose result is its loss, as a program."""

    def step(*inputs):
        loss, gradients = value_and_grad(network, None, optimizer.parameters)(*inputs)
        optimizer(gradients)
        return loss

    return Program(step)


class TrainOneStepCell(Cell):
    """One step of a training: a call gives the loss and updates the parameters."""

    _internals = Cell._internals | {"_step_of", "_step", "grad", "weights"}

    def __init__(self, network, optimizer, sens=None, return_grad=False):
        super().__init__(auto_prefix=False)
        if sens is not None and sens != 1.0:
            raise NotImplementedError(
                f"[TrainOneStepCell] a factor of the loss is not supported, got sens={sens}, expected None"
            )
        if return_grad:
            raise NotImplementedError(
                "[TrainOneStepCell] gradients cannot be returned, got return_grad=True, expected False"
            )
        self.network = network
        self.__dict__["optimizer"] = optimizer
        # For a `construct` of one's own: self.grad(self.network, self.weights)(*inputs, sens).
        self.__dict__.update(weights=optimizer.parameters, grad=GradOperation(get_by_list=True, sens_param=True))
        self.sens = 1.0
        self.__dict__.update(_step_of=None, _step=None)

    def construct(self, *inputs):
        network, optimizer = self.network, self.optimizer  # which live as long as the function of their identities
        if self._step_of != (id(network), id(optimizer)):
            self.__dict__.update(_step_of=(id(network), id(optimizer)), _step=_step_of(network, optimizer))
        return self._step(*inputs)

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
