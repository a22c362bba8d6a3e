"""Which rows are taken, and in which order."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Iterable, Sequence

import numpy as np

from partita._described import Described
from partita.dataset.batched import PythonSampler


class BuiltinSampler(Described):
    """The base of samplers. One with a child chooses among the rows that the child chooses."""

    num_samples = None

    def __init__(self, num_samples: int | None = None):
        self.child_sampler = None
        self.num_samples = _count(type(self).__name__, num_samples)

    def add_child(self, sampler: BuiltinSampler) -> None:
        """Chooses among the rows of another sampler. Raises RuntimeError if there is one."""
        if self.child_sampler is not None and sampler is not None:
            raise RuntimeError(f"[{type(self).__name__}] a second child, got add_child again, expected one call")
        self.child_sampler = sampler

    def get_child(self) -> BuiltinSampler | None:
        return self.child_sampler

    def get_num_samples(self) -> int | None:
        return self.num_samples

    def shards(self):
        return (1, 0) if self.child_sampler is None else self.child_sampler.shards()

    def choose(self, rows, seed, shard):
        """The rows of the library that are taken. `shard` is (shards, number) in place of the sampler's own."""
        if self.child_sampler is not None:
            rows = self.child_sampler.choose(rows, seed + 1, shard)
        rows = self.chosen(rows, seed, shard)
        return rows if self.num_samples is None else rows.take(min(self.num_samples, len(rows)))

    def chosen(self, rows, seed, shard):
        """The rows, before there are too many."""
        raise NotImplementedError

    def of_labels(self, labels):
        """Tells what `labels()` gives: the labels of the rows, where a sampler needs them."""


class Sampler(BuiltinSampler):
    """The base of samplers of one's own: `__iter__` gives numbers of rows, from 0, anew in each epoch. While it does
    so, `dataset_size` is the number of rows."""

    def __init__(self, num_samples: int | None = None):
        super().__init__(num_samples)
        self.dataset_size = 0

    def __iter__(self):
        raise NotImplementedError(f"[{type(self).__name__}] no numbers of rows, got a call, expected a method __iter__")

    def chosen(self, rows, seed, shard):
        self.dataset_size = len(rows)
        return PythonSampler(_Iterated(self)).choose(rows, seed, shard)


class _Iterated:
    """The numbers of a sampler, which may also have a length or elements of another meaning."""

    def __init__(self, sampler):
        self._sampler = sampler

    def __iter__(self):
        return iter(self._sampler)


class IterSampler(Sampler):
    """The numbers of something iterable."""

    def __init__(self, sampler: Iterable[int], num_samples: int | None = None):
        super().__init__(num_samples)
        self._numbers = sampler

    def __iter__(self):
        return iter(self._numbers)


def _count(where, num_samples):
    """A number of rows; None for all of them."""
    if num_samples is None:
        return None
    if isinstance(num_samples, bool) or not isinstance(num_samples, numbers.Integral) or num_samples < 0:
        raise ValueError(f"[{where}] bad num_samples, got {num_samples!r}, expected an integer from 0")
    return int(num_samples) or None


class SequentialSampler(BuiltinSampler):
    """The rows in their order, from the number `start_index` on, at most `num_samples` of them."""

    def __init__(self, start_index: int | None = None, num_samples: int | None = None):
        super().__init__(num_samples)
        self.start_index = start_index or 0

    def chosen(self, rows, seed, shard):
        return rows.skip(self.start_index) if self.start_index else rows


class _OfEpochs:
    """Numbers of rows that a function draws from a generator of each epoch."""

    def __init__(self, seed, draw):
        self._seed, self._draw, self._epoch = seed, draw, 0

    def __iter__(self):
        drawn = np.random.default_rng((self._seed, self._epoch))
        self._epoch += 1
        return iter(self._draw(drawn).tolist())


def _drawn(rows, seed, draw):
    return PythonSampler(_OfEpochs(seed, draw)).choose(rows, seed, (1, 0))


class RandomSampler(BuiltinSampler):
    """The rows in a new order in each epoch; with `replacement` they may come more than once. At most `num_samples`
    rows. Raises ValueError for a negative number."""

    def __init__(self, replacement: bool = False, num_samples: int | None = None, shuffle: bool | None = None):
        super().__init__(num_samples)
        self.replacement = replacement

    def chosen(self, rows, seed, shard):
        if not self.replacement:
            return rows.shuffle(seed)
        size, count = len(rows), self.num_samples or len(rows)
        return _drawn(rows, seed, lambda drawn: drawn.integers(size, size=count))


