"""Rows that Python reads one after the other: columns of texts, of objects, and of arrays of any shape."""

import collections
import itertools
import threading

import numpy as np

from partita import _core
from partita.dataset.batched import BatchInfo, stacked
from partita.dataset.columns import require_columns, require_distinct
from partita.dataset.refused import noting
from partita.dataset.transforms.rows import padded
from partita.dataset.workers import in_order

_data = _core.data
_READ = 64  # rows that are read from the library at a time
HIDDEN = "_meta-"  # beginning of names of columns that iterators and trainings leave out
_WINDOW = 4096  # maximum number of rows of an epoch that a training may ask for again
_WINDOW_BYTES = 512 << 20  # of these, unless they are fewer than 64


def value_of(value):
    """A value of a row: an array of NumPy, or a dict of these."""
    if isinstance(value, dict):
        return {name: value_of(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        return value.astype(np.float32) if value.dtype == np.longdouble else value
    return value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)


def kind_of(value):
    """(element type, shape) of a value that the library can hold; None for texts and objects."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
        return None
    return value.dtype.str, value.shape


def are_alike(rows):
    """Whether the library can hold rows: all values are numbers, of one type in each column."""
    kinds = [[kind_of(value_of(value)) for value in row] for row in rows]
    return all(None not in row and row == kinds[0] for row in kinds)


class Flow:
    """Rows or batches: `epoch(number)` iterates over lists of the values of the columns `names`. Some are counted
    without reading them, by `count`; `row_count` counts the rows in all batches."""

    row_count = None

    def __init__(self, names, epoch, count=None):
        self.names, self.epoch, self._count = list(names), epoch, count
        require_distinct("dataset", self.names)

    def count(self):
        """Number of rows or batches of the first epoch."""
        if self._count is None or callable(self._count):
            found = self._count() if self._count else None
            self._count = sum(1 for _ in self.epoch(0)) if found is None else found
        return self._count

    def first(self):
        """The first row or batch. Raises ValueError if there is none."""
        for row in self.epoch(0):
            return row
        raise ValueError("[dataset] no rows, got an empty data set, expected one or more")

    def derived(self, epoch, names=None, count=None):
        return Flow(self.names if names is None else names, epoch, count)


def of_library(rows, batch_size, drop_remainder):
    """The rows of the library, in batches unless `batch_size` is None."""
    names, size, step = [name for name, _, _ in rows.columns], len(rows), batch_size or 1
    last = size // step * step if drop_remainder else size

    def epoch(number):
        if batch_size is None:
            for first in range(0, size, _READ):
                read = rows.read(number, list(range(first, min(first + _READ, size))))
                for row in zip(*(np.asarray(one) for one in read)):
                    yield [np.array(value) for value in row]
        else:
            for first in range(0, last, step):
                yield [np.asarray(one) for one in rows.read(number, list(range(first, min(first + step, last))))]

    return Flow(names, epoch, -(-last // step))


def of_numbers(names, numbers, row, workers=1):
    """Rows that `row(number)` gives, for rows of the library that hold their numbers."""

    def read(number):
        for first in range(0, len(numbers), _READ):
            (found,) = numbers.read(number, list(range(first, min(first + _READ, len(numbers)))))
            yield from np.asarray(found).tolist()

    def made(one):
        return [value_of(value) for value in row(one)]

    return Flow(names, lambda number: in_order(made, read(number), workers), len(numbers))


def numbered(numbers, names, function):
    """Rows of the library that a function makes of numbers."""

    def made(values, epoch, place):
        return function(int(np.asarray(values[0])), epoch, place)

    first = np.asarray(numbers.read(0, [0])[0])[0]
    arrays = [_core.Array(value) for value in function(int(first), 0, 0)]
    return numbers.python_map([(name, one.dtype, list(one.shape)) for name, one in zip(names, arrays)], made)


def are_alike_by_number(numbers, names, function):
    """Whether some of the rows that a function makes of numbers have one type and shape."""
    places = sorted({len(numbers) * i // 4 for i in range(min(4, len(numbers)))})
    rows = [function(int(np.asarray(numbers.read(0, [place])[0])[0]), 0, place) for place in places]
    return bool(rows) and are_alike(rows)


def mapped(flow, mapping, seed, callbacks=(), workers=1):
    """Rows through a mapping of `Dataset.map`; `callbacks` hear of them, and each map is called after what they did."""
    function, names = mapping.of_batches([(name, None, None) for name in flow.names], seed)

    def epoch(number):
        numbered = enumerate(flow.epoch(number))
        return in_order(lambda one: function(one[1], number, one[0]), numbered, 1 if callbacks else workers)

    made = flow.derived(_heard(epoch, callbacks) if callbacks else epoch, names, flow.count)
    if flow.row_count is not None:
        made.row_count = lambda: flow.row_count() * len(made.first()[0]) // len(flow.first()[0])
    return made


def _heard(epoch, callbacks):
    """The rows of epochs, and calls of methods of DSCallback around them."""
    told = []  # numbers of epochs that have begun

    def tell(name, *numbers):
        for one in callbacks:
            one.hear(name, *numbers)

    def with_callbacks(number):
        if not told:
            tell("ds_begin", 0, 0, 0)
        before = sum(told)
        tell("ds_epoch_begin", number + 1, 0, before)
        told.append(0)
        for row in epoch(number):
            told[-1] += 1
            step = number + 1, told[-1], before + told[-1]
            tell("ds_step_begin", *step)
            yield row
            tell("ds_step_end", *step)
        tell("ds_epoch_end", number + 1, told[-1], before + told[-1])

    return with_callbacks


def filtered(flow, predicate, columns):
    """Rows for which a function of columns holds."""
    places = [flow.names.index(name) for name in columns or flow.names]

    def epoch(number):
        for i, row in enumerate(flow.epoch(number)):
            with noting(lambda: f"[filter] in the predicate, at row or batch {i} of epoch {number + 1}"):
                keeps = bool(value_of(predicate(*[row[place] for place in places])))
            if keeps:
                yield row

    return flow.derived(epoch)


def joined_values(where, name, values):
    """The values of a column as one array, or as a dict of arrays. Raises RuntimeError for unlike ones."""
    if isinstance(values[0], dict):
        return {key: joined_values(where, f"{name}[{key!r}]", [one[key] for one in values]) for key in values[0]}
    shapes, kinds = {one.shape for one in values}, {one.dtype.kind for one in values}
    types = {one.dtype for one in values} if kinds != {"U"} and kinds != {"S"} else {None}
    if len(shapes) > 1 or len(types) > 1:
        found = sorted(map(str, shapes if len(shapes) > 1 else types))
        raise RuntimeError(
            f"[{where}] the rows of a batch differ in column '{name}', got {', '.join(found)}, expected one shape and "
            "type: padded_batch, per_batch_map, or a map such as vision.Resize before"
        )
    return np.stack(values)


def stacked_rows(where, names, rows):
    """Rows as a batch."""
    return [joined_values(where, name, values) for name, values in zip(names, map(list, zip(*rows)))]


class Collation:
    """The maker of a batch of rows: a function of lists, padding, or neither."""

    def __init__(self, names, function=None, inputs=None, outputs=None, padding=None):
        self._function, self._padding, self._given = function, padding, list(names)
        require_columns("batch", inputs or [], self._given)
        require_columns("padded_batch", () if padding is None else padding.info, self._given)
        self._inputs = [self._given.index(name) for name in inputs or names]
        self._outputs = list(outputs or [self._given[place] for place in self._inputs])
        self.names = self._given if function is None else self._order()
        require_distinct("batch", self.names)

    def _order(self):
        if len(self._outputs) == len(self._inputs):
            new = dict(zip(self._inputs, self._outputs))
            return [new.get(i, name) for i, name in enumerate(self._given)]
        return self._outputs + [name for i, name in enumerate(self._given) if i not in self._inputs]

    def __call__(self, rows, epoch, batch):
        if self._padding is not None:
            return self._padding(self._given, rows)
        if self._function is None:
            return stacked_rows("batch", self._given, rows)
        made = self._function(*[[row[i] for row in rows] for i in self._inputs], BatchInfo(epoch, batch))
        made = made if isinstance(made, tuple) else (made,)
        if len(made) != len(self._outputs):
            raise ValueError(f"[batch] wrong number of columns, got {len(made)}, expected {len(self._outputs)}")
        values = {name: stacked(one, len(rows)) for name, one in zip(self._outputs, made)}
        return [
            values[name]
            if name in values
            else joined_values("batch", name, [row[self._given.index(name)] for row in rows])
            for name in self.names
        ]


def batched(flow, size, drop_remainder, collation, workers=1):
    """Rows in batches of `size`, or of as many as a function of a BatchInfo says."""

    def cut(number):
        rows = flow.epoch(number)
        for batch in itertools.count():
            wanted = size(BatchInfo(number, batch)) if callable(size) else size
            taken = list(itertools.islice(rows, wanted))
            if not taken or drop_remainder and len(taken) < wanted:
                return
            yield taken, number, batch

    def epoch(number):
        return in_order(lambda one: collation(*one), cut(number), workers)

    def count():
        return flow.count() // size if drop_remainder else -(-flow.count() // size)

    made = flow.derived(epoch, collation.names, None if callable(size) else count)
    if not callable(size):
        made.row_count = lambda: flow.count() // size * size if drop_remainder else flow.count()
    return made


class Padding:
    """Rows padded to one shape: {column: (shape, value)}; None stands for the largest of the rows, {} for all of it."""

    def __init__(self, info, where="padded_batch"):
        """Raises TypeError or ValueError for an entry that is no pair of a shape and a value."""
        if not isinstance(info or {}, dict):
            raise TypeError(f"[{where}] pad_info is no dict, got {info!r}, expected {{column: (shape, value)}}")
        self.info = {name: (None, None) if one is None else one for name, one in (info or {}).items()}
        for name, one in self.info.items():
            pair = isinstance(one, (tuple, list))
            if not pair or len(one) != 2 or not isinstance(one[0], (tuple, list, type(None))):
                raise (ValueError if pair else TypeError)(
                    f"[{where}] no padding of column '{name}' in pad_info, got {one!r}, expected (shape, value), "
                    "such as ([None, 8], 0)"
                )

    def __call__(self, names, rows):
        columns = zip(names, map(list, zip(*rows)))
        return [joined_values("padded_batch", name, self._padded(name, values)) for name, values in columns]

    def _padded(self, name, values):
        if self.info and name not in self.info or isinstance(values[0], dict):
            return values
        shape, value = self.info.get(name, (None, None))
        ranks = {one.ndim for one in values}
        if shape is not None:
            ranks.add(len(shape))
        if len(ranks) > 1:
            raise RuntimeError(
                f"[padded_batch] wrong number of dimensions in column '{name}', got {sorted(ranks)}, expected one"
            )
        largest = np.max([one.shape for one in values], 0).astype(int) if values[0].ndim else ()
        wanted = [int(m) if s in (None, -1) else int(s) for s, m in zip(shape or [None] * len(largest), largest)]
        return [padded(one, wanted, value) for one in values]


def bucketed(flow, boundaries, sizes, length_of, padding_of, drop_remainder):
    """Batches of rows of similar lengths: a bucket is given when it has the number of rows of its size."""

    def epoch(number):
        buckets = collections.defaultdict(list)
        for row in flow.epoch(number):
            length = length_of(row)
            bucket = sum(1 for one in boundaries if length >= one)
            buckets[bucket].append(row)
            if len(buckets[bucket]) == sizes[bucket]:
                yield padding_of(bucket)(flow.names, buckets.pop(bucket))
        if not drop_remainder:
            for bucket in sorted(buckets):
                yield padding_of(bucket)(flow.names, buckets[bucket])

    return flow.derived(epoch)


def shuffled(flow, buffer_size, seed):
    """Rows in an order that is drawn within a buffer, anew in each epoch."""

    def epoch(number):
        drawn, buffer = np.random.default_rng((seed, number)), []
        for row in flow.epoch(number):
            buffer.append(row)
            if len(buffer) == buffer_size:
                yield buffer.pop(int(drawn.integers(len(buffer))))
        drawn.shuffle(buffer)
        yield from buffer

    return flow.derived(epoch, count=flow.count)


def repeated(flow, times):
    def epoch(number):
        for one in range(number * times, (number + 1) * times):
            yield from flow.epoch(one)

    return flow.derived(epoch, count=lambda: flow.count() * times)


def cut(flow, first, last=None):
    """Rows from the number `first` to before `last`."""

    def epoch(number):
        return itertools.islice(flow.epoch(number), first, last)

    def count():
        return sum(1 for _ in epoch(0)) if flow._count is None else len(range(flow.count())[first:last])

    return flow.derived(epoch, count=count)


def projected(flow, names):
    places = [flow.names.index(name) for name in names]
    return flow.derived(lambda number: ([row[i] for i in places] for row in flow.epoch(number)), names, flow.count)


def side_by_side(flows):
    """The columns of several flows."""

    def epoch(number):
        return ([value for row in rows for value in row] for rows in zip(*(one.epoch(number) for one in flows)))

    return Flow([name for one in flows for name in one.names], epoch, lambda: min(one.count() for one in flows))


def one_after_the_other(flows):
    """The rows of several flows. Raises RuntimeError if their columns differ."""
    if len({tuple(one.names) for one in flows}) > 1:
        raise RuntimeError(
            f"[concat] the data sets have other columns, got {[one.names for one in flows]}, expected the same names"
        )

    def epoch(number):
        return itertools.chain.from_iterable(one.epoch(number) for one in flows)

    return Flow(flows[0].names, epoch, lambda: sum(one.count() for one in flows))


def flattened(flow, function, flow_of):
    """The rows of the data sets that a function makes of each row."""

    def inner(row):
        return flow_of(function(*row))

    def epoch(number):
        for row in flow.epoch(number):
            yield from inner(row).epoch(number)

    return flow.derived(epoch, inner(flow.first()).names)


def first_epoch(flow, seed=None):
    """The rows as they are in the first epoch, or in an order that is drawn once."""

    def epoch(number):
        rows = flow.epoch(0)
        if seed is None:
            return rows
        rows = list(rows)
        return (rows[i] for i in np.random.default_rng(seed).permutation(len(rows)))

    return flow.derived(epoch, count=flow.count)


class _Reader:
    """Rows of a flow by their numbers, for the library: it asks for them in about their order."""

    def __init__(self, flow, is_batched):
        self._flow, self._is_batched, self._lock, self._epochs = flow, is_batched, threading.Lock(), {}
        self._window = _WINDOW

    def rows(self, epoch):
        """The rows of an epoch, out of their batches."""
        for batch in self._flow.epoch(epoch):
            if self._is_batched:
                yield from ([np.array(value) for value in row] for row in zip(*batch))
            else:
                yield batch

    def __call__(self, epoch, index):
        with self._lock:
            state = self._epochs.get(epoch)
            if state is None or index < state[1]:
                self._epochs = {e: kept for e, kept in self._epochs.items() if epoch - 1 <= e != epoch}
                state = self._epochs[epoch] = [self.rows(epoch), 0, collections.deque()]
            rows, first, kept = state
            while first + len(kept) <= index:
                row = next(rows, None)
                if row is None:
                    raise RuntimeError(
                        f"[dataset] fewer rows than at first, got {first + len(kept)} in epoch {epoch + 1}, expected "
                        f"more than {index}"
                    )
                if not kept:
                    size = sum(value.nbytes for value in row)
                    self._window = max(64, min(_WINDOW, _WINDOW_BYTES // max(size, 1)))
                kept.append(row)
                if len(kept) > self._window:
                    kept.popleft()
                    first = state[1] = first + 1
            return kept[index - first]


def rows_of(flow, batch_size):
    """The rows of the library for those of a flow, out of their batches. Raises ValueError for texts, objects and
    arrays of unlike shapes."""
    if any(name.startswith(HIDDEN) for name in flow.names):
        row_count = flow.row_count
        flow = projected(flow, [name for name in flow.names if not name.startswith(HIDDEN)])
        flow.row_count = row_count
    first = flow.first()
    for name, value in zip(flow.names, first):
        if kind_of(value) is None:
            kind = "objects" if isinstance(value, dict) or value.dtype.kind not in "US" else "texts"
            raise ValueError(
                f"[dataset] a training has columns of numbers, got {kind} in column '{name}', expected a map to "
                "numbers, or project without it"
            )
    is_batched = batch_size is not None
    given = {len(value) if value.ndim else 0 for value in first}
    if is_batched and (
        len(given) > 1 or given != {batch_size} and next(itertools.islice(flow.epoch(0), 1, None), None)
    ):
        raise ValueError(
            f"[map] a map after batch gives as many rows in each column for a training, got {sorted(given)}, expected "
            f"a multiple of {batch_size}"
        )
    values = [value[0] if is_batched else value for value in first]
    arrays = [_core.Array(value) for value in values]
    columns = [(name, one.dtype, list(one.shape)) for name, one in zip(flow.names, arrays)]
    return _data.python_rows(columns, _count_rows(flow, batch_size), _Reader(flow, is_batched))


def _count_rows(flow, batch_size):
    if batch_size is None:
        return flow.count()
    return flow.row_count() if flow.row_count else sum(len(batch[0]) for batch in flow.epoch(0))
