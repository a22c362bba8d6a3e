"""Pipelines of images without chance: files of unlike sizes, decoded and mapped, row by row equal to MindSpore's. Then
maps that choose among others: every draw of MindSpore's is one of those that these maps have."""

import importlib
import os
import shutil
import tempfile

import numpy as np
from both import Count
from PIL import Image

COUNT = Count("pipelines of images", 40)
FOLDER = tempfile.mkdtemp()
numbers = np.random.default_rng(3)
SIZES = ((48, 60), (75, 41), (33, 90), (64, 64), (50, 52))


def _picture(height, width):
    y, x = np.mgrid[0:height, 0:width]
    waves = [127 + 100 * np.sin(x / a + y / b) for a, b in numbers.uniform(3, 20, (3, 2))]
    return np.clip(np.stack(waves, -1) + numbers.normal(0, 12, (height, width, 3)), 0, 255).astype(np.uint8)


for kind in ("cats", "dogs"):
    os.mkdir(os.path.join(FOLDER, kind))
    for i, size in enumerate(SIZES):
        name = f"{i}.png" if i == 3 else f"{i}.jpg"
        Image.fromarray(_picture(*size)).save(os.path.join(FOLDER, kind, name), **({} if i == 3 else {"quality": 92}))
EQUAL = np.stack([_picture(32, 40) for _ in range(6)])
LABELS = np.arange(6, dtype=np.int32) % 3
BOXES = np.tile(np.array([[2, 3, 10, 12], [20, 5, 15, 20]], np.float32), (6, 1, 1))
MEAN, STD = [0.485 * 255, 0.456 * 255, 0.406 * 255], [0.229 * 255, 0.224 * 255, 0.225 * 255]


def rows(dataset):
    """All rows of one epoch, as a list of the columns of each row in turn."""
    return [array for row in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True) for array in row]


def case(name, make):
    def run(system):
        ds = importlib.import_module(f"{system.__name__}.dataset")
        vision = importlib.import_module(f"{system.__name__}.dataset.vision")
        importlib.import_module(f"{system.__name__}.dataset.transforms")
        return rows(make(ds, vision, system))

    COUNT.add(name, run)


def files(name, steps):
    """A pipeline of the files: `steps(vision, transforms, system)` is the list of maps of their bytes."""

    def make(ds, vision, system):
        data = ds.ImageFolderDataset(FOLDER, shuffle=False)
        return data.map(steps(vision, ds.transforms, system), "image").batch(5)

    case(name, make)


def images(name, steps, columns=("image",)):
    """A pipeline of images of one size."""

    def make(ds, vision, system):
        given = {"image": EQUAL, "label": LABELS, "boxes": BOXES}
        # Some maps of MindSpore's change the arrays that they are given.
        data = ds.NumpySlicesDataset({name: given[name].copy() for name in columns}, shuffle=False)
        return data.map(steps(vision, ds.transforms, system), list(columns))

    case(name, make)


files("evaluation", lambda v, t, ms: [
    v.Decode(), v.Resize(40), v.CenterCrop(32), v.Normalize(MEAN, STD), v.HWC2CHW()])
files("training without chance", lambda v, t, ms: [
    v.Decode(), v.Resize((36, 36)), v.RandomHorizontalFlip(1.0), v.Normalize(MEAN, STD), v.HWC2CHW()])
files("nearest", lambda v, t, ms: [v.Decode(), v.Resize((30, 34), v.Inter.NEAREST)])
files("cubic", lambda v, t, ms: [v.Decode(), v.Resize((80, 31), v.Inter.BICUBIC)])
files("area", lambda v, t, ms: [v.Decode(), v.Resize((17, 23), v.Inter.AREA)])
files("cubic of Pillow", lambda v, t, ms: [v.Decode(), v.Resize((28, 33), v.Inter.PILCUBIC)])
files("Pillow, evaluation", lambda v, t, ms: [
    v.Decode(to_pil=True), v.Resize(40), v.CenterCrop(32), v.ToTensor(),
    v.Normalize([0.5] * 3, [0.2] * 3, is_hwc=False)])
