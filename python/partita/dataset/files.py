"""Data sets of files: rows that are listed when they are made, and read when they are asked for."""

import inspect
import io
import os

import numpy as np

from partita.dataset.refused import is_named, reading
from partita.dataset.sources import RowSource, Shuffle
from partita.dataset.vision.pillow import pillow

_CHOICES = ("shuffle", "num_shards", "shard_id", "num_samples", "sampler", "cache")
# What signatures end with: of rows that are found by their number, and of lines of text.
IMAGES = "num_samples=None, num_parallel_workers=None, shuffle=None, {}sampler=None, num_shards=None, shard_id=None"
LINES = "num_samples=None, num_parallel_workers=None, shuffle=GLOBAL, num_shards=None, shard_id=None, cache=None"


def opened(where, data, mode="RGB"):
    """The bytes of an image file as an array of 8 bits. Raises ImportError without Pillow, OSError for other files."""
    reader, error = pillow(where, "Image", "UnidentifiedImageError")
    try:
        opening = reader.open(io.BytesIO(data))
    except error:  # whose text names the bytes by their address
        raise OSError("no image of a kind that Pillow knows") from None
    with opening as image:
        if mode is not None and image.mode.startswith("I;16"):  # which `convert` would clip at 255
            image = _of_high_bytes(where, image)
        return np.asarray(image if mode is None else image.convert(mode))


def _of_high_bytes(where, image):
    """A grey image of 8 bits from one of 16 bits."""
    return pillow(where).fromarray((np.asarray(image) >> 8).astype(np.uint8))


class File:
    """A value of a row that is the bytes of a file, or the image in it."""

    def __init__(self, path, mode="RGB", is_image=True):
        self.path, self._mode, self._is_image = path, mode, is_image

    def read(self, decode):
        if decode and self._is_image:
            with open(self.path, "rb") as file:  # whole, since Pillow asks a file for as much as its chunks say
                data = file.read()
            try:
                return opened("dataset", data, self._mode)
            except Exception as error:
                if is_named(error):
                    raise
                raise OSError(f"{error} in '{self.path}'") from error
        return np.fromfile(self.path, np.uint8)

    def size(self):
        return os.path.getsize(self.path)


class Made:
    """A value of a row that a function makes when the row is asked for."""

    def __init__(self, function, *args):
        self._function, self._args = function, args

    def read(self, decode):
        return self._function(*self._args)


class ListedSource(RowSource):
    """Rows of listed values, some of which are files. The bytes of a file are all of it; trainings get columns of one
    length, that of the largest file, with zeros at their ends, which readers of images pass over."""

    def _list(self, names, items, decode):
        self._names, self._items, self._decode, self._count = list(names), items, bool(decode), len(items)
        self._longest = {}

    def _row(self, number):
        with reading(type(self).__name__, f"row {number}"):
            return [one.read(self._decode) if hasattr(one, "read") else one for one in self._items[number]]

    def _labels(self, column):
        if column not in self._names:
            return super()._labels(column)
        return [row[self._names.index(column)] for row in self._items]

    def _are_bytes(self, column):
        return isinstance(self._items[0][column], File) and not self._decode

    def _row_of_library(self, number):
        values = super()._row_of_library(number)
        for column, value in enumerate(values):
            if self._are_bytes(column):
                if column not in self._longest:
                    with reading(type(self).__name__, f"column '{self._names[column]}'"):
                        self._longest[column] = max(row[column].size() for row in self._items)
                values[column] = np.zeros(self._longest[column], np.uint8)
                values[column][: len(value)] = value
        return values

    def _inexact(self):
        return {name for column, name in enumerate(self._names) if self._are_bytes(column)}


# Annotations of the parameters in those texts, by their names.
_TYPES = {
    **dict.fromkeys("dataset_dir dataset_file annotation_file".split(), "str | os.PathLike"),
    **dict.fromkeys("usage task quality_mode downgrade target_type name".split(), "str | None"),
    **dict.fromkeys("image_set field_delim valid_set test_set".split(), "str | None"),
    **dict.fromkeys("num_samples num_parallel_workers num_shards shard_id total_rows scale".split(), "int | None"),
    **dict.fromkeys("decode compat small background extra_metadata".split(), "bool | None"),
    **dict.fromkeys("num_images num_classes base_seed".split(), "int"),
    **dict.fromkeys("extensions column_defaults column_names columns_list".split(), "list | None"),
    "dataset_files": "str | Sequence[str]",
    "image_size": "int | Sequence[int]",
    "class_indexing": "`class_indexing`: {name of a class: its number}, by default from 0 by their names.",
    "language_pair": "Sequence[str] | None",
    "sampler": "BuiltinSampler | Iterable[int] | None",
    "shuffle": "bool | Shuffle | None",
    "cache": "None",
    "decrypt": "None",
}


