"""Functions and methods as programs, under their documented names."""

from __future__ import annotations

import functools
from collections.abc import Callable

from partita import common
from partita._program import Program
from partita.common import api
from partita.common.jit_config import JitConfig
from partita.common.tensor import Tensor


def jit(
    function: Callable | None = None,
    *,
    capture_mode: str = "ast",
    jit_level: str = "O0",
    dynamic: int = 0,
    fullgraph: bool = False,
    backend: str = "",
    **others,
):
    """A function, or a method of a cell, as one program: the first call with arguments of new shapes, types or
    constants traces its Python, which then no longer runs, and later ones run the compiled program. Tensors are
    operands; numbers, texts and other values of Python are constants of the program. `jit` may decorate without or with
    options; all of these are kept without effect."""
    make = functools.partial(Program, is_graph=True)
    return make(function) if function is not None else make


ms_function = jit


def mutable(input_data: object, dynamic_len: bool = False):
    """The data itself: tensors in tuples, lists and dicts are inputs of programs in any case. Raises TypeError for
    other than a tensor, a number, or a tuple, list or dict."""
    if not isinstance(input_data, (tuple, list, dict, int, float, Tensor)):
        raise TypeError(
            f"[mutable] bad input_data, got {type(input_data).__name__}, expected a tensor, a number, or a tuple, list "
            "or dict of them"
        )
    return input_data


def jit_class(cls) -> type:
    """The class itself: programs may make objects of any class, and call their methods."""
    return cls


def lazy_inline(fn: Callable | None = None, attrs=None, policy=None):
    """The function itself: layers that are alike are compiled once in any case."""
    return fn if fn is not None else lambda function: function


# Names that scripts import from modules below.
common.jit, common.lazy_inline, common.mutable, common.JitConfig = jit, lazy_inline, mutable, JitConfig
api.jit, api.ms_function, api.jit_class = jit, ms_function, jit_class
