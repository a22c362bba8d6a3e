"""Where rows come from."""

import os
import threading
from enum import Enum

import numpy as np

from partita import _core
from partita.common import seed as _seed
from partita.dataset.batched import PythonSampler
from partita.dataset.engine import Dataset

_data = _core.data


class Shuffle(Enum):
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
        self._whole_source = None

    def _all_rows(self):
        raise NotImplementedError

    def _source(self, shard):
        if self._whole_source is None:
            self._whole_source = self._all_rows()
        rows, seed = self._whole_source, _seed.seed_or_default()
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

    def _shuffles_by_default(self):
        return True


def _numbers_of(where, sampler):
    """Something that gives numbers of rows. Raises TypeError for what is not iterable."""
    if not hasattr(sampler, "__iter__") and not hasattr(sampler, "__getitem__"):
        raise TypeError(f"[{where}] bad sampler, got {type(sampler).__name__}, expected a sampler, or numbers of rows")
    return sampler


def _folder(where, dataset_dir):
    if not isinstance(dataset_dir, (str, os.PathLike)):
        raise TypeError(f"[{where}] the folder is not a path, got {type(dataset_dir).__name__}, expected str")
    if not os.path.isdir(dataset_dir):
        raise ValueError(f"[{where}] no such folder, got '{dataset_dir}', expected one with the files of the data set")
    return os.fspath(dataset_dir)


class _Images(_Source):
    """A data set of labelled images in a folder: the rows of the training, of the test, or of both."""

    def __init__(
        self,
        dataset_dir,
        usage=None,
        num_samples=None,
        num_parallel_workers=None,
        shuffle=None,
        sampler=None,
        num_shards=None,
        shard_id=None,
        cache=None,
    ):
        where = type(self).__name__
        super().__init__(where, shuffle, num_shards, shard_id, num_samples, sampler, cache)
        if usage not in (None, "train", "test", "all"):
            raise ValueError(f"[{where}] unknown usage, got {usage!r}, expected train, test or all")
        self._folder, self._usage = _folder(where, dataset_dir), usage
        self.rows()  # files that are missing or damaged are errors of this line

    def _all_rows(self):
        wanted = {"train": [True], "test": [False]}.get(self._usage, self._both)
        there = [train for train in wanted if self._has(self._folder, train)] if len(wanted) > 1 else wanted
        parts = [self._read(self._folder, train) for train in there or [True]]
        rows = parts[0] if len(parts) == 1 else _data.concat(parts)
        return rows.map(["label"], _data.cast_map("u32"))


class MnistDataset(_Images):
    """Columns image u8[28,28,1] and label u32."""

    _has, _read = staticmethod(_data.has_mnist), staticmethod(_data.mnist)
    _both = (False, True)  # in the order of the names of the files


class Cifar10Dataset(_Images):
    """Columns image u8[32,32,3] and label u32."""

    _has, _read = staticmethod(_data.has_cifar10), staticmethod(_data.cifar10)
    _both = (True, False)


