"""Data sets of MindRecord files."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from partita.dataset.samplers import BuiltinSampler
from partita.dataset.sources import RowSource
from partita.mindrecord.filereader import columns_of, shards_of
from partita.mindrecord.shard import NUMBERS


def _array(value, kind):
    """A value of a row as an array: bytes as u8, texts as str."""
    if kind == "bytes":
        return np.frombuffer(value, np.uint8)
    return np.array(value) if kind == "string" else np.asarray(value, NUMBERS[kind])


class MindDataset(RowSource):
    """Rows of MindRecord files, in their order or shuffled: of all files of a name, or of a list of files.
    `columns_list` keeps some columns. `padded_sample`, a dict, is appended `num_padded` times to fill up shards. A
    training needs a `map` of columns of bytes, texts and arrays of any size to arrays of one shape. Raises ValueError
    for files that cannot be read."""

    def __init__(
        self,
        dataset_files: str | Sequence[str],
        columns_list: str | Sequence[str] | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        sampler: BuiltinSampler | Iterable[int] | None = None,
        padded_sample: dict | None = None,
        num_padded: int | None = None,
        num_samples: int | None = None,
        cache: None = None,
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
        if any(schema[n]["type"] in ("bytes", "string") or -1 in (schema[n].get("shape") or ()) for n in self._names):
            self._loose = True

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
        shard = bisect.bisect_right(self._begins, number) - 1
        if number >= self._begins[-1]:
            found = self._padding
        else:
            found = self._files[shard].row(number - self._begins[shard], self._names)
        schema = self._files[0].schema
        return [_array(found[name], schema[name]["type"]) for name in self._names]
