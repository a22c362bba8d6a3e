"""Data sets that need no files: padding, random numbers, and the types of columns."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.dtype import DTypeLike
from partita.dataset.files import Made, source_class
from partita.dataset.refused import reading
from partita.dataset.sources import RowSource


class Schema:
    """Names, types and shapes of columns, of a JSON file or added one by one with `add_column(name, type, shape)`."""

    def __init__(self, schema_file: str | None = None):
        self.columns, self.dataset_type, self.num_rows = [], "", None
        if schema_file is not None:
            with reading("Schema", f"'{schema_file}'"), open(schema_file, encoding="utf-8") as file:
                self.from_json(json.load(file))

    def add_column(self, name: str, de_type: DTypeLike, shape=None) -> None:
        """Adds a column of an element type, and of a shape if it has one."""
        if not isinstance(name, str):
            raise TypeError(f"[Schema] the name of a column is no text, got {name!r}, expected str")
        kind = "string" if str(de_type).lower() == "string" else mstype.to_dtype(_type_of(de_type)).name.lower()
        column = {"name": name, "rank": 1 if shape is None else len(shape)}
        if shape is not None:
            column["shape"] = list(shape)
        self.columns.append({**column, "type": kind})

    def parse_columns(self, columns: str | Sequence[str]):
        """Adds columns of a list of dicts with name, type and shape, or of {name: {type, shape}}."""
        if isinstance(columns, dict):
            columns = [{"name": name, **one} for name, one in columns.items()]
        for one in columns:
            if not {"name", "type"} <= set(one):
                raise RuntimeError(f"[Schema] a column lacks its name or type, got {one}, expected both")
            self.add_column(one["name"], one["type"], one.get("shape", []))

    def from_json(self, json_obj: dict):
        """Takes the columns of what a JSON file has. Raises RuntimeError without columns."""
        if "columns" not in json_obj:
            raise RuntimeError(f"[Schema] no columns, got {sorted(json_obj)}, expected columns")
        self.dataset_type, self.num_rows = json_obj.get("datasetType", ""), json_obj.get("numRows")
        self.columns = []
        self.parse_columns(json_obj["columns"])

    def to_json(self) -> str:
        """The text of the columns in JSON."""
        return json.dumps({"columns": self.columns}, indent=2)

    def __str__(self):
        return self.to_json()

    @staticmethod
    def get_num_rows(schema):
        """The number of rows that a schema says; None if it does not."""
        return schema.num_rows

    def names(self):
        return [one["name"] for one in self.columns]

    def types(self):
        return [None if one["type"] == "string" else _type_of(one["type"]) for one in self.columns]


def _type_of(kind):
    """An element type of its name, or itself."""
    return getattr(mstype, {"bool": "bool_"}.get(kind, kind)) if isinstance(kind, str) else kind


class PaddedDataset(RowSource):
    """Rows that are given, as dicts, to fill up the shards of other rows."""

    def __init__(self, padded_samples: Sequence[dict]):
        super().__init__("PaddedDataset", False, None, None, None, None)
        if not isinstance(padded_samples, (list, tuple)) or not padded_samples:
            raise TypeError(f"[PaddedDataset] no rows, got {padded_samples!r}, expected a list of dicts")
        if len({tuple(one) for one in padded_samples}) > 1:
            raise ValueError("[PaddedDataset] rows with other columns, got unlike dicts, expected the same names")
        self._names, self._count, self._samples = list(padded_samples[0]), len(padded_samples), list(padded_samples)

    def _row(self, number):
        return list(self._samples[number].values())


def _random_value(number, column, kind, shape):
    drawn = np.random.default_rng((number, column))
    if kind == "string":
        return np.array("".join(drawn.choice(list("abcdefgh"), 8)))
    kind = np.dtype(mstype.to_dtype(_type_of(kind)).numpy)
    if kind.kind == "f":
        return drawn.standard_normal(shape).astype(kind)
    return drawn.integers(0, 2 if kind.kind == "b" else 100, shape).astype(kind)


def _random(options, where):
    schema, names, count = options["schema"], options["columns_list"], options["total_rows"] or 1000
    schema = Schema(schema) if isinstance(schema, str) else schema
    columns = schema.columns if schema is not None else [{"name": name, "type": "int8"} for name in names or ["c0"]]
    columns = [one for one in columns if not names or one["name"] in names]
    return [one["name"] for one in columns], [
        [Made(_random_value, i, c, one["type"], tuple(one.get("shape", ()))) for c, one in enumerate(columns)]
        for i in range(count)
    ]


def _fake_image(seed, number, size):
    return np.random.default_rng((seed, number)).integers(0, 256, size).astype(np.uint8)


def _fake(options, where):
    count, seed, size = options["num_images"], options["base_seed"], tuple(options["image_size"])
    labels = np.random.default_rng(seed).integers(0, options["num_classes"], count).astype(np.uint32)
    return ("image", "label"), [[Made(_fake_image, seed, i, size), label] for i, label in enumerate(labels)]


RandomDataset = source_class(
    "RandomDataset",
    __name__,
    "total_rows=None, schema=None, columns_list=None, num_samples=None, num_parallel_workers=None, cache=None, "
    "shuffle=None, num_shards=None, shard_id=None",
    "Rows of random values, the same in each run, of the columns of a Schema.",
    _random,
)
FakeImageDataset = source_class(
    "FakeImageDataset",
    __name__,
    "num_images=1000, image_size=(224, 224, 3), num_classes=10, base_seed=0, num_samples=None, "
    "num_parallel_workers=None, shuffle=None, sampler=None, num_shards=None, shard_id=None, cache=None",
    "Random images u8 and labels u32, the same for each base_seed.",
    _fake,
)
__all__ = ["FakeImageDataset", "PaddedDataset", "RandomDataset", "Schema"]
