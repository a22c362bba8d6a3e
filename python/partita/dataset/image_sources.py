"""Data sets of images in folders."""

import math
import os

import numpy as np

from partita.dataset.files import (
    IMAGES,
    File,
    ListedSource,
    Made,
    file_of,
    folders,
    listed,
    one_of,
    path_in,
    source_class,
)
from partita.dataset.sources import folder_of

_CACHED = ", cache=None"
_NAMES = {}  # classes of this module, by their names


def classes_of(where, folder, class_indexing=None):
    """Numbers of the classes in a folder with a folder for each, by their names."""
    found = folders(folder)
    numbers = class_indexing or {name: i for i, name in enumerate(found)}
    for name in numbers:
        if name not in found:
            raise RuntimeError(f"[{where}] no such class, got '{name}', expected one of {', '.join(found)}")
    return numbers


def _image_folder(options, where):
    folder, extensions = folder_of(where, options["dataset_dir"]), options["extensions"]
    numbers = classes_of(where, folder, options["class_indexing"])
    rows = [
        [File(path), np.array(numbers[name], np.int32)]
        for name in folders(folder)
        if name in numbers
        for path in listed(os.path.join(folder, name))
        if extensions is None or os.path.splitext(path)[1] in tuple(extensions)
    ]
    if not rows:
        endings = "any ending" if extensions is None else f"one of {tuple(extensions)}"
        raise ValueError(
            f"[{where}] no images, got '{folder}', expected a folder for each class with files of {endings}"
        )
    return ("image", "label"), rows


class _OfFolders(ListedSource):
    def num_classes(self):
        return len(self.get_class_indexing())

    def get_class_indexing(self):
        numbers = self._options["class_indexing"]
        return numbers or classes_of(type(self).__name__, os.fspath(self._options["dataset_dir"]))


ImageFolderDataset = source_class(
    "ImageFolderDataset",
    __name__,
    "dataset_dir, num_samples=None, num_parallel_workers=None, shuffle=None, sampler=None, extensions=None, "
    "class_indexing=None, decode=False, num_shards=None, shard_id=None, cache=None, decrypt=None",
    "Images in a folder for each class: columns image and label i32.",
    _image_folder,
    num_classes=_OfFolders.num_classes,
    get_class_indexing=_OfFolders.get_class_indexing,
)


def _define(name, signature, doc, load, **attrs):
    _NAMES[name] = source_class(name, __name__, signature, doc, load, **attrs)


def _matrices(where, *path):
    """The arrays of a file of MATLAB, by their names."""
    try:
        from scipy.io import loadmat
    except ImportError:
        raise ImportError(
            f"[{where}] no reader of .mat files, got no module scipy, expected pip install scipy"
        ) from None
    return loadmat(file_of(where, *path))


def _usages(where, options, known, first=None):
    """Names of the parts that a usage means: `known` are those of "all", in their order."""
    usage = options["usage"] or first or "all"
    return list(known) if usage == "all" else [one_of(where, "usage", usage, known)]


# Arrays in one file.


def _read_idx(where, *path):
    """An array in the format of MNIST. Raises ValueError for a damaged file."""
    path = file_of(where, *path)
    with open(path, "rb") as file:
        data = file.read()
    kinds = {8: np.dtype("u1"), 12: np.dtype(">i4")}
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in kinds:
        raise ValueError(f"[{where}] not a file of MNIST's format, got {path}, expected another beginning")
    begin, kind = 4 + 4 * data[3], kinds[data[2]]
    shape = np.frombuffer(data[4:begin], ">u4").tolist() if 4 < begin <= len(data) else []
    if not shape or len(data) != begin + kind.itemsize * math.prod(shape):
        raise ValueError(f"[{where}] a damaged file, got {len(data)} bytes in {path}, expected {shape}")
    return np.frombuffer(data[begin:], kind).reshape(shape)


def _digits(parts, labels="labels-idx1-ubyte"):
    """Images and labels in the format of MNIST; `parts` are beginnings of names by usages."""

    def load(options, where):
        folder, rows = folder_of(where, options["dataset_dir"]), []
        for usage in _usages(where, options, parts):
            name = parts[usage].format(options.get("name"))
            images = _read_idx(where, folder, f"{name}-images-idx3-ubyte")
            numbers = _read_idx(where, folder, f"{name}-{labels}").astype(np.uint32)
            if len(images) != len(numbers):
                raise ValueError(f"[{where}] other numbers of images and labels, got {len(images)} and {len(numbers)}")
            if options.get("compat", True) and numbers.ndim > 1:
                numbers = numbers[:, 0]
            rows += [[image[..., None], label] for image, label in zip(images, numbers)]
        return ("image", "label"), rows

    return load