class WeightedRandomSampler(BuiltinSampler):
    """Rows that are drawn with probabilities in proportion to `weights`, of the first rows: `num_samples` of them, or
    as many as there are weights. Without `replacement` each comes at most once. Raises ValueError for negative weights,
    or if all are 0, RuntimeError for more weights than rows, or more samples than there are rows to draw without
    replacement."""

    def __init__(self, weights: Sequence[float], num_samples: int | None = None, replacement: bool = True):
        super().__init__(num_samples)
        self.weights = np.array(weights, np.float64)
        if self.weights.ndim != 1 or self.weights.min(initial=0) < 0 or not self.weights.sum() > 0:
            raise ValueError(
                f"[WeightedRandomSampler] bad weights, got {weights!r}, expected numbers from 0, not all of them 0"
            )
        self.replacement = replacement

    def chosen(self, rows, seed, shard):
        size, count = len(rows), self.num_samples or len(self.weights)
        if len(self.weights) > size or not self.replacement and count > int((self.weights > 0).sum()):
            raise RuntimeError(
                f"[WeightedRandomSampler] too few rows, got {len(self.weights)} weights and {count} samples of {size} "
                "rows, expected as many rows"
            )
        shares, replacement = self.weights / self.weights.sum(), self.replacement
        return _drawn(rows, seed, lambda drawn: drawn.choice(len(shares), count, replacement, shares))


class PKSampler(BuiltinSampler):
    """`num_val` rows of each class, class by class; `class_column` has the classes, of which `num_class` are taken, or
    all."""

    def __init__(
        self,
        num_val: int,
        num_class: int | None = None,
        shuffle: bool = False,
        class_column: str = "label",
        num_samples: int | None = None,
    ):
        super().__init__(num_samples)
        if not isinstance(num_val, int) or num_val < 1:
            raise ValueError(f"[PKSampler] bad num_val, got {num_val!r}, expected an integer from 1")
        if num_class is not None:
            raise NotImplementedError("[PKSampler] num_class is not supported, got one, expected None")
        self.num_val, self.shuffle, self.class_column, self._labels = num_val, shuffle, class_column, None

    def of_labels(self, labels):
        self._labels = labels

    def chosen(self, rows, seed, shard):
        found = np.array([int(np.asarray(one).reshape(-1)[0]) for one in self._labels(self.class_column)])
        classes, count, shuffles = (
            [np.flatnonzero(found == one) for one in np.unique(found)],
            self.num_val,
            self.shuffle,
        )

        def draw(drawn):
            made = np.concatenate([one[drawn.integers(len(one), size=count)] for one in classes])
            return drawn.permutation(made) if shuffles else made

        return _drawn(rows, seed, draw)


class DistributedSampler(BuiltinSampler):
    """Every num_shards-th row from the number `shard_id` on, in a new order in each epoch unless `shuffle` is False.
    All shards have as many rows: the last ones begin again with the first rows. With an `offset` the first rows are
    those of the shard with this number. Raises ValueError for a shard that is not one of `num_shards`."""

    def __init__(
        self, num_shards: int, shard_id: int, shuffle: bool = True, num_samples: int | None = None, offset: int = -1
    ):
        super().__init__(num_samples)
        if not 0 <= shard_id < num_shards:
            raise ValueError(f"[DistributedSampler] shard out of range, got {shard_id}, expected 0 to {num_shards - 1}")
        if not isinstance(offset, int) or not -1 <= offset <= num_shards:
            raise ValueError(f"[DistributedSampler] bad offset, got {offset!r}, expected -1 to {num_shards}")
        self.num_shards, self.shard_id, self.shuffle, self.offset = num_shards, shard_id, shuffle, offset

    def shards(self):
        return self.num_shards, self.shard_id

    def chosen(self, rows, seed, shard):
        rows = rows.shuffle(seed) if self.shuffle else rows
        if self.offset == -1:
            return rows.shard(*shard)
        shards, own = shard
        places = (shards * i + own - self.offset for i in range((len(rows) + self.offset) // shards))
        return rows.select([one % len(rows) for one in places if one >= 0])


class SubsetSampler(BuiltinSampler):
    """The rows with these numbers, from 0, in this order."""

    def __init__(self, indices: Sequence[int], num_samples: int | None = None):
        super().__init__(num_samples)
        try:
            self.indices = [operator.index(one) for one in indices]
        except TypeError:
            raise TypeError(
                f"[{type(self).__name__}] the numbers of rows are no integers, got {indices!r}, expected a list"
            ) from None

    def chosen(self, rows, seed, shard):
        return rows.select(self.indices)


class SubsetRandomSampler(SubsetSampler):
    """The rows with these numbers, from 0, in a new order in each epoch."""

    def chosen(self, rows, seed, shard):
        return rows.select(self.indices).shuffle(seed)
