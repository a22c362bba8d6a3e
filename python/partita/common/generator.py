"""Generators of random numbers: the state that draws outside of programs go on from.

The default generator is what `set_seed` sets, besides NumPy's. A draw is a function of the seed and of its number, so
the same state gives the same numbers, on any number of ranks. The numbers are others than those of MindSpore."""

from __future__ import annotations

import functools
import inspect
import os
import sys

import numpy as np

from partita._names import refuse_missing
from partita.common import seed as _seeds
from partita.common.tensor import Tensor

__all__ = "Generator default_generator seed manual_seed initial_seed set_rng_state get_rng_state".split()


class Generator:
    """A seed, and how many draws followed it: functions that take a `generator` go on from it. The numbers that follow
    are a function of both, on any number of ranks."""

    def __init__(self):
        self._draws = _seeds.Draws(0)

    def _state(self):
        seed, drawn = self._draws.state
        return (_seeds.DEFAULT if seed is None else seed), drawn

    def manual_seed(self, seed: int) -> Generator:
        """Begins with a seed, an integer from 0 to 2^32 - 1, and returns the generator. Raises TypeError for other than
        an integer, ValueError for one out of range."""
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise TypeError(f"[Generator] the seed is not an integer, got {type(seed).__name__}, expected one")
        if not 0 <= seed < 2**32:
            raise ValueError(f"[Generator] the seed is out of range, got {seed}, expected 0 to {2**32 - 1}")
        self._draws.set(seed)
        return self

    def seed(self) -> int:
        """Begins with a seed that the system draws, and returns it."""
        drawn = int.from_bytes(os.urandom(4), "little")
        self._draws.set(drawn)
        return drawn

    def initial_seed(self) -> int:
        """Returns the seed that the generator began with: 1 of the default generator before a seed is set."""
        return self._state()[0]

    def get_state(self) -> Tensor:
        """Returns the seed and the number of draws, as a tensor of 16 bytes, uint8."""
        return Tensor(np.array(self._state(), "<u8").view(np.uint8))

    def set_state(self, state: Tensor) -> None:
        """Goes on from a state of `get_state`. Raises ValueError for what is none."""
        values = state.asnumpy() if isinstance(state, Tensor) else np.asarray(state)
        if values.dtype != np.uint8 or values.size != 16:
            raise ValueError(f"[Generator] no state of a generator, got {values.dtype}{list(values.shape)}, expected "
                             "the 16 bytes of get_state")
        self._draws.set(*(int(one) for one in np.ascontiguousarray(values).view("<u8")))

    def drawing(self):
        """A context in which functions of this thread that draw go on from this generator. Threads that draw from one
        generator at the same time get numbers of their own."""
        return _seeds.drawing(self._draws)


class _Default(Generator):
    """The generator of all draws that name none."""

    def __init__(self):
        self._draws = _seeds.common


def by_generator(function):
    """A function that draws, whose argument `generator` is one to go on from, instead of the common one."""
    parameters = inspect.signature(function).parameters
    is_named = parameters["generator"].kind is inspect.Parameter.KEYWORD_ONLY
    place = sys.maxsize if is_named else list(parameters).index("generator")

    @functools.wraps(function)
    def call(*args, **kwargs):
        generator = args[place] if len(args) > place else kwargs.get("generator")
        if generator is None:
            return function(*args, **kwargs)
        if not isinstance(generator, Generator):
            raise TypeError(
                f"[{function.__name__}] no generator, got {type(generator).__name__}, expected a Generator or None"
            )
        with generator.drawing():
            return function(*args, **kwargs)

    return call


default_generator = _Default()
seed, manual_seed = default_generator.seed, default_generator.manual_seed
initial_seed = default_generator.initial_seed
get_rng_state, set_rng_state = default_generator.get_state, default_generator.set_state
__getattr__ = refuse_missing(globals())
