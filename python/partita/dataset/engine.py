"""Data sets as descriptions: what is read and how it is changed. The library builds and reads them."""

import itertools
import numbers

import numpy as np

from partita import _core, context
from partita._names import missing_attribute
from partita._warnings import warn
from partita.common import dtype as mstype
from partita.common import seed as _seed
from partita.common.tensor import Tensor
from partita.communication import management as ranks
from partita.dataset import transforms as T
from partita.dataset.batched import MappedBatches, OfRows
from partita.dataset.pictures import is_picture, with_pictures

_data = _core.data


# Options of speed alone; what else the documented functions take is refused.
_FREE = {"python_multiprocessing", "max_rowsize", "cache", "offload"}
_REFUSED = {"map": {"callbacks"}, "batch": {"column_order", "pad_info"}}


def _refuse_unknown(where, options):
    for name, value in options.items():
        if name in _FREE:
            continue
        if name not in _REFUSED[where]:
            raise TypeError(f"[{where}] unknown parameter, got '{name}', expected one that {where} has")
        if value is not None:
            raise NotImplementedError(f"[{where}] {name} is not supported, got {value!r}, expected None")


class Dataset:
    """Rows with named columns, or batches of them once `batch` was called."""

    # Of a description: `_source(shard)` gives the rows of the library; `shard` is (shards, shard) in place of the
    # script's own, or None. After `batch` rows are counted in batches of `_batch_size`.
    _batch_size = None
    _drop_remainder = False
    _shards = (1, 0)  # how the script cut the source, and which part it takes

    def __init__(self):
        self._epoch = 0
        self._built = {}

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)  # of what is not set yet
        raise missing_attribute("Dataset", name, dir(Dataset))

    def _source(self, shard):
        raise NotImplementedError

    def rows(self, shard=None):
        """The rows of the library."""
        if shard not in self._built:
            self._built[shard] = self._source(shard)
        return self._built[shard]

    def _view(self, change, kind=None, **attrs):
        return (kind or _View)(self, change, **attrs)

    # What there is.

    def get_col_names(self):
        return [name for name, _, _ in self.rows().columns]

    def get_dataset_size(self):
        """Number of batches of an epoch, or of rows if they are not batched."""
        rows = len(self.rows())
        if self._batch_size is None:
            return rows
        return rows // self._batch_size if self._drop_remainder else -(-rows // self._batch_size)

    def get_batch_size(self):
        return self._batch_size or 1

    def get_repeat_count(self):
        return 1

    def __len__(self):
        return self.get_dataset_size()

    def output_shapes(self):
        head = [] if self._batch_size is None else [self._batch_size]
        return [head + list(shape) for _, _, shape in self.rows().columns]

    def output_types(self):
        return [mstype.of_core(core).numpy.type for _, core, _ in self.rows().columns]

    # How it is changed.

    def map(
        self,
        operations,
        input_columns=None,
        output_columns=None,
        column_order=None,
        num_parallel_workers=None,
        **kwargs,
    ):
        """Applies operations to columns, one after the other. They are transforms of the library or functions of
        Python. Without `input_columns` the first column is mapped. After `batch` operations get the arrays of whole
        batches, and give as many rows, or a multiple."""
        _refuse_unknown("map", kwargs)
        if isinstance(column_order, int):  # the place of num_parallel_workers in later forms
            column_order = None
        steps = T.flattened(operations)
        if isinstance(input_columns, str):
            input_columns = [input_columns]
        if isinstance(output_columns, str):
            output_columns = [output_columns]
        mapping = _Mapping(steps, input_columns, output_columns)
        mapped = self._view(mapping) if self._batch_size is None else self._mapped_batches(mapping)
        return mapped.project(column_order) if column_order else mapped

    def _mapped_batches(self, mapping):
        change = MappedBatches(mapping, self._batch_size, self._drop_remainder)
        ratio = change.probe(self.rows())
        return self._view(change, batch_size=self._batch_size * ratio)

    def batch(self, batch_size, drop_remainder=False, num_parallel_workers=None, **kwargs):
        """Groups rows into batches of `batch_size`. The last batch of an epoch may have fewer, unless `drop_remainder`.
        `per_batch_map(column, .., info)` gets lists of the rows of a batch, and gives such lists. Raises TypeError or
        ValueError for bad sizes, NotImplementedError for batches of batches."""
        changed, *columns = (kwargs.pop(name, None) for name in ("per_batch_map", "input_columns", "output_columns"))
        _refuse_unknown("batch", kwargs)
        if not isinstance(batch_size, numbers.Integral) or isinstance(batch_size, bool):
            raise TypeError(f"[batch] batch_size is not an integer, got {batch_size!r}, expected one from 1")
        if batch_size < 1:
            raise ValueError(f"[batch] bad batch_size, got {batch_size}, expected an integer from 1")
        if self._batch_size is not None:
            raise NotImplementedError(
                f"[batch] batches cannot be batched again, got batch({batch_size}) after batch("
                f"{self._batch_size}), expected one of them"
            )
        size, drops = int(batch_size), bool(drop_remainder)
        batched = self._view(lambda rows, seed: rows, BatchDataset, batch_size=size, drop_remainder=drops)
        if changed is None:
            return batched
        return batched.map(OfRows(changed), columns[0] or self.get_col_names(), columns[1])

    def shuffle(self, buffer_size):
        """Shuffles the rows anew in each epoch. All rows are shuffled, whatever the size of the buffer. Raises
        ValueError for a size below 2, NotImplementedError after `batch`."""
        if not isinstance(buffer_size, int) or buffer_size < 2:
            raise ValueError(f"[shuffle] bad buffer_size, got {buffer_size!r}, expected an integer from 2")
        if self._batch_size is not None:
            raise NotImplementedError(
                "[shuffle] batches cannot be shuffled, got shuffle after batch, expected it before"
            )
        return self._view(lambda rows, seed: rows.shuffle(seed))

    def repeat(self, count=None):
        """Repeats the rows or batches `count` times in each epoch. Only whole batches are repeated. None and -1 have no
        effect, with a warning. Raises ValueError for other counts below 1."""
        if count is None or count == -1:
            warn("[repeat] endless repetition has no effect: trainings begin a new epoch by themselves")
            return self
        if not isinstance(count, int) or count < 1:
            raise ValueError(f"[repeat] bad count, got {count!r}, expected an integer from 1, or -1")
        return self._view(lambda rows, seed: self._whole(rows).repeat(count), RepeatDataset)

    def take(self, count=-1):
        """Keeps only the first `count` rows or batches; -1 keeps all. Raises ValueError for other counts below 1."""
        if count == -1:
            return self
        if not isinstance(count, int) or count < 1:
            raise ValueError(f"[take] bad count, got {count!r}, expected an integer from 1, or -1")
        return self._view(lambda rows, seed: rows.take(count * self.get_batch_size()), TakeDataset)

    def skip(self, count):
        """Leaves out the first `count` rows or batches. Raises ValueError for a negative count."""
        if not isinstance(count, int) or count < 0:
            raise ValueError(f"[skip] bad count, got {count!r}, expected an integer from 0")
        return self._view(lambda rows, seed: rows.skip(count * self.get_batch_size()))

    def project(self, columns):
        """Keeps only the named columns, in this order."""
        names = [columns] if isinstance(columns, str) else list(columns)
        for name in names:
            _require_column("project", name, self.get_col_names())
        return self._view(lambda rows, seed: rows.project(names))

    def rename(self, input_columns, output_columns):
        """Renames columns. Raises ValueError unless there are as many new names as old ones."""
        old = [input_columns] if isinstance(input_columns, str) else list(input_columns)
        new = [output_columns] if isinstance(output_columns, str) else list(output_columns)
        if len(old) != len(new):
            raise ValueError(f"[rename] different numbers of names, got {len(old)} and {len(new)}, expected as many")
        for name in old:
            _require_column("rename", name, self.get_col_names())
        names = [new[old.index(name)] if name in old else name for name in self.get_col_names()]
        return self._view(lambda rows, seed: rows.rename(names))

    def zip(self, datasets):
        """Adds the columns of other data sets."""
        others = list(datasets) if isinstance(datasets, (tuple, list)) else [datasets]
        return zip((self, *others))

    def concat(self, datasets):
        """Appends the rows of other data sets."""
        others = list(datasets) if isinstance(datasets, (tuple, list)) else [datasets]
        return _Joined([self, *others], _data.concat)

    def __add__(self, other):
        return self.concat(other)

    def split(self, sizes, randomize=True):
        """Splits the rows into parts. `sizes` are numbers of rows, or shares as floats. A part has the same rows in
        every epoch, as they are in the first epoch. With `randomize` they are drawn from the whole, and their order
        changes with each epoch. Put random transforms after the split. Raises ValueError if the sizes do not add up or
        a part is empty."""
        rows = len(self.rows())
        if all(isinstance(one, float) for one in sizes):
            counts = [round(rows * one) for one in sizes]
            counts[-1] += rows - sum(counts)
        else:
            counts = list(sizes)
        if sum(counts) != rows or min(counts) < 1:
            raise ValueError(f"[split] sizes do not add up, got {counts}, expected {rows} in all")
        whole = self._view(lambda rows, seed: (rows.shuffle(seed) if randomize else rows).first_epoch())
        begins = [sum(counts[:i]) for i in range(len(counts))]

        def part(begin, count):
            def change(rows, seed):
                rows = rows.skip(begin).take(count)
                return rows.shuffle(seed) if randomize else rows

            return _View(whole, change)

        return [part(begin, count) for begin, count in builtin_zip(begins, counts)]

    def apply(self, apply_func):
        return apply_func(self)

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

    # How it is read.

    def _shards_of_a_step(self):
        """The shards that a loop reads side by side: all of the script's where ranks are threads of this process, so
        that a batch has the rows of all ranks."""
        shards, _ = self._shards
        alone = context.get_auto_parallel_context("parallel_mode") == "stand_alone"
        if shards == 1 or alone or ranks.is_process() or ranks.in_process_ranks() == 1:
            return [None]
        if self._batch_size is None and any(len(shape) == 0 for _, _, shape in self.rows().columns):
            warn(
                "[dataset] only batches hold rows of several ranks, got single rows with the columns "
                f"{', '.join(self.get_col_names())}: those of one shard are read"
            )
            return [None]
        return [(shards, i) for i in range(shards)]

    def _batches(self, epoch):
        parts, step = [self.rows(shard) for shard in self._shards_of_a_step()], self._batch_size or 1
        size = len(parts[0])
        last = size // step * step if self._drop_remainder else size
        for first in range(0, last, step):
            indices = list(range(first, min(first + step, last)))
            read = [rows.read(epoch, indices) for rows in parts]
            yield read[0] if len(read) == 1 else [_joined(arrays) for arrays in builtin_zip(*read)]

    def _values(self, num_epochs, columns, output_numpy):
        names = self.get_col_names()
        for name in columns or []:
            _require_column("iterator", name, names)
        chosen = [names.index(name) for name in columns] if columns else range(len(names))
        for _ in range(num_epochs) if num_epochs > 0 else itertools.count():
            epoch, self._epoch = self._epoch, self._epoch + 1
            for arrays in self._batches(epoch):
                values = [arrays[c] if self._batch_size is not None else _row_of(arrays[c]) for c in chosen]
                yield [np.asarray(value) if output_numpy else Tensor._from_array(value) for value in values]

    def create_tuple_iterator(self, columns=None, num_epochs=-1, output_numpy=False, do_copy=False):
        """Iterates over rows or batches as lists of the values of columns: Tensors, or NumPy arrays with
        `output_numpy`. Each iteration is one epoch."""
        return _Iterator(lambda: self._values(1, columns, output_numpy))

    def create_dict_iterator(self, num_epochs=-1, output_numpy=False, do_copy=False):
        """Iterates over rows or batches as dicts from the names of columns to values. Each iteration is one epoch."""
        names = self.get_col_names()
        return _Iterator(lambda: (dict(builtin_zip(names, values)) for values in self._values(1, None, output_numpy)))

    def __iter__(self):
        return iter(self._values(1, None, False))


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


