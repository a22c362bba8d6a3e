"""Data sets of images that other files list, with boxes, masks, captions and points."""

import json
import os
import xml.etree.ElementTree as xml

import numpy as np

from partita.dataset.files import IMAGES, File, Made, file_of, folders, listed, one_of, path_in, source_class
from partita.dataset.image_sources import _matrices, _usages
from partita.dataset.sources import folder_of

_NAMES = {}  # classes of this module, by their names
_DECODED = IMAGES.format("decode=False, ") + ", cache=None"
_MAYBE_DECODED = IMAGES.format("decode=None, ") + ", cache=None"
_META = "_meta-filename"


def _define(name, signature, doc, load, **attrs):
    _NAMES[name] = source_class(name, __name__, signature, doc, load, **attrs)


def _lines(where, *path):
    with open(file_of(where, *path), encoding="utf-8") as file:
        return [line.rstrip("\r\n") for line in file if line.strip()]


def _json(where, path):
    path = file_of(where, path)
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except ValueError as error:
        raise ValueError(f"[{where}] not JSON, got {path}: {error}, expected a list of images") from None


def _column(values, kind):
    """Numbers of objects as a column [objects,1]."""
    return np.array(values).astype(kind).reshape(len(values), -1)


# Attributes and captions.


def _celeba(options, where):
    folder, usage = folder_of(where, options["dataset_dir"]), options["usage"]
    parts = {"train": "0", "valid": "1", "test": "2"}
    one_of(where, "usage", usage, [*parts, "all"])
    kept = None
    if usage != "all":
        kept = {
            line.split()[0]
            for line in _lines(where, folder, "list_eval_partition.txt")
            if line.split()[1] == parts[usage]
        }
    rows = []
    for line in _lines(where, folder, "list_attr_celeba.txt")[2:]:
        name, *values = line.split()
        if kept is None or name in kept:
            rows.append([File(path_in(where, folder, name)), (np.array(values, int) == 1).astype(np.uint32)])
    return ("image", "attr"), rows


def _flickr(options, where):
    folder, found = folder_of(where, options["dataset_dir"]), {}
    for line in _lines(where, options["annotation_file"]):
        name, caption = line.split("\t", 1)
        found.setdefault(name.rsplit("#", 1)[0], []).append(caption)
    rows = [[File(path_in(where, folder, name)), np.array(texts)] for name, texts in sorted(found.items())]
    return ("image", "annotation"), rows


def _food101(options, where):
    folder = folder_of(where, options["dataset_dir"])
    names = [
        line
        for usage in _usages(where, options, ("train", "test"))
        for line in _lines(where, folder, "meta", f"{usage}.txt")
    ]
    return ("image", "label"), [
        [File(path_in(where, folder, "images", f"{name}.jpg")), np.array(name.split("/")[0])]
        for name in names
    ]


def _sbu(options, where):
    folder, begin, rows = folder_of(where, options["dataset_dir"]), "http://static.flickr.com", []
    urls = _lines(where, folder, "SBU_captioned_photo_dataset_urls.txt")
    for url, caption in zip(urls, _lines(where, folder, "SBU_captioned_photo_dataset_captions.txt")):
        if not url.startswith(begin):
            raise ValueError(f"[{where}] bad url, got {url}, expected one that begins with {begin}")
        path = os.path.join(folder, "sbu_images", "m" + url.strip()[len(begin) :].replace("/", "_"))
        if os.path.isfile(path):
            rows.append([File(path), np.array(caption.strip())])
    return ("image", "caption"), rows


def _places365(options, where):
    folder, size = folder_of(where, options["dataset_dir"]), "256" if options["small"] else "large"
    usage = one_of(where, "usage", options["usage"] or "train-standard", ("train-standard", "train-challenge", "val"))
    kind = usage.split("-")[-1]
    lines = _lines(where, folder, f"places365_{usage.replace('-', '_')}.txt")
    top = f"val_{size}" if kind == "val" else f"data_{size}_{kind}"
    rows = [line.rsplit(" ", 1) for line in lines]
    return ("image", "label"), [
        [File(path_in(where, folder, top, name.strip("/"))), np.uint32(label)] for name, label in rows
    ]


