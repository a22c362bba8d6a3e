"""Utilities for cells."""

from contextlib import contextmanager

from partita._names import refuse_missing


@contextmanager
def no_init_parameters():
    """A scope in which parameters are not drawn. It has no effect: parameters are drawn only when they are needed."""
    yield


__getattr__ = refuse_missing(globals())
