"""Methods of data sets that read rows of any shape, one after the other."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.dataset import flows
from partita.dataset.columns import names_of, names_or_none, require_columns
from partita.mindrecord import filewriter


class Streamed:
    """The part of `Dataset` that needs Python to read the rows."""

    _begin = 0  # the step that the next epoch begins with
    _waits = None  # (name, callback) of `sync_wait`

    def _streamed(self, change, **attrs):
        return self._view(None, flow=lambda flow, seed: change(flow), **attrs)

    # What there is.

    def get_batch_size(self) -> int:
        """The number of rows of a batch; 1 of rows that are not batched."""
        return self._batch_size or 1

    def get_repeat_count(self) -> int:
        """How often the rows are repeated in an epoch."""
        parent = getattr(self, "_parent", None)
        return 1 if parent is None else parent.get_repeat_count()

    def __len__(self):
        return self.get_dataset_size()

    def output_shapes(self, estimate: bool = False) -> list:
        """Shapes of the columns of the first row or batch. With `estimate` all of an epoch are read, and None stands
        for what varies."""
        if estimate:
            shapes = [[np.shape(value) for value in row] for row in self.flow().epoch(0)]
            return [_common(column) for column in zip(*shapes)]
        if self._reads_flow():
            return [list(np.shape(value)) for value in self.flow().first()]
        rows = self.rows()
        head = [] if self._batch_size is None else [self._batch_size]
        if head and not self._drop_remainder:
            head = [min(self._batch_size, len(rows))]
        return [head + list(shape) for _, _, shape in rows.columns]

    def output_types(self) -> list[np.dtype]:
        """Element types of the columns, as NumPy has them."""
        if self._reads_flow():
            return [_element_type(value) for value in self.flow().first()]
        return [np.dtype(mstype.of_core(core).numpy) for _, core, _ in self.rows().columns]

    def num_classes(self) -> int | None:
        """Number of classes of labels in the source of the rows; None where they are not classes."""
        return next((found for one in self._parents if (found := one.num_classes()) is not None), None)

    def get_class_indexing(self) -> dict[str, int]:
        """Names of classes and their numbers, in the source of the rows; {} where there are none."""
        return next((found for one in self._parents if (found := one.get_class_indexing())), {})

    def is_sharded(self) -> bool:
        """Whether the rows are one of several shards."""
        return self._shards[0] > 1

    def is_shuffled(self) -> bool:
        """Whether the rows come in another order than that of their source."""
        return any(one.is_shuffled() for one in self._parents)

    def __repr__(self):
        try:
            columns = ", ".join(self.get_col_names())
        except Exception:  # a description says what is there, and never fails
            columns = "not readable"
        batches = "" if self._batch_size is None else f", in batches of {self._batch_size}"
        return f"<{type(self).__name__.lstrip('_')}: columns {columns}{batches}>"

    def _repr_html_(self):
        try:
            rows = list(zip(self.get_col_names(), self.output_types(), self.output_shapes()))
        except Exception:
            return html.escape(repr(self))
        lines = "".join("<tr>" + "".join(f"<td>{html.escape(str(one))}</td>" for one in row) + "</tr>" for row in rows)
        return f"<table><tr><th>column</th><th>type</th><th>first shape</th></tr>{lines}</table>"

    # How it is changed.

    def filter(
        self,
        predicate: Callable,
        input_columns: str | Sequence[str] | None = None,
        num_parallel_workers: int | None = None,
    ):
        """Keeps the rows for which a function is true. It gets the values of `input_columns`, or of all columns, as
        NumPy arrays. Raises TypeError for what cannot be called, ValueError for unknown columns."""
        if not callable(predicate):
            raise TypeError(f"[filter] not a function, got {type(predicate).__name__}, expected one of columns")
        names = names_or_none("filter", "input_columns", input_columns)
        require_columns("filter", names or [], self.get_col_names())
        return self._streamed(lambda flow: flows.filtered(flow, predicate, names))

    def padded_batch(
        self,
        batch_size: int | Callable,
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        pad_info: dict | None = None,
    ):
        """Groups rows into batches, and pads columns to one shape: pad_info is {column: (shape, value)}, where None in
        a shape stands for the largest of the batch. An empty pad_info pads all columns with 0, and None none."""
        return self.batch(batch_size, drop_remainder, pad_info=pad_info)

    def bucket_batch_by_length(
        self,
        column_names: str | Sequence[str],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        element_length_function: Callable | None = None,
        pad_info: dict | None = None,
        pad_to_bucket_boundary: bool = False,
        drop_remainder: bool = False,
    ):
        """Groups rows of similar lengths into batches. A bucket has the lengths from one boundary to before the next,
        and a size of its own. The length is that of the only column, or what a function of columns gives. Rows are
        padded as by `padded_batch`; with `pad_to_bucket_boundary` None stands for the boundary minus 1. Raises
        ValueError for boundaries that do not rise, or other than one more size than boundaries."""
        where = "bucket_batch_by_length"
        names, bounds = names_of(where, "column_names", column_names), list(bucket_boundaries)
        require_columns(where, names, self.get_col_names())
        if not bounds or bounds[0] < 1 or any(a >= b for a, b in zip(bounds, bounds[1:])):
            raise ValueError(f"[{where}] bad bucket_boundaries, got {bounds}, expected rising numbers from 1")
        if len(bucket_batch_sizes) != len(bounds) + 1 or min(bucket_batch_sizes) < 1:
            raise ValueError(
                f"[{where}] bad bucket_batch_sizes, got {list(bucket_batch_sizes)}, expected {len(bounds) + 1} of them"
            )
        if element_length_function is None and len(names) != 1:
            raise ValueError(f"[{where}] a length needs a function, got {len(names)} columns, expected one")
        info = {} if pad_info is None else flows.Padding(pad_info, where).info

        def padding_of(bucket):
            if not pad_to_bucket_boundary:
                return flows.Padding(info)
            if bucket == len(bounds):
                raise RuntimeError(
                    f"[{where}] a row is longer than the last boundary, got pad_to_bucket_boundary, expected lengths "
                    f"below {bounds[-1]}"
                )
            to = {
                name: ([bounds[bucket] - 1 if one is None else one for one in shape or [None]], value)
                for name, (shape, value) in info.items()
            }
            return flows.Padding(to)

        def change(flow):
            require_columns(where, info, flow.names)
            places = [flow.names.index(name) for name in names]

            def length_of(row):
                values = [row[place] for place in places]
                return int(len(values[0]) if element_length_function is None else element_length_function(*values))

            return flows.bucketed(flow, bounds, list(bucket_batch_sizes), length_of, padding_of, drop_remainder)

        return self._streamed(change, batch_size=bucket_batch_sizes[0])

    def flat_map(self, func: Callable):
        """The rows of the data sets that a function makes of each row."""
        if not callable(func):
            raise TypeError(f"[flat_map] not a function, got {type(func).__name__}, expected one that gives a data set")

        def flow_of(made):
            if not isinstance(made, Streamed):
                raise TypeError(f"[flat_map] no data set, got {type(made).__name__}, expected one for each row")
            return made.flow()

        return self._streamed(lambda flow: flows.flattened(flow, func, flow_of))

    # Waiting for a training.

    def sync_wait(self, condition_name: str, num_batch: int = 1, callback: Callable | None = None):
        """Names a place where `sync_update` calls `callback(data)`, such as one that changes a map that comes after.
        Nothing is prefetched, so each row comes after the updates before it, and none has to wait."""
        if not isinstance(num_batch, int) or num_batch < 1:
            raise ValueError(f"[sync_wait] bad num_batch, got {num_batch!r}, expected an integer from 1")
        made = self._view(lambda rows, seed: rows, flow=lambda flow, seed: flow)
        made._waits = (condition_name, callback)
        return made

    def sync_update(self, condition_name: str, num_batch: int | None = None, data=None) -> None:
        """Calls the callback of `sync_wait` with `data`. Raises RuntimeError unless one has this name."""
        found = [callback for name, callback in self._waiting() if name == condition_name]
        if not found:
            raise RuntimeError(f"[sync_update] nothing waits, got {condition_name!r}, expected a name of sync_wait")
        for callback in found:
            if callback is not None:
                callback(data)

    def _waiting(self):
        found = [self._waits] if self._waits else []
        return found + [one for parent in self._parents for one in parent._waiting()]

    # How it is read.

    def set_init_step(self, init_step: int) -> None:
        """The next iterator begins with this step, counted over epochs: a training goes on in the middle of one."""
        self._begin = int(init_step)

    def get_init_step(self) -> int:
        """The step, counted over epochs, with which the next iterator begins."""
        if self._begin or len(self._parents) != 1:
            return self._begin
        return self._parents[0].get_init_step()

    def _begin_epoch(self):
        """How many rows or batches the next epoch leaves out."""
        begin, self._begin = self._begin, 0
        size = self.get_dataset_size() if begin else 0
        if size == 0:
            return 0
        epoch, skipped = divmod(begin, size)
        self._epoch = epoch
        return skipped

    def save(self, file_name: str | os.PathLike, num_files: int = 1, file_type: str = "mindrecord") -> None:
        """Writes the rows of an epoch to `num_files` MindRecord files."""
        if file_type != "mindrecord":
            raise ValueError(f"[save] unknown file_type, got {file_type!r}, expected mindrecord")
        names, schema = self.get_col_names(), None
        writer = filewriter.FileWriter(str(file_name), num_files)
        for row in self.flow().epoch(0):
            kinds = [_SAVED.get(value.dtype.str[1:], _SAVED.get(value.dtype.kind)) for value in row]
            if schema is None:
                schema = {name: _field(name, value, kind) for name, value, kind in zip(names, row, kinds)}
                writer.add_schema(schema)
            writer.write_raw_data([{name: _plain_field(value, kind) for name, value, kind in zip(names, row, kinds)}])
        if schema is None:
            raise ValueError("[save] no rows, got an empty data set, expected one or more")
        writer.commit()

    def reset(self) -> None:
        """Begins with the first epoch again."""
        self._epoch = 0


# Types of the fields of MindRecord files, by those of NumPy or their kinds.
_SAVED = {
    **dict.fromkeys(("u1", "i1", "i2", "u2", "b1", "i4"), "int32"),
    **dict.fromkeys(("u4", "i8", "u8"), "int64"),
    **dict.fromkeys(("f2", "f4"), "float32"),
    **{"f8": "float64", "U": "string", "S": "bytes"},
}


def _field(name, value, kind):
    if kind is None or kind in ("string", "bytes") and value.ndim:
        raise NotImplementedError(
            f"[save] column '{name}' cannot be saved, got {value.dtype} {list(value.shape)}, expected numbers or a text"
        )
    return {"type": kind, "shape": [-1, *value.shape[1:]]} if value.ndim else {"type": kind}


def _plain_field(value, kind):
    return value.astype(kind) if value.ndim else value.item() if kind not in ("int32", "int64") else int(value)


def _common(shapes):
    if len({len(one) for one in shapes}) > 1:
        return [None]
    return [sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes)]


def _element_type(value):
    if isinstance(value, dict):
        return np.dtype(object)
    if isinstance(value, Tensor):
        return value.asnumpy().dtype
    return np.dtype(value.dtype.kind) if value.dtype.kind in "US" else value.dtype