def _manifest(options, where):
    usage, indexing, rows = options["usage"], options["class_indexing"], []
    one_of(where, "usage", usage, ("train", "eval", "inference"))
    found = [json.loads(line) for line in _lines(where, options["dataset_file"])]
    found = [
        (one["source"], [note["name"] for note in one.get("annotation", [])]) for one in found if one["usage"] == usage
    ]
    numbers = indexing or {name: i for i, name in enumerate(sorted({name for _, names in found for name in names}))}
    for path, names in found:
        labels = [numbers[name] for name in names if name in numbers]
        if labels:
            rows.append([File(path), np.array(labels if len(labels) > 1 else labels[0], np.int32)])
    options["class_indexing"] = numbers
    if not rows:
        raise RuntimeError(f"[{where}] no images, got usage '{usage}', expected one with labelled images")
    return ("image", "label"), rows


def _classes(self):
    """Names of classes and their numbers."""
    return dict(self._options["class_indexing"] or {})


def _count_classes(self):
    return len(_classes(self))


_define(
    "CelebADataset",
    "dataset_dir, num_parallel_workers=None, shuffle=None, usage='all', sampler=None, decode=False, extensions=None, "
    "num_samples=None, num_shards=None, shard_id=None, cache=None, decrypt=None",
    "Columns image and attr u32[40].",
    _celeba,
)
_define(
    "FlickrDataset",
    f"dataset_dir, annotation_file, {_MAYBE_DECODED}",
    "Columns image and annotation, an array of texts.",
    _flickr,
)
_define("Food101Dataset", f"dataset_dir, usage=None, {_DECODED}", "Columns image and label, a text.", _food101)
_define("SBUDataset", f"dataset_dir, {_DECODED}", "Columns image and caption, a text.", _sbu)
_define(
    "Places365Dataset",
    "dataset_dir, usage=None, small=True, decode=False, num_samples=None, num_parallel_workers=None, shuffle=None, "
    "sampler=None, num_shards=None, shard_id=None, cache=None",
    "Columns image and label u32.",
    _places365,
)
_define(
    "ManifestDataset",
    "dataset_file, usage='train', num_samples=None, num_parallel_workers=None, shuffle=None, sampler=None, "
    "class_indexing=None, decode=False, num_shards=None, shard_id=None, cache=None",
    "Images that a manifest lists: columns image and label i32.",
    _manifest,
    get_class_indexing=_classes,
    num_classes=_count_classes,
)


# Faces and pairs of images.


def _lfw(options, where):
    task = one_of(where, "task", options["task"] or "people", ("people", "pairs"))
    kinds = {"original": "lfw", "funneled": "lfw_funneled", "deepfunneled": "lfw-deepfunneled"}
    kind = kinds[one_of(where, "image_set", options["image_set"] or "funneled", kinds)]
    folder = folder_of(where, options["dataset_dir"])
    numbers = {line.split()[0]: i for i, line in enumerate(_lines(where, folder, "lfw-names.txt"))}
    suffixes = {"train": "DevTrain", "test": "DevTest", "10fold": ""}
    usages = ["train", "test"] if (options["usage"] or "all") == "all" else _usages(where, options, suffixes)
    lines = [line.split() for usage in usages for line in _lines(where, folder, f"{task}{suffixes[usage]}.txt")]

    def face(name, number):
        return File(path_in(where, folder, kind, name, f"{name}_{int(number):04}.jpg"))

    def faces(name, count):
        there = len(listed(path_in(where, folder, kind, name)))
        if count > there:
            raise ValueError(f"[{where}] too many faces of {name}, got {count}, expected {there}")
        return [face(name, i + 1) for i in range(count)]

    rows = []
    for line in (line for line in lines if not all(one.isdigit() for one in line)):
        if task == "people":
            rows += [[one, np.uint32(numbers[line[0]])] for one in faces(line[0], int(line[1]))]
        else:
            one, other = (line[0], line[1]), (line[0], line[2]) if len(line) == 3 else (line[2], line[3])
            rows.append([face(*one), face(*other), np.uint32(len(line) == 3)])
    return ("image", "label") if task == "people" else ("image1", "image2", "label"), rows


