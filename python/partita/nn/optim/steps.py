"""The number of steps that an optimizer has taken."""

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor


class Steps(int):
    """An integer that also has what scripts use of the parameter `global_step` of the documented system, whose shape is
    [1]."""

    name, shape, dtype, requires_grad = "global_step", (1,), mstype.int32, False

    def __new__(cls, optimizer, count):
        made = super().__new__(cls, count)
        made._optimizer = optimizer
        return made

    def asnumpy(self):
        return np.array([int(self)], np.int32)

    def value(self):
        return Tensor(self.asnumpy())

    def set_data(self, data, slice_shape=False):
        """Sets the number of steps that the optimizer has taken."""
        self._optimizer.global_step = data
        return self._optimizer.global_step

    def __deepcopy__(self, memo):
        return int(self)

    def __reduce__(self):
        return int, (int(self),)


class StepCount(Tensor):
    """The number of steps taken, as a tensor of shape [1]. Python knows it without reading the tensor."""

    __slots__ = ("_optimizer", "_count")
    name, requires_grad = "global_step", False

    def __init__(self, optimizer, count):
        super().__init__(np.array([count], np.int32))
        self._optimizer, self._count = optimizer, count

    def __int__(self):
        return self._count

    __index__ = __int__

    def value(self):
        return self

    def set_data(self, data, slice_shape=False):
        """Sets the number of steps that the optimizer has taken."""
        self._optimizer.global_step = data
        return self._optimizer.global_step

    def __deepcopy__(self, memo):
        return Tensor(np.array([self._count], np.int32))
