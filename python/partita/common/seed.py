"""The seed of initial values, the order of rows, augmentation and dropout."""

from __future__ import annotations

import numpy as np

_seed = None
_drawn = 0


def set_seed(seed: int) -> None:
    """Sets the seed, an integer from 0 to 2^32 - 1, of initial values, of dropout and other drawn tensors, of the order
    of rows and of augmentation, and that of NumPy's global generator as well. Without it each run draws the same
    numbers, as with the seed 1. Raises TypeError for other than an integer, ValueError for one out of range."""
    global _seed, _drawn
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise TypeError(f"[seed] not an integer, got {type(seed).__name__}, expected one")
    if seed < 0 or seed >= 2**32:
        raise ValueError(f"[seed] out of range, got {seed}, expected 0 to {2**32 - 1}")
    _seed, _drawn = seed, 0
    np.random.seed(seed)


def get_seed() -> int | None:
    """Returns the seed that `set_seed` was given, an integer, or None."""
    return _seed


def seed_or_default():
    """The seed: 1 where none was set, so that every run is like the others."""
    return 1 if _seed is None else _seed


def _get_graph_seed(op_seed, kernel_name):
    """Two seeds of an op of the documented system: that of the script, or 0, and that of the op. What is drawn here
    follows from `set_seed` alone."""
    return (0 if _seed is None else _seed), op_seed


def next_name(kind):
    """A name of its own for numbers that no parameter owns."""
    global _drawn
    _drawn += 1
    return f"{kind}{_drawn}"
