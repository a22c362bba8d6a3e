"""Cells whose results are computed anew in the backward pass, by the names of the documented module. The module can be
called, as the function `recompute` whose name it has there."""

import sys
import types

from partita._names import refuse_missing
from partita._warnings import warn
from partita.common.tensor import Tensor
from partita.common.tools import recompute
from partita.nn.cell import Cell


class _RecomputeCell(Cell):
    """A cell, or a method of one, that keeps no results but its last one for the backward pass."""

    def __init__(self, block):
        super().__init__(auto_prefix=False)
        owner = block if isinstance(block, Cell) else getattr(block, "__self__", None)
        if not isinstance(owner, Cell):
            raise TypeError(f"[_RecomputeCell] not a cell, got {type(block).__name__}, expected a cell or its method")
        self.net, self.internal_params, self.args, self.kwargs = block, owner.trainable_params(), [], []

    def construct(self, *args, **kwargs):
        _check_input_args_validate(self.net, args, kwargs)
        kwargs.pop("save_rng_state", None)  # what is drawn follows from the seed and the step
        return recompute(self.net, *args, **kwargs)


def _check_input_args_validate(block, args, kwargs):
    """Warns if no argument is a tensor: then nothing has to be recomputed."""
    if not any(isinstance(one, Tensor) for one in (*args, *kwargs.values())):
        warn("[recompute] no argument is a tensor, got a call of a cell that is recomputed")


def _padding_input_grads(args, input_grads):
    """Puts None into a list of gradients in the places of arguments that have none: of what is no tensor, or a list of
    None in that of a tuple or list with tensors. Raises ValueError for another number of gradients."""
    for i, one in enumerate(args):
        if isinstance(one, (list, tuple)):
            input_grads.insert(i, [None] * len(one) if any(isinstance(inner, Tensor) for inner in one) else None)
        elif not isinstance(one, Tensor):
            input_grads.insert(i, None)
    if len(args) != len(input_grads):
        raise ValueError(f"[recompute] wrong number of gradients, got {len(input_grads)}, expected {len(args)}")


class _Registry:
    """The function that makes cells which are recomputed, of a library."""

    def __init__(self):
        self.recompute_generator = None

    def register(self, fn):
        """Keeps the function; TypeError for others."""
        if not isinstance(fn, types.FunctionType):
            raise TypeError(f"[recompute_registry] not a function, got {type(fn).__name__}, expected one")
        self.recompute_generator = fn

    def get(self):
        """The function; TypeError if there is none."""
        if self.recompute_generator is None:
            raise TypeError("[recompute_registry] nothing is registered, got a call of get, expected register before")
        return self.recompute_generator


class _Module(types.ModuleType):
    def __call__(self, *args, **kwargs):
        return recompute(*args, **kwargs)


recompute_registry = _Registry()
__getattr__ = refuse_missing(globals())
sys.modules[__name__].__class__ = _Module
