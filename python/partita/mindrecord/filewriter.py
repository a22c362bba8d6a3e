"""Writes rows to MindRecord files."""

import json
import numbers
import os
import sqlite3
import struct

import numpy as np

from partita._names import refuse_missing
from partita.mindrecord import integers, msgpack
from partita.mindrecord.filereader import shards_of
from partita.mindrecord.shard import NUMBERS, TYPES

_SQL = {"string": "TEXT", "int32": "INTEGER", "int64": "INTEGER", "float32": "REAL", "float64": "REAL"}
_PLACES = (
    "ROW_ID",
    "PAGE_ID_RAW",
    "PAGE_OFFSET_RAW",
    "PAGE_OFFSET_RAW_END",
    "ROW_GROUP_ID",
    "PAGE_ID_BLOB",
    "PAGE_OFFSET_BLOB",
    "PAGE_OFFSET_BLOB_END",
)


class FileWriter:
    """Writes rows to `file_name`, or to `shard_num` files with a number at their end, and an index next to each. Rows
    are split evenly over the files, in their order. The files are there once `commit` was called."""

    def __init__(self, file_name, shard_num=1, overwrite=False):
        if not isinstance(file_name, (str, os.PathLike)):
            raise TypeError(f"[FileWriter] the file is not a path, got {type(file_name).__name__}, expected str")
        if not isinstance(shard_num, int) or not 1 <= shard_num <= 1000:
            raise ValueError(f"[FileWriter] bad shard_num, got {shard_num!r}, expected 1 to 1000")
        name, digits = os.fspath(file_name), len(str(shard_num - 1))
        self._paths = [name] if shard_num == 1 else [f"{name}{i:0{digits}}" for i in range(shard_num)]
        for path in self._paths:
            if not overwrite and os.path.exists(path):
                raise ValueError(f"[FileWriter] there is such a file, got {path}, expected overwrite=True")
        self._header_bytes, self._page_bytes = 16 << 20, 32 << 20
        self._schema, self._indexed, self._rows, self._description = None, None, [[] for _ in self._paths], ""
        self._is_committed = False
        self._read = None  # the states of the files that are appended to

    @classmethod
    def open_for_append(cls, file_name):
        """A writer that adds rows to those of a file, or of all files that its header names. It has their fields, index
        and sizes. `commit` writes all rows anew, so they must fit in memory, and then replaces the files one by one.
        Raises ValueError for a file that is missing or damaged. So does `commit` if another has written it since."""
        shards = shards_of("FileWriter", file_name)
        writer = cls(file_name, overwrite=True)
        writer._paths = [shard.path for shard in shards]
        writer._header_bytes, writer._page_bytes = shards[0].header_bytes, shards[0].page_bytes
        writer.add_schema(shards[0].schema, shards[0].description)
        writer.add_index(shards[0].indexed)
        writer._read = [_state_of(shard.path) for shard in shards]
        writer._rows = [[writer._packed(shard.row(i)) for i in range(len(shard))] for shard in shards]
        return writer

    def set_header_size(self, header_size):
        """Sets the bytes of the header, from 16 KiB to 128 MiB."""
        self._header_bytes = self._size("header_size", header_size, 16 << 10, 128 << 20)

    def set_page_size(self, page_size):
        """Sets the bytes of a page, from 32 KiB to 256 MiB. A row fits into one."""
        self._page_bytes = self._size("page_size", page_size, 32 << 10, 256 << 20)

    @staticmethod
    def _size(name, value, least, most):
        if not isinstance(value, int) or not least <= value <= most or value % 4:
            raise ValueError(f"[FileWriter] bad {name}, got {value!r}, expected {least} to {most}, a multiple of 4")
        return value

    def add_schema(self, content, desc=None):
        """Sets the fields: {name: {"type": .., "shape": ..}}. Those with a shape are arrays; -1 is any size."""
        if self._schema is not None:
            raise ValueError("[FileWriter] a second schema, got add_schema again, expected one call")
        if not isinstance(content, dict) or not content:
            raise ValueError(f"[FileWriter] a bad schema, got {content!r}, expected names and their types")
        for name, one in content.items():
            if not isinstance(name, str) or not name.replace("_", "").isalnum():
                raise ValueError(f"[FileWriter] a bad name of a field, got {name!r}, expected letters, digits and '_'")
            kind = one.get("type") if isinstance(one, dict) else None
            shape = one.get("shape") if isinstance(one, dict) else None
            is_shape = isinstance(shape, (list, tuple)) and shape and all(isinstance(size, int) for size in shape)
            if kind not in TYPES or (shape is not None and (kind not in NUMBERS or not is_shape)):
                raise ValueError(
                    f"[FileWriter] field '{name}' has no such type, got {one!r}, expected one of {', '.join(TYPES)}, "
                    "numbers also with a shape"
                )
        self._schema, self._description = {name: dict(content[name]) for name in sorted(content)}, desc or ""
        self._blobs = [name for name, one in self._schema.items() if "shape" in one or one["type"] == "bytes"]
        self._plain = [name for name in self._schema if name not in self._blobs]

    def add_index(self, index_fields):
        """Sets the fields of the index: all numbers and texts, unless this is called."""
        self._require_schema()
        for name in index_fields:
            if name not in self._plain:
                raise ValueError(f"[FileWriter] no field for the index, got {name!r}, expected one of {self._plain}")
        self._indexed = list(index_fields)

    def _require_schema(self):
        if self._schema is None:
            raise ValueError("[FileWriter] rows without a schema, got none, expected add_schema before")

    def write_raw_data(self, raw_data, parallel_writer=False):
        """Adds rows, a list of dicts from the names of all fields to values."""
        self._require_schema()
        if self._is_committed:
            raise ValueError("[FileWriter] the files are written, got rows after commit, expected them before")
        if not isinstance(raw_data, list) or not all(isinstance(row, dict) for row in raw_data):
            raise TypeError(f"[FileWriter] no rows, got {type(raw_data).__name__}, expected a list of dicts")
        packed = [self._packed(row) for row in raw_data]
        share, more = divmod(len(packed), len(self._paths))
        for number, rows in enumerate(self._rows):
            count = share + (number < more)
            rows += packed[:count]
            packed = packed[count:]

    def _packed(self, row):
        """(raw bytes, blob bytes, values of the index)."""
        for name in self._schema:
            if name not in row:
                raise ValueError(f"[FileWriter] a row lacks a field, got {sorted(row)}, expected '{name}' too")
        plain = {name: self._plain_value(name, row[name]) for name in self._plain}
        blobs = [self._blob(name, row[name]) for name in self._blobs]
        joined = blobs[0] if len(blobs) == 1 else b"".join(struct.pack(">Q", len(one)) + one for one in blobs)
        raw, blob = msgpack.packed(plain or {"id": 0}), joined if blobs else bytes(4)
        made = struct.pack("<Q", len(raw)) + raw, struct.pack("<Q", len(blob)) + blob, plain
        self._require_fit(made)
        return made

    def _require_fit(self, row):
        largest = max(len(row[0]), len(row[1]))
        if largest > self._page_bytes:
            raise ValueError(
                f"[FileWriter] a row is larger than a page, got {largest} bytes, expected at most {self._page_bytes}: "
                "set_page_size"
            )

    def _refuse(self, name, value, expected):
        raise ValueError(f"[FileWriter] field '{name}' does not fit, got {value!r}, expected {expected}")

    def _plain_value(self, name, value):
        kind = self._schema[name]["type"]
        if kind == "string":
            return value if isinstance(value, str) else self._refuse(name, value, "a str")
        is_int = kind.startswith("int")
        if isinstance(value, bool) or not isinstance(value, numbers.Integral if is_int else numbers.Real):
            self._refuse(name, value, kind)
        if not is_int:
            return float(value)
        bounds = np.iinfo(NUMBERS[kind])
        return int(value) if bounds.min <= value <= bounds.max else self._refuse(name, value, kind)

    def _blob(self, name, value):
        kind, shape = self._schema[name]["type"], self._schema[name].get("shape")
        if kind == "bytes":
            return bytes(value) if isinstance(value, (bytes, bytearray)) else self._refuse(name, value, "bytes")
        if not isinstance(value, np.ndarray) or value.dtype != NUMBERS[kind]:
            self._refuse(name, getattr(value, "dtype", type(value).__name__), f"an array of {kind}")
        fits = len(value.shape) == len(shape) and all(b in (-1, a) for a, b in zip(value.shape, shape))
        if not fits and value.size != np.prod(shape):
            self._refuse(name, value.shape, f"the shape {tuple(shape)}")
        if kind.startswith("int"):
            return integers.compressed(value)
        return np.ascontiguousarray(value, np.dtype(NUMBERS[kind]).newbyteorder("<")).tobytes()

    def commit(self):
        """Writes the files. Existing ones stay until all new ones are written."""
        self._require_schema()
        self._is_committed = True
        try:
            for number in range(len(self._paths)):
                self._write(number)
            for path, read in zip(self._paths, self._read or ()):
                if _state_of(path) != read:
                    raise ValueError(
                        f"[FileWriter] another has written the file since it was read, got {path}, expected it as it "
                        "was: open_for_append again"
                    )
            for path in self._paths:
                os.replace(path + ".db.tmp", path + ".db")
                os.replace(path + ".tmp", path)
        finally:
            for path in self._paths:
                for left in (path + ".tmp", path + ".db.tmp"):
                    if os.path.exists(left):
                        os.remove(left)

    def _pages(self, rows):
        """(pages, lines of the index): a page of blobs is a group of rows, whose other fields are in one page, too."""
        groups, sizes = [], (0, 0)
        for row in rows:
            self._require_fit(row)
            added = sizes[0] + len(row[0]), sizes[1] + len(row[1])
            if not groups or max(added) > self._page_bytes:
                groups.append([])
                added = len(row[0]), len(row[1])
            groups[-1].append(row)
            sizes = added
        pages, lines, first = [], [], 0
        for number, group in enumerate(groups):
            pages.append(_Page("BLOB_DATA", number, [{"id": 0, "offset": 0}], first, first + len(group)))
            for row in group:
                pages[-1].add(row[1])
            first += len(group)
        raw = None
        for number, group in enumerate(groups):
            size = sum(len(row[0]) for row in group)
            if raw is None or pages[raw].size + size > self._page_bytes:
                kind = 0 if raw is None else raw + 1
                raw = len(pages)
                pages.append(_Page("RAW_DATA", kind, [], 0, 0))
            pages[raw].groups.append({"id": number, "offset": pages[raw].size})
            at = 0
            for row in group:
                begin = pages[raw].size
                pages[raw].add(row[0])
                lines.append((len(lines), raw, begin, pages[raw].size, number, number, at, at + len(row[1]), row[2]))
                at += len(row[1])
        return pages, lines

    def _write(self, number):
        path, (pages, lines) = self._paths[number], self._pages(self._rows[number])
        indexed = self._plain if self._indexed is None else self._indexed
        header = {
            "header_size": self._header_bytes,
            "index_fields": [{"index_field": name, "schema_id": 0} for name in indexed],
            "page": [page.described(i, number) for i, page in enumerate(pages)],
            "page_size": self._page_bytes,
            "compression_size": 0,
            "schema": [{"blob_fields": self._blobs, "desc": self._description, "schema": self._schema}],
            "shard_addresses": [os.path.basename(one) for one in self._paths],
            "shard_id": number,
            "statistics": None,
            "version": "3.0",
        }
        text = json.dumps(header, separators=(",", ":")).encode()
        if len(text) + 8 > self._header_bytes:
            raise ValueError(
                f"[FileWriter] the header is too small, got {self._header_bytes} bytes, expected {len(text) + 8}: "
                "set_header_size"
            )
        with open(path + ".tmp", "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for i, page in enumerate(pages):
                file.seek(self._header_bytes + i * self._page_bytes)
                file.write(b"".join(page.parts))
            file.truncate(max(file.tell(), self._header_bytes))
            file.flush()
            os.fsync(file.fileno())
        self._write_index(path, lines, indexed)

    def _write_index(self, path, lines, indexed):
        columns = [f"{name} INT NOT NULL" for name in _PLACES]
        for i, name in enumerate(indexed):
            columns += [f"INC_{i} INT", f"{name}_0 {_SQL[self._schema[name]['type']]}"]
        key = ", ".join(["ROW_ID", *(f"INC_{i}" for i in range(len(indexed)))])
        if os.path.exists(path + ".db.tmp"):
            os.remove(path + ".db.tmp")
        base = sqlite3.connect(path + ".db.tmp")
        try:
            base.execute(f"CREATE TABLE INDEXES({', '.join(columns)}, PRIMARY KEY({key}))")
            base.execute("CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL)")
            base.execute("INSERT INTO SHARD_NAME VALUES(?)", (os.path.basename(path),))
            marks = ", ".join("?" * (len(_PLACES) + 2 * len(indexed)))
            rows = ((*line[:8], *(one for name in indexed for one in (0, line[8][name]))) for line in lines)
            base.executemany(f"INSERT INTO INDEXES VALUES({marks})", rows)
            base.commit()
        finally:
            base.close()


def _state_of(path):
    """Inodes, sizes and times of a file and its index, which differ once either is written."""
    return tuple((one.st_ino, one.st_size, one.st_mtime_ns) for one in (os.stat(path), os.stat(path + ".db")))


class _Page:
    def __init__(self, kind, number, groups, first, end):
        self.kind, self.number, self.groups, self.first, self.end = kind, number, groups, first, end
        self.parts, self.size = [], 0

    def add(self, part):
        self.parts.append(part)
        self.size += len(part)

    def described(self, page, shard):
        return {
            "end_row_id": self.end,
            "page_id": page,
            "page_size": self.size,
            "page_type": self.kind,
            "page_type_id": self.number,
            "row_group_ids": self.groups,
            "shard_id": shard,
            "start_row_id": self.first,
        }


__getattr__ = refuse_missing(globals())