def _signature(text):
    scope = {"Shuffle": Shuffle, "GLOBAL": Shuffle.GLOBAL}
    exec(f"def made(self, {text}): pass", scope)  # the text is one of the tables of this package
    made = scope["made"]
    made.__annotations__ = {name: _TYPES[name] for name in made.__code__.co_varnames if name in _TYPES}
    return inspect.signature(made)


# What docstrings say of the parameters of those texts, in lines.
_SAID = {
    "usage": '`usage`: the part to read, such as "train" or "test".',
    "decode": "With `decode` images are uint8[height,width,3], read by Pillow; else the bytes of files, uint8[n].",
    "class_indexing": "`class_indexing`: {name of a class: its number}; other classes are left out.",
    "extensions": '`extensions`: the endings of the files that are read, such as [".jpg"].',
    "shuffle": "Rows are shuffled unless `shuffle` is False; `num_shards`, `shard_id` and `num_samples` choose some.",
    "sampler": "A `sampler` chooses in place of these.",
}
_ERRORS = "Raises ValueError for files that are missing or damaged, and for unknown options."


def _said(doc, parameters):
    return "\n".join([doc, "", *(text for name, text in _SAID.items() if name in parameters), _ERRORS])


def source_class(name, module, signature, doc, load, **attrs):
    """A data set whose rows `load(options, where)` lists: (names, rows). `signature` is the documented one."""
    documented = _signature(signature)

    def __init__(self, *args, **kwargs):
        try:
            given = documented.bind(self, *args, **kwargs)
        except TypeError as error:
            text = str(error).removeprefix("got ")
            raise TypeError(f"[{name}] wrong arguments, got {text}, expected ({signature})") from None
        given.apply_defaults()
        options = dict(given.arguments)
        RowSource.__init__(self, name, *(options.get(one) for one in _CHOICES))
        if options.get("decrypt") is not None:
            raise NotImplementedError(f"[{name}] only plain files are supported, got decrypt, expected None")
        self._options = options
        with reading(name, "the data set"):
            names, rows = load(options, name)
        if not rows:
            raise ValueError(f"[{name}] no rows, got an empty data set, expected one or more")
        self._list(names, rows, options.get("decode"))

    members = {"__init__": __init__, "__doc__": _said(doc, documented.parameters), "__module__": module, **attrs}
    made = type(name, (ListedSource,), members)
    __init__.__signature__ = documented
    made.__signature__ = documented.replace(parameters=list(documented.parameters.values())[1:])
    return made


def one_of(where, name, value, known):
    """The value, checked. Raises ValueError unless it is known."""
    if value not in known:
        raise ValueError(f"[{where}] unknown {name}, got {value!r}, expected one of {', '.join(map(str, known))}")
    return value


def file_of(where, *parts):
    """A path to a file. Raises ValueError unless there is one."""
    path = os.path.join(*map(os.fspath, parts))
    if not os.path.isfile(path):
        raise ValueError(f"[{where}] no such file, got '{path}', expected one of the data set")
    return path


def path_in(where, folder, *parts):
    """A path of parts that a file says. Raises ValueError if it leads out of the folder."""
    inner = os.path.normpath(os.path.join(*parts))
    if os.path.isabs(inner) or inner.split(os.sep)[0] == os.pardir:
        raise ValueError(f"[{where}] a file outside of the folder, got '{inner}', expected one in '{folder}'")
    return os.path.join(folder, *parts)


def listed(folder, extensions=None):
    """Paths of what is no folder in a folder, in the order of their names. Links to nothing are among them: reading
    them is an error, where to pass them over would change the rows."""
    names = sorted(one for one in os.listdir(folder) if not os.path.isdir(os.path.join(folder, one)))
    wanted = None if extensions is None else tuple(one.lower() for one in extensions)
    return [os.path.join(folder, one) for one in names if wanted is None or one.lower().endswith(wanted)]


def folders(folder):
    """Names of the folders in a folder, in their order."""
    return sorted(one for one in os.listdir(folder) if os.path.isdir(os.path.join(folder, one)))
