"""Data sets of images in folders."""

import os

import numpy as np

from partita.dataset.files import IMAGES, File, ListedSource, folders, listed, source_class
from partita.dataset.sources import folder_of

_CACHED = ", cache=None"


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
    "Images in a folder for each class: columns image and label i32. With `decode` images are u8[height,width,3]; "
    "Pillow reads them. Otherwise they are the bytes of the files.",
    _image_folder,
    num_classes=_OfFolders.num_classes,
    get_class_indexing=_OfFolders.get_class_indexing,
)
