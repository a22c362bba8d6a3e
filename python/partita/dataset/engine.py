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
from partita.dataset import flows
from partita.dataset import transforms as T
from partita.dataset.batched import MappedBatches, OfRows
from partita.dataset.streamed import Streamed

_data = _core.data


# Options of speed alone; what else the documented functions take is refused.
_FREE = {"python_multiprocessing", "max_rowsize", "cache", "offload"}
_REFUSED = {"map": set(), "batch": {"column_order"}}
_OTHER_TYPES = ("differs in type from the first row", "gives other types than for the first batch")


def _refuse_unknown(where, options):
    for name, value in options.items():
        if name in _FREE:
            continue
        if name not in _REFUSED[where]:
            raise TypeError(f"[{where}] unknown parameter, got '{name}', expected one that {where} has")
        if value is not None:
            raise NotImplementedError(f"[{where}] {name} is not supported, got {value!r}, expected None")


class Dataset(Streamed):
    """Rows with named columns, or batches of them once `batch` was called."""

    # Of a description: `_source(shard)` gives the rows of the library; `shard` is (shards, shard) in place of the
    # script's own, or None. After `batch` rows are counted in batches of `_batch_size`.
    # Rows of texts, of objects and of unlike shapes are loose: `_flow(shard)` gives them one after the other.
    _batch_size = None
    _drop_remainder = False
    _shards = (1, 0)  # how the script cut the source, and which part it takes
    _parents = ()
    _loose = None  # whether the library cannot hold the rows; None if that is not known yet

    def __init__(self):
        self._epoch = 0
        self._built = {}
        self._flows = {}

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)  # of what is not set yet
        raise missing_attribute("Dataset", name, dir(Dataset))

    def _source(self, shard):
        raise NotImplementedError

    def _flow(self, shard):
        return flows.of_library(self.rows(shard), self._batch_size, self._drop_remainder)

    def rows(self, shard=None):
        """The rows of the library. Raises ValueError where it cannot hold them."""
        if shard not in self._built:
            loose = self._is_loose()
            self._built[shard] = flows.rows_of(self.flow(shard), self._batch_size) if loose else self._source(shard)
        return self._built[shard]

    def flow(self, shard=None):
        """The rows or batches as Python reads them, one after the other."""
        if shard not in self._flows:
            self._flows[shard] = self._flow(shard)
        return self._flows[shard]

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

    def _is_inexact(self):
        """Whether rows of the library, which trainings read, are other ones than those of iterators: files as long as
        the largest, or only whole batches."""
        return any(one._is_inexact() for one in self._parents)

    def _reads_flow(self):
        return self._is_loose() or self._is_inexact()

    def _view(self, change, kind=None, **attrs):
        return (kind or _View)(self, change, **attrs)

    # What there is.

    def get_col_names(self):
        return list(self.flow().names) if self._reads_flow() else [name for name, _, _ in self.rows().columns]

    def get_dataset_size(self):
        """Number of batches of an epoch, or of rows if they are not batched. Where it depends on the rows, as after
        `filter`, those of an epoch are read."""
        if self._reads_flow():
            return self.flow().count()
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
        callbacks = kwargs.get("callbacks") or []
        callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
        mapping = _Mapping(steps, input_columns, output_columns)
        options = {"flow": lambda flow, seed: flows.mapped(flow, mapping, seed, callbacks), "loose": bool(callbacks)}
        mapped = self._view(mapping, **options)
        if self._batch_size is not None and not callbacks and not self._is_loose():
            change = MappedBatches(mapping, self._batch_size, self._drop_remainder)
            ratio = change.probe(self.rows())
            if ratio is None:  # not rows, which only iterators can give
                mapped._loose = True
            else:
                mapped = self._view(change, batch_size=self._batch_size * ratio, **options)
        return mapped.project(column_order) if column_order else mapped

    def batch(self, batch_size, drop_remainder=False, num_parallel_workers=None, **kwargs):
        """Groups rows into batches of `batch_size`. The last batch of an epoch may have fewer, unless `drop_remainder`.
        `per_batch_map(column, .., info)` gets lists of the rows of a batch, and gives such lists. `batch_size` may be a
        function of a BatchInfo. `pad_info` is that of `padded_batch`. Raises TypeError or ValueError for bad sizes."""
        names = "per_batch_map", "input_columns", "output_columns", "pad_info"
        changed, inputs, outputs, padding = (kwargs.pop(name, None) for name in names)
        _refuse_unknown("batch", kwargs)
        if not callable(batch_size):
            if not isinstance(batch_size, numbers.Integral) or isinstance(batch_size, bool):
                raise TypeError(f"[batch] batch_size is not an integer, got {batch_size!r}, expected one from 1")
            if batch_size < 1:
                raise ValueError(f"[batch] bad batch_size, got {batch_size}, expected an integer from 1")
            batch_size = int(batch_size)
        inputs = [inputs] if isinstance(inputs, str) else inputs
        outputs = [outputs] if isinstance(outputs, str) else outputs
        fixed, drops = not callable(batch_size) and self._batch_size is None, bool(drop_remainder)
        padding = None if padding is None else flows.Padding(padding)

        def collated(flow, seed):
            collation = flows.Collation(flow.names, changed, inputs, outputs, padding)
            return flows.batched(flow, batch_size, drops, collation)

        size = 1 if callable(batch_size) else batch_size
        loose = not fixed or padding is not None or self._is_loose()
        options = {"batch_size": size, "drop_remainder": drops}
        if loose or changed is None:
            return self._view(lambda rows, seed: rows, BatchDataset, flow=collated, loose=loose, **options)
        batched = self._view(lambda rows, seed: rows, BatchDataset, **options)
        mapped = batched.map(OfRows(changed), inputs or self.get_col_names(), outputs)
        mapped._flow_change, mapped._parents = collated, (self,)
        return mapped

    def shuffle(self, buffer_size):
        """Shuffles the rows anew in each epoch. All rows are shuffled, whatever the size of the buffer, unless Python
        reads them: batches, and rows of unlike shapes. Raises ValueError for a size below 2."""
        if not isinstance(buffer_size, int) or buffer_size < 2:
            raise ValueError(f"[shuffle] bad buffer_size, got {buffer_size!r}, expected an integer from 2")
        return self._view(
            lambda rows, seed: rows.shuffle(seed),
            flow=lambda flow, seed: flows.shuffled(flow, buffer_size, seed),
            loose=self._batch_size is not None,
            orders=self._batch_size is None,
        )

    def repeat(self, count=None):
        """Repeats the rows or batches `count` times in each epoch. Only whole batches are repeated. None and -1 have no
        effect, with a warning. Raises ValueError for other counts below 1."""
        if count is None or count == -1:
            warn("[repeat] endless repetition has no effect: trainings begin a new epoch by themselves")
            return self
        if not isinstance(count, int) or count < 1:
            raise ValueError(f"[repeat] bad count, got {count!r}, expected an integer from 1, or -1")
        repeated = self._view(
            lambda rows, seed: self._whole(rows).repeat(count),
            RepeatDataset,
            flow=lambda flow, seed: flows.repeated(flow, count),
        )
        repeated._count = count
        return repeated

    def take(self, count=-1):
        """Keeps only the first `count` rows or batches; -1 keeps all. Raises ValueError for other counts below 1."""
        if count == -1:
            return self
        if not isinstance(count, int) or count < 1:
            raise ValueError(f"[take] bad count, got {count!r}, expected an integer from 1, or -1")
        return self._view(
            lambda rows, seed: rows.take(count * (self._batch_size or 1)),
            TakeDataset,
            flow=lambda flow, seed: flows.cut(flow, 0, count),
            orders=self._batch_size is None,
        )

    def skip(self, count):
        """Leaves out the first `count` rows or batches. Raises ValueError for a negative count."""
        if not isinstance(count, int) or count < 0:
            raise ValueError(f"[skip] bad count, got {count!r}, expected an integer from 0")
        return self._view(
            lambda rows, seed: rows.skip(count * (self._batch_size or 1)),
            flow=lambda flow, seed: flows.cut(flow, count),
            orders=self._batch_size is None,
        )

    def project(self, columns):
        """Keeps only the named columns, in this order."""
        names = [columns] if isinstance(columns, str) else list(columns)
        for name in names:
            _require_column("project", name, self.get_col_names())
        return self._view(
            lambda rows, seed: rows.project(names), flow=lambda flow, seed: flows.projected(flow, names)
        )

    def rename(self, input_columns, output_columns):
        """Renames columns. Raises ValueError unless there are as many new names as old ones."""
        old = [input_columns] if isinstance(input_columns, str) else list(input_columns)
        new = [output_columns] if isinstance(output_columns, str) else list(output_columns)
        if len(old) != len(new):
            raise ValueError(f"[rename] different numbers of names, got {len(old)} and {len(new)}, expected as many")
        for name in old:
            _require_column("rename", name, self.get_col_names())
        names = [new[old.index(name)] if name in old else name for name in self.get_col_names()]
        return self._view(
            lambda rows, seed: rows.rename(names), flow=lambda flow, seed: flow.derived(flow.epoch, names, flow.count)
        )

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
        """Splits the rows, or batches, into parts. `sizes` are their numbers, or shares as floats. A part has the same
        rows in every epoch, as they are in the first epoch. With `randomize` they are drawn from the whole, and their
        order changes with each epoch. Put random transforms after the split. Raises ValueError if the sizes do not add
        up or a part is empty."""
        rows, step = self.get_dataset_size(), self._batch_size or 1
        shares = all(isinstance(one, float) for one in sizes)
        counts = [round(rows * one) for one in sizes] if shares else list(sizes)
        if shares:
            counts[0] += rows - sum(counts)
        if sum(counts) != rows or min(counts) < 1:
            raise ValueError(f"[split] sizes do not add up, got {counts}, expected {rows} in all")
        randomize = randomize and self._batch_size is None
        whole = self._view(
            lambda rows, seed: (rows.shuffle(seed) if randomize else rows).first_epoch(),
            flow=lambda flow, seed: flows.first_epoch(flow, seed if randomize else None),
        )
        begins = [sum(counts[:i]) for i in range(len(counts))]

        def part(begin, count):
            def change(rows, seed):
                rows = rows.skip(begin * step).take(count * step)
                return rows.shuffle(seed) if randomize else rows

            def flow_change(flow, seed):
                flow = flows.cut(flow, begin, begin + count)
                return flows.shuffled(flow, count, seed) if randomize else flow

            return _View(whole, change, flow=flow_change)

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
        for read in builtin_zip(*parts):
            yield read[0] if len(read) == 1 else [np.concatenate(arrays) for arrays in builtin_zip(*read)]

    def _library_batches(self, epoch, shards):
        parts, step = [self.rows(shard) for shard in shards], self._batch_size or 1
        size = len(parts[0])
        last = size // step * step if self._drop_remainder else size
        for first in range(0, last, step):
            indices = list(range(first, min(first + step, last)))
            read = [rows.read(epoch, indices) for rows in parts]
            arrays = read[0] if len(read) == 1 else [_joined(arrays) for arrays in builtin_zip(*read)]
            yield arrays if self._batch_size is not None else [_row_of(one) for one in arrays]

    def _values(self, num_epochs, columns, output_numpy):
        names = self.get_col_names()
        for name in columns or []:
            _require_column("iterator", name, names)
        chosen = [names.index(name) for name in columns or names if not name.startswith(flows.HIDDEN)]
        given = flows.value_of if output_numpy else _as_tensor
        for _ in range(num_epochs) if num_epochs > 0 else itertools.count():
            skipped = self._begin_epoch()
            epoch, self._epoch = self._epoch, self._epoch + 1
            for arrays in itertools.islice(self._batches(epoch), skipped, None):
                yield [given(arrays[c]) for c in chosen]

    def create_tuple_iterator(self, columns=None, num_epochs=-1, output_numpy=False, do_copy=False):
        """Iterates over rows or batches as lists of the values of columns: Tensors, or NumPy arrays with
        `output_numpy`. Each iteration is one epoch."""
        return _Iterator(lambda: self._values(1, columns, output_numpy))

    def create_dict_iterator(self, num_epochs=-1, output_numpy=False, do_copy=False):
        """Iterates over rows or batches as dicts from the names of columns to values. Each iteration is one epoch."""
        names = [name for name in self.get_col_names() if not name.startswith(flows.HIDDEN)]
        return _Iterator(lambda: (dict(builtin_zip(names, values)) for values in self._values(1, None, output_numpy)))

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