def _require_column(where, name, names):
    if name in names:
        return
    near = _core.nearest(str(name), names)
    raise ValueError(
        f"[{where}] unknown column, got {name!r}, expected one of {', '.join(names)}"
        + (f", did you mean '{near}'?" if near else "")
    )


class _View(Dataset):
    """A data set that is another one, changed. Each has random numbers of its own."""

    def __init__(self, parent, change, batch_size=None, drop_remainder=None):
        super().__init__()
        self._parent, self._change = parent, change
        self._depth = getattr(parent, "_depth", 0) + 1
        self._batch_size = parent._batch_size if batch_size is None else batch_size
        self._drop_remainder = parent._drop_remainder if drop_remainder is None else drop_remainder
        self._shards = parent._shards

    def _source(self, shard):
        return self._change(self._parent.rows(shard), _seed.seed_or_default() + 7919 * self._depth)


class BatchDataset(_View):
    """Rows in batches: the result of `batch`."""


class RepeatDataset(_View):
    """Rows that are repeated: the result of `repeat`."""


class TakeDataset(_View):
    """The first rows: the result of `take`."""


class _Joined(Dataset):
    def __init__(self, parts, join):
        super().__init__()
        sizes = {part._batch_size for part in parts}
        if len(sizes) > 1:
            raise ValueError(
                f"[dataset] the parts have batches of different sizes, got {sorted(map(str, sizes))}, expected one size"
            )
        self._parts, self._join = parts, join
        self._batch_size, self._drop_remainder = parts[0]._batch_size, any(part._drop_remainder for part in parts)
        self._shards = parts[0]._shards

    def _source(self, shard):
        rows = [part.rows(shard) for part in self._parts]
        if self._join is not _data.zip:  # one behind the other
            parts = builtin_zip(self._parts, rows[:-1])
            rows[:-1] = [part._whole(one) if part._drop_remainder else one for part, one in parts]
        return self._join(rows)


