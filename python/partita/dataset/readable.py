"""How data sets are read: iterators over rows or batches."""

import itertools

import numpy as np

from partita import _core, context
from partita._warnings import warn
from partita.common.tensor import Tensor
from partita.communication import management as ranks
from partita.dataset import flows
from partita.dataset.columns import names_or_none, require_columns
from partita.dataset.workers import in_order

_OTHER_TYPES = ("differs in type from the first row", "gives other types than for the first batch")


class Readable:
    """The part of `Dataset` that iterates."""

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

    def create_tuple_iterator(self, columns=None, num_epochs=-1, output_numpy=False, do_copy=False):
        """Iterates over rows or batches as lists of the values of columns: Tensors, or NumPy arrays with
        `output_numpy`. Each iteration is one epoch. Raises ValueError for unknown columns."""
        columns = names_or_none("create_tuple_iterator", "columns", columns)
        if columns:
            require_columns("create_tuple_iterator", columns, self.get_col_names())
        return _Iterator(lambda: self._values(1, columns, output_numpy))

    def create_dict_iterator(self, num_epochs=-1, output_numpy=False, do_copy=False):
        """Iterates over rows or batches as dicts from the names of columns to values. Each iteration is one epoch."""
        names = [name for name in self.get_col_names() if not name.startswith(flows.HIDDEN)]
        return _Iterator(lambda: (dict(zip(names, values)) for values in self._values(1, None, output_numpy)))

    def __iter__(self):
        return iter(self._values(1, None, False))


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
