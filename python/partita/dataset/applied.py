"""The steps of a map on the values of one row, or of one batch."""

import sys

import numpy as np

from partita import _core
from partita.common.tensor import Tensor
from partita.dataset import transforms as T
from partita.dataset.batched import OfRows

_data = _core.data


def of_seed(step, seed):
    """A step of a map with its random numbers."""
    if isinstance(step, T.Transform):
        return step.core(seed)
    return step.seeded(seed) if hasattr(step, "seeded") else step


def is_picture(value):
    """Whether it is an image of Pillow, which stays one until the last step of a map."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)


def _plain(value):
    """A value that a step gave, as the next one gets it."""
    if isinstance(value, Tensor):
        return value.asnumpy()
    return value if is_picture(value) else np.asarray(value)


class _Step:
    """One step with its seed: `run(values, epoch, sample)` gives the values after it."""

    def __init__(self, step, seed):
        self._given, self._seed, self._made = step, seed, of_seed(step, seed)

    def _of_library(self, value, epoch, sample):
        if is_picture(value):
            return self._given.drawn_of(value, np.random.default_rng([self._seed, epoch, sample]))
        return np.asarray(self._made.apply(_core.Array(np.asarray(value)), epoch, sample))

    def run(self, values, epoch, sample):
        made = self._made
        if isinstance(made, _data.Map):
            return [self._of_library(one, epoch, sample) for one in values]
        if isinstance(made, OfRows):
            return made.batch_arrays(values, epoch, sample)
        if getattr(made, "takes_columns", False):
            return list(made.apply_columns(values, epoch, sample))
        if hasattr(made, "apply"):
            return [made.apply(one, epoch, sample) for one in values]
        if len(values) > 1 and getattr(self._given, "is_of_one", False):
            return [made(one) for one in values]
        result = made(*values)
        return list(result) if isinstance(result, tuple) else [result]


class Applied:
    """The steps of a map, whose first value has a place in a row: a function of a row, the epoch and the number of the
    row. It gives the mapped values, or once `order` is set all columns in this order."""

    def __init__(self, steps, seed, places, outputs):
        self._steps = [_Step(step, seed + i) for i, step in enumerate(steps)]
        self.places, self.outputs, self.order = places, outputs, None

    def __call__(self, values, epoch, sample):
        current = [_plain(values[place]) for place in self.places]
        for step in self._steps:
            current = [_plain(one) for one in step.run(current, epoch, sample)]
        current = [np.asarray(one) for one in current]
        if len(current) != self.outputs:
            raise ValueError(f"[map] wrong number of columns, got {len(current)}, expected {self.outputs}")
        if self.order is None:
            return current
        return [current[i] if kind == "made" else np.asarray(values[i]) for kind, i in self.order]