def _require_column(where, name, names):
    if name in names:
        return
    near = _core.nearest(str(name), names)
    raise ValueError(
        f"[{where}] unknown column, got {name!r}, expected one of {', '.join(names)}"
        + (f", did you mean '{near}'?" if near else "")
    )


class _View(Dataset):
    """A data set that is another one, changed, as rows of the library and as a flow. Each has random numbers of its
    own. Without a change of rows of the library, and with `loose`, there is only the flow."""

    def __init__(self, parent, change, batch_size=None, drop_remainder=None, flow=None, loose=False, orders=False):
        super().__init__()
        self._orders = orders  # whether the change is one of the order alone
        self._parent, self._change, self._flow_change = parent, change, flow
        self._parents = (parent,)
        self._loose = True if loose or change is None else None
        self._depth = getattr(parent, "_depth", 0) + 1
        self._batch_size = parent._batch_size if batch_size is None else batch_size
        self._drop_remainder = parent._drop_remainder if drop_remainder is None else drop_remainder
        self._shards = parent._shards

    def _seed(self):
        return _seed.seed_or_default() + 7919 * self._depth

    def _source(self, shard):
        if self._parent._is_loose():
            numbers, names, function = self._by_number(shard)
            return flows.numbered(numbers, names, function)
        return self._change(self._parent.rows(shard), self._seed())

    def _is_loose(self):
        if self._loose is None and isinstance(self._change, _Mapping) and self._parent._is_loose():
            by_number = self._by_number(None)  # a map may give rows of one shape
            self._loose = by_number is None or not flows.are_alike_by_number(*by_number)
        return super()._is_loose()

    def _by_number(self, shard):
        found = self._parents[0]._by_number(shard)
        if found is None:
            return None
        numbers, names, function = found
        if self._orders:
            return self._change(numbers, self._seed()), names, function
        if not isinstance(self._change, _Mapping):
            return None
        changed, names = self._change.of_batches([(name, None, None) for name in names], self._seed())
        return numbers, names, lambda number, epoch, place: changed(function(number, epoch, place), epoch, place)

    def _flow(self, shard):
        return self._flow_change(self._parents[0].flow(shard), self._seed())

    def _varies(self):
        return isinstance(self._change, _Mapping) and self._change.varies(self._parent.rows(), self._seed())

    def _is_inexact(self):
        if isinstance(self._change, _Mapping) and self._change.inputs and "image" in self._change.inputs:
            return False
        return super()._is_inexact()