_PLAIN = "num_samples=None, num_parallel_workers=None, shuffle=None, sampler=None, num_shards=None, shard_id=None"
_USED = "dataset_dir, usage=None, "
for _name in ("FashionMnistDataset", "KMnistDataset"):
    _define(
        _name,
        _USED + _PLAIN + _CACHED,
        "Columns image u8[28,28,1] and label u32.",
        _digits({"test": "t10k", "train": "train"}),
    )
_define(
    "EMnistDataset",
    f"dataset_dir, name, usage=None, {_PLAIN}{_CACHED}",
    "A part of EMNIST, such as letters: columns image u8[28,28,1] and label u32.",
    _digits({"test": "emnist-{}-test", "train": "emnist-{}-train"}),
)
_QMNIST = {"train": "qmnist-train", "test": "qmnist-test"}


def _qmnist(options, where):
    usage = options["usage"] or "all"
    names = {"nist": "xnist", **_QMNIST}
    if usage in ("test10k", "test50k"):
        names[usage] = "qmnist-test"
    parts = {one: names[one] for one in (["train", "test", "nist"] if usage == "all" else [usage]) if one in names}
    found, rows = _digits(parts or names, "labels-idx2-int")(options, where)
    return found, {"test10k": rows[:10000], "test50k": rows[10000:]}.get(usage, rows)


_define(
    "QMnistDataset",
    f"dataset_dir, usage=None, compat=True, {_PLAIN}{_CACHED}",
    "Columns image u8[28,28,1] and label u32, or u32[8] without compat.",
    _qmnist,
)


def _cifar100(options, where):
    folder, rows = folder_of(where, options["dataset_dir"]), []
    for usage in _usages(where, options, ("test", "train")):
        path = file_of(where, folder, f"{usage}.bin")
        if os.path.getsize(path) % 3074:
            raise ValueError(
                f"[{where}] a damaged file, got {os.path.getsize(path)} bytes, expected a multiple of 3074"
            )
        for row in np.memmap(path, np.uint8, "r").reshape(-1, 3074):
            rows.append([Made(_planes, row[2:], 32), row[0].astype(np.uint32), row[1].astype(np.uint32)])
    return ("image", "coarse_label", "fine_label"), rows


def _planes(values, size, order="C"):
    return np.array(values).reshape(3, size, size).transpose((1, 2, 0) if order == "C" else (2, 1, 0))


def _stl10(options, where):
    folder, parts = folder_of(where, options["dataset_dir"]), ("test", "train", "unlabeled")
    usages = parts[1:] if options["usage"] == "train+unlabeled" else _usages(where, options, parts)
    rows = []
    for usage in usages:
        path = file_of(where, folder, f"{usage}_X.bin")
        images = np.memmap(path, np.uint8, "r").reshape(-1, 3 * 96 * 96)
        labels = np.full(len(images), -1, np.int32)
        if usage != "unlabeled":
            labels = np.fromfile(file_of(where, folder, f"{usage}_y.bin"), np.uint8).astype(np.int32) - 1
        if len(labels) != len(images):
            raise ValueError(f"[{where}] other numbers of images and labels, got {len(images)} and {len(labels)}")
        rows += [[Made(_planes, image, 96, "F"), label] for image, label in zip(images, labels)]
    return ("image", "label"), rows


def _svhn(options, where):
    folder, rows = folder_of(where, options["dataset_dir"]), []
    for usage in _usages(where, options, ("train", "test", "extra")):
        found = _matrices(where, folder, f"{usage}_32x32.mat")
        labels = found["y"].reshape(-1).astype(np.uint32) % 10
        rows += [[image, label] for image, label in zip(found["X"].transpose(3, 0, 1, 2), labels)]
    return ("image", "label"), rows


def _usps(options, where):
    folder, rows = folder_of(where, options["dataset_dir"]), []
    for usage in _usages(where, options, ("train", "test")):
        with open(file_of(where, folder, "usps" if usage == "train" else "usps.t"), encoding="utf-8") as file:
            for line in file:
                label, *values = line.split()
                numbers = np.array([float(one.split(":")[1]) for one in values])
                if not np.all(abs(numbers) <= 1):
                    raise ValueError(f"[{where}] bad pixels, got {line[:60]}.., expected numbers from -1 to 1")
                pixels = ((numbers + 1) / 2 * 255).astype(np.uint8)
                rows.append([pixels.reshape(16, 16, 1), np.array(int(label) - 1, np.uint32)])
    return ("image", "label"), rows


