"""Where rows come from."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from enum import Enum

import numpy as np

from partita import _core
from partita.common import dtype as mstype
from partita.common import seed as _seed
from partita.dataset import flows
from partita.dataset.batched import PythonSampler
from partita.dataset.columns import names_of, require_column
from partita.dataset.engine import Dataset
from partita.dataset.flows import value_of as _plain
from partita.dataset.refused import noting
from partita.dataset.samplers import BuiltinSampler
from partita.dataset.workers import count_of, in_order

_data = _core.data


class Shuffle(str, Enum):
    """Whether rows are shuffled. All that are, are shuffled among each other, those of several files too."""

    FALSE = "false"
    GLOBAL = "global"
    FILES = "files"
    INFILE = "infile"


class _Source(Dataset):
    """Rows that are shuffled and cut into shards as the script says."""

    def __init__(self, where, shuffle, num_shards, shard_id, num_samples, sampler, cache=None):
        super().__init__()
        if (num_shards is None) != (shard_id is None):
            raise ValueError(
                f"[{where}] num_shards and shard_id belong together, got num_shards={num_shards}, shard_id={shard_id}, "
                "expected both"
            )
        if num_shards is not None and not 0 <= shard_id < num_shards:
            raise ValueError(f"[{where}] shard out of range, got {shard_id}, expected 0 to {num_shards - 1}")
        if sampler is not None and (shuffle is not None or num_shards is not None or num_samples is not None):
            raise ValueError(f"[{where}] a sampler excludes other choices of rows, got both, expected one of them")
        if num_samples is not None and (not isinstance(num_samples, int) or num_samples < 0):
            raise ValueError(f"[{where}] bad num_samples, got {num_samples!r}, expected an integer from 1")
        if cache is not None:
            raise NotImplementedError(f"[{where}] caches are not supported, got one, expected none")
        self._shuffle = shuffle is not Shuffle.FALSE if isinstance(shuffle, Shuffle) else shuffle
        self._num_samples, self._sampler = num_samples or None, sampler
        if num_shards is not None:
            self._shards = (num_shards, shard_id)
        if sampler is not None:
            self._sampler = sampler if hasattr(sampler, "choose") else PythonSampler(_numbers_of(where, sampler))
            self._shards = self._sampler.shards()
            if hasattr(sampler, "of_labels"):
                sampler.of_labels(self._labels)
        self._whole_source = None

    def _all_rows(self):
        raise NotImplementedError

    def _source(self, shard):
        if self._whole_source is None:
            self._whole_source = self._all_rows()
        return self._chosen(self._whole_source, shard)

    def _labels(self, column):
        """The values of a column in all rows. Raises ValueError unless there is such a column."""
        whole = self._all_rows()
        names = [name for name, _, _ in whole.columns]
        require_column("sampler", column, names)
        return np.asarray(whole.read(0, list(range(len(whole))))[names.index(column)])

    def use_sampler(self, new_sampler):
        """Takes the rows that a sampler chooses."""
        self._sampler = (
            new_sampler if hasattr(new_sampler, "choose") else PythonSampler(_numbers_of("use_sampler", new_sampler))
        )
        self._shards, self._built, self._flows = self._sampler.shards(), {}, {}
        if hasattr(new_sampler, "of_labels"):
            new_sampler.of_labels(self._labels)

    def add_sampler(self, new_sampler):
        """Makes the sampler that there is a child of a new one."""
        if hasattr(self._sampler, "add_child"):
            new_sampler.add_child(self._sampler)
        self.use_sampler(new_sampler)

    def _chosen(self, rows, shard):
        """The rows that the script wants of all, in their order."""
        seed = self._shuffle_seed()
        shards, own = self._shards
        if shard is not None:
            shards, own = shard
        if self._sampler is not None:
            return self._sampler.choose(rows, seed, (shards, own))
        if self._shuffle or self._shuffle is None and self._shuffles_by_default():
            rows = rows.shuffle(seed)
        if shards > 1:
            rows = rows.shard(shards, own)
        return rows if self._num_samples is None else rows.take(self._num_samples)

    @staticmethod
    def _shuffle_seed():
        return _seed.seed_or_default()

    def _shuffles_by_default(self):
        return True

    def is_shuffled(self):
        return bool(self._shuffle or self._shuffle is None and self._shuffles_by_default())


class RowSource(_Source):
    """Rows that `_row(number)` gives, of which there are `_count`: lists of values of any type for `_names`. They need
    no common shape."""

    _names, _count = (), 0

    def _row(self, number):
        raise NotImplementedError

    def _row_of_library(self, number):
        """The row as the library holds it."""
        return [_plain(value) for value in self._row(number)]

    def _numbers(self, shard):
        numbers = _data.python_rows([("number", "i64", [])], self._count, lambda epoch, index: [np.array(index)])
        return self._chosen(numbers, shard)

    def _flow(self, shard):
        return flows.of_numbers(self._names, self._numbers(shard), self._row, self._workers)

    def _by_number(self, shard):
        numbers = self._numbers(shard)
        return numbers, self._names, lambda number, epoch, place: [_plain(value) for value in self._row(number)]

    def _labels(self, column):
        require_column("sampler", column, self._names)
        return [self._row(number)[list(self._names).index(column)] for number in range(self._count)]

    def _varies(self):
        count = min(self._count, 8)
        return not flows.are_alike([self._row_of_library(self._count * i // count) for i in range(count)])

    def get_col_names(self) -> list[str]:
        return list(self._names)

    def _all_rows(self):
        if self._count == 0:
            raise ValueError(f"[{type(self).__name__}] no rows, got an empty data set, expected one or more")
        arrays = [_core.Array(value) for value in self._row_of_library(0)]
        columns = [(name, one.dtype, list(one.shape)) for name, one in zip(self._names, arrays)]
        return _data.python_rows(columns, self._count, lambda epoch, index: self._row_of_library(index))


def _numbers_of(where, sampler):
    """Something that gives numbers of rows. Raises TypeError for what is not iterable."""
    if not hasattr(sampler, "__iter__") and not hasattr(sampler, "__getitem__"):
        raise TypeError(f"[{where}] bad sampler, got {type(sampler).__name__}, expected a sampler, or numbers of rows")
    return sampler


def folder_of(where, dataset_dir):
    if not isinstance(dataset_dir, (str, os.PathLike)):
        raise TypeError(f"[{where}] the folder is not a path, got {type(dataset_dir).__name__}, expected str")
    if not os.path.isdir(dataset_dir):
        raise ValueError(f"[{where}] no such folder, got '{dataset_dir}', expected one with the files of the data set")
    return os.fspath(dataset_dir)


class _Images(_Source):
    """A data set of labelled images in a folder: the rows of the training, of the test, or of both."""

    def __init__(
        self,
        dataset_dir: str | os.PathLike,
        usage: str | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: BuiltinSampler | Iterable[int] | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: None = None,
    ):
        where = type(self).__name__
        super().__init__(where, shuffle, num_shards, shard_id, num_samples, sampler, cache)
        if usage not in (None, "train", "test", "all"):
            raise ValueError(f"[{where}] unknown usage, got {usage!r}, expected train, test or all")
        self._folder, self._usage = folder_of(where, dataset_dir), usage
        self.rows()  # files that are missing or damaged are errors of this line

    def _all_rows(self):
        wanted = {"train": [True], "test": [False]}.get(self._usage, self._both)
        there = [train for train in wanted if self._has(self._folder, train)] if len(wanted) > 1 else wanted
        parts = [self._read(self._folder, train) for train in there or [True]]
        rows = parts[0] if len(parts) == 1 else _data.concat(parts)
        return rows.map(["label"], _data.cast_map("u32"))


class MnistDataset(_Images):
    """Columns image u8[28,28,1] and label u32, of the files of MNIST in a folder: train-images-idx3-ubyte and its like.
    `usage`: "train", "test" or "all". Raises ValueError for a folder without them, and for damaged files."""

    _has, _read = staticmethod(_data.has_mnist), staticmethod(_data.mnist)
    _both = (False, True)  # in the order of the names of the files


class Cifar10Dataset(_Images):
    """Columns image u8[32,32,3] and label u32, of the files data_batch_1.bin to data_batch_5.bin and test_batch.bin in
    a folder. `usage`: "train", "test" or "all". Raises ValueError for a folder without them, and for damaged files."""

    _has, _read = staticmethod(_data.has_cifar10), staticmethod(_data.cifar10)
    _both = (True, False)


def _names(where, column_names, count):
    names = names_of(where, "column_names", column_names)
    if len(names) != count:
        raise ValueError(f"[{where}] another number of columns, got {count} values, expected {len(names)}: {names}")
    return names


def _values_of(row):
    return list(row) if isinstance(row, (tuple, list)) else list(row.values()) if isinstance(row, dict) else [row]


class _Kept:
    """The rows of an iterator, which are kept to be read again."""

    def __init__(self, rows):
        self._rows, self._kept = rows, []

    def __iter__(self):
        for i in itertools.count():
            if i == len(self._kept):
                try:
                    self._kept.append(next(self._rows))
                except StopIteration:
                    return
            yield self._kept[i]


class GeneratorDataset(RowSource):
    """Rows that Python makes, for the columns `column_names`. `source` is something with `__getitem__` and `__len__`,
    such as a list or a class of your own, whose rows can be shuffled, sharded and sampled; else something iterable, or
    a function that gives an iterator for each epoch: its rows keep their order, and are counted by reading them once. A
    row is a value, a tuple or list with one for each column, or a dict of them: arrays, numbers, texts. With a length
    as many threads as `num_parallel_workers` says make rows, also with `python_multiprocessing`.

    `shuffle` is True by default with random access. `batch_sampler` gives lists of the numbers of rows that become
    batches, and `collate_fn(column, ..)` makes their columns. Raises TypeError for another source, ValueError for
    columns without names or another number of values, RuntimeError for an empty source, or for `shuffle` or shards
    without random access."""

    def __init__(
        self,
        source: Callable | Iterable,
        column_names: str | Sequence[str] | None = None,
        column_types: Sequence | None = None,
        schema=None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        sampler: BuiltinSampler | Iterable[int] | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        python_multiprocessing: bool = True,
        max_rowsize: int | None = None,
        batch_sampler: Iterable[Sequence[int]] | None = None,
        collate_fn: Callable | None = None,
    ):
        self._random = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        self._workers = count_of("GeneratorDataset", num_parallel_workers)
        super().__init__("GeneratorDataset", shuffle, num_shards, shard_id, num_samples, sampler)
        if batch_sampler is not None and (sampler or shuffle or num_shards or num_samples or not self._random):
            raise ValueError(
                "[GeneratorDataset] a batch_sampler excludes other choices of rows, got both, expected one of them and "
                "a source with __getitem__ and __len__"
            )
        if collate_fn is not None and batch_sampler is None:
            raise ValueError("[GeneratorDataset] collate_fn without batches, got one, expected a batch_sampler")
        if not self._random and not callable(source) and not hasattr(source, "__iter__"):
            raise TypeError(
                f"[GeneratorDataset] the source cannot be iterated over, got {type(source).__name__}, expected a "
                "function, an iterable, or something with __getitem__ and __len__"
            )
        if not self._random and (shuffle or num_shards is not None):
            raise RuntimeError(
                "[GeneratorDataset] a source without random access cannot be shuffled or sharded, got shuffle or "
                "num_shards, expected a source with __getitem__ and __len__"
            )
        if isinstance(schema, str):
            raise TypeError(f"[GeneratorDataset] schema is a text, got {schema!r}, expected dataset.Schema(file)")
        if column_names is None and schema is not None:
            column_names, column_types = schema.names(), schema.types()
        if column_names is None:
            raise ValueError("[GeneratorDataset] columns without names, got None, expected column_names")
        self._python_source, self._types = source, column_types
        self._loose, self._looked = None if self._random else True, None
        self._batches_of_rows, self._collate = batch_sampler, collate_fn
        if batch_sampler is not None:
            self._loose, self._batch_size = True, len(list(next(iter(batch_sampler))))
        if self._random and len(source) == 0:
            raise RuntimeError("[GeneratorDataset] no rows, got an empty source, expected one or more")
        first, self._count = (source[0], len(source)) if self._random else (self._look(), None)
        self._names = _names("GeneratorDataset", column_names, len(_values_of(first)))

    def _iterate(self):
        source = self._python_source
        if callable(source):
            return iter(source())
        if iter(source) is source:  # can be read once
            source = self._python_source = _Kept(source)
        return iter(source)

    def _look(self):
        """The first row. The source goes on from there for the first epoch."""
        rows = self._iterate()
        first = next(rows, None)
        if first is None:
            raise RuntimeError("[GeneratorDataset] no rows, got an empty source, expected one or more")
        self._looked = itertools.chain([first], rows)
        return first

    def _shuffles_by_default(self):
        return self._random

    def _typed(self, row):
        values = [_plain(value) for value in _values_of(row)]
        if len(values) != len(self._names):
            _names("GeneratorDataset", self._names, len(values))
        for name, value, kind in zip(self._names, values, self._types or [None] * len(values)):
            if kind is not None and value.dtype != mstype.to_dtype(kind).numpy:
                raise TypeError(
                    f"[GeneratorDataset] another type of column '{name}', got {value.dtype}, expected "
                    f"{mstype.to_dtype(kind)} as column_types says"
                )
        return values

    def _row(self, number):
        with noting(lambda: f"[GeneratorDataset] in the source, at its row {number}"):
            return self._typed(self._python_source[number])

    def _by_number(self, shard):
        return super()._by_number(shard) if self._random and self._batches_of_rows is None else None

    def _flow_of_batches(self):
        collate = self._collate
        collation = flows.Collation(self._names, collate and (lambda *columns: collate(*columns[:-1])))

        def epoch(number):
            for i, batch in enumerate(self._batches_of_rows):
                yield collation(list(in_order(self._row, batch, self._workers)), number, i)

        return flows.Flow(collation.names, epoch)

    def _flow(self, shard):
        if self._batches_of_rows is not None:
            return self._flow_of_batches()
        if self._random:
            return super()._flow(shard)

        def epoch(number):
            rows, self._looked = self._looked or self._iterate(), None
            return map(self._typed, itertools.islice(rows, self._num_samples))

        flow = flows.Flow(self._names, epoch)
        return flow


class NumpySlicesDataset(RowSource):
    """Rows of arrays or lists along their first dimension: one array (column_0), several in a tuple (column_0,
    column_1, ..), or by name in a dict. `column_names` gives other names. Rows are shuffled unless `shuffle` is False.
    Raises ValueError for columns of different lengths, or another number of names."""

    def __init__(
        self,
        data: np.ndarray | Sequence | dict,
        column_names: str | Sequence[str] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        sampler: BuiltinSampler | Iterable[int] | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ):
        super().__init__("NumpySlicesDataset", shuffle, num_shards, shard_id, num_samples, sampler)
        if isinstance(data, dict):
            names, values = list(data), list(data.values())
        elif isinstance(data, tuple):
            names, values = [f"column_{i}" for i in range(len(data))], list(data)
        else:
            names, values = ["column_0"], [data]
        if column_names is not None:
            names = _names("NumpySlicesDataset", column_names, len(values))
        for one in values:
            if not hasattr(one, "__len__"):
                raise TypeError(
                    f"[NumpySlicesDataset] a column has no rows, got {type(one).__name__}, expected an array or a list"
                )
        self._names, self._values_of_columns = names, values
        self._count = len(values[0])
        if any(len(one) != self._count for one in values):
            raise ValueError(
                f"[NumpySlicesDataset] columns of different lengths, got {[len(one) for one in values]}, expected one"
            )
        self._rows = self._in_memory()
        self._loose = self._rows is None

    def _in_memory(self):
        """The rows of the library; None for texts, and for rows of unlike shapes."""
        try:
            arrays = [_plain(value) for value in self._values_of_columns]
        except ValueError:
            return None
        if any(flows.kind_of(one) is None for one in arrays):
            return None
        return _data.memory_rows(list(zip(self._names, map(_core.Array, arrays))))

    def _row(self, number):
        return [one[number] for one in self._values_of_columns]

    def _all_rows(self):
        return self._rows
