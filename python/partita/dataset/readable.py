"""How data sets are read: iterators over rows or batches."""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Iterator, Sequence

import numpy as np

from partita import _core, context
from partita._warnings import warn
from partita.common.tensor import Tensor
from partita.communication import management as ranks
from partita.dataset import flows
from partita.dataset.columns import names_or_none, require_columns
from partita.dataset.workers import ahead, in_order

_OTHER_TYPES = ("differs in type from the first row", "gives other types than for the first batch")


class Readable:
    """The part of `Dataset` that iterates, and says how its rows can be read."""

    def rows_of_batches(self, shard=None):
        """The rows of the library for a training, out of their batches. Rows may be batches that the script made: then
        all columns have as many rows. Raises ValueError for single rows."""
        rows = self.rows(shard)
        if self.get_init_step():
            raise NotImplementedError(
                f"[set_init_step] a training of Model begins with the first batch, got step {self.get_init_step()}, "
                "expected skip(step) for one epoch, a loop of your own, or partita train --resume"
            )
        rows = rows if self._is_loose() else ahead(rows, self._count_workers())
        if self._batch_size is not None:
            return rows
        if len({tuple(shape[:1]) for _, _, shape in rows.columns}) > 1 or not rows.columns[0][2]:
            columns = ", ".join(f"{name} {kind}{shape}" for name, kind, shape in rows.columns)
            raise ValueError(
                f"[dataset] single rows in place of batches, got the columns {columns}, expected "
                "dataset = dataset.batch(SIZE) before the training"
            )
        return rows.unbatch()

    def _is_loose(self):
        """Whether the library cannot hold the rows."""
        if self._loose is None:
            self._loose = any(one._is_loose() for one in self._parents) or self._varies()
        return self._loose

    def _varies(self):
        """Whether rows look unlike, of those that the library could hold otherwise."""
        return False

    def _by_number(self, shard):
        """Rows that are made one by one, of loose rows with a number each: (numbers as rows of the library, names of
        columns, function of a number, an epoch and a place); None if there are no numbers."""
        return None

    def _inexact(self):
        """Columns of which trainings read other values than iterators give: files as long as the largest. "" stands for
        rows of partial batches, which trainings leave out."""
        return set().union(*(one._inexact() for one in self._parents))

    def _reads_flow(self):
        return self._is_loose() or bool(self._inexact())

    def _whole(self, rows):
        """The rows without those of a last partial batch, so that repeated passes consist of whole batches."""
        if self._batch_size is None or len(rows) % self._batch_size == 0:
            return rows
        if not self._drop_remainder:
            warn(
                f"[repeat] the last batch is not full and is dropped, got {len(rows)} rows in batches of "
                f"{self._batch_size}"
            )
        return rows.take(len(rows) // self._batch_size * self._batch_size)

    def _shards_of_a_step(self):
        """The shards that a loop reads side by side: all of the script's where ranks are threads of this process, so
        that a batch has the rows of all ranks."""
        shards, _ = self._shards
        alone = context.get_auto_parallel_context("parallel_mode") == "stand_alone"
        if shards == 1 or alone or ranks.is_process() or ranks.in_process_ranks() == 1:
            return [None]
        if self._batch_size is None and any(len(shape) == 0 for shape in self.output_shapes()):
            warn(
                "[dataset] only batches hold rows of several ranks, got single rows with the columns "
                f"{', '.join(self.get_col_names())}: those of one shard are read"
            )
            return [None]
        return [(shards, i) for i in range(shards)]

    def _batches(self, epoch):
        """Rows or batches of an epoch, as lists of the arrays of columns."""
        shards, given = self._shards_of_a_step(), 0
        if not self._reads_flow():
            try:
                for given, batch in enumerate(self._library_batches(epoch, shards), 1):
                    yield batch
                return
            except (TypeError, ValueError) as error:
                if not any(text in str(error) for text in _OTHER_TYPES):
                    raise
                self._loose, self._built, self._flows = True, {}, {}
        parts = [itertools.islice(self.flow(shard).epoch(epoch), given, None) for shard in shards]
        for read in zip(*parts):
            yield read[0] if len(read) == 1 else [np.concatenate(arrays) for arrays in zip(*read)]

    def _library_batches(self, epoch, shards):
        parts, step = [self.rows(shard) for shard in shards], self._batch_size or 1
        size = len(parts[0])
        last = size // step * step if self._drop_remainder else size

        def read_from(first):
            return [rows.read(epoch, list(range(first, min(first + step, last)))) for rows in parts]

        for read in in_order(read_from, range(0, last, step), self._count_workers()):
            arrays = read[0] if len(read) == 1 else [_joined(arrays) for arrays in zip(*read)]
            yield arrays if self._batch_size is not None else [_row_of(one) for one in arrays]

    def _count_workers(self):
        """Threads that read batches, or single rows."""
        return 1 if self._waiting() else max(one._workers for one in self._line())

    def _line(self):
        """This data set and all that it is made of."""
        return [self, *(one for parent in self._parents for one in parent._line())]

    def _values(self, num_epochs, columns, output_numpy):
        names = self.get_col_names()
        chosen = [names.index(name) for name in columns or names if not name.startswith(flows.HIDDEN)]
        given = flows.value_of if output_numpy else _as_tensor
        for _ in range(num_epochs) if num_epochs > 0 else itertools.count():
            skipped = self._begin_epoch()
            epoch, self._epoch = self._epoch, self._epoch + 1
            for arrays in itertools.islice(self._batches(epoch), skipped, None):
                yield [given(arrays[c]) for c in chosen]

    def create_tuple_iterator(
        self,
        columns: Sequence[str] | None = None,
        num_epochs: int = -1,
        output_numpy: bool = False,
        do_copy: bool = False,
    ) -> Iterator[list]:
        """Iterates over rows or batches as lists of the values of `columns`, or of all: Tensors, or NumPy arrays with
        `output_numpy`; texts are NumPy arrays in any case. Each iteration is one epoch, whatever `num_epochs` is.
        Raises ValueError for unknown columns."""
        _require_epochs("create_tuple_iterator", num_epochs, output_numpy)
        columns = names_or_none("create_tuple_iterator", "columns", columns)
        if columns:
            require_columns("create_tuple_iterator", columns, self.get_col_names())
        return _Iterator(lambda: self._values(1, columns, output_numpy))

    def create_dict_iterator(
        self, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False
    ) -> Iterator[dict]:
        """Iterates over rows or batches as dicts from the names of columns to values: Tensors, or NumPy arrays with
        `output_numpy`; texts are NumPy arrays in any case. Each iteration is one epoch, whatever `num_epochs` is."""
        _require_epochs("create_dict_iterator", num_epochs, output_numpy)
        names = [name for name in self.get_col_names() if not name.startswith(flows.HIDDEN)]
        return _Iterator(lambda: (dict(zip(names, values)) for values in self._values(1, None, output_numpy)))

    def __iter__(self):
        return iter(self._values(1, None, False))


def _require_epochs(where, num_epochs, output_numpy):
    """Raises TypeError or ValueError for options that are none."""
    if isinstance(num_epochs, bool) or not isinstance(num_epochs, numbers.Integral):
        raise TypeError(f"[{where}] num_epochs is not an integer, got {num_epochs!r}, expected one from 1, or -1")
    if num_epochs < -1 or num_epochs == 0:
        raise ValueError(f"[{where}] bad num_epochs, got {num_epochs}, expected an integer from 1, or -1")
    if not isinstance(output_numpy, bool):
        raise TypeError(f"[{where}] output_numpy is not a bool, got {output_numpy!r}, expected True or False")


def _as_tensor(value):
    """A Tensor; texts stay arrays of NumPy, and objects are dicts of values."""
    if isinstance(value, _core.Array):
        return Tensor._from_array(value)
    if isinstance(value, dict):
        return {name: _as_tensor(one) for name, one in value.items()}
    return value if value.dtype.kind in "USO" else Tensor(value)


def _joined(arrays):
    """The rows of several arrays as one."""
    return _core.Array(np.concatenate([np.asarray(one) for one in arrays]))


def _row_of(array):
    """The row of an array that has one; those of several shards, which begin with rows themselves, as one."""
    values = np.asarray(array)
    return _core.Array(np.array(values[0] if len(values) == 1 else np.concatenate(list(values))))


class _Iterator:
    """Goes through one epoch each time that it is asked for an iterator."""

    def __init__(self, make):
        self._make, self._running = make, None

    def __iter__(self):
        self._running = self._make()
        return self

    def __next__(self):
        if self._running is None:
            self._running = self._make()
        return next(self._running)

    get_next = __next__

    def stop(self):
        """Ends the iteration."""
        self._running = iter(())

    release = stop