def _semeion(options, where):
    with open(file_of(where, folder_of(where, options["dataset_dir"]), "semeion.data"), encoding="utf-8") as file:
        lines = [np.array(line.split(), float) for line in file if line.strip()]
    rows = [[one[:256].astype(np.uint8).reshape(16, 16), np.uint32(one[256:].argmax())] for one in lines]
    return ("image", "label"), rows


_define(
    "Cifar100Dataset",
    _USED + _PLAIN + _CACHED,
    "Columns image u8[32,32,3], coarse_label and fine_label u32.",
    _cifar100,
)
_define("STL10Dataset", _USED + _PLAIN + _CACHED, "Columns image u8[96,96,3] and label i32, -1 without one.", _stl10)
_define("SemeionDataset", f"dataset_dir, {_PLAIN}{_CACHED}", "Columns image u8[16,16] and label u32.", _semeion)
_define(
    "SVHNDataset",
    _USED + _PLAIN.replace("workers=None", "workers=1"),
    "Columns image u8[32,32,3] and label u32. Needs scipy.",
    _svhn,
)
_define(
    "USPSDataset",
    _USED + "num_samples=None, num_parallel_workers=None, shuffle=GLOBAL, num_shards=None, shard_id=None, cache=None",
    "Columns image u8[16,16,1] and label u32.",
    _usps,
)


# Folders of classes.


def _by_class(kind, inner=()):
    """Images in a folder for each class, within folders by usage if there are some."""

    def load(options, where):
        folder, rows = folder_of(where, options["dataset_dir"]), []
        for usage in _usages(where, options, sorted(inner)) if inner else [None]:
            top = folder if usage is None else os.path.join(folder, inner[usage])
            for label, name in enumerate(folders(top)):
                rows += [[File(path), np.array(label, kind)] for path in listed(os.path.join(top, name))]
        return ("image", "label"), rows

    return load


def _caltech101(options, where):
    target = one_of(where, "target_type", options["target_type"] or "category", ("category", "annotation", "all"))
    folder = folder_of(where, options["dataset_dir"])
    top, rows = os.path.join(folder, "101_ObjectCategories"), []
    renamed = {
        "Faces": "Faces_2",
        "Faces_easy": "Faces_3",
        "Motorbikes": "Motorbikes_16",
        "airplanes": "Airplanes_Side_2",
    }
    for label, name in enumerate(one for one in folders(top) if one != "BACKGROUND_Google"):
        for path in listed(os.path.join(top, name)):
            number = os.path.basename(path)[6:10]
            place = where, folder, "Annotations", renamed.get(name, name), f"annotation_{number}.mat"
            values = {
                "category": np.array(label),
                "annotation": Made(lambda *of: _matrices(*of)["obj_contour"], *place),
            }
            rows.append([File(path), *(values[one] for one in values if target in (one, "all"))])
    return ("image", *(one for one in ("category", "annotation") if target in (one, "all"))), rows


def _omniglot(options, where):
    top = "images_background" if options["background"] in (None, True) else "images_evaluation"
    top = folder_of(where, os.path.join(options["dataset_dir"], top))
    names = [os.path.join(top, one, other) for one in folders(top) for other in folders(os.path.join(top, one))]
    return ("image", "label"), [[File(path), np.int32(i)] for i, name in enumerate(names) for path in listed(name)]


def _sun397(options, where):
    folder = folder_of(where, options["dataset_dir"])
    with open(file_of(where, folder, "ClassName.txt"), encoding="utf-8") as file:
        names = [line.strip().strip("/") for line in file if line.strip()]
    found = [(label, path) for label, name in enumerate(names) for path in listed(path_in(where, folder, name))]
    return ("image", "label"), [[File(path), np.uint32(label)] for label, path in found]


_DECODED = IMAGES.format("decode=False, ") + _CACHED
_define("Caltech256Dataset", f"dataset_dir, {_DECODED}", "Columns image and label i32.", _by_class(np.int32))
_define(
    "RenderedSST2Dataset",
    _USED + _DECODED,
    "Columns image and label u32.",
    _by_class(np.uint32, {"train": "train", "val": "valid", "test": "test"}),
)
_define(
    "Caltech101Dataset",
    "dataset_dir, target_type=None, num_samples=None, num_parallel_workers=1, shuffle=None, decode=False, "
    "sampler=None, num_shards=None, shard_id=None",
    "Columns image, and category i64 or annotation, which needs scipy, or both.",
    _caltech101,
)
_define("OmniglotDataset", f"dataset_dir, background=None, {_DECODED}", "Columns image and label i32.", _omniglot)
_define("SUN397Dataset", f"dataset_dir, {_DECODED}", "Columns image and label u32.", _sun397)
globals().update(_NAMES)
__all__ = ["ImageFolderDataset", *sorted(_NAMES)]
