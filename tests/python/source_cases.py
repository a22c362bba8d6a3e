"""Pipelines without chance, as functions of `ds` (data sets of a system), `ms` (the system) and `path` (of a file of
`source_files`). Tests compare their rows with those that MindSpore gives."""

import numpy as np

CASES = {}
LENGTHS = [3, 1, 2, 5, 1, 6, 2, 2]


def case(name, make):
    CASES[name] = make


def rows_of(ds, rows, names="a", **options):
    return ds.GeneratorDataset(rows, names.split(), shuffle=False, **options)


def runs(ds):
    """Rows of unlike lengths: numbers, and a matrix of as many columns."""
    rows = [(np.full(n, i, "i4"), np.full((2, n), i, "f4")) for i, n in enumerate(LENGTHS)]
    return rows_of(ds, rows, "a b")


def numbers(ds, count=10, sampler=None, **options):
    options = {"sampler": sampler} if sampler is not None else {"shuffle": False, **options}
    return ds.NumpySlicesDataset(np.arange(count, dtype="i4"), ["a"], **options)


class Own:
    """The sampler of a script, made of the base of a system."""

    def __new__(cls, ds, **options):
        class Thirds(ds.Sampler):
            def __iter__(self):
                return iter(range(0, 10, 3))

        return Thirds(**options)


def collated(a, b, info):
    """Rows as long as the longest of a batch."""
    longest = max(len(one) for one in a)
    return [np.pad(one, (0, longest - len(one))) for one in a], [one.sum() + info.get_batch_num() for one in b]


TEXTS = [("x", 1), ("yyy", 2), ("zz", 3)]
case("texts", lambda ds, ms, path: rows_of(ds, TEXTS, "a b"))
case("batches of texts", lambda ds, ms, path: rows_of(ds, TEXTS, "a b").batch(2))
case("slices of texts", lambda ds, ms, path: ds.NumpySlicesDataset({"s": ["ab", "c"], "n": [1, 2]}, shuffle=False))
case("bytes", lambda ds, ms, path: ds.NumpySlicesDataset([b"ab", b"c"], shuffle=False))
case("objects", lambda ds, ms, path: rows_of(ds, [({"k": 1}, 2.0), ({"k": 2}, 3.0)], "a b").batch(2))
case("unlike rows", lambda ds, ms, path: runs(ds))
case("map of texts", lambda ds, ms, path: rows_of(ds, ["a", "b"]).map(lambda x: str(x) + "z", "a"))
case("map to objects", lambda ds, ms, path: numbers(ds, 2).map(lambda x: {"k": x}, "a"))
case("filter", lambda ds, ms, path: numbers(ds).filter(lambda x: x % 2 == 0))
case("filter of a column", lambda ds, ms, path: rows_of(ds, TEXTS, "a b").filter(lambda x: x > 1, "b"))
case("filter of batches", lambda ds, ms, path: numbers(ds).batch(4).filter(lambda x: len(x) == 4))
case("filter of nothing", lambda ds, ms, path: numbers(ds).filter(lambda x: x > 50))
case("map of batches", lambda ds, ms, path: numbers(ds).batch(4).map(lambda x: x.reshape(-1, 2), "a"))
THREE = [(1, 2, 3), (4, 5, 6)]
case("map of two columns", lambda ds, ms, path: rows_of(ds, THREE, "a b c").map(
    lambda c, a: (c + a, c - a), ["c", "a"], ["x", "y"]))  # fmt: skip
case(
    "map of the second column", lambda ds, ms, path: rows_of(ds, THREE, "a b c").map(lambda b: (b, -b), "b", ["x", "y"])
)
case(
    "map to fewer columns", lambda ds, ms, path: rows_of(ds, THREE, "a b c").map(lambda c, b: c + b, ["c", "b"], ["x"])
)
case("map to one column of batches", lambda ds, ms, path: rows_of(ds, THREE, "a b c").batch(2).map(
    lambda b: (b, -b), "b", ["x", "y"]))  # fmt: skip
