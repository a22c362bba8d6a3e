"""The seed of initial values, the order of rows, augmentation and dropout."""

from __future__ import annotations

import threading

import numpy as np


DEFAULT = 1  # the seed of draws before one is set


class Draws:
    """A seed, None before one is set, and how many draws followed it. Draws of several threads have their own
    numbers."""

    def __init__(self, seed=None):
        self._lock, self._state = threading.Lock(), (seed, 0)

    @property
    def state(self):
        """(seed, number of draws)."""
        return self._state

    def set(self, seed, drawn=0):
        """Goes on from a seed after a number of draws."""
        with self._lock:
            self._state = seed, drawn

    def next(self):
        """Returns the number of a new draw, from 1."""
        with self._lock:
            seed, drawn = self._state
            self._state = seed, drawn + 1
        return drawn + 1


class _Thread(threading.local):
    draws = None  # those of a generator that this thread draws from, instead of the common ones


common = Draws()
_threads = _Thread()


def _draws():
    return _threads.draws or common


def is_of_generator():
    """Whether this thread draws from a generator."""
    return _threads.draws is not None


class drawing:
    """Within it this thread goes on from the draws of a generator, or from the common ones."""

    __slots__ = ("_draws", "_before")

    def __init__(self, draws):
        self._draws = draws

    def __enter__(self):
        self._before, _threads.draws = _threads.draws, self._draws

    def __exit__(self, *_):
        _threads.draws = self._before


def set_seed(seed: int) -> None:
    """Sets the seed, an integer from 0 to 2^32 - 1, of initial values, of dropout and other drawn tensors, of the order
    of rows and of augmentation, and that of NumPy's global generator as well. Without it each run draws the same
    numbers, as with the seed 1. Raises TypeError for other than an integer, ValueError for one out of range."""
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise TypeError(f"[seed] not an integer, got {type(seed).__name__}, expected one")
    if seed < 0 or seed >= 2**32:
        raise ValueError(f"[seed] out of range, got {seed}, expected 0 to {2**32 - 1}")
    common.set(seed)
    np.random.seed(seed)


def get_seed() -> int | None:
    """Returns the seed that `set_seed` was given, an integer, or None."""
    return _draws().state[0]


def seed_or_default():
    """The seed: 1 where none was set, so that every run is like the others."""
    seed = get_seed()
    return DEFAULT if seed is None else seed


def _get_graph_seed(op_seed, kernel_name):
    """Two seeds of an op of the documented system: that of the script, or 0, and that of the op. What is drawn here
    follows from `set_seed` alone."""
    seed = get_seed()
    return (0 if seed is None else seed), op_seed


def next_name(kind):
    """A name of its own for numbers that no parameter owns."""
    return f"{kind}{_draws().next()}"