class Cifar100Dataset(_Images):
    """Not there: see Cifar10Dataset and GeneratorDataset."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            "[Cifar100Dataset] this data set is not supported, got a call, expected GeneratorDataset with its rows"
        )


def _names(where, column_names, count):
    names = [column_names] if isinstance(column_names, str) else list(column_names)
    if len(names) != count:
        raise ValueError(f"[{where}] another number of columns, got {count} values, expected {len(names)}: {names}")
    return names


def _values_of(row):
    return list(row) if isinstance(row, (tuple, list)) else list(row.values()) if isinstance(row, dict) else [row]


def _plain(value):
    value = value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)
    return value.astype(np.float32) if value.dtype == np.longdouble else value


class GeneratorDataset(_Source):
    """Rows that Python makes: a function that gives an iterator, something iterable, or something with `__getitem__`
    and `__len__`. They are made in one thread."""

    def __init__(
        self,
        source,
        column_names=None,
        column_types=None,
        schema=None,
        num_samples=None,
        num_parallel_workers=1,
        shuffle=None,
        sampler=None,
        num_shards=None,
        shard_id=None,
        python_multiprocessing=True,
        max_rowsize=None,
        batch_sampler=None,
        collate_fn=None,
    ):
        self._random = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        super().__init__("GeneratorDataset", shuffle, num_shards, shard_id, num_samples, sampler)
        if schema is not None or batch_sampler is not None or collate_fn is not None:
            raise NotImplementedError(
                "[GeneratorDataset] schema, batch_sampler and collate_fn are not supported, got one, expected none"
            )
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
        if column_names is None:
            raise ValueError("[GeneratorDataset] columns without names, got None, expected column_names")
        self._python_source = source
        first, self._count = (source[0], len(source)) if self._random else self._look()
        values = [_core.Array(_plain(value)) for value in _values_of(first)]
        names = _names("GeneratorDataset", column_names, len(values))
        self._columns = [(name, value.dtype, list(value.shape)) for name, value in zip(names, values)]

    def _iterate(self):
        source = self._python_source
        return iter(source()) if callable(source) else iter(source)

    def _look(self):
        first, count = None, 0
        for row in self._iterate():
            first = row if first is None else first
            count += 1
        if count == 0:
            raise RuntimeError("[GeneratorDataset] no rows, got an empty source, expected one or more")
        return first, count

    def _shuffles_by_default(self):
        return self._random

    def _all_rows(self):
        if self._random:
            source = self._python_source
            return _data.python_rows(
                self._columns, self._count, lambda epoch, index: [_plain(value) for value in _values_of(source[index])]
            )
        return _data.python_rows(self._columns, self._count, _Epochs(self._iterate))


def _labelled_files(folder, extensions, class_indexing):
    """The images of ImageFolderDataset: paths and numbers of classes."""
    endings = tuple(extensions or (".jpg", ".jpeg", ".png", ".bmp"))
    classes = sorted(one for one in os.listdir(folder) if os.path.isdir(os.path.join(folder, one)))
    numbers = class_indexing or {name: i for i, name in enumerate(classes)}
    files = [
        (os.path.join(folder, name, file), numbers[name])
        for name in classes
        if name in numbers
        for file in sorted(os.listdir(os.path.join(folder, name)))
        if file.lower().endswith(endings)
    ]
    if not files:
        raise ValueError(
            f"[ImageFolderDataset] no images, got '{folder}', expected a folder for each class with files "
            f"that end in one of {endings}"
        )
    return files


class _Files:
    """The bytes of files and their labels. Rows have one type: they are as long as the largest file, with zeros after
    the bytes, which readers of images pass over."""

    def __init__(self, files):
        self._files = files
        self._length = max(os.path.getsize(path) for path, _ in files)

    def __len__(self):
        return len(self._files)

    def __getitem__(self, index):
        path, label = self._files[index]
        with open(path, "rb") as file:
            data = np.frombuffer(file.read(self._length), np.uint8)
        made = np.zeros(self._length, np.uint8)
        made[: len(data)] = data
        return made, np.array(label, np.int32)


class _Decoded(_Files):
    """Images of files, and their labels."""

    def __init__(self, files):
        super().__init__(files)
        try:
            from PIL import Image
        except ImportError:
            raise ImportError(
                "[ImageFolderDataset] no reader of images, got no module PIL, expected Pillow: python3-pil or "
                "pip install pillow"
            ) from None
        self._open = Image.open

    def __getitem__(self, index):
        path, label = self._files[index]
        with self._open(path) as image:
            return np.asarray(image.convert("RGB")), np.array(label, np.int32)


class ImageFolderDataset(GeneratorDataset):
    """Images in a folder for each class: columns image and label i32. With `decode` images are u8[height,width,3], of
    one size, and Pillow reads them. Otherwise they are the bytes of the files, u8[n], for vision.Decode or
    RandomCropDecodeResize; all have the length of the largest file, with zeros at their ends."""

    def __init__(
        self,
        dataset_dir,
        num_samples=None,
        num_parallel_workers=None,
        shuffle=None,
        sampler=None,
        extensions=None,
        class_indexing=None,
        decode=False,
        num_shards=None,
        shard_id=None,
        cache=None,
        decrypt=None,
    ):
        folder = _folder("ImageFolderDataset", dataset_dir)
        if decrypt is not None or cache is not None:
            raise NotImplementedError(
                "[ImageFolderDataset] only plain files are supported, got decrypt or cache, expected None"
            )
        files = _labelled_files(folder, extensions, class_indexing)
        super().__init__(
            _Decoded(files) if decode else _Files(files),
            ["image", "label"],
            num_samples=num_samples,
            shuffle=shuffle,
            sampler=sampler,
            num_shards=num_shards,
            shard_id=shard_id,
        )


class _Epochs:
    """Rows of a source that only goes forward; the last two epochs that were read are kept."""

    def __init__(self, iterate):
        self._iterate, self._lock, self._kept = iterate, threading.Lock(), {}

    def __call__(self, epoch, index):
        with self._lock:
            if epoch not in self._kept:
                self._kept = {e: kept for e, kept in self._kept.items() if e >= epoch - 1}
                self._kept[epoch] = ([], self._iterate())
            rows, source = self._kept[epoch]
            while len(rows) <= index:
                try:
                    rows.append([_plain(value) for value in _values_of(next(source))])
                except StopIteration:
                    raise RuntimeError(
                        f"[GeneratorDataset] fewer rows than at first, got {len(rows)} in epoch "
                        f"{epoch + 1}, expected more than {index}"
                    ) from None
            return rows[index]


class NumpySlicesDataset(_Source):
    """Rows of arrays: one array, several in a tuple or list, or by name in a dict."""

    def __init__(
        self,
        data,
        column_names=None,
        num_samples=None,
        num_parallel_workers=1,
        shuffle=None,
        sampler=None,
        num_shards=None,
        shard_id=None,
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
        arrays = [_core.Array(_plain(value)) for value in values]
        self._rows = _data.memory_rows(list(zip(names, arrays)))

    def _all_rows(self):
        return self._rows
