"""Data pipelines without chance: what their rows are, in their order."""

import importlib.util
import tempfile

import numpy as np
import source_cases
import source_files
import support
from both import Count

COUNT = Count("data pipelines", 200)


class Folder(support.Folder):
    def write_whole_cifar(self):
        """Files of 10,000 images, as MindSpore wants them."""
        rows = np.random.default_rng(2).integers(0, 255, (10000, 3073), "u1")
        rows[:, 0] %= 10
        for name in ("data_batch_1.bin", "test_batch.bin"):
            self._write(name, rows.tobytes())


FOLDER = Folder(24)
FOLDER.write_whole_cifar()
numbers = np.random.default_rng(1)
IMAGES, LABELS = numbers.integers(0, 255, (20, 12, 10, 3)).astype("u1"), numbers.integers(0, 4, 20).astype("i4")
FLOATS = numbers.random((20, 5), "f4")


def rows(dataset):
    """All rows of one epoch, as a list of the columns of each row in turn."""
    return [array for row in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True) for array in row]


def case(name, make):
    def run(system):
        ds = importlib.import_module(f"{system.__name__}.dataset")
        importlib.import_module(f"{system.__name__}.dataset.vision")
        importlib.import_module(f"{system.__name__}.dataset.transforms")
        return rows(make(ds, system))

    COUNT.add(name, run)


def slices(ds, **options):
    return ds.NumpySlicesDataset((IMAGES, LABELS), ["image", "label"], shuffle=False, **options)


def floats(ds, **options):
    return ds.NumpySlicesDataset(FLOATS, ["x"], shuffle=False, **options)


class Source:
    def __getitem__(self, i):
        return FLOATS[i], LABELS[i]

    def __len__(self):
        return 20


def generate():
    for x, y in zip(FLOATS, LABELS):
        yield x, y


case("slices", lambda ds, ms: slices(ds))
case("slices of a dict", lambda ds, ms: ds.NumpySlicesDataset({"a": FLOATS, "b": LABELS}, shuffle=False))
case("num_samples", lambda ds, ms: floats(ds, num_samples=7))
for shard in range(3):
    case(f"shard {shard} of 3", lambda ds, ms, s=shard: floats(ds, num_shards=3, shard_id=s))
case("generator", lambda ds, ms: ds.GeneratorDataset(generate, ["x", "y"], shuffle=False))
case("random access", lambda ds, ms: ds.GeneratorDataset(Source(), ["x", "y"], shuffle=False))
case("random access, sharded",
     lambda ds, ms: ds.GeneratorDataset(Source(), ["x", "y"], shuffle=False, num_shards=2, shard_id=1))  # fmt: skip
case("mnist", lambda ds, ms: ds.MnistDataset(FOLDER.path, "train", shuffle=False))
case("mnist test", lambda ds, ms: ds.MnistDataset(FOLDER.path, "test", shuffle=False))
case("mnist, sharded", lambda ds, ms: ds.MnistDataset(FOLDER.path, "train", shuffle=False, num_shards=4, shard_id=2))
case("cifar", lambda ds, ms: ds.Cifar10Dataset(FOLDER.path, "train", num_samples=64, shuffle=False))
case("cifar, num_samples", lambda ds, ms: ds.Cifar10Dataset(FOLDER.path, "test", num_samples=5, shuffle=False))
case("batch", lambda ds, ms: slices(ds).batch(6))
case("batch, dropped", lambda ds, ms: slices(ds).batch(6, drop_remainder=True))
case("repeat", lambda ds, ms: floats(ds).repeat(3))
case("batch of repeat", lambda ds, ms: floats(ds).repeat(2).batch(7))
case("skip and take", lambda ds, ms: floats(ds).skip(3).take(9))
case("project", lambda ds, ms: slices(ds).project(["label"]))
case("map of a function", lambda ds, ms: floats(ds).map(lambda x: x * 2 + 1, ["x"]))
case("map to two columns", lambda ds, ms: floats(ds).map(lambda x: (x, x.sum()), ["x"], ["x", "sum"]))
case("zip", lambda ds, ms: ds.zip((floats(ds), ds.NumpySlicesDataset(LABELS, ["y"], shuffle=False))))
case("Rescale", lambda ds, ms: slices(ds).map(ds.vision.Rescale(1 / 255, 0.5), "image"))
case("HWC2CHW", lambda ds, ms: slices(ds).map(ds.vision.HWC2CHW(), "image"))
case("Normalize", lambda ds, ms: slices(ds).map(
    [ds.vision.Rescale(1 / 255, 0), ds.vision.Normalize((0.4, 0.5, 0.3), (0.2, 0.3, 0.1))], "image"))  # fmt: skip
case("TypeCast", lambda ds, ms: slices(ds).map(ds.transforms.TypeCast(ms.float32), "label"))
case("Compose", lambda ds, ms: slices(ds).map(
    ds.transforms.Compose([ds.vision.Rescale(1 / 255, 0), ds.vision.HWC2CHW()]), "image"))  # fmt: skip
case("digits", lambda ds, ms: ds.MnistDataset(FOLDER.path, "train", shuffle=False).map(
    [ds.vision.Rescale(1 / 255, 0), ds.vision.Normalize((0.1307,), (0.3081,)), ds.vision.HWC2CHW()], "image"
).map(ds.transforms.TypeCast(ms.int32), "label").batch(8))  # fmt: skip


def texts(name, make, files):
    """Compares the rows of a pipeline as text: an array of its lines' bytes, which have to be equal."""

    def run(system):
        ds = importlib.import_module(f"{system.__name__}.dataset")
        importlib.import_module(f"{system.__name__}.dataset.transforms")
        lines = source_cases.text_of(ds, system, make, files.path)
        return [np.frombuffer("\n".join(lines).encode(), np.uint8)]

    COUNT.add(name, run)


with tempfile.TemporaryDirectory() as folder:
    files = source_files.write_all(folder)
    every = {**source_cases.CASES, **source_cases.DECODED}
    if importlib.util.find_spec("scipy"):
        source_files.write_matrices(files)
        every.update(source_cases.WITH_MATRICES)
    source_files.write_cifar100(files)
    every["Cifar100"] = lambda ds, ms, path: ds.Cifar100Dataset(path("cifar100"), "all", num_samples=50, shuffle=False)
    for name, make in every.items():
        texts(name, make, files)
FOLDER.close()
COUNT.finish()
