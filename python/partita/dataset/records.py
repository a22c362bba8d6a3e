"""Data sets of MindRecord files."""

import bisect
import itertools

import numpy as np

from partita import _core
from partita.common.tensor import Tensor
from partita.dataset import transforms as T
from partita.dataset.engine import Dataset
from partita.dataset.sources import _Source, _plain
from partita.mindrecord.filereader import columns_of, shards_of
from partita.mindrecord.shard import NUMBERS

_data = _core.data


class _Order(_Source):
    """The numbers of rows, in the order in which a script takes the rows."""

    def __init__(self, count, *choices):
        super().__init__("MindDataset", *choices)
        self._count = count

    def _all_rows(self):
        return _data.python_rows([("number", "i64", [])], self._count, lambda epoch, index: [np.array(index)])


def _array(value, kind):
    """A value of a row as an array: bytes as u8, texts as str."""
    if kind == "bytes":
        return np.frombuffer(value, np.uint8)
    return np.array(value) if kind == "string" else np.asarray(value, NUMBERS[kind])


class MindDataset(_Source):
    """Rows of MindRecord files, in their order or shuffled: of all files of a name, or of a list of files. Bytes, texts
    and arrays of any size are columns only until `map` makes arrays of one shape of them, or rows are iterated over one
    by one; a batch has none of them."""

    def __init__(
        self,
        dataset_files,
        columns_list=None,
        num_parallel_workers=None,
        shuffle=None,
        num_shards=None,
        shard_id=None,
        sampler=None,
        padded_sample=None,
        num_padded=None,
        num_samples=None,
        cache=None,
    ):
        choices = shuffle, num_shards, shard_id, num_samples, sampler, cache
        super().__init__("MindDataset", *choices)
        self._files = shards_of("MindDataset", dataset_files)
        self._names = columns_of("MindDataset", self._files, columns_list)
        self._begins = [0, *itertools.accumulate(map(len, self._files))]
        self._padding = self._padded(padded_sample, num_padded or 0)
        self._count = self._begins[-1] + (num_padded or 0)
        if self._count == 0:
            raise ValueError(f"[MindDataset] no rows, got {dataset_files!r}, expected at least 1")
        schema = self._files[0].schema
        self._loose = {  # columns whose values have no shape of their own
            name
            for name in self._names
            if schema[name]["type"] in ("bytes", "string") or -1 in (schema[name].get("shape") or ())
        }
        self._order, self._steps = _Order(self._count, *choices), []

    def _padded(self, sample, count):
        if not isinstance(count, int) or count < 0 or (count > 0) != (sample is not None):
            raise ValueError(
                f"[MindDataset] padded_sample and num_padded belong together, got num_padded={count!r}, expected both"
            )
        if sample is not None and not set(self._names) <= set(sample):
            raise ValueError(
                f"[MindDataset] the padded sample lacks columns, got {sorted(sample)}, expected {self._names}"
            )
        return sample

    def _row(self, number):
        """The columns of a row, after the steps on those without a shape."""
        shard = bisect.bisect_right(self._begins, number) - 1
        if number >= self._begins[-1]:
            found = self._padding
        else:
            found = self._files[shard].row(number - self._begins[shard], self._names)
        schema = self._files[0].schema
        row = {name: _array(found[name], schema[name]["type"]) for name in self._names}
        for steps, inputs, outputs in self._steps:
            values = [row.pop(name) for name in inputs]
            for step in steps:
                made = step(*values)
                values = list(made) if isinstance(made, tuple) else [made]
            if len(values) != len(outputs):
                raise ValueError(
                    f"[map] wrong number of results, got {len(values)}, expected {len(outputs)}: {outputs}"
                )
            row.update({name: _plain(value) for name, value in zip(outputs, values)})
        return row

    def _all_rows(self):
        if self._loose:
            name = sorted(self._loose)[0]
            one = self._files[0].schema.get(name, {"type": "texts"})
            raise ValueError(
                f"[MindDataset] column '{name}' has no shape, got {one}, expected a map to arrays of one shape, or a "
                "columns_list without it"
            )
        first = {name: _core.Array(one) for name, one in self._row(0).items()}
        columns = [(name, one.dtype, list(one.shape)) for name, one in first.items()]
        return _data.python_rows(columns, self._count, lambda epoch, index: list(self._row(index).values()))

    def map(
        self,
        operations,
        input_columns=None,
        output_columns=None,
        column_order=None,
        num_parallel_workers=None,
        **kwargs,
    ):
        """Applies operations as `Dataset.map` does. Those on columns without a shape are functions of Python."""
        inputs = [input_columns] if isinstance(input_columns, str) else input_columns or self._column_names()[:1]
        if not self._loose & set(inputs):
            return super().map(operations, input_columns, output_columns, column_order, num_parallel_workers, **kwargs)
        steps = T.flattened(operations)
        for step in steps:
            if not callable(step) or isinstance(step, _data.Map):
                raise ValueError(
                    f"[map] a column has no shape, got {type(step).__name__} on '{inputs[0]}', expected a function of "
                    "Python"
                )
        outputs = [output_columns] if isinstance(output_columns, str) else output_columns or inputs
        mapped = self._copy()
        mapped._steps = [*self._steps, (steps, list(inputs), list(outputs))]
        first = mapped._row(0)
        kinds = {name: first[name].dtype.kind for name in outputs}
        mapped._loose = (self._loose - set(inputs)) | {name for name, kind in kinds.items() if kind in "USO"}
        return mapped.project(column_order) if column_order else mapped

    def _copy(self):
        other = type(self).__new__(type(self))
        Dataset.__init__(other)
        built = other._built
        other.__dict__.update(self.__dict__)
        other.__dict__.update(_built=built, _whole_source=None)
        return other

    def _column_names(self):
        return list(self._row(0)) if self._steps else list(self._names)

    def get_col_names(self):
        return self._column_names()

    def get_dataset_size(self):
        return self._order.get_dataset_size()

    def _values(self, epochs, columns, output_numpy):
        if not self._loose:
            return super()._values(epochs, columns, output_numpy)
        return self._rows_one_by_one(columns, output_numpy)

    def _rows_one_by_one(self, columns, output_numpy):
        for (number,) in self._order.create_tuple_iterator(output_numpy=True):
            row = self._row(int(number))
            values = [row[name] for name in columns or row]
            yield values if output_numpy else [one if one.dtype.kind == "U" else Tensor(one) for one in values]