builtin_zip = zip


def zip(datasets):
    """The columns of several data sets side by side."""
    if not isinstance(datasets, tuple) or not datasets:
        raise TypeError(f"[zip] not a tuple of data sets, got {type(datasets).__name__}, expected one")
    return _Joined(list(datasets), _data.zip)


class _Mapping:
    """The mapping that `map` applies to the rows of the library."""

    def __init__(self, steps, inputs, outputs):
        self.steps, self.inputs, self.outputs = steps, inputs, outputs

    def __call__(self, rows, seed):
        columns = list(rows.columns)
        names = [name for name, _, _ in columns]
        inputs = self.inputs or [names[0]]
        for name in inputs:
            _require_column("map", name, names)
        outputs = self.outputs or inputs
        steps = [_of_seed(step, seed + i) for i, step in enumerate(self.steps)]
        if all(isinstance(step, _data.Map) for step in steps):
            if len(outputs) != len(inputs):
                raise ValueError(
                    f"[map] wrong number of columns, got {len(outputs)} of {len(inputs)}, expected as many"
                )
            mapped = rows.map(inputs, _data.chain(steps))
            return mapped if outputs == inputs else mapped.rename(_renamed(names, inputs, outputs))
        places, kept = _places(names, inputs)
        function = _Applied(with_pictures(steps, self.steps, seed), places, len(outputs))
        probe = function([rows_array for rows_array in _first_row(rows)], 0, 0)
        made = [(name, value.dtype, list(value.shape)) for name, value in builtin_zip(outputs, map(_core.Array, probe))]
        order = _order(names, places, outputs, kept, columns, made)
        function.order = [source for _, source in order]
        return rows.python_map([column for column, _ in order], function)

    def of_batches(self, columns, seed):
        """(function of the arrays of a batch, names of the columns that it gives)."""
        names = [name for name, _, _ in columns]
        inputs = self.inputs or [names[0]]
        for name in inputs:
            _require_column("map", name, names)
        outputs = self.outputs or inputs
        places, kept = _places(names, inputs)
        made = [_of_seed(step, seed + i) for i, step in enumerate(self.steps)]
        function = _Applied(with_pictures(made, self.steps, seed), places, len(outputs))
        order = _order(names, places, outputs, kept, columns, [(name,) for name in outputs])
        function.order = [source for _, source in order]
        return function, [column[0] for column, _ in order]