case("per_batch_map", lambda ds, ms, path: runs(ds).batch(3, per_batch_map=collated, input_columns=["a", "b"]))
case("per_batch_map to other columns", lambda ds, ms, path: rows_of(ds, TEXTS, "s n").batch(
    2, per_batch_map=lambda n, info: ([x + 1 for x in n], n), input_columns=["n"], output_columns=["p", "q"]
))  # fmt: skip
case("sizes of batches", lambda ds, ms, path: numbers(ds).batch(lambda info: info.get_batch_num() + 1))
case("batches of batches", lambda ds, ms, path: numbers(ds, 8).batch(2).batch(2))
case("padded_batch", lambda ds, ms, path: runs(ds).padded_batch(3, pad_info={"a": ([None], -1), "b": ([2, 7], 9)}))
case("padded_batch of all", lambda ds, ms, path: runs(ds).padded_batch(3, drop_remainder=True, pad_info={}))
case("padded_batch that cuts", lambda ds, ms, path: runs(ds).project(["a"]).padded_batch(4, pad_info={"a": ([2], 0)}))
case("padded_batch of texts", lambda ds, ms, path: rows_of(ds, [(np.array(["x"]),), (np.array(["x", "yy"]),)])
     .padded_batch(2, pad_info={"a": ([3], "P")}))  # fmt: skip
case("buckets", lambda ds, ms, path: runs(ds).project(["a"]).bucket_batch_by_length(
    ["a"], [2, 4], [2, 2, 1], lambda x: len(x), {"a": ([None], 0)}))  # fmt: skip
case("buckets to their boundaries", lambda ds, ms, path: runs(ds).bucket_batch_by_length(
    ["a"], [3, 7], [3, 2, 1], None, {"a": ([None], -1), "b": ([2, None], 9)}, True))  # fmt: skip
case("buckets of two columns", lambda ds, ms, path: runs(ds).bucket_batch_by_length(
    ["a", "b"], [3, 6], [2, 2, 1], lambda a, b: b.shape[1], {}, False, True))  # fmt: skip
case("flat_map", lambda ds, ms, path: numbers(ds, 3).flat_map(lambda x: numbers(ds, int(x) + 1)))
case("repeat of a partial batch", lambda ds, ms, path: numbers(ds, 5).batch(2).repeat(2))
case("concat of partial batches", lambda ds, ms, path: numbers(ds, 3).batch(2) + numbers(ds, 5).batch(2))
case("concat of unlike batches", lambda ds, ms, path: numbers(ds, 3).batch(2) + numbers(ds, 3).batch(1))
case("concat of texts", lambda ds, ms, path: rows_of(ds, ["a"]) + rows_of(ds, ["b", "c"]))
case("zip with texts", lambda ds, ms, path: ds.zip((numbers(ds, 2), rows_of(ds, ["x", "y", "z"], "s"))))
case("rename and project", lambda ds, ms, path: rows_of(ds, TEXTS, "a b").rename(["a"], ["c"]).project(["b", "c"]))
case("skip and take of texts", lambda ds, ms, path: rows_of(ds, TEXTS, "a b").skip(1).take(1).repeat(2))
case("split", lambda ds, ms, path: numbers(ds, 7).split([0.5, 0.5], randomize=False)[0])
case("split of batches", lambda ds, ms, path: numbers(ds, 7).batch(2).split([0.5, 0.5], randomize=False)[1])
case("apply", lambda ds, ms, path: numbers(ds).apply(lambda data: data.skip(2).batch(3)))
case("sync_wait", lambda ds, ms, path: numbers(ds).sync_wait("now", num_batch=10).map(lambda x: x + 1, "a"))
case("an iterator that ends", lambda ds, ms, path: ds.GeneratorDataset((i for i in range(3)), ["a"]))
case(
    "num_samples of a generator", lambda ds, ms, path: ds.GeneratorDataset(lambda: iter(range(9)), ["a"], num_samples=2)
)
case("column_types", lambda ds, ms, path: rows_of(ds, [(1, 2.5)] * 2, "a b", column_types=[ms.int64, ms.float64]))
case("batch_sampler", lambda ds, ms, path: ds.GeneratorDataset(
    [(i, np.full(2, i, "f4")) for i in range(7)], ["a", "b"], batch_sampler=[[2, 0, 5], [1, 6]]))  # fmt: skip
case("collate_fn", lambda ds, ms, path: ds.GeneratorDataset(
    [(np.full(i + 1, i), i) for i in range(7)], ["a", "b"], batch_sampler=[[2, 0, 5], [1, 6]], collate_fn=lambda a, b: (
        [np.resize(one, 4) for one in a], [one * 2 for one in b])))  # fmt: skip