def _flowers102(options, where):
    folder = folder_of(where, options["dataset_dir"])
    task = one_of(where, "task", options["task"], ("Classification", "Segmentation"))
    labels = _matrices(where, folder, "imagelabels.mat")["labels"][0].astype(np.uint32) - np.uint32(1)
    names, parts = {"train": "trnid", "test": "tstid", "valid": "valid"}, _matrices(where, folder, "setid.mat")
    rows = []
    for number in (int(n) for usage in _usages(where, options, names) for n in parts[names[usage]][0]):
        images = [File(os.path.join(folder, "jpg", f"image_{number:05}.jpg"))]
        if task == "Segmentation":
            images.append(File(os.path.join(folder, "segmim", f"segmim_{number:05}.jpg")))
        rows.append([*images, labels[number - 1]])
    return ("image", "label") if task == "Classification" else ("image", "segmentation", "label"), rows


def _div2k(options, where):
    folder, scale = folder_of(where, options["dataset_dir"]), options["scale"]
    kind = one_of(where, "downgrade", options["downgrade"], ("bicubic", "unknown", "mild", "difficult", "wild"))
    inner = ("x8",) if scale == 8 else (kind, f"X{scale}") if kind in ("bicubic", "unknown") else (kind,)
    rows = []
    for usage in _usages(where, options, ("train", "valid")):
        small = listed(folder_of(where, os.path.join(folder, f"DIV2K_{usage}_LR_{inner[0]}", *inner[1:])))
        for path in small:
            large = os.path.join(folder, f"DIV2K_{usage}_HR", f"{os.path.basename(path)[:4]}.png")
            rows.append([File(large), File(path)])
    return ("hr_image", "lr_image"), rows


def _cityscapes(options, where):
    folder = folder_of(where, options["dataset_dir"])
    quality = one_of(where, "quality_mode", options["quality_mode"], ("fine", "coarse"))
    kinds = {
        "instance": "instanceIds.png",
        "semantic": "labelIds.png",
        "polygon": "polygons.json",
        "color": "color.png",
    }
    task, rows = one_of(where, "task", options["task"], kinds), []
    known = ("train", "test", "val") if quality == "fine" else ("train", "train_extra", "val")
    truth = f"gt{quality.capitalize()}"
    for usage in _usages(where, options, known):
        for city in folders(os.path.join(folder, "leftImg8bit", usage)):
            for path in listed(os.path.join(folder, "leftImg8bit", usage, city)):
                name = os.path.basename(path).replace("leftImg8bit.png", f"{truth}_{kinds[task]}")
                other = os.path.join(folder, truth, usage, city, name)
                rows.append([File(path), Made(_compact, where, other) if task == "polygon" else File(other)])
    return ("image", "task"), rows


def _compact(where, path):
    return np.array(json.dumps(_json(where, path), separators=(",", ":"), sort_keys=True, ensure_ascii=False))


_define(
    "LFWDataset",
    f"dataset_dir, task=None, usage=None, image_set=None, {_DECODED}",
    "Columns image and label u32, or image1, image2 and label u32, 1 for the same person.",
    _lfw,
)
_define(
    "Flowers102Dataset",
    "dataset_dir, task='Classification', usage='all', num_samples=None, num_parallel_workers=1, shuffle=None, "
    "decode=False, sampler=None, num_shards=None, shard_id=None",
    "Columns image, segmentation for this task, and label u32. Needs scipy.",
    _flowers102,
)
_define(
    "DIV2KDataset",
    f"dataset_dir, usage='train', downgrade='bicubic', scale=2, {_MAYBE_DECODED}",
    "Columns hr_image and lr_image.",
    _div2k,
)
_define(
    "CityscapesDataset",
    f"dataset_dir, usage='train', quality_mode='fine', task='instance', {_MAYBE_DECODED}",
    "Columns image and task, an image or the text of polygons.",
    _cityscapes,
)


# Boxes.


