"""Maps of rows of any type, and choices among maps."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Sequence

import numpy as np

from partita._described import Described
from partita.common import dtype as mstype
from partita.common.dtype import DTypeLike
from partita.common.seed import get_seed, seed_or_default

_CALLS = itertools.count()  # of all drawn maps outside of `map`, where no seed was set


class Relational(enum.IntEnum):
    """Comparisons of Mask."""

    EQ = 0
    NE = 1
    GT = 2
    GE = 3
    LT = 4
    LE = 5


_COMPARED = dict(zip(Relational, (np.equal, np.not_equal, np.greater, np.greater_equal, np.less, np.less_equal)))


class Concatenate(Described):
    """Columns one after the other, with other elements before and after them."""

    def __init__(self, axis: int = 0, prepend: np.ndarray | None = None, append: np.ndarray | None = None):
        if axis not in (0, -1):
            raise ValueError(f"[Concatenate] only axis 0 is supported, got {axis}, expected 0")
        self._before, self._after = prepend, append

    def __call__(self, *columns):
        parts = [*([] if self._before is None else [self._before]), *columns]
        parts = [np.asarray(one) for one in [*parts, *([] if self._after is None else [self._after])]]
        types = {one.dtype.kind if one.dtype.kind in "US" else one.dtype for one in parts}
        if len(types) > 1 or any(one.ndim != 1 for one in parts):
            raise RuntimeError(
                f"[Concatenate] unlike parts, got {[f'{one.dtype}{one.shape}' for one in parts]}, expected one type and"
                " one dimension"
            )
        return np.concatenate(parts)


class Fill(Described):
    """A value in place of all elements."""

    def __init__(self, fill_value: float | str | bytes):
        if not isinstance(fill_value, (bool, int, float, str, bytes)):
            raise TypeError(f"[Fill] bad fill_value, got {fill_value!r}, expected a number or a text")
        self._value = fill_value

    def __call__(self, value):
        value = np.asarray(value)
        if (value.dtype.kind in "US") != isinstance(self._value, (str, bytes)):
            raise RuntimeError(f"[Fill] another type, got {self._value!r} for {value.dtype}, expected one of its kind")
        return np.full(value.shape, self._value, None if value.dtype.kind in "US" else value.dtype)


class Mask(Described):
    """Whether a comparison with a constant holds, for each element."""

    def __init__(self, operator: Relational, constant: float | str, dtype: DTypeLike = mstype.bool_):
        if not isinstance(operator, Relational):
            raise TypeError(f"[Mask] no comparison, got {operator!r}, expected one of transforms.Relational")
        self._compared, self._constant, self._type = _COMPARED[operator], constant, mstype.to_dtype(dtype).numpy

    def __call__(self, value):
        return self._compared(np.asarray(value), self._constant).astype(self._type)


def padded(array, shape, value=None):
    """An array with `value` (0, or no text) at its ends, or without its last elements."""
    if list(array.shape) == list(shape):
        return array
    fill = ("" if array.dtype.kind == "U" else b"" if array.dtype.kind == "S" else 0) if value is None else value
    kind = np.promote_types(array.dtype, np.asarray(fill).dtype) if array.dtype.kind in "US" else array.dtype
    made = np.full(shape, fill, kind)
    common = tuple(slice(0, min(have, want)) for have, want in zip(array.shape, shape))
    made[common] = array[common]
    return made


class PadEnd(Described):
    """An array cut, or filled up after its elements with `pad_value` (0, or no text), to the shape `pad_shape`. None in
    it keeps a size."""

    def __init__(self, pad_shape: Sequence[int | None], pad_value: float | str | bytes | None = None):
        self._shape, self._value = list(pad_shape), pad_value

    def __call__(self, value):
        value = np.asarray(value)
        if value.ndim != len(self._shape):
            raise RuntimeError(f"[PadEnd] wrong number of dimensions, got {value.shape}, expected {len(self._shape)}")
        return padded(value, [n if s is None else s for s, n in zip(self._shape, value.shape)], self._value)


class Slice(Described):
    """Parts of an array: for each dimension a slice, a number, a list of numbers, None or True for all, or ... for the
    dimensions that are left. No dimension is lost."""

    def __init__(self, *slices):
        self._slices = slices or (None,)

    def __call__(self, value):
        value = np.asarray(value)
        given = list(self._slices)
        if any(one is Ellipsis for one in given):
            place = next(i for i, one in enumerate(given) if one is Ellipsis)
            given[place : place + 1] = [None] * (value.ndim - len(given) + 1)
        if len(given) > value.ndim:
            raise RuntimeError(f"[Slice] too many slices, got {len(given)} for {value.shape}, expected one for each")
        for axis, one in enumerate(given):
            if one is None or one is True:
                continue
            index = [one] if isinstance(one, int) else one
            value = value[(slice(None),) * axis + (index,)]
        return value


class Unique(Described):
    """The elements of an array, each once and in the order in which they come first, with two more columns: the number
    of each element among these, and how often each of these stands there."""

    def __call__(self, value):
        found = np.asarray(value)
        if found.ndim < 1:
            raise RuntimeError(f"[Unique] an array of one dimension or more is needed, got {found.shape}, expected one")
        _, first, places, counts = np.unique(found, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(first)
        numbers = np.argsort(order)[places.reshape(-1)]
        return found.reshape(-1)[first[order]], numbers.astype(np.int32), counts[order].astype(np.int32)


def generator_of_call(step):
    """The random numbers of a call outside of `map`: others in every call. After `set_seed` each map begins with the
    same ones."""
    calls = _CALLS if get_seed() is None else step.__dict__.setdefault("_calls", itertools.count())
    return np.random.default_rng([seed_or_default(), next(calls)])


def _through(maps, values, generator):
    """The columns, as a tuple, that maps give one after the other. Those with random numbers take them from the
    generator, wherever they stand in others."""
    for one in maps:
        if isinstance(one, Compose):
            values = _through(one.transforms, values, generator)
            continue
        if isinstance(one, _Drawn):
            values = _through(one.chosen(generator), values, generator)
            continue
        if getattr(one, "takes_columns", False):
            made = one.drawn_columns(values, generator)
        elif hasattr(one, "drawn_of") and len(values) == 1:
            made = one.drawn_of(values[0], generator)
        else:
            made = one(*values)
        values = made if isinstance(made, tuple) else (made,)
    return values


def applied(step, value, generator):
    """The value, or the tuple of columns, that a map, drawn or not, or a function gives."""
    made = _through([step], (value,), generator)
    return made if len(made) > 1 else made[0]


class Compose(Described):
    """Several maps, one after the other, as one: the argument of `map`, or a call with the values of a row, which gives
    the value, or a tuple of several. Raises TypeError for an empty list and for what cannot be called."""

    def __init__(self, transforms: Sequence[Callable]):
        if not isinstance(transforms, (list, tuple)) or not transforms:
            raise TypeError(f"[Compose] not a list of transforms, got {transforms!r}, expected one or more in a list")
        self.transforms = list(transforms)

    def __call__(self, *values):
        for one in self.transforms:
            made = one(*values)
            values = made if isinstance(made, tuple) else (made,)
        return values if len(values) > 1 else values[0]


class _Drawn(Described):
    """Maps that are chosen at random for each row."""

    def __init__(self, transforms):
        where = type(self).__name__
        if not isinstance(transforms, (list, tuple)) or not transforms:
            raise TypeError(f"[{where}] not a list of transforms, got {transforms!r}, expected one or more in a list")
        if not all(callable(one) for one in transforms):
            raise TypeError(f"[{where}] a transform is not a function, got {transforms!r}, expected transforms")
        self.transforms = list(transforms)

    def seeded(self, seed):
        """The same maps, whose choices follow from a seed, an epoch and a row."""
        return _OfSeed(self, seed)

    def chosen(self, drawn):
        """The maps for a row, in their order."""
        raise NotImplementedError

    def __call__(self, *values):
        made = _through([self], values, generator_of_call(self))
        return made if len(made) > 1 else made[0]


class _OfSeed:
    def __init__(self, maps, seed):
        self._maps, self._seed = maps, seed

    def apply_all(self, values, epoch, row):
        """The columns of a row."""
        return list(_through([self._maps], tuple(values), np.random.default_rng((self._seed, epoch, row))))

    def __call__(self, *values):
        return self._maps(*values)


class RandomApply(_Drawn):
    """All of several maps in their order, or with the probability 1 - `prob` none of them."""

    def __init__(self, transforms: Sequence[Callable], prob: float = 0.5):
        super().__init__(transforms)
        if not 0 <= prob <= 1:
            raise ValueError(f"[RandomApply] prob out of range, got {prob}, expected 0 to 1")
        self.prob = prob

    def chosen(self, drawn):
        return self.transforms if drawn.random() < self.prob else []


class RandomChoice(_Drawn):
    """One of several maps, each as likely as the others."""

    def chosen(self, drawn):
        return [self.transforms[int(drawn.integers(len(self.transforms)))]]


class RandomOrder(_Drawn):
    """All of several maps, in a drawn order."""

    def chosen(self, drawn):
        return [self.transforms[i] for i in drawn.permutation(len(self.transforms))]


def not_random(function):
    """Marks a map as one without random numbers; here it has no effect."""
    function.random = False
    return function