case("PaddedDataset", lambda ds, ms, path: ds.PaddedDataset([{"a": np.arange(3), "b": np.array(i)} for i in range(2)]))

case("SequentialSampler", lambda ds, ms, path: numbers(ds, sampler=ds.SequentialSampler(3, 4)))
case("SubsetSampler", lambda ds, ms, path: numbers(ds, sampler=ds.SubsetSampler([3, 1, 7])))
case("own sampler", lambda ds, ms, path: numbers(ds, sampler=Own(ds)))
case("own sampler of some", lambda ds, ms, path: numbers(ds, sampler=Own(ds, num_samples=2)))
case("numbers as a sampler", lambda ds, ms, path: numbers(ds, sampler=[1, 5, 2]))
case("WeightedRandomSampler", lambda ds, ms, path: numbers(ds, sampler=ds.WeightedRandomSampler([0, 0, 1, 0], 3)))
for _shards, _own, _offset in ((3, 1, -1), (4, 0, 2), (4, 1, 2), (4, 3, 1)):
    case(f"DistributedSampler {_own} of {_shards} from {_offset}", lambda ds, ms, path, of=(_shards, _own), at=_offset:
         numbers(ds, sampler=ds.DistributedSampler(*of, shuffle=False, offset=at)))  # fmt: skip
case(
    "texts in shards",
    lambda ds, ms, path: ds.GeneratorDataset(TEXTS, ["a", "b"], shuffle=False, num_shards=2, shard_id=1),
)


def chained(ds, sampler, child):
    sampler.add_child(child)
    return numbers(ds, sampler=sampler)


case(
    "chained samplers", lambda ds, ms, path: chained(ds, ds.SequentialSampler(1, 3), ds.SubsetSampler([9, 8, 3, 1, 7]))
)
case("shards of a subset", lambda ds, ms, path: chained(
    ds, ds.DistributedSampler(2, 1, shuffle=False), ds.SubsetSampler([9, 8, 3, 1, 7])))  # fmt: skip


def made(name, *args, **options):
    """Maps a column x of arrays."""

    def make(ds, ms, path, arrays):
        transforms = ds.transforms
        given = [one(ms, transforms) if callable(one) else one for one in args]
        data = ds.NumpySlicesDataset({"x": arrays}, shuffle=False)
        return data.map(getattr(transforms, name)(*given, **options), "x")

    return make


INTS = np.array([[1, 2, 3, 2], [0, 5, 2, 2]], "i4")
for _title, _make, _arrays in (
    ("Concatenate", made("Concatenate", 0, np.array([9], "i4"), np.array([7, 8], "i4")), INTS),
    ("Fill", made("Fill", 3), INTS),
    ("PadEnd", made("PadEnd", [6], -1), INTS),
    ("PadEnd of texts", made("PadEnd", [3], "P"), np.array([["a", "bb"], ["c", "d"]])),
    ("Slice", made("Slice", slice(1, 3)), INTS),
    ("Slice of numbers", made("Slice", [0, 2]), INTS),
    ("Slice of the end", made("Slice", ..., -1), np.arange(12, dtype="f4").reshape(2, 2, 3)),
    ("OneHot", made("OneHot", 6), INTS),
    ("OneHot that is smoothed", made("OneHot", 4, 0.2), INTS[:, 0]),
    ("RandomApply of all", made("RandomApply", lambda ms, t: [t.Fill(2)], 1.0), INTS),
    ("RandomChoice of one", made("RandomChoice", lambda ms, t: [t.Fill(2)]), INTS),
    ("RandomOrder of one", made("RandomOrder", lambda ms, t: [t.Fill(2)]), INTS),
    ("Compose of columns", made("Compose", lambda ms, t: [lambda x: (x, x + 1), lambda x, y: x + y]), INTS),
):
    case(_title, lambda ds, ms, path, make=_make, arrays=_arrays: make(ds, ms, path, arrays))
for _one in ("EQ", "NE", "GT", "GE", "LT", "LE"):
    case(f"Mask {_one}", lambda ds, ms, path, one=_one: made(
        "Mask", lambda ms, t: getattr(t.Relational, one), 2, lambda ms, t: ms.float32)(ds, ms, path, INTS))  # fmt: skip
case("Unique", lambda ds, ms, path: ds.NumpySlicesDataset({"x": INTS.reshape(2, 2, 2)}, shuffle=False).map(
    ds.transforms.Unique(), "x", ["x", "n", "c"]))  # fmt: skip
