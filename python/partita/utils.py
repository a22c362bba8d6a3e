"""Exchange of tensors with other libraries, and utilities for networks."""

from partita._names import refuse_missing
from partita.common.tensor import Tensor


def to_dlpack(tensor):
    """A DLPack capsule over the memory of a tensor. Raises TypeError for what is none."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"[to_dlpack] not a tensor, got {type(tensor).__name__}, expected a Tensor")
    return tensor.to_dlpack()


def from_dlpack(dlpack):
    """A tensor of the values of a DLPack capsule, or of an array of another library."""
    return Tensor.from_dlpack(dlpack)


__getattr__ = refuse_missing(globals())