def _places(names, inputs):
    """(numbers of the columns that are mapped, numbers of the others)."""
    places = [names.index(name) for name in inputs]
    return places, [c for c in range(len(names)) if c not in places]


def _of_seed(step, seed):
    """A step of a map with its random numbers."""
    if isinstance(step, T.Transform):
        return step.core(seed)
    return step.seeded(seed) if hasattr(step, "seeded") else step


def _first_row(rows):
    if len(rows) == 0:
        raise ValueError("[map] no rows, got an empty data set, expected one or more")
    return [_core.Array(np.array(np.asarray(array)[0])) for array in rows.read(0, [0])]


def _renamed(names, inputs, outputs):
    return [outputs[inputs.index(name)] if name in inputs else name for name in names]


def _order(names, places, outputs, kept, columns, made):
    """(column, where its value comes from) of the result: what was mapped stands where the first input stood."""
    order = []
    for c in range(len(names)):
        if c == min(places):
            order += [(column, ("made", i)) for i, column in enumerate(made)]
        if c in kept:
            order.append((columns[c], ("kept", c)))
    return order


def _array_of(value):
    return value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)


class _Applied:
    """The steps of a map on the values of one row."""

    def __init__(self, steps, places, outputs):
        self.steps, self.places, self.outputs, self.order = steps, places, outputs, None

    def __call__(self, values, epoch, sample):
        current = [np.asarray(values[place]) for place in self.places]
        for step in self.steps:
            if isinstance(step, _data.Map):
                made = [np.asarray(step.apply(_core.Array(one), epoch, sample)) for one in current]
            elif isinstance(step, OfRows):
                made = step.batch_arrays(current, epoch, sample)
            elif hasattr(step, "apply_all"):
                made = step.apply_all(current, epoch, sample)
            elif hasattr(step, "apply"):
                made = [step.apply(one, epoch, sample) for one in current]
            else:
                result = step(*current)
                made = list(result) if isinstance(result, tuple) else [result]
            current = [one if is_picture(one) else _array_of(one) for one in made]
        current = [np.asarray(one) if is_picture(one) else one for one in current]
        if len(current) != self.outputs:
            raise ValueError(f"[map] wrong number of columns, got {len(current)}, expected {self.outputs}")
        if self.order is None:
            return current
        return [current[i] if kind == "made" else np.asarray(values[i]) for kind, i in self.order]


MappableDataset = SourceDataset = VisionBaseDataset = TextBaseDataset = Dataset