files("Pillow, antialiased", lambda v, t, ms: [v.Decode(True), v.Resize((30, 31), v.Inter.ANTIALIAS), v.ToTensor()])
files("Pillow, cubic and flip", lambda v, t, ms: [
    v.Decode(True), v.Resize((30, 31), v.Inter.BICUBIC), v.RandomHorizontalFlip(1.0), v.ToTensor()])
files("Pillow, rotation", lambda v, t, ms: [
    v.Decode(True), v.Resize((40, 41)), v.RandomRotation((25, 25), v.Inter.BILINEAR, fill_value=9), v.ToTensor()])
files("Pillow, perspective", lambda v, t, ms: [
    v.Decode(True), v.Resize((40, 41)),
    v.Perspective([[0, 0], [40, 0], [40, 39], [0, 39]], [[3, 2], [36, 1], [38, 35], [2, 37]]), v.ToTensor()])
files("Pillow, colours", lambda v, t, ms: [
    v.Decode(True), v.Resize((20, 21)), v.AdjustBrightness(0.7), v.AdjustContrast(1.3), v.AdjustSaturation(0.4),
    v.AdjustHue(0.1), v.ToTensor()])
files("Pillow, tones", lambda v, t, ms: [
    v.Decode(True), v.Resize((20, 21)), v.AutoContrast(2.0), v.Equalize(), v.Invert(), v.AdjustGamma(0.8),
    v.ToTensor()])
files("Pillow, gray", lambda v, t, ms: [v.Decode(True), v.Resize((20, 21)), v.Grayscale(3), v.ToTensor()])
files("Pillow, crops", lambda v, t, ms: [
    v.Decode(True), v.Resize((20, 21)), v.FiveCrop(12), lambda *parts: np.stack([np.array(one) for one in parts])])
files("Pillow, ten crops", lambda v, t, ms: [
    v.Decode(True), v.Resize((20, 21)), v.TenCrop(12), lambda *parts: np.stack([v.ToTensor()(one) for one in parts])])
files("Pillow and arrays", lambda v, t, ms: [
    v.Decode(True), v.Pad(4), v.ToNumpy(), v.Resize((25, 26)), v.ToPIL(), v.CenterCrop(20), v.ToTensor()])
files("a function between", lambda v, t, ms: [
    v.Decode(), lambda image: image[:30, :30].copy(), v.GaussianBlur(3), v.ToTensor()])
files("pads", lambda v, t, ms: [
    v.Decode(), v.PadToSize((100, 101), fill_value=7), v.Pad((1, 2), padding_mode=v.Border.REFLECT)])
files("crops", lambda v, t, ms: [v.Decode(), v.Crop((3, 5), (20, 24)), v.VerticalFlip(), v.Rescale(1 / 255, -0.5)])
files("crop and resize", lambda v, t, ms: [v.Decode(), v.ResizedCrop(2, 3, 30, 31, (18, 19), v.Inter.AREA)])
files("moves", lambda v, t, ms: [
    v.Decode(), v.Resize((32, 34)), v.Rotate(15, v.Inter.BILINEAR), v.Affine(10, (0.1, 0.1), 1.1, 5.0,
    v.Inter.BILINEAR)])
files("colours", lambda v, t, ms: [
    v.Decode(), v.Resize((32, 34)), v.AdjustBrightness(0.7), v.AdjustContrast(1.3), v.AdjustSaturation(0.4),
    v.AdjustHue(-0.2)])
files("tones", lambda v, t, ms: [
    v.Decode(), v.Resize((32, 34)), v.AutoContrast(1.0), v.Posterize(5), v.Solarize((60, 180)), v.AdjustSharpness(1.6)])
files("Compose", lambda v, t, ms: t.Compose([
    v.Decode(), v.Resize((32, 34)), v.ConvertColor(v.ConvertMode.COLOR_RGB2BGR), v.ToTensor()]))
