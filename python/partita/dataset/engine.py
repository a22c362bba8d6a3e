"""Data sets as descriptions: what is read and how it is changed. The library builds and reads them."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence

from partita import _core, _later
from partita._names import missing_attribute
from partita._warnings import warn
from partita.common import seed as _seed
from partita.dataset import flows
from partita.dataset import transforms as T
from partita.dataset.batched import MappedBatches, OfRows
from partita.dataset.columns import names_of, names_or_none, require_columns
from partita.dataset.mappings import Mapping
from partita.dataset.readable import Readable
from partita.dataset.streamed import Streamed
from partita.dataset.workers import count_of

_data = _core.data


# Options of speed alone; what else the documented functions take is refused.
_FREE = {"python_multiprocessing", "max_rowsize", "cache", "offload"}
_REFUSED = {"map": set(), "batch": {"column_order"}}


def _others_of(where, datasets):
    """A list of data sets. Raises TypeError for anything else."""
    others = list(datasets) if isinstance(datasets, (tuple, list)) else [datasets]
    for one in others:
        if not isinstance(one, Dataset):
            raise TypeError(f"[{where}] no data set, got {type(one).__name__}, expected a Dataset, or several")
    return others


def _refuse_unknown(where, options):
    for name, value in options.items():
        if name in _FREE:
            continue
        if name not in _REFUSED[where]:
            raise TypeError(f"[{where}] unknown parameter, got '{name}', expected one that {where} has")
        if value is not None:
            raise NotImplementedError(f"[{where}] {name} is not supported, got {value!r}, expected None")


class Dataset(Streamed, Readable):
    """Rows with named columns, or batches of them once `batch` was called. A source such as GeneratorDataset gives one,
    and each method another one, which leaves the first as it is: `data.map(..).shuffle(..).batch(..)`. Rows are read
    when a training or an iterator asks for them; `for row in data` gives lists of Tensors."""

    # Of a description: `_source(shard)` gives the rows of the library; `shard` is (shards, shard) in place of the
    # script's own, or None. After `batch` rows are counted in batches of `_batch_size`.
    # Rows of texts, of objects and of unlike shapes are loose: `_flow(shard)` gives them one after the other.
    _batch_size = None
    _drop_remainder = False
    _shards = (1, 0)  # how the script cut the source, and which part it takes
    _parents = ()
    _workers = 1  # threads that call functions of the script
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

    def _view(self, change, kind=None, **attrs):
        return (kind or _View)(self, change, **attrs)

    # What there is.

    def get_col_names(self) -> list[str]:
        """The names of the columns, in their order."""
        return list(self.flow().names) if self._reads_flow() else [name for name, _, _ in self.rows().columns]

    def get_dataset_size(self) -> int:
        """Number of batches of an epoch, or of rows if they are not batched. Where it depends on the rows, as after
        `filter`, those of an epoch are read."""
        if self._reads_flow():
            return self.flow().count()
        rows = len(self.rows())
        if self._batch_size is None:
            return rows
        return rows // self._batch_size if self._drop_remainder else -(-rows // self._batch_size)

    # How it is changed.

    def map(
        self,
        operations: Callable | Sequence[Callable],
        input_columns: str | Sequence[str] | None = None,
        output_columns: str | Sequence[str] | None = None,
        num_parallel_workers: int | None = None,
        **kwargs,
    ) -> Dataset:
        """Applies operations to columns, one after the other: transforms of this package, or functions of Python, which
        get the values of a row as NumPy arrays and give as many values as `output_columns` names, or as columns went
        in. Without `input_columns` the first column is mapped. After `batch` operations get the arrays of whole
        batches, and give as many rows, or a multiple. As many threads as `num_parallel_workers` says, by default 1,
        call them, also with `python_multiprocessing`: rows and their order are the same for any number. An error has a
        note with the operation and the row. Raises ValueError for unknown columns and for another number of values."""
        callbacks, column_order = kwargs.pop("callbacks", None) or [], kwargs.pop("column_order", None)
        _refuse_unknown("map", kwargs)
        if isinstance(num_parallel_workers, (list, tuple)):  # the place of column_order in earlier forms
            column_order, num_parallel_workers = list(num_parallel_workers), None
        steps = T.flattened(operations)
        callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
        inputs = names_or_none("map", "input_columns", input_columns)
        outputs = names_or_none("map", "output_columns", output_columns)
        mapped = _mapped(self, Mapping(steps, inputs, outputs), callbacks, count_of("map", num_parallel_workers))
        return mapped.project(column_order) if column_order else mapped

    def batch(
        self,
        batch_size: int | Callable,
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        **kwargs,
    ) -> Dataset:
        """Groups rows into batches: columns of shape [..] become [batch_size, ..]. The last batch of an epoch may have
        fewer rows, unless `drop_remainder`. `per_batch_map(column, .., info)` gets lists of the rows of a batch, and
        gives such lists, or arrays, one for each of `output_columns`. `batch_size` may be a function of a BatchInfo.
        `pad_info` is that of `padded_batch`. As many threads as `num_parallel_workers` says, by default 1, call
        functions. Raises TypeError or ValueError for bad sizes, and RuntimeError for rows of unlike shapes when they
        are read."""
        names = "per_batch_map", "input_columns", "output_columns", "pad_info"
        changed, inputs, outputs, padding = (kwargs.pop(name, None) for name in names)
        _refuse_unknown("batch", kwargs)
        if not callable(batch_size):
            if not isinstance(batch_size, numbers.Integral) or isinstance(batch_size, bool):
                raise TypeError(f"[batch] batch_size is not an integer, got {batch_size!r}, expected one from 1")
            if batch_size < 1:
                raise ValueError(f"[batch] bad batch_size, got {batch_size}, expected an integer from 1")
            batch_size = int(batch_size)
        inputs = names_or_none("batch", "input_columns", inputs)
        outputs = names_or_none("batch", "output_columns", outputs)
        if inputs and changed is None:
            raise ValueError(f"[batch] input_columns has no function, got {inputs}, expected per_batch_map with it")
        workers = count_of("batch", num_parallel_workers)
        fixed, drops = not callable(batch_size) and self._batch_size is None, bool(drop_remainder)
        padding = None if padding is None else flows.Padding(padding)

        def collated(flow, seed):
            collation = flows.Collation(flow.names, changed, inputs, outputs, padding)
            return flows.batched(flow, batch_size, drops, collation, 1 if self._waiting() else workers)

        size = 1 if callable(batch_size) else batch_size
        loose = not fixed or padding is not None or self._is_loose()
        options = {"batch_size": size, "drop_remainder": drops, "workers": workers}
        if loose or changed is None:
            return self._view(lambda rows, seed: rows, BatchDataset, flow=collated, loose=loose, **options)
        batched = self._view(lambda rows, seed: rows, BatchDataset, **options)
        mapping = Mapping([OfRows(changed)], inputs or self.get_col_names(), outputs, "batch")
        mapped = _mapped(batched, mapping, [], workers)
        mapped._flow_change, mapped._parents = collated, (self,)
        return mapped

    def shuffle(self, buffer_size: int) -> Dataset:
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

    def repeat(self, count: int | None = None) -> Dataset:
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

    def take(self, count: int = -1) -> Dataset:
        """Keeps only the first `count` rows, or batches after `batch`; -1 keeps all. Raises ValueError for other counts
        below 1."""
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

    def skip(self, count: int) -> Dataset:
        """Leaves out the first `count` rows, or batches after `batch`. Raises ValueError for a negative count."""
        if not isinstance(count, int) or count < 0:
            raise ValueError(f"[skip] bad count, got {count!r}, expected an integer from 0")
        return self._view(
            lambda rows, seed: rows.skip(count * (self._batch_size or 1)),
            flow=lambda flow, seed: flows.cut(flow, count),
            orders=self._batch_size is None,
        )

    def project(self, columns: str | Sequence[str]) -> Dataset:
        """Keeps only the named columns, in this order. Raises ValueError for unknown ones."""
        names = names_of("project", "columns", columns)
        require_columns("project", names, self.get_col_names())
        return self._view(lambda rows, seed: rows.project(names), flow=lambda flow, seed: flows.projected(flow, names))

    def rename(self, input_columns: str | Sequence[str], output_columns: str | Sequence[str]) -> Dataset:
        """Renames columns. Raises ValueError for unknown columns, or unless there are as many new names as old ones."""
        old = names_of("rename", "input_columns", input_columns)
        new = names_of("rename", "output_columns", output_columns)
        if len(old) != len(new):
            raise ValueError(f"[rename] different numbers of names, got {len(old)} and {len(new)}, expected as many")
        require_columns("rename", old, self.get_col_names())
        names = [new[old.index(name)] if name in old else name for name in self.get_col_names()]
        return self._view(
            lambda rows, seed: rows.rename(names), flow=lambda flow, seed: flow.derived(flow.epoch, names, flow.count)
        )

    def zip(self, datasets: Dataset | Sequence[Dataset]) -> Dataset:
        """Adds the columns of another data set, or of several in a tuple, for as many rows as the shortest has. Raises
        ValueError for a column that two of them have."""
        return zip((self, *_others_of("zip", datasets)))

    def concat(self, datasets: Dataset | Sequence[Dataset]) -> Dataset:
        """Appends the rows of other data sets, which have the same columns; so does `dataset + other`."""
        return _Joined([self, *_others_of("concat", datasets)], _data.concat)

    def __add__(self, other):
        return self.concat(other)

    def split(self, sizes: Sequence[int] | Sequence[float], randomize: bool = True) -> list[Dataset]:
        """Splits the rows, or batches, into parts. `sizes` are their numbers, or shares as floats that add up to 1. A
        part has the same rows in every epoch, as they are in the first epoch. With `randomize` they are drawn from the
        whole, and their order changes with each epoch. Put random transforms after the split. Raises ValueError if the
        sizes do not add up or a part is empty."""
        rows, step = self.get_dataset_size(), self._batch_size or 1
        shares = all(isinstance(one, float) for one in sizes)
        if shares and abs(sum(sizes) - 1) > 1e-9:
            raise ValueError(f"[split] shares do not add up, got {list(sizes)}, expected 1 in all")
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
        """Returns what a function of the data set gives: another data set."""
        return apply_func(self)


def _mapped(data, mapping, callbacks, workers):
    """The data set through a mapping of rows or batches."""

    def flow_change(flow, seed):
        return flows.mapped(flow, mapping, seed, callbacks, 1 if data._waiting() else workers)

    options = {"flow": flow_change, "loose": bool(callbacks), "workers": workers}
    mapped = data._view(mapping, **options)
    if data._batch_size is None or callbacks or data._is_loose():
        return mapped
    change = MappedBatches(mapping, data._batch_size, data._drop_remainder, workers)
    ratio = change.probe(data.rows())
    if ratio is not None:
        return data._view(change, batch_size=data._batch_size * ratio, **options)
    mapped._loose = True  # not rows, which only iterators can give
    return mapped


class _View(Dataset):
    """A data set that is another one, changed, as rows of the library and as a flow. Each has random numbers of its
    own. Without a change of rows of the library, and with `loose`, there is only the flow."""

    def __init__(
        self, parent, change, batch_size=None, drop_remainder=None, flow=None, loose=False, orders=False, workers=1
    ):
        super().__init__()
        self._workers = workers
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
        if self._loose is None and isinstance(self._change, Mapping) and self._parent._is_loose():
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
        if not isinstance(self._change, Mapping):
            return None
        changed, names = self._change.of_batches([(name, None, None) for name in names], self._seed())
        return numbers, names, lambda number, epoch, place: changed(function(number, epoch, place), epoch, place)

    def _flow(self, shard):
        return self._flow_change(self._parents[0].flow(shard), self._seed())

    def _varies(self):
        return isinstance(self._change, Mapping) and self._change.varies(self._parent.rows(), self._seed())

    def _inexact(self):
        found = super()._inexact()
        return found - set(self._change.inputs or ()) if isinstance(self._change, Mapping) else found


class BatchDataset(_View):
    """Rows in batches: the result of `Dataset.batch`."""

    @property
    def batch_size(self):
        return self._batch_size


class RepeatDataset(_View):
    """Rows that are repeated: the result of `Dataset.repeat`."""

    _count = 1

    def get_repeat_count(self):
        return self._count

    def _inexact(self):
        return super()._inexact() | ({""} if _has_partial_batch(self._parent) else set())


class TakeDataset(_View):
    """The first rows: the result of `Dataset.take`."""


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

    def _inexact(self):
        follows = self._parts[:-1] if self._join is not _data.zip else []
        return super()._inexact() | ({""} if any(map(_has_partial_batch, follows)) else set())


builtin_zip = zip


def zip(datasets: Sequence[Dataset]) -> Dataset:
    """The columns of several data sets, given as a tuple, side by side, for as many rows as the shortest has. Raises
    ValueError for a column that two of them have."""
    if not isinstance(datasets, tuple) or not datasets:
        raise TypeError(f"[zip] not a tuple of data sets, got {type(datasets).__name__}, expected one")
    return _Joined(list(datasets), _data.zip)


ConcatDataset = _Joined
MappableDataset = SourceDataset = VisionBaseDataset = TextBaseDataset = Dataset

__getattr__, __dir__ = _later.names_of(globals(), "partita.dataset")
