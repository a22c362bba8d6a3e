"""Parameters of which files and processes have parts: put together from these."""

import pickle

import numpy as np

from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.communication.comm_func import all_gather_into_tensor
from partita.train import documented_layouts, strategy


def values_of(one):
    """The elements of a tensor as an array; those of bfloat16, which NumPy lacks, as float32."""
    return (one.astype(mstype.float32) if one.dtype == mstype.bfloat16 else one).asnumpy()


def parameter_of(values, dtype, name):
    """A parameter of elements that `values_of` gave."""
    return Parameter(Tensor(values, dtype) if dtype == mstype.bfloat16 else Tensor(values), name=name)


class _Whole:
    """A tensor that is put together from boxes of it."""

    def __init__(self, where, name, shape, one):
        self.where, self.name, self.dtype = where, name, one.dtype
        self.values, self.known = np.zeros(shape, values_of(one).dtype), np.zeros(shape, bool)

    def put(self, box, values):
        place = tuple(slice(begin, end) for begin, end in box)
        if self.values[place].shape != values.shape:
            raise ValueError(
                f"[{self.where}] a part of '{self.name}' is of another shape, got {values.shape}, "
                f"expected {self.values[place].shape}"
            )
        self.values[place], self.known[place] = values, True

    def made(self, box=None):
        known = self.known if box is None else self.known[tuple(slice(begin, end) for begin, end in box)]
        if not known.all():
            raise ValueError(
                f"[{self.where}] parts of '{self.name}' are missing, got {int(known.sum())} of "
                f"{known.size} elements, expected the files of all ranks"
            )
        return parameter_of(self.values, self.dtype, self.name)


def joined(where, name, parts, entry=None, needed=None):
    """A parameter of its parts, ((rank, parameter), ..); `entry` says which boxes they are where they do not. All of it
    must be there, or the box that `needed` gives for its shape; other elements are then 0."""
    if all(one.box is None for _, one in parts) and entry is None:
        return parts[0][1]
    first = parts[0][1]
    shape = first.box[1] if first.box else documented_layouts.whole_shape(entry, first.shape)
    entry = entry and documented_layouts.scaled(where, name, entry, shape)
    whole = _Whole(where, name, shape, first)
    for rank, one in parts:
        box = one.box[0] if one.box else None if entry is None else strategy.box_on(entry, rank)
        if one.box is None and one.shape == tuple(shape):
            box = tuple((0, size) for size in shape)
        if box is not None:
            whole.put(box, values_of(one))
    return whole.made(needed and needed(shape))


def joined_over_ranks(where, parameters):
    """Whole parameters of the parts that the processes have. All of them call it."""
    own = {
        name: (one.box, one.measures, values_of(one), one.dtype == mstype.bfloat16)
        for name, one in parameters.items()
        if not isinstance(one, str)
    }
    data = np.frombuffer(pickle.dumps(own), np.uint8)
    sizes = all_gather_into_tensor(Tensor(np.array([data.size], np.int64)))[0].asnumpy()
    padded = np.zeros(int(sizes.max()), np.uint8)
    padded[: data.size] = data
    all_data = all_gather_into_tensor(Tensor(padded))[0].asnumpy().reshape(len(sizes), -1)
    parts = {}
    for rank, size in enumerate(sizes):
        for name, (box, measures, values, is_bfloat16) in pickle.loads(all_data[rank, : int(size)].tobytes()).items():
            one = parameter_of(values, mstype.bfloat16 if is_bfloat16 else None, name)
            one.box, one.measures = box, measures
            parts.setdefault(name, []).append((rank, one))
    return {name: joined(where, name, of_ranks) for name, of_ranks in parts.items()}
