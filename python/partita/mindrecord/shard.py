"""A file of MindRecord with its index: where its rows are, and what they hold. The file begins with the length of its
header and the header as JSON; pages of one size follow, with arrays and bytes of rows or with their other fields as
MessagePack. The index is a database, FILE.db, with a line for each row."""

import json
import os
import sqlite3
import struct
import urllib.parse

import numpy as np

from partita._names import refuse_missing
from partita.mindrecord import integers, msgpack

NUMBERS = {"int32": np.int32, "int64": np.int64, "float32": np.float32, "float64": np.float64}
TYPES = (*NUMBERS, "string", "bytes")
_PLACES = "PAGE_ID_RAW, PAGE_OFFSET_RAW, PAGE_OFFSET_RAW_END, PAGE_ID_BLOB, PAGE_OFFSET_BLOB, PAGE_OFFSET_BLOB_END"
_MAX_HEADER, _MAX_PAGE = 128 << 20, 256 << 20  # bytes


def _at_most(number, most):
    return isinstance(number, int) and not isinstance(number, bool) and 0 < number <= most


class Shard:
    """Raises ValueError for a file that is missing, damaged or no MindRecord file, by name."""

    def __init__(self, where, path):
        self._where, self.path = where, os.fspath(path)
        try:
            self._file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            self._size = os.fstat(self._file).st_size
            header = self._read_header()
            self._take_header(header)
            self._index = self._read_index()
        except OSError as error:
            raise ValueError(f"[{where}] cannot read {self.path}: {error.strerror}") from None
        except (KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            self._fail(f"{type(error).__name__}: {error}")
        except ValueError as error:
            if str(error).startswith("["):
                raise
            self._fail(str(error))

    def __del__(self):
        if getattr(self, "_file", None) is not None:
            os.close(self._file)
            self._file = None

    def __len__(self):
        return len(self._index)

    def _fail(self, what):
        raise ValueError(
            f"[{self._where}] {self.path} is damaged, or no MindRecord file: {what}, expected one that FileWriter wrote"
        ) from None

    def _bytes(self, begin, count):
        data = os.pread(self._file, count, begin)
        if len(data) != count:
            raise ValueError(f"it ends at byte {begin + len(data)}")
        return data

    def _read_header(self):
        (length,) = struct.unpack("<Q", self._bytes(0, 8))
        if not 2 <= length <= min(self._size - 8, _MAX_HEADER):
            raise ValueError(f"a header of {length} bytes in {self._size}")
        return json.loads(self._bytes(8, length))

    def _take_header(self, header):
        if not str(header["version"]).startswith("3."):
            raise ValueError(f"version {header['version']!r}, of which 3.0 is supported")
        self.header_bytes, self.page_bytes = header["header_size"], header["page_size"]
        if not _at_most(self.header_bytes, _MAX_HEADER) or not _at_most(self.page_bytes, _MAX_PAGE):
            raise ValueError(f"bad sizes, got {self.header_bytes!r} and {self.page_bytes!r}")
        if len(header["schema"]) != 1:
            raise ValueError(f"{len(header['schema'])} schemas, of which 1 is supported")
        schema = header["schema"][0]
        self.addresses, self.description = list(header["shard_addresses"]), str(schema["desc"])
        self.indexed = [one["index_field"] for one in header["index_fields"]]
        self.schema, self.blobs = schema["schema"], list(schema["blob_fields"])
        for name, one in self.schema.items():
            shape = one.get("shape")
            if one["type"] not in TYPES or not _is_shape(shape):
                raise ValueError(f"field '{name}' has the type {one['type']!r} and the shape {shape!r}")
            if (name in self.blobs) != (shape is not None or one["type"] == "bytes"):
                raise ValueError(f"field '{name}' is in a wrong page")
        if not all(name in self.schema for name in self.blobs) or not self.schema:
            raise ValueError("its fields have no types")
        if not all(isinstance(one, str) for one in self.addresses):
            raise ValueError("bad names of its files")

    def _read_index(self):
        path = self.path + ".db"
        if not os.path.isfile(path):
            raise ValueError(f"[{self._where}] there is no index {path}, expected it next to {self.path}")
        most = self._size // 8 + 1  # each row has a length
        try:
            base = sqlite3.connect(f"file:{urllib.parse.quote(path)}?mode=ro", uri=True, check_same_thread=False)
            try:
                kind = base.execute("SELECT type FROM sqlite_master WHERE name = 'INDEXES'").fetchone()
                if kind != ("table",):
                    raise ValueError(f"{path} has no table INDEXES")
                lines = base.execute(f"SELECT {_PLACES} FROM INDEXES ORDER BY ROW_ID").fetchmany(most)
            finally:
                base.close()
        except sqlite3.Error as error:
            raise ValueError(f"its index {path}: {error}") from None
        if not all(isinstance(one, int) and 0 <= one < 1 << 40 for line in lines for one in line):
            raise ValueError(f"its index {path} has a bad place")
        index = np.array(lines, np.int64).reshape(-1, 6)
        for page, begin, end in (index[:, :3].T, index[:, 3:].T):
            last = self.header_bytes + page * self.page_bytes + end
            if np.any((end < begin) | (end > self.page_bytes) | (last > self._size)):
                raise ValueError(f"its index {path} has a place outside of the file")
        return index

    def _page_part(self, page, begin, end):
        """The bytes at a place, without their length, which precedes them."""
        data = self._bytes(self.header_bytes + int(page) * self.page_bytes + int(begin), int(end - begin))
        (length,) = struct.unpack("<Q", data[:8]) if len(data) >= 8 else (None,)
        if length != len(data) - 8:
            raise ValueError(f"a part of {len(data)} bytes says it has {length}")
        return data[8:]

    def row(self, number, names=None):
        """The values of the fields of a row: numbers, texts, bytes and arrays. Raises ValueError if it is damaged."""
        names = list(self.schema) if names is None else names
        place = self._index[number]
        try:
            plain = msgpack.unpacked(self._page_part(*place[:3]))
            blobs = self._blobs(self._page_part(*place[3:])) if any(name in self.blobs for name in names) else {}
            return {name: self._value(name, blobs if name in self.blobs else plain) for name in names}
        except (KeyError, TypeError, OverflowError, struct.error) as error:
            self._fail(f"row {number}: {type(error).__name__}: {error}")
        except ValueError as error:
            self._fail(f"row {number}: {error}")

    def _blobs(self, data):
        if len(self.blobs) == 1:
            return {self.blobs[0]: data}
        found, at = {}, 0
        for name in self.blobs:
            (length,) = struct.unpack(">Q", data[at : at + 8])
            at += 8
            if length > len(data) - at:
                raise ValueError(f"field '{name}' has {length} bytes, of which there are {len(data) - at}")
            found[name] = data[at : at + length]
            at += length
        return found

    def _value(self, name, found):
        one, kind = found[name], self.schema[name]["type"]
        if kind == "bytes":
            return one
        shape = self.schema[name].get("shape")
        if shape is None:
            wanted = str if kind == "string" else int if kind.startswith("int") else (int, float)
            if not isinstance(one, wanted) or isinstance(one, bool):
                raise ValueError(f"field '{name}' is {type(one).__name__}, expected {kind}")
            return one if kind == "string" else NUMBERS[kind](one).item()
        if kind.startswith("int"):
            values = integers.expanded(one)
            if kind == "int32" and values.size and (values.min() < -(2**31) or values.max() >= 2**31):
                raise ValueError(f"field '{name}' has an integer that is no int32")
            values = values.astype(NUMBERS[kind])
        else:
            values = np.frombuffer(one, np.dtype(NUMBERS[kind]).newbyteorder("<"))
        return values.reshape(shape)


def _is_shape(shape):
    if shape is None:
        return True
    is_list = isinstance(shape, list) and 0 < len(shape) <= 20
    return is_list and all(isinstance(one, int) and -1 <= one < 1 << 31 for one in shape) and shape.count(-1) <= 1


__getattr__ = refuse_missing(globals())
