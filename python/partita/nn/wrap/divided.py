"""Networks whose batches are computed in parts."""

from partita._current import current
from partita._executable import feeders
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.ops import functional as F
from partita.ops.primitives import StridedSlice


def _require_size(where, name, value):
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"[{where}] {name} is not an integer, got {value!r}, expected one from 1")
    if value < 1:
        raise ValueError(f"[{where}] bad {name}, got {value}, expected an integer from 1")


class MicroBatch(Cell):
    """A part of a batch: called as (number of the part, inputs), gives a tuple of the rows that the part has of each
    input. Of `micro_size` parts each has as many rows as the others, of every process. Inputs without rows stay as they
    are."""

    divides_batches = True

    def __init__(self, micro_size):
        super().__init__()
        _require_size("_MicroBatch", "micro_size", micro_size)
        self.micro_size, self.strided_slice = micro_size, StridedSlice()

    def construct(self, i, *inputs):
        return tuple(self._part(i, one) for one in inputs)

    def _part(self, i, rows):
        if not isinstance(rows, Tensor) or not rows.shape:
            return rows
        build, parts = current(), self.micro_size
        ways = feeders() if build is not None and rows.shape[0] % feeders() == 0 else 1
        count = rows.shape[0] // ways
        if count % parts:
            raise ValueError(
                f"[_MicroBatch] rows cannot be divided into {parts} parts, got {count} rows, expected a multiple of "
                f"{parts}"
            )
        rest, size = tuple(rows.shape[1:]), count // parts
        if ways == 1:
            return self._sliced(rows, i * size, size)
        # The rows of the processes follow each other: the part has a part of each.
        apart = F.reshape(rows, (ways, parts, size, *rest))
        return F.reshape(apart[:, i], (ways * size, *rest))

    def _sliced(self, rows, begin, size):
        rest = tuple(rows.shape[1:])
        first, last = (begin, *(0 for _ in rest)), (begin + size, *rest)
        return self.strided_slice(rows, first, last, (1,) * len(first))


class Divided(Cell):
    """A network whose batches are computed in parts: a call cuts the rows of its inputs into `micro_size` parts, and
    gives the sum of their losses. `Model` divides batches itself, into `micro_batches`, and averages. Raises ValueError
    or TypeError for a size that is no integer from 1."""

    divides_batches = True

    def __init__(self, network: Cell, micro_size: int):
        super().__init__(auto_prefix=False)
        _require_size(type(self).__name__, "micro_size", micro_size)
        self.network, self.micro_batches = network, micro_size
        self.__dict__["_micro_batch"] = MicroBatch(micro_size)

    def construct(self, *inputs):
        build = current()
        if build is not None and build.divides_batches:
            return self.network(*inputs)
        total = None
        for i in range(self.micro_batches):
            loss = self.network(*self._micro_batch(i, *inputs))
            total = loss if total is None else F.add(total, loss)
        return total
