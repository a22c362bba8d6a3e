"""Python's module of this name. Tensors go to other processes as copies of their values."""

import multiprocessing as _module
from multiprocessing import *  # noqa: F401,F403
from multiprocessing import Process, Queue, get_context, get_start_method, set_start_method  # noqa: F401

__all__ = _module.__all__


def __getattr__(name):
    return getattr(_module, name)
