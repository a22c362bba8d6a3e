"""MindRecord files of other formats."""

import csv
import gzip
import io
import os
import zlib

import numpy as np

from partita._names import absent_all
from partita.mindrecord.filewriter import FileWriter

_MOST_BYTES = 1 << 30  # that a compressed file may become; MNIST has 47 million
SUCCESS, FAILED = "SUCCESS", "FAILED"


def _require_file(where, path):
    if not os.path.isfile(path):
        raise ValueError(f"[{where}] no such file, got '{path}', expected one to convert")
    return path


def _write(path, shards, schema, index, rows):
    writer = FileWriter(path, shards)
    writer.add_schema(schema)
    writer.add_index(index)
    writer.write_raw_data(rows)
    writer.commit()


class _Converter:
    """The base of converters: `transform` writes the files."""

    def transform(self):
        """Writes the files. Raises ValueError for sources that are missing or damaged."""
        return self.run()


class CsvToMR(_Converter):
    """The table of a CSV file, whose first line has the names of columns. Those of integers are int64, those of other
    numbers float64, all others texts."""

    def __init__(self, source, destination, columns_list=None, partition_number=1):
        self._source, self._destination = _require_file("CsvToMR", source), destination
        self._columns, self._shards = columns_list, partition_number

    def run(self):
        """Does what `transform` does."""
        with open(self._source, encoding="utf-8", newline="") as file:
            names, *lines = [row for row in csv.reader(file) if row] or [[]]
        for row in [names, *lines]:
            if not row or len(row) != len(names):
                raise ValueError(
                    f"[CsvToMR] a damaged table, got {len(row)} fields in a line of {self._source}, expected "
                    f"{len(names) or 'a line with the names of columns'}"
                )
        chosen = list(self._columns or names)
        for name in chosen:
            if name not in names:
                raise ValueError(f"[CsvToMR] unknown column, got '{name}', expected one of {', '.join(names)}")
            if name.isdigit():
                raise ValueError(f"[CsvToMR] the name of a column is a number, got '{name}', expected a first line")
        columns = {name: [row[names.index(name)] for row in lines] for name in chosen}
        kinds = {name: _kind_of(texts) for name, texts in columns.items()}
        types = {int: "int64", float: "float64", str: "string"}
        rows = [{name: kinds[name](columns[name][i]) for name in chosen} for i in range(len(lines))]
        schema = {name: {"type": types[kinds[name]]} for name in chosen}
        _write(self._destination, self._shards, schema, chosen, rows)
        return SUCCESS


def _kind_of(texts):
    """The narrowest of int, float and str that all texts are."""
    for kind in (int, float):
        try:
            for text in texts:
                kind(text)
            return kind
        except ValueError:
            continue
    return str


class ImageNetToMR(_Converter):
    """Images in a folder for each class: fields label int32, data (the bytes of the file) and file_name. Each line of
    `map_file` has the name of a folder and the number of its class."""

    def __init__(self, map_file, image_dir, destination, partition_number=1):
        self._map_file, self._folder = _require_file("ImageNetToMR", map_file), image_dir
        self._destination, self._shards = destination, partition_number

    def run(self):
        """Does what `transform` does."""
        with open(self._map_file, encoding="utf-8") as file:
            classes = [line.split() for line in file if line.strip()]
        rows = []
        for line in classes:
            if len(line) != 2 or not line[1].isdecimal() or os.path.basename(line[0]) != line[0] or line[0] == "..":
                raise ValueError(
                    f"[ImageNetToMR] a bad line of {self._map_file}, got {line}, expected the name of a folder and a "
                    "number"
                )
            name, label = line
            folder = os.path.join(self._folder, name)
            for one in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
                if one.endswith(("JPEG", "jpg")):
                    path = os.path.join(folder, one)
                    with open(path, "rb") as image:
                        rows.append({"label": int(label), "file_name": path, "data": image.read()})
        if not rows:
            raise ValueError(f"[ImageNetToMR] no images, got '{self._folder}', expected folders {classes[:3]} ..")
        schema = {"label": {"type": "int32"}, "data": {"type": "bytes"}, "file_name": {"type": "string"}}
        _write(self._destination, self._shards, schema, ["label", "file_name"], rows)
        return SUCCESS


class MnistToMR(_Converter):
    """The compressed files of MNIST: fields label int64 and data, a JPEG image. Writes DESTINATION_train.mindrecord and
    DESTINATION_test.mindrecord. Needs Pillow."""

    def __init__(self, source, destination, partition_number=1):
        self._source, self._destination, self._shards = source, destination, partition_number

    def _read(self, name, size, begin):
        """The elements u8[n,size] of a file after its first bytes, of which 4 to 8 say n."""
        path = _require_file("MnistToMR", os.path.join(self._source, name))
        try:
            with gzip.open(path, "rb") as file:
                count = int.from_bytes(file.read(begin)[4:8], "big")
                data = file.read(min(count * size, _MOST_BYTES) + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"[MnistToMR] a damaged file, got {path}: {error}, expected one of MNIST") from None
        if not count or len(data) != count * size:
            raise ValueError(f"[MnistToMR] a damaged file, got other bytes in {path}, expected {count} x {size}")
        return np.frombuffer(data, np.uint8).reshape(count, size)

    def run(self):
        """Does what `transform` does."""
        try:
            from PIL import Image
        except ImportError:
            raise ImportError(
                "[MnistToMR] no writer of images, got no module PIL, expected pip install pillow"
            ) from None
        for part, name in (("train", "train"), ("test", "t10k")):
            images = self._read(f"{name}-images-idx3-ubyte.gz", 28 * 28, 16).reshape(-1, 28, 28)
            labels, rows = self._read(f"{name}-labels-idx1-ubyte.gz", 1, 8).reshape(-1), []
            if len(images) != len(labels):
                raise ValueError(
                    f"[MnistToMR] other numbers of images and labels, got {len(images)} and {len(labels)}"
                )
            for pixels, label in zip(images, labels):
                data = io.BytesIO()
                Image.fromarray(pixels).save(data, "jpeg", quality=95)
                rows.append({"label": int(label), "data": data.getvalue()})
            schema = {"label": {"type": "int64"}, "data": {"type": "bytes"}}
            _write(f"{self._destination}_{part}.mindrecord", self._shards, schema, ["label"], rows)
        return SUCCESS


ABSENT = absent_all(
    __name__,
    {
        "Cifar10ToMR": "FileWriter with the rows of dataset.Cifar10Dataset",
        "Cifar100ToMR": "FileWriter with the rows of dataset.Cifar100Dataset",
        "MindPage": "FileReader, or dataset.MindDataset with a sampler",
        "TFRecordToMR": "FileWriter with the rows that tensorflow reads",
    },
)


def set_enc_key(enc_key):
    """Accepts None. Raises NotImplementedError for keys: files are not encrypted."""
    if enc_key is not None:
        raise NotImplementedError("[set_enc_key] files are not encrypted, got a key, expected None")


def set_enc_mode(enc_mode="AES-GCM"):
    """Has no effect without a key."""


def set_dec_mode(dec_mode="AES-GCM"):
    """Has no effect without a key."""
