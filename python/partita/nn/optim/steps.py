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