def _with_name(options, names, rows, paths):
    """Adds the column of the names of files, which iterators leave out until it is renamed."""
    if not options["extra_metadata"]:
        return names, rows
    stems = [os.path.splitext(os.path.basename(path))[0] for path in paths]
    return (*names, _META), [[*row, np.array(stem)] for row, stem in zip(rows, stems)]


_COCO = {
    "Detection": ("bbox", "category_id", "iscrowd"),
    "Stuff": ("segmentation", "iscrowd"),
    "Keypoint": ("keypoints", "num_keypoints"),
    "Panoptic": ("bbox", "category_id", "iscrowd", "area"),
    "Captioning": ("captions",),
}


_MOST_POINTS = 1 << 24  # numbers of the outlines of an image, with those that fill up the shorter ones


def _polygons(values):
    """Outlines as rows, with -1 after the shorter ones."""
    lines = [line for one in values for line in one]
    longest = max(map(len, lines))
    if len(lines) * longest > _MOST_POINTS:
        raise ValueError(f"[CocoDataset] outlines too large, got {len(lines)} x {longest}, expected {_MOST_POINTS}")
    made = np.full((len(lines), longest), -1, np.float32)
    for row, line in zip(made, lines):
        row[: len(line)] = line
    return made


def _coco_value(name, notes):
    if name == "captions":
        return np.array([[note["caption"]] for note in notes])
    values = [note.get(name, 0) for note in notes]
    if name == "segmentation":
        return _polygons(values)
    return _column(values, np.float32 if name in ("bbox", "keypoints") else np.uint32)


def _coco(options, where):
    folder, found = folder_of(where, options["dataset_dir"]), _json(where, options["annotation_file"])
    names = _COCO[one_of(where, "task", options["task"], _COCO)]
    files = {image["id"]: image["file_name"] for image in found["images"]}
    notes = {}
    for note in found["annotations"]:
        notes.setdefault(files[note["image_id"]], []).extend(note.get("segments_info", [note]))
    options["class_indexing"] = {
        one["name"]: [one["id"], one["isthing"]] if options["task"] == "Panoptic" else [one["id"]]
        for one in found.get("categories", [])
    }
    paths = sorted(notes)
    rows = [
        [File(path_in(where, folder, path)), *(_coco_value(name, notes[path]) for name in names)] for path in paths
    ]
    return _with_name(options, ("image", *names), rows, paths)


def _voc(options, where):
    folder = folder_of(where, options["dataset_dir"])
    task = one_of(where, "task", options["task"], ("Segmentation", "Detection"))
    kind = "Main" if task == "Detection" else task
    stems = [line.split()[0] for line in _lines(where, folder, "ImageSets", kind, f"{options['usage']}.txt")]
    images = {stem: path_in(where, folder, "JPEGImages", f"{stem}.jpg") for stem in stems}
    if task == "Segmentation":
        rows = [
            [File(path), File(path_in(where, folder, "SegmentationClass", f"{stem}.png"))]
            for stem, path in images.items()
        ]
        return _with_name(options, ("image", "target"), rows, images)
    notes = {stem: _objects(where, path_in(where, folder, "Annotations", f"{stem}.xml")) for stem in stems}
    numbers = options["class_indexing"]
    if numbers is None:
        numbers = {name: i for i, name in enumerate(sorted({one["name"] for found in notes.values() for one in found}))}
        options["class_indexing"] = numbers
    rows, kept = [], []
    for stem in stems:
        found = [one for one in notes[stem] if one["name"] in numbers]
        if found:
            boxes = np.array([one["bbox"] for one in found], np.float32)
            labels = _column([numbers[one["name"]] for one in found], np.uint32)
            marks = [_column([one[mark] for one in found], np.uint32) for mark in ("difficult", "truncated")]
            rows.append([File(images[stem]), boxes, labels, *marks])
            kept.append(stem)
    return _with_name(options, ("image", "bbox", "label", "difficult", "truncate"), rows, kept)


