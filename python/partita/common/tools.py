"""Functions of the top level: tensors from buffers, settings of the process."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable

import numpy as np

from partita import context
from partita._current import current
from partita._names import refuse_missing
from partita._warnings import warn
from partita.common import dtype as mstype
from partita.common.dtype import DTypeLike
from partita.common.tensor import Tensor

STRICT, COMPATIBLE, LAX = 0, 1, 2  # the levels of `jit_syntax_level`, which has no effect


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor with a copy of the values of a NumPy array, of its shape and element type. Raises TypeError for anything
    else."""
    return Tensor.from_numpy(array)


def frombuffer(buffer, dtype: DTypeLike, count: int = -1, offset: int = 0) -> Tensor:
    """A tensor of one dimension, of the bytes of a buffer from `offset` on: `count` elements, or all. Raises ValueError
    for a buffer that is too short."""
    kind = mstype.to_dtype(dtype).numpy
    if kind is None:
        raise TypeError(f"[frombuffer] NumPy has no such element type, got {dtype}, expected another one")
    return Tensor(np.frombuffer(buffer, kind, count, offset).copy())


def is_tensor(obj: object) -> bool:
    """Whether a value is a Tensor, which Parameters are, too."""
    return isinstance(obj, Tensor)


def swap_tensors(t1, t2):
    """Exchanges the values of two tensors. Raises TypeError for what is none, ValueError for parameters of different
    shapes."""
    if not isinstance(t1, Tensor) or not isinstance(t2, Tensor):
        raise TypeError(f"[swap_tensors] not tensors, got {type(t1).__name__} and {type(t2).__name__}, expected two")
    if t1.shape != t2.shape or t1.dtype != t2.dtype:
        raise ValueError(
            f"[swap_tensors] the tensors differ, got {t1.dtype}{list(t1.shape)} and {t2.dtype}{list(t2.shape)}, "
            "expected one shape and one element type"
        )
    former = t1.copy()
    t1.assign_value(t2)
    t2.assign_value(former)


def get_current_device() -> tuple[str, int]:
    """(kind of the device, its number) of the context: ("CPU", 0)."""
    return context.get_context("device_target"), context.get_context("device_id")


def set_deterministic(deterministic: bool) -> None:
    """Has programs give the same bits in each run: `set_context(deterministic="ON")`."""
    if not isinstance(deterministic, bool):
        raise TypeError(f"[set_deterministic] not a bool, got {deterministic!r}, expected True or False")
    context.set_context(deterministic="ON" if deterministic else "OFF")


def set_recursion_limit(recursion_limit: int = 1000) -> None:
    """Sets how deep calls of Python may nest, at least as deep as they may now. Raises ValueError for a number below
    1."""
    if not isinstance(recursion_limit, int) or isinstance(recursion_limit, bool):
        raise TypeError(f"[set_recursion_limit] not an integer, got {recursion_limit!r}, expected one from 1")
    if recursion_limit < 1:
        raise ValueError(f"[set_recursion_limit] bad limit, got {recursion_limit}, expected an integer from 1")
    sys.setrecursionlimit(max(recursion_limit, sys.getrecursionlimit()))


def recompute(
    block: Callable,
    *args,
    use_reentrant: bool = True,
    output_recompute: bool = False,
    early_stop: bool = True,
    context_fn=None,
    **kwargs,
):
    """Calls a cell or a function. In a program its results within are computed anew in the backward pass instead of
    being kept. Raises TypeError for what cannot be called."""
    if not callable(block):
        raise TypeError(f"[recompute] cannot be called, got {type(block).__name__}, expected a Cell or a function")
    build = current()
    if build is None:
        return block(*args, **kwargs)
    around = build.here
    build.here = around._replace(recompute=around.recompute or f"{around.scope}.recompute")
    try:
        return block(*args, **kwargs)
    finally:
        build.here = around


class _no_grad(contextlib.ContextDecorator):
    """A context, or a decorator, in which results have no gradients."""

    def _recreate_cm(self):
        return type(self)()  # threads may call a decorated function at once

    def __enter__(self):
        build = current()
        self._builds = [*getattr(self, "_builds", []), (build, getattr(build, "is_detached", False))]
        if build is not None:
            build.is_detached = True
        return self

    def __exit__(self, *error):
        build, before = self._builds.pop()
        if build is not None:
            build.is_detached = before
        return False


def _function(fn=None, **kwargs):
    return fn if fn is not None else lambda function: function


def no_inline(fn=None):
    """The function itself: functions are compiled as they are called."""
    return _function(fn)


def enable_dynamic(**kwargs):
    """A decorator that gives the function itself: programs are made for each shape that comes."""
    return _function()


def set_dump(target, enabled: bool = True):
    """Warns, without effect: nothing is written while a program runs. See `set_context(save_graphs=..)`."""
    warn("[set_dump] values within programs are not written, got a call: return them, or print in PYNATIVE_MODE")


__getattr__ = refuse_missing(globals())
