"""Rows of MindRecord files, one after the other."""

import os

from partita._names import refuse_missing
from partita.mindrecord.shard import Shard


def shards_of(where, file_name):
    """The shards of a file name, with those that its header names, or of a list of exactly these files. Raises
    ValueError unless all have the same fields."""
    if isinstance(file_name, (str, os.PathLike)):
        first = Shard(where, file_name)
        folder = os.path.dirname(os.path.abspath(file_name))
        paths = [os.path.join(folder, os.path.basename(one)) for one in first.addresses] or [file_name]
        own = os.path.basename(os.fspath(file_name))
        if own not in map(os.path.basename, paths):
            paths = [file_name]  # it has another name than when it was written
    elif isinstance(file_name, (list, tuple)) and file_name:
        paths = file_name
    else:
        raise TypeError(f"[{where}] no file, got {file_name!r}, expected its name or a list of names")
    shards = [Shard(where, path) for path in paths]
    for one in shards[1:]:
        if one.schema != shards[0].schema:
            raise ValueError(
                f"[{where}] files with different fields, got {one.path}, expected those of {shards[0].path}"
            )
    return shards


def columns_of(where, shards, columns):
    """The names of columns that are wanted, all if `columns` is None."""
    if columns is None:
        return sorted(shards[0].schema)
    for name in columns:
        if name not in shards[0].schema:
            raise ValueError(f"[{where}] no such column, got '{name}', expected one of {sorted(shards[0].schema)}")
    return list(columns)


class FileReader:
    """Reads the rows of a MindRecord file, or of several."""

    def __init__(self, file_name, num_consumer=4, columns=None, operator=None):
        if operator is not None:
            raise NotImplementedError("[FileReader] operators are not supported, got one, expected None")
        self._shards = shards_of("FileReader", file_name)
        self._columns = columns_of("FileReader", self._shards, columns)

    def get_next(self):
        """Yields the rows, each as a dict from names to values."""
        for shard in self._shards:
            for number in range(len(shard)):
                yield shard.row(number, self._columns)

    def close(self):
        """Closes the files."""
        self._shards = []

    def schema(self):
        """The fields with their types and shapes."""
        return dict(self._shards[0].schema)

    def len(self):
        """The number of rows."""
        return sum(map(len, self._shards))


__getattr__ = refuse_missing(globals())