files("whole windows", lambda v, t, ms: [
    v.Decode(), v.Resize((32, 34)), v.RandomResizedCrop((20, 22), (1.0, 1.0), (34 / 32,) * 2)])
files("types", lambda v, t, ms: [v.Decode(), v.Resize((12, 14)), v.ToType(np.float32), t.TypeCast(ms.float16)])
files("equalized and inverted", lambda v, t, ms: [
    v.Decode(), v.Resize((12, 14)), v.RandomEqualize(1.0), v.RandomInvert(1.0), v.RandomAutoContrast(prob=1.0)])


def chain(name, change, decode=lambda v: v.Decode()):
    """A pipeline of several calls of `map`, between which images have unlike sizes."""

    def make(ds, vision, system):
        data = ds.ImageFolderDataset(FOLDER, shuffle=False).map(decode(vision), "image")
        return change(data, vision, ds.transforms, system)

    case(f"chain: {name}", make)


chain("sizes and crops", lambda data, v, t, ms: data.map(v.Resize(30), "image").map(
    [v.CenterCrop((24, 28)), v.ToTensor()], "image").batch(3))  # fmt: skip
chain("a function, sizes, numbers", lambda data, v, t, ms: data.map(lambda image: image[::2].copy(), "image").map(
    v.Resize((17, 19)), "image").map([v.Normalize(MEAN, STD), v.HWC2CHW()], "image").batch(4))  # fmt: skip
chain("Pillow until the last call", lambda data, v, t, ms: data.map(v.Resize((20, 22)), "image").map(
    v.ToTensor(), "image").batch(2), lambda v: v.Decode(to_pil=True))  # fmt: skip
chain("two columns", lambda data, v, t, ms: data.map(v.Pad(3), "image").map(
    lambda image, label: (image[:25, :25].copy(), label + 1), ["image", "label"]).map(
    t.TypeCast(ms.float32), "label").batch(5, True))  # fmt: skip
chain("filter and repeat", lambda data, v, t, ms: data.filter(lambda image, label: image.shape[0] > 48).map(
    v.Rescale(1 / 255, 0.0), "image").map(v.Resize((12, 12)), "image").repeat(2).batch(3))  # fmt: skip
chain("padded", lambda data, v, t, ms: data.map(v.Resize(20), "image").padded_batch(
    4, pad_info={"image": ([None, None, 3], 7)}).repeat(2))  # fmt: skip
case("patches", lambda ds, v, ms: ds.NumpySlicesDataset(EQUAL.copy(), ["image"], shuffle=False).map(
    v.SlicePatches(2, 2), "image", ["a", "b", "c", "d"]))  # fmt: skip
images("erased", lambda v, t, ms: [v.Erase(3, 4, 10, 12, (9, 8, 7)), v.HorizontalFlip()])
images("borders and windows", lambda v, t, ms: [v.Pad((2, 3, 4, 5), (1, 2, 3)), v.RandomCrop((40, 46))])
images("channels first", lambda v, t, ms: [v.ToTensor(), v.RgbToHsv(), v.HsvToRgb()])
images("padded channel", lambda v, t, ms: [v.HWC2CHW(), v.NormalizePad(MEAN, STD, is_hwc=False)])
images("sharp", lambda v, t, ms: [v.RandomSharpness((1.7, 1.7)), v.RandomColor((0.5, 0.5)), v.RandomPosterize((4, 4))])
images("moved by chance of one value", lambda v, t, ms: [
    v.RandomRotation((20, 20), v.Inter.BICUBIC), v.RandomAffine((5, 5), (0.1, 0.1, 0.1, 0.1), (0.9, 0.9))])
images("adjusted by chance of one value", lambda v, t, ms: [
    v.RandomColorAdjust(brightness=(1.2, 1.2)), v.RandomColorAdjust(hue=(0.05, 0.05)), v.RandomSolarize((99, 99))])