class BatchDataset(_View):
    """Rows in batches: the result of `batch`."""

    @property
    def batch_size(self):
        return self._batch_size


class RepeatDataset(_View):
    """Rows that are repeated: the result of `repeat`."""

    _count = 1

    def get_repeat_count(self):
        return self._count

    def _is_inexact(self):
        return super()._is_inexact() or _has_partial_batch(self._parent)


class TakeDataset(_View):
    """The first rows: the result of `take`."""


def _has_partial_batch(data):
    """Whether the last batch of an epoch has fewer rows than others."""
    if data._batch_size is None or data._drop_remainder or data._is_loose():
        return False
    return len(data.rows()) % data._batch_size != 0


class _Joined(Dataset):
    """Data sets next to each other, or one after the other."""

    _sampler = None

    def __init__(self, parts, join):
        super().__init__()
        self._parts = self._parents = parts
        self._join = join
        if len({part._batch_size for part in parts}) > 1:
            self._loose = True
        self._batch_size, self._drop_remainder = parts[0]._batch_size, any(part._drop_remainder for part in parts)
        self._shards = parts[0]._shards

    def use_sampler(self, sampler):
        """Takes the rows that a sampler chooses among all."""
        self._sampler, self._shards = sampler, sampler.shards()
        self._built, self._flows = {}, {}

    def _source(self, shard):
        rows = self._all_rows(shard if self._sampler is None else None)
        if self._sampler is None:
            return rows
        return self._sampler.choose(rows, _seed.seed_or_default(), shard or self._shards)

    def _all_rows(self, shard):
        rows = [part.rows(shard) for part in self._parts]
        if self._join is not _data.zip:  # one behind the other
            parts = builtin_zip(self._parts, rows[:-1])
            rows[:-1] = [part._whole(one) if part._drop_remainder else one for part, one in parts]
        return self._join(rows)

    def _flow(self, shard):
        join = flows.side_by_side if self._join is _data.zip else flows.one_after_the_other
        return join([part.flow(shard) for part in self._parts])

    def _is_inexact(self):
        follows = self._parts[:-1] if self._join is not _data.zip else []
        return super()._is_inexact() or any(map(_has_partial_batch, follows))


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
        function = _Applied(steps, places, len(outputs))
        probe = function([rows_array for rows_array in _first_row(rows)], 0, 0)
        made = [(name, value.dtype, list(value.shape)) for name, value in builtin_zip(outputs, map(_core.Array, probe))]
        order = _order(names, places, outputs, kept, columns, made)
        function.order = [source for _, source in order]
        return rows.python_map([column for column, _ in order], function)

    def varies(self, rows, seed):
        """Whether some rows are unlike after functions of Python."""
        if all(isinstance(_of_seed(step, seed), _data.Map) for step in self.steps) or len(rows) < 2:
            return False
        function, _ = self.of_batches(list(rows.columns), seed)
        numbers = sorted({len(rows) * i // 4 for i in range(4)})
        arrays = [np.asarray(one) for one in rows.read(0, numbers)]
        return not flows.are_alike([function([one[i] for one in arrays], 0, i) for i in range(len(numbers))])

    def of_batches(self, columns, seed):
        """(function of the arrays of a batch, names of the columns that it gives)."""
        names = [name for name, _, _ in columns]
        inputs = self.inputs or [names[0]]
        for name in inputs:
            _require_column("map", name, names)
        outputs = self.outputs or inputs
        places, kept = _places(names, inputs)
        function = _Applied([_of_seed(step, seed + i) for i, step in enumerate(self.steps)], places, len(outputs))
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
    """(column, where its value comes from) of the result: each output in the place of its input if there are as many,
    else all of them before the other columns."""
    if len(made) == len(places):
        found = {place: (column, ("made", i)) for i, (place, column) in enumerate(builtin_zip(places, made))}
        return [found.get(c, (columns[c], ("kept", c))) for c in range(len(names))]
    return [(column, ("made", i)) for i, column in enumerate(made)] + [(columns[c], ("kept", c)) for c in kept]


class _Applied:
    """The steps of a map on the values of one row."""

    def __init__(self, steps, places, outputs):
        self.steps, self.places, self.outputs, self.order = steps, places, outputs, None

    def __call__(self, values, epoch, sample):
        current = [flows.value_of(values[place]) for place in self.places]
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
            current = [flows.value_of(one) for one in made]
        if len(current) != self.outputs:
            raise ValueError(f"[map] wrong number of columns, got {len(current)}, expected {self.outputs}")
        if self.order is None:
            return current
        return [current[i] if kind == "made" else flows.value_of(values[i]) for kind, i in self.order]


ConcatDataset = _Joined
MappableDataset = SourceDataset = VisionBaseDataset = TextBaseDataset = Dataset