def _objects(where, path):
    """Objects of an annotation of VOC; boxes are left, top, width, height."""
    found = []
    for one in xml.parse(file_of(where, path)).getroot().iter("object"):
        left, top, right, bottom = (float(one.findtext(f"bndbox/{end}")) for end in ("xmin", "ymin", "xmax", "ymax"))
        marks = {mark: int(one.findtext(mark) or 0) for mark in ("difficult", "truncated")}
        found.append({"name": one.findtext("name"), "bbox": [left, top, right - left, bottom - top], **marks})
    return found


def _kitti(options, where):
    folder, usage = (
        folder_of(where, options["dataset_dir"]),
        one_of(where, "usage", options["usage"] or "train", ("train", "test")),
    )
    images = listed(os.path.join(folder, "data_object_image_2", f"{usage}ing", "image_2"))
    if usage == "test":
        return ("image",), [[File(path)] for path in images]
    inner, rows = os.path.join(folder, "data_object_label_2", "training", "label_2"), []
    stems = [os.path.splitext(os.path.basename(path))[0] for path in images]
    notes = [[line.split() for line in _lines(where, inner, f"{stem}.txt")] for stem in stems]
    numbers = {name: i for i, name in enumerate(sorted({line[0] for lines in notes for line in lines}))}
    for path, lines in zip(images, notes):
        labels = [numbers[line[0]] for line in lines]
        values = np.array([line[1:15] for line in lines], np.float32)
        columns = [values[:, a:b] for a, b in ((0, 1), (1, 2), (2, 3), (3, 7), (7, 10), (10, 13), (13, 14))]
        columns[1] = columns[1].astype(np.uint32)
        rows.append([File(path), _column(labels, np.uint32), *columns])
    return (
        "image", "label", "truncated", "occluded", "alpha", "bbox", "dimensions", "location", "rotation_y",
    ), rows  # fmt: skip


def _wider(options, where):
    folder, usage = folder_of(where, options["dataset_dir"]), options["usage"] or "all"
    one_of(where, "usage", usage, ("train", "valid", "test", "all"))

    def image(part, name):
        return File(path_in(where, folder, f"WIDER_{part}", "images", name.strip()))

    if usage == "test":
        names = _lines(where, folder, "wider_face_split", "wider_face_test_filelist.txt")
        return ("image",), [[image("test", name)] for name in names]
    rows = []
    for part in [one for one in ("train", "val") if usage in ("all", {"val": "valid"}.get(one, one))]:
        lines = iter(_lines(where, folder, "wider_face_split", f"wider_face_{part}_bbx_gt.txt"))
        for name in lines:
            faces = max(int(next(lines)), 1)  # an image without faces has a line of zeros
            values = np.array([next(lines).split()[:10] for _ in range(faces)], np.int32)
            rows.append([image(part, name), values[:, :4], *(values[:, i] for i in range(4, 10))])
    return ("image", "bbox", "blur", "expression", "illumination", "occlusion", "pose", "invalid"), rows


_define(
    "CocoDataset",
    f"dataset_dir, annotation_file, task='Detection', {_DECODED}, extra_metadata=False, decrypt=None",
    "Images with boxes, outlines, points or captions, by task. Columns image, and those of the task: for Detection\n"
    "bbox f32[objects,4] of left, top, width and height in elements, category_id and iscrowd u32[objects,1].",
    _coco,
    get_class_indexing=_classes,
)
_define(
    "VOCDataset",
    "dataset_dir, task='Segmentation', usage='train', class_indexing=None, "
    f"{_DECODED}, extra_metadata=False, decrypt=None",
    "Columns image and target, or for Detection image, bbox f32[objects,4] of left, top, width and height in\n"
    "elements, label, difficult and truncate u32[objects,1].",
    _voc,
    get_class_indexing=_classes,
)
_define(
    "KITTIDataset",
    f"dataset_dir, usage=None, {_DECODED}",
    "Columns image, and for the training label, truncated, occluded, alpha, bbox, dimensions, location, rotation_y.",
    _kitti,
)
_define(
    "WIDERFaceDataset",
    f"dataset_dir, usage=None, {_DECODED}",
    "Columns image, and but for the test bbox, blur, expression, illumination, occlusion, pose and invalid.",
    _wider,
)
globals().update(_NAMES)
__all__ = sorted(_NAMES)
