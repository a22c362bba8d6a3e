"""Maps of whole batches: those after `batch`, and functions that `batch` calls with the rows of each."""

from __future__ import annotations

import threading

import numpy as np

from partita import _core
from partita.common.tensor import Tensor
from partita.dataset.workers import Once

_data = _core.data
_KEPT_EPOCHS = 4  # whose order of rows is kept; earlier ones are drawn anew
_KEPT = 2  # batches of which a thread reads rows


class BatchInfo:
    """The last argument of a function that `batch` calls: `get_epoch_num()` and `get_batch_num()` are the numbers of
    the epoch, and of the batch in it, from 0."""

    def __init__(self, epoch: int, batch: int):
        self._epoch, self._batch = epoch, batch

    def get_batch_num(self) -> int:
        return self._batch

    def get_epoch_num(self) -> int:
        return self._epoch


class OfRows:
    """A function of lists, one for each column, with the rows of a batch, and a BatchInfo: as a function of the arrays
    of a batch. It gives lists, or arrays."""

    def __init__(self, function):
        self._function = function

    def __call__(self, *columns):
        """The result for a first batch."""
        return tuple(self.batch_arrays(columns, 0, 0))

    def batch_arrays(self, columns, epoch, batch):
        made = self._function(*[list(one) for one in columns], BatchInfo(epoch, batch))
        made = made if isinstance(made, tuple) else (made,)
        return [stacked(one, len(columns[0])) for one in made]


def stacked(rows, count):
    """The rows that a function of lists gives, as an array: a list has `count`, an array any number. Raises ValueError
    for unlike rows, or another number."""
    if isinstance(rows, Tensor):
        return rows.asnumpy()
    if isinstance(rows, list) and len(rows) != count:
        raise ValueError(
            f"[batch] per_batch_map gave another number of rows, got a list of {len(rows)}, expected {count}, or an "
            "array"
        )
    values = [one.asnumpy() if isinstance(one, Tensor) else np.asarray(one) for one in rows]
    if len({one.shape for one in values}) > 1:
        raise ValueError(
            f"[batch] per_batch_map gave rows of different shapes, got {sorted({one.shape for one in values})}, "
            "expected one"
        )
    return np.stack(values)


class MappedBatches:
    """The mapping of whole batches of rows of the library: rows again, of which `ratio` stand for each that went in."""

    def __init__(self, mapping, batch_size, drop_remainder, workers=1):
        self._mapping, self._batch_size, self._drop_remainder = mapping, batch_size, drop_remainder
        self._ratio, self._workers = None, workers

    def probe(self, rows):
        """How many rows a row becomes; None if the map gives no multiple of the rows."""
        self._function(rows, 0)
        return self._ratio

    def _function(self, rows, seed):
        """(function of a batch, types of the columns that it gives)."""
        columns = list(rows.columns)
        size = min(self._batch_size, len(rows))
        first = rows.read(0, list(range(size)))
        function, names = self._mapping.of_batches(columns, seed)
        made = _batch_of(function, first, 0, 0)
        given = {len(one) if one.ndim else 0 for one in made}
        if len(given) > 1 or not given or min(given) < 1 or min(given) % size:
            return None, []
        self._ratio = given.pop() // size
        types = [(name, _core.Array(one[:1]).dtype, list(one.shape[1:])) for name, one in zip(names, made)]
        return function, types

    def __call__(self, rows, seed):
        function, types = self._function(rows, seed)
        size = len(rows) // self._batch_size * self._batch_size if self._drop_remainder else len(rows)
        read = _Reader(rows, function, types, size, self._batch_size, self._ratio, _KEPT * self._workers)
        return _data.python_rows(types, size * self._ratio, read)


def _batch_of(function, arrays, epoch, batch):
    """The arrays that the function gives for a batch."""
    made = function([np.asarray(one) for one in arrays], epoch, batch)
    return [np.ascontiguousarray(one) for one in made]


class _Reader:
    """Rows of mapped batches: a batch is mapped when its first row is read, and kept until later ones are."""

    def __init__(self, rows, function, types, size, batch_size, ratio, most):
        self._rows, self._function, self._types, self._most = rows, function, types, most
        self._size, self._batch_size, self._ratio = size, batch_size, ratio
        self._lock, self._kept = threading.Lock(), {}

    def __call__(self, epoch, index):
        batch, place = divmod(index, self._batch_size * self._ratio)
        with self._lock:
            kept = self._kept.get((epoch, batch))
            if kept is None:
                while len(self._kept) >= self._most:
                    del self._kept[next(iter(self._kept))]
                kept = self._kept[epoch, batch] = Once(lambda: self._made(epoch, batch))
        return [np.array(one[place]) for one in kept.get()]

    def _made(self, epoch, batch):
        first = batch * self._batch_size
        indices = list(range(first, min(first + self._batch_size, self._size)))
        made = _batch_of(self._function, self._rows.read(epoch, indices), epoch, batch)
        expected = [(len(indices) * self._ratio, *shape) for _, _, shape in self._types]
        types = [dtype for _, dtype, _ in self._types]
        if [one.shape for one in made] != expected or [_core.Array(one[:1]).dtype for one in made] != types:
            raise ValueError(
                f"[map] a map after batch gives other types than for the first batch, got "
                f"{[(one.shape, str(one.dtype)) for one in made]}, expected {expected}"
            )
        return made


class PythonSampler:
    """Rows in the order of the numbers that something iterable gives, anew in each epoch."""

    def __init__(self, numbers):
        self._numbers, self._lock, self._epochs, self._drawn = numbers, threading.Lock(), {}, 0
        self._count = len(numbers) if hasattr(numbers, "__len__") else len(self._of_epoch(0))

    def shards(self):
        """Cuts nothing: the numbers are those of this rank."""
        return 1, 0

    def _of_epoch(self, epoch):
        with self._lock:
            while self._drawn <= epoch:
                self._draw(self._drawn)
                self._drawn += 1
            if epoch not in self._epochs:
                self._draw(epoch)
            return self._epochs[epoch]

    def _draw(self, epoch):
        self._epochs[epoch] = np.array([int(one) for one in self._numbers], np.int64)
        while len(self._epochs) > _KEPT_EPOCHS:
            self._epochs.pop(next(iter(self._epochs)))

    def choose(self, rows, seed, shard):
        """The rows as the library reads them."""
        columns, size = list(rows.columns), len(rows)

        def read(epoch, index):
            numbers = self._of_epoch(epoch)
            if len(numbers) != self._count or not 0 <= numbers[index] < size:
                raise ValueError(
                    f"[sampler] bad numbers of rows in epoch {epoch + 1}, got {len(numbers)} of them, expected "
                    f"{self._count} from 0 to {size - 1}"
                )
            return [np.array(np.asarray(one)[0]) for one in rows.read(epoch, [numbers[index]])]

        return _data.python_rows(columns, self._count, read)
