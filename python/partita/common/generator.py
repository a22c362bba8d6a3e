"""Generators of random numbers: the state that draws outside of programs go on from.

The default generator is what `set_seed` sets, besides NumPy's. A draw is a function of the seed and of its number, so
the same state gives the same numbers, on any number of ranks. The numbers are others than those of MindSpore."""

from __future__ import annotations

import contextlib
import os

import numpy as np

from partita._names import refuse_missing
from partita.common import seed as _seeds
from partita.common.tensor import Tensor

__all__ = "Generator default_generator seed manual_seed initial_seed set_rng_state get_rng_state".split()


class Generator:
    """A seed, and how many draws followed it: functions that take a `generator` go on from it. The numbers that follow
    are a function of both, on any number of ranks."""

    def __init__(self):
        self._seed, self._offset = 0, 0

    def _set(self, seed, offset=0):
        self._seed, self._offset = seed, offset

    def manual_seed(self, seed: int) -> Generator:
        """Begins with a seed, an integer from 0 to 2^32 - 1, and returns the generator. Raises TypeError for other than
        an integer, ValueError for one out of range."""
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise TypeError(f"[Generator] the seed is not an integer, got {type(seed).__name__}, expected one")
        if not 0 <= seed < 2**32:
            raise ValueError(f"[Generator] the seed is out of range, got {seed}, expected 0 to {2**32 - 1}")
        self._set(seed)
        return self

    def seed(self) -> int:
        """Begins with a seed that the system draws, and returns it."""
        drawn = int.from_bytes(os.urandom(4), "little")
        self._set(drawn)
        return drawn

    def initial_seed(self) -> int:
        """Returns the seed that the generator began with."""
        return self._seed

    def get_state(self) -> Tensor:
        """Returns the seed and the number of draws, as a tensor of 16 bytes, uint8."""
        return Tensor(np.array([self._seed, self._offset], "<u8").view(np.uint8))

    def set_state(self, state: Tensor) -> None:
        """Goes on from a state of `get_state`. Raises ValueError for what is none."""
        values = state.asnumpy() if isinstance(state, Tensor) else np.asarray(state)
        if values.dtype != np.uint8 or values.size != 16:
            raise ValueError(f"[Generator] no state of a generator, got {values.dtype}{list(values.shape)}, expected "
                             "the 16 bytes of get_state")
        self._set(*(int(one) for one in np.ascontiguousarray(values).view("<u8")))

    @contextlib.contextmanager
    def drawing(self):
        """Functions that draw in this context go on from this generator."""
        before = _seeds._seed, _seeds._drawn
        _seeds._seed, _seeds._drawn = self._seed, self._offset
        try:
            yield
        finally:
            self._offset = _seeds._drawn
            _seeds._seed, _seeds._drawn = before


class _Default(Generator):
    """The generator of all draws that name none."""

    def __init__(self):
        pass

    _seed = property(lambda self: 0 if _seeds._seed is None else _seeds._seed)
    _offset = property(lambda self: _seeds._drawn)

    def _set(self, seed, offset=0):
        _seeds._seed, _seeds._drawn = seed, offset

    @contextlib.contextmanager
    def drawing(self):
        yield


default_generator = _Default()
seed, manual_seed = default_generator.seed, default_generator.manual_seed
initial_seed = default_generator.initial_seed
get_rng_state, set_rng_state = default_generator.get_state, default_generator.set_state
__getattr__ = refuse_missing(globals())
