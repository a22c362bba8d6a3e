"""One step of a training."""

from partita import context
from partita._program import Program
from partita.common.tensor import Tensor
from partita.communication.management import group_size_or_one
from partita.nn.cell import Cell
from partita.nn.reducer import DistributedGradReducer
from partita.ops.composite import GradOperation, value_and_grad
from partita.ops.program_tools import identity


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
        self.parallel_mode = context.get_auto_parallel_context("parallel_mode")
        self.reducer_flag = self.parallel_mode in ("data_parallel", "hybrid_parallel")
        self.grad_reducer = identity
        if self.reducer_flag:
            self.grad_reducer = DistributedGradReducer(optimizer.parameters, degree=group_size_or_one())
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