case("Duplicate", lambda ds, ms, path: numbers(ds).map(ds.transforms.Duplicate(), "a", ["a", "b"]))
case("TypeCast", lambda ds, ms, path: numbers(ds).map(ds.transforms.TypeCast(ms.float32), "a"))


def used(ds, path, options):
    """Options whose paths are in a tuple ("path", name)."""
    return [path(one[1]) if isinstance(one, tuple) and one[0] == "path" else one for one in options]


def source(title, name, *options, **more):
    more = {"shuffle": False, **more}
    case(title, lambda ds, ms, path: getattr(ds, name)(*used(ds, path, options), **more))


def at(name):
    return "path", name


for _name, _folder in (("AGNews", "news"), ("DBpedia", "news"), ("AmazonReview", "news"), ("SogouNews", "news"),
                       ("YelpReview", "yelp"), ("YahooAnswers", "yahoo"), ("WikiText", "wiki"),
                       ("PennTreebank", "penn"),
                       ("IMDB", "imdb"), ("SQuAD", "squad"), ("SST2", "sst2"), ("CoNLL2000", "conll"),
                       ("UDPOS", "udpos"), ("Multi30k", "multi30k"), ("IWSLT2017", "iwslt17")):  # fmt: skip
    for _usage in ("train", "all") if _name not in ("SST2", "Multi30k", "IWSLT2017") else ("train", "test"):
        source(f"{_name} {_usage}", f"{_name}Dataset", at(_folder), _usage, num_parallel_workers=1)
source("SST2 dev", "SST2Dataset", at("sst2"), "dev", num_parallel_workers=1)
source("IWSLT2016", "IWSLT2016Dataset", at("iwslt16"), "test", ("de", "en"), "tst2013", "tst2014")
source("EnWik9", "EnWik9Dataset", at("enwik"))
source("TextFile", "TextFileDataset", at("plain/a.txt"))
source("TextFile of a pattern", "TextFileDataset", at("plain/*.txt"), num_parallel_workers=1)
source("TextFile in shards", "TextFileDataset", at("plain/a.txt"), num_shards=3, shard_id=2)
source("CSV", "CSVDataset", at("plain/head.csv"))
source("CSV with types", "CSVDataset", at("plain/bare.csv"), ",", [1, 2.0, "x"], ["a", "b", "c"])
for _task in ("AFQMC", "CMNLI", "CSL", "IFLYTEK", "TNEWS", "WSC"):
    for _usage in ("train", "test"):
        source(f"CLUE {_task} {_usage}", "CLUEDataset", at(f"clue/{_task}_{_usage}.json"), _task, _usage)
for _usage in ("train", "test", "all"):
    source(f"FashionMnist {_usage}", "FashionMnistDataset", at("fashion"), _usage)
    source(f"KMnist {_usage}", "KMnistDataset", at("fashion"), _usage)
    source(f"EMnist {_usage}", "EMnistDataset", at("emnist"), "letters", _usage)
    source(f"QMnist {_usage}", "QMnistDataset", at("qmnist"), _usage, _usage == "all")
    source(f"STL10 {_usage}", "STL10Dataset", at("stl10"), _usage)
    source(f"USPS {_usage}", "USPSDataset", at("usps"), _usage, num_parallel_workers=1)
    source(f"Food101 {_usage}", "Food101Dataset", at("food"), _usage)
    source(f"RenderedSST2 {_usage}", "RenderedSST2Dataset", at("sst2images"), _usage)
    source(f"CelebA {_usage}", "CelebADataset", at("celeba"), usage=_usage)
    source(f"WIDERFace {_usage}", "WIDERFaceDataset", at("wider"), _usage)
    source(f"SpeechCommands {_usage}", "SpeechCommandsDataset", at("commands"), _usage)
    for _task in ("people", "pairs"):
        source(f"LFW {_task} {_usage}", "LFWDataset", at("lfw"), _task, _usage, "original")
