"""Parameters of which files and processes have parts: put together from these."""

import pickle

import numpy as np

from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.communication.comm_func import all_gather_into_tensor
from partita.train import strategy


class _Whole:
    """A tensor that is put together from boxes of it."""

    def __init__(self, where, name, shape, dtype):
        self.where, self.name = where, name
        self.values, self.known = np.zeros(shape, dtype), np.zeros(shape, bool)

    def put(self, box, values):
        place = tuple(slice(begin, end) for begin, end in box)
        if self.values[place].shape != values.shape:
            raise ValueError(
                f"[{self.where}] a part of '{self.name}' is of another shape, got {values.shape}, "
                f"expected {self.values[place].shape}"
            )
        self.values[place], self.known[place] = values, True

    def made(self):
        if not self.known.all():
            raise ValueError(
                f"[{self.where}] parts of '{self.name}' are missing, got {int(self.known.sum())} of "
                f"{self.known.size} elements, expected the files of all ranks"
            )
        return Parameter(Tensor(self.values), name=self.name)


def joined(where, name, parts, entry=None):
    """A parameter of its parts, ((rank, parameter), ..); `entry` says which boxes they are where they do not."""
    if all(one.box is None for _, one in parts) and entry is None:
        return parts[0][1]
    shape = parts[0][1].box[1] if parts[0][1].box else tuple(entry["tensor_shape"])
    whole = _Whole(where, name, shape, parts[0][1].asnumpy().dtype)
    for rank, one in parts:
        box = one.box[0] if one.box else None if entry is None else strategy.box_on(entry, rank)
        if one.box is None and one.shape == tuple(shape):
            box = tuple((0, size) for size in shape)
        if box is not None:
            whole.put(box, one.asnumpy())
    return whole.made()


def joined_over_ranks(where, parameters):
    """Whole parameters of the parts that the processes have. All of them call it."""
    own = {name: (one.box, one.measures, one.asnumpy()) for name, one in parameters.items()}
    data = np.frombuffer(pickle.dumps(own), np.uint8)
    sizes = all_gather_into_tensor(Tensor(np.array([data.size], np.int64)))[0].asnumpy()
    padded = np.zeros(int(sizes.max()), np.uint8)
    padded[: data.size] = data
    all_data = all_gather_into_tensor(Tensor(padded))[0].asnumpy().reshape(len(sizes), -1)
    parts = {}
    for rank, size in enumerate(sizes):
        for name, (box, measures, values) in pickle.loads(all_data[rank, : int(size)].tobytes()).items():
            one = Parameter(Tensor(values), name=name)
            one.box, one.measures = box, measures
            parts.setdefault(name, []).append((rank, one))
    return {name: joined(where, name, of_ranks) for name, of_ranks in parts.items()}