images("gamma and blur", lambda v, t, ms: [v.AdjustGamma(1.7, 0.9), v.GaussianBlur((5, 3), (1.0, 2.0))])
images("chosen", lambda v, t, ms: v.RandomSelectSubpolicy([[(v.Invert(), 1.0), (v.Resize((9, 9)), 1.0)]]))
BOXED = (
    "RandomHorizontalFlipWithBBox(1.0)",
    "RandomVerticalFlipWithBBox(1.0)",
    "ResizeWithBBox((20, 25))",
    "RandomCropWithBBox((38, 44), (2, 3, 2, 3))",
    "RandomResizedCropWithBBox((16, 20), (1.0, 1.0), (1.25, 1.25))",
    "BoundingBoxAugment(v.Invert(), 1.0)",
)
for step in BOXED:
    images(f"boxes: {step}", lambda v, t, ms, step=step: eval(f"v.{step}"), ["image", "boxes"])
case("labels mixed", lambda ds, v, ms: ds.NumpySlicesDataset((EQUAL.copy(), LABELS), ["image", "label"],
    shuffle=False).map(
    [ds.transforms.OneHot(3), ds.transforms.TypeCast(ms.int32)], "label").batch(3).map(
    v.CutMixBatch(v.ImageBatchFormat.NHWC, 1.0, 0.0), ["image", "label"]))  # fmt: skip


def chosen(name, make, possible):
    """Every draw of each system is one of the possible ones."""

    def run(system):
        vision = importlib.import_module(f"{system.__name__}.dataset.vision")
        dataset = importlib.import_module(f"{system.__name__}.dataset")
        found, drawn = possible(importlib.import_module("partita.dataset.vision")), set()
        if system.__name__ == "mindspore":  # whose moves by elements push an image out of itself
            found.add(np.zeros_like(EQUAL[0]).tobytes())
        for seed in range(60):
            dataset.config.set_seed(seed)
            drawn.add(make(vision)(EQUAL[0].copy()).tobytes())
        return [np.array([len(drawn - found), len(drawn) > 12], np.float32)]

    COUNT.add(name, run)


def _augmented(vision, sizes, at=None):
    found = set()
    policies = vision.policies
    for name, values in sizes.items():
        for value in [0.0] if values is None else values if at is None else [values[at]]:
            for sign in (1, -1) if name in policies._SIGNED else (1,):
                found.add(policies.augmented(EQUAL[0], name, sign * value, vision.Inter.NEAREST, (0, 0, 0)).tobytes())
    return found


chosen("RandAugment", lambda v: v.RandAugment(1, 12), lambda v: _augmented(v, v.RandAugment(1, 12).sizes(32, 40), 12))
chosen("TrivialAugmentWide", lambda v: v.TrivialAugmentWide(5),
       lambda v: _augmented(v, v.TrivialAugmentWide(5).sizes()))  # fmt: skip


def _of_policy(vision, policy):
    policies, found = vision.policies, {EQUAL[0].tobytes()}
    sizes = policies.magnitudes(10, (0.3, 150 / 331 * 40, 150 / 331 * 32, 30, 0.9), 4, 256.0)
    for pair in policies.learned(policy.value):
        reached = [EQUAL[0]]
        for name, _, at in pair:
            amount = 0.0 if at is None else sizes[name][at]
            for image in list(reached):
                for sign in (1, -1) if name in policies._SIGNED else (1,):
                    reached.append(policies.augmented(image, name, sign * amount, vision.Inter.NEAREST, (0, 0, 0)))
        found |= {one.tobytes() for one in reached}
    return found


for name in ("IMAGENET", "CIFAR10", "SVHN"):
    chosen(f"AutoAugment, {name}", lambda v, name=name: v.AutoAugment(v.AutoAugmentPolicy[name]),
           lambda v, name=name: _of_policy(v, v.AutoAugmentPolicy[name]))  # fmt: skip
shutil.rmtree(FOLDER)
COUNT.finish()
