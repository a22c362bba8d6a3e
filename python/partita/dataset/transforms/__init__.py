"""Maps of columns: those of the library, and functions of Python."""

from __future__ import annotations

import enum
import sys

import numpy as np

from partita import _core
from partita._described import Described
from partita._names import absent, refuse_missing
from partita.common import dtype as mstype
from partita.common.dtype import DTypeLike
from partita.common.seed import seed_or_default
from partita.dataset.transforms.rows import (  # noqa: F401
    Compose,
    Concatenate,
    Fill,
    Mask,
    PadEnd,
    RandomApply,
    RandomChoice,
    RandomOrder,
    Relational,
    Slice,
    Unique,
    not_random,
)

_data = _core.data


class Transform(Described):
    """A map of the library. Called with one array it maps it."""

    def core(self, seed):
        """The map of the library; `seed` is that of its random numbers."""
        raise NotImplementedError

    def __call__(self, value):
        array = _core.Array(np.asarray(value))
        return np.asarray(self.core(seed_or_default()).apply(array))


class TypeCast(Transform):
    """The same values in another element type, of this package, of NumPy or by its name ("float32"). Raises TypeError
    for an unknown one."""

    def __init__(self, data_type: DTypeLike):
        self.output_type = mstype.to_dtype(data_type)

    def core(self, seed):
        return _data.cast_map(self.output_type.core)


class OneHot(Described):
    """Classes, integers from 0 to num_classes - 1, as rows with 1 at their places, in their element type: one number
    gives [num_classes], n numbers [n,num_classes]. With `smoothing_rate` a row has 1 - rate at its place, as float64,
    and the rest spread over all. Dimensions of 1 are lost. Raises ValueError for other classes."""

    def __init__(self, num_classes: int, smoothing_rate: float = 0.0):
        if not isinstance(num_classes, int) or num_classes < 1:
            raise ValueError(f"[OneHot] bad num_classes, got {num_classes!r}, expected an integer from 1")
        if not 0 <= smoothing_rate <= 1:
            raise ValueError(f"[OneHot] smoothing_rate out of range, got {smoothing_rate}, expected 0 to 1")
        self.num_classes, self.smoothing_rate = num_classes, smoothing_rate

    def __call__(self, value):
        classes = np.asarray(value)
        if classes.dtype.kind not in "iu":
            raise TypeError(f"[OneHot] classes are no integers, got {classes.dtype}, expected integers")
        if classes.size and not 0 <= classes.min() <= classes.max() < self.num_classes:
            raise ValueError(
                f"[OneHot] no such class, got {classes.max() if classes.min() >= 0 else classes.min()}, expected 0 to "
                f"{self.num_classes - 1}"
            )
        classes = classes.squeeze()
        if classes.ndim > 1:
            raise RuntimeError(f"[OneHot] too many dimensions, got {np.shape(value)}, expected one that is not 1")
        made = np.eye(self.num_classes, dtype=classes.dtype)[classes]
        if not self.smoothing_rate:
            return made
        return (1.0 - self.smoothing_rate) * made + self.smoothing_rate / self.num_classes


class Duplicate(Described):
    """A column as two."""

    def __call__(self, value):
        return value, np.array(value)


def flattened(operations):
    """The list of operations, with those of Compose in its place."""
    if not isinstance(operations, (list, tuple)):
        operations = [operations]
    result = []
    for one in operations:
        if isinstance(one, Compose):
            result += flattened(one.transforms)
        elif callable(one):
            result.append(one)
        else:
            raise TypeError(
                f"[map] an operation is not a function, got {type(one).__name__}, expected a transform or a callable"
            )
    if not result:
        raise ValueError("[map] no operations, got an empty list, expected one or more")
    return result


class Implementation(enum.IntEnum):
    """The language of a map: C++, whose `parse` gives the operation, or Python, whose `execute_py` is called."""

    C = 0
    PY = 1


class PyTensorOperation(Described):
    """The base of maps in Python of your own: `execute_py`, `parse` or `__call__` gives the new value of a row, a NumPy
    array, or a tuple of several."""

    implementation = None

    def __call__(self, *values):
        if self.implementation is not Implementation.C and hasattr(self, "execute_py"):
            return self.execute_py(*values)
        return self.parse(*values)

    def parse(self, *values):
        raise NotImplementedError(
            f"[{type(self).__name__}] the map says nothing, got a call, expected a method parse or __call__"
        )


class TensorOperation(PyTensorOperation):
    """The base of maps."""


Plugin = absent("Plugin", __name__, "a function of Python in map")
transforms = sys.modules[__name__]  # the name of its file in the documented system
__getattr__ = refuse_missing(globals())