source("STL10 unlabeled", "STL10Dataset", at("stl10"), "unlabeled")
source("Semeion", "SemeionDataset", at("semeion"))
source("Caltech256", "Caltech256Dataset", at("caltech256"))
source("Caltech101", "Caltech101Dataset", at("caltech101"), "category")
source("Omniglot", "OmniglotDataset", at("omniglot"))
source("Omniglot evaluation", "OmniglotDataset", at("omniglot"), False)
source("SUN397", "SUN397Dataset", at("sun"))
source("Flickr", "FlickrDataset", at("flickr/images"), at("flickr/captions.token"))
source("Manifest", "ManifestDataset", at("manifest/list.txt"))
source("Manifest of classes", "ManifestDataset", at("manifest/list.txt"), class_indexing={"dog": 4})
source("Places365", "Places365Dataset", at("places"))
source("Places365 val", "Places365Dataset", at("places"), "val")
source("SBU", "SBUDataset", at("sbu"))
source("DIV2K", "DIV2KDataset", at("div2k"), "all")
source("ImageFolder", "ImageFolderDataset", at("classes"))
source("ImageFolder of endings", "ImageFolderDataset", at("classes"), extensions=[".png"])
source("ImageFolder of classes", "ImageFolderDataset", at("classes"), class_indexing={"b": 7, "a": 3})
for _task in ("instance", "semantic", "polygon", "color"):
    source(f"Cityscapes {_task}", "CityscapesDataset", at("cities"), "train", "fine", _task)
for _task, _file in (("Detection", "boxes"), ("Stuff", "boxes"), ("Keypoint", "boxes"), ("Panoptic", "panoptic"),
                     ("Captioning", "captions")):  # fmt: skip
    source(f"Coco {_task}", "CocoDataset", at("coco/images"), at(f"coco/{_file}.json"), _task)
case("Coco with names", lambda ds, ms, path: ds.CocoDataset(
    path("coco/images"), path("coco/captions.json"), "Captioning", shuffle=False, extra_metadata=True
).rename("_meta-filename", "file"))  # fmt: skip
source("VOC Segmentation", "VOCDataset", at("voc"))
source("VOC Detection", "VOCDataset", at("voc"), "Detection")
source("VOC Detection of classes", "VOCDataset", at("voc"), "Detection", "train", {"train": 9})
source("KITTI", "KITTIDataset", at("kitti"))
source("KITTI test", "KITTIDataset", at("kitti"), "test")
source("YesNo", "YesNoDataset", at("yesno"))
source("GTZAN", "GTZANDataset", at("gtzan"), "all")
source("LJSpeech", "LJSpeechDataset", at("lj"))
source("CMUArctic", "CMUArcticDataset", at("arctic"), "aew")

DECODED = {
    "VOC decoded": lambda ds, ms, path: ds.VOCDataset(path("voc"), shuffle=False, decode=True),
    "ImageFolder decoded": lambda ds, ms, path: ds.ImageFolderDataset(path("classes"), shuffle=False, decode=True),
    "Flickr decoded": lambda ds, ms, path: ds.FlickrDataset(
        path("flickr/images"), path("flickr/captions.token"), shuffle=False, decode=True
    ),
    "Cityscapes decoded": lambda ds, ms, path: ds.CityscapesDataset(path("cities"), shuffle=False, decode=True),
    "Coco decoded, in batches": lambda ds, ms, path: (
        ds.CocoDataset(path("coco/images"), path("coco/boxes.json"), shuffle=False, decode=True)
        .project("image")
        .batch(3)
    ),
}
WITH_MATRICES = {
    "SVHN": lambda ds, ms, path: ds.SVHNDataset(path("svhn"), "all", shuffle=False),
    "Flowers102": lambda ds, ms, path: ds.Flowers102Dataset(path("flowers"), "Segmentation", "all", shuffle=False),
    "Caltech101 annotations": lambda ds, ms, path: ds.Caltech101Dataset(path("caltech101"), "all", shuffle=False),
}


def values_of(value):
    """A value of a row as text: its type, shape and elements, or a checksum of many."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {values_of(one)}" for name, one in value.items()) + "}"
    if value.dtype.kind in "US":
        return repr(value.tolist())
    if value.size <= 12:
        return f"{value.dtype}{list(value.shape)} {value.tolist()}"
    weights = np.arange(1, value.size + 1, dtype="f8")
    return f"{value.dtype}{list(value.shape)} {float((value.reshape(-1).astype('f8') * weights).sum()):.6g}"


def text_of(ds, ms, make, path):
    """The columns and rows of a pipeline, a line for each row."""
    data = make(ds, ms, path)
    names = data.get_col_names()
    lines = [" ".join(names)]
    for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
        lines.append("; ".join(values_of(value) for value in row))
    return lines
