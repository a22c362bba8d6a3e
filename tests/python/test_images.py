"""Maps of images: calls whose results MindSpore gave, draws, images of Pillow where it is there, and refused values."""

import importlib.util
import os
import unittest

import image_operands
import numpy as np
from support import Case

import partita as ms
from partita import dataset as ds
from partita.dataset import vision
from partita.dataset.vision import policies

FOLDER = os.path.dirname(os.path.abspath(__file__))
HAS_PILLOW = importlib.util.find_spec("PIL") is not None
NEEDS_PILLOW = ("pil(", "code", "v.write_", "ToPIL", "RandomCropDecodeResize")
OPERANDS = image_operands.OPERANDS
RGB, SMOOTH, BOXES = OPERANDS["rgb"], OPERANDS["smooth"], OPERANDS["boxes"]


def results():
    with open(os.path.join(FOLDER, "image_results.txt"), encoding="utf-8") as file:
        for line in file:
            call, *texts = line.rstrip("\n").split("\t")
            yield call, [image_operands.parse_array(one) for one in texts]


class Calls(Case):
    def test_equal_the_documented_ones(self):
        count = 0
        for call, expected in results():
            if not HAS_PILLOW and any(one in call for one in NEEDS_PILLOW):
                continue
            with self.subTest(call):
                got = image_operands.evaluated(ds, call)
                self.assertEqual([(x.dtype, x.shape) for x in got], [(x.dtype, x.shape) for x in expected])
                for one, other in zip(got, expected):
                    if other.dtype == np.uint8 and "pil(" not in call and ".jpg" not in call and "jpeg" not in call:
                        np.testing.assert_array_equal(one, other)
                    else:
                        np.testing.assert_allclose(one.astype("f8"), other, rtol=1e-6, atol=1e-6)
            count += 1
        self.assertGreater(count, 300)

    def test_every_result_is_of_a_call_of_the_list(self):
        listed = image_operands.calls(os.path.join(FOLDER, "image_calls.txt"))
        self.assertEqual([call for call, _ in results()], listed)


class Policies(Case):
    def _possible(self, image, sizes, chosen):
        found = set()
        for name, values in sizes.items():
            for value in [0.0] if values is None else [values[chosen]] if chosen is not None else values:
                for sign in (1, -1) if name in policies._SIGNED else (1,):
                    found.add(policies.augmented(image, name, sign * value, vision.Inter.NEAREST, (0, 0, 0)).tobytes())
        return found

    def test_draw_from_their_maps(self):
        image = SMOOTH
        for step, sizes, chosen in (
            (vision.RandAugment(1, 11), vision.RandAugment(1, 11).sizes(*image.shape[:2]), 11),
            (vision.TrivialAugmentWide(7), vision.TrivialAugmentWide(7).sizes(), None),
        ):
            possible = self._possible(image, sizes, chosen)
            drawn = {step(image).tobytes() for _ in range(150)}
            self.assertLessEqual(drawn, possible)
            self.assertGreater(len(drawn), 15)
        self.assertEqual(len(policies.learned("imagenet")), 25)
        self.assertEqual([len(policies.learned(one.value)) for one in vision.AutoAugmentPolicy], [25, 25, 25])
        for policy in vision.AutoAugmentPolicy:
            step = vision.AutoAugment(policy)
            made = {step(image).tobytes() for _ in range(60)}
            self.assertGreater(len(made), 10)
        self.assertEqual(policies.learned("svhn")[0], [("ShearX", 0.9, 4), ("Invert", 0.2, None)])

    def test_draw_by_the_row(self):
        inner = ds.transforms.Compose([vision.RandomRotation(40), vision.RandomCrop(6)])
        step = vision.RandomSelectSubpolicy([[(inner, 1.0)]])
        data = ds.NumpySlicesDataset(np.stack([RGB] * 4), ["image"], shuffle=False).map(step, "image")
        first = [row[0] for row in data.create_tuple_iterator(output_numpy=True)]
        step(RGB)  # a draw between does not matter
        data = ds.NumpySlicesDataset(np.stack([RGB] * 4), ["image"], shuffle=False).map(step, "image")
        again = [row[0] for row in data.create_tuple_iterator(output_numpy=True)]
        self.close(np.stack(first), np.stack(again))
        self.assertEqual(len({one.tobytes() for one in first}), 4)

    def test_choose_as_often_as_told(self):
        steps = [vision.Invert(), lambda image: image * 0]
        uniform = vision.UniformAugment(steps, 1)
        seen = [uniform(RGB) for _ in range(400)]
        kept = sum((one == RGB).all() for one in seen)
        black = sum((one == 0).all() for one in seen)
        self.assertTrue(160 < kept < 240 and 60 < black < 140, (kept, black))
        select = vision.RandomSelectSubpolicy([[(steps[0], 0.25)], [(steps[1], 1.0)]])
        seen = [select(RGB) for _ in range(400)]
        black = sum((one == 0).all() for one in seen)
        inverted = sum((one == 255 - RGB).all() for one in seen)
        self.assertTrue(150 < black < 250 and 25 < inverted < 80, (black, inverted))


class Batches(Case):
    def test_mix_images_and_labels(self):
        images = np.random.default_rng(1).integers(0, 256, (6, 10, 12, 3)).astype(np.uint8)
        labels = np.eye(6, dtype=np.int32)
        for _ in range(20):
            made, given = vision.CutMixBatch(vision.ImageBatchFormat.NHWC)(images, labels)
            for i in range(6):
                self.close(given[i].sum(), 1.0)
                j = int(np.argmax(np.where(np.arange(6) == i, 0, given[i]))) if given[i][i] < 1 else i
                taken = (made[i] == images[j]).all(-1) & ~(made[i] == images[i]).all(-1)
                if j != i:
                    self.assertLessEqual(abs(taken.mean() - given[i][j]), 0.05)
                    self.assertTrue(((made[i] == images[i]) | (made[i] == images[j])).all())
        made, given = vision.MixUpBatch(1.0)(images.astype(np.float32), labels)
        self.close(made.reshape(6, -1), given @ images.reshape(6, -1).astype(np.float32), 1e-4)
        channels_first = vision.CutMixBatch(vision.ImageBatchFormat.NCHW)(images.transpose(0, 3, 1, 2), labels)
        self.assertEqual(channels_first[0].shape, (6, 3, 10, 12))
        made, given = vision.MixUp(6, 0.4)(images, labels)
        self.close(made.reshape(6, -1), given @ images.reshape(6, -1), 1e-9)

    def test_in_a_data_set(self):
        images = np.random.default_rng(2).integers(0, 256, (8, 6, 5, 3)).astype(np.uint8)
        data = ds.NumpySlicesDataset((images, np.arange(8) % 4), ["image", "label"], shuffle=False)
        data = data.map(ds.transforms.OneHot(4), "label").map(ds.transforms.TypeCast(ms.int32), "label").batch(4)
        data = data.map(vision.MixUpBatch(0.5), ["image", "label"])
        one = list(data.create_tuple_iterator(output_numpy=True))
        again = list(data.create_tuple_iterator(output_numpy=True))
        self.assertEqual([x.shape for x in one[0]], [(4, 6, 5, 3), (4, 4)])
        self.close(one[1][1].sum(1), np.ones(4))
        same = [(x == y).all() for before, after in zip(one, again) for x, y in zip(before, after)]
        self.assertFalse(all(same))  # another epoch, another draw


class Boxes(Case):
    def test_follow_windows(self):
        image = np.zeros((20, 30, 3), np.uint8)
        boxes = np.array([[3, 4, 6, 5, 7], [20, 10, 8, 9, 8]], np.float32)
        for value, (left, top, width, height, _) in enumerate(boxes.astype(int), 1):
            image[top : top + height, left : left + width] = value
        for _ in range(30):
            made, given = vision.RandomCropWithBBox((12, 18), 4)(image, boxes)
            for left, top, width, height, which in given:
                value = int(which) - 6
                rows, columns = np.nonzero(made[..., 0] == value)
                if len(rows):
                    self.assertEqual([columns.min(), rows.min()], [left, top])
                    self.assertEqual([np.ptp(columns) + 1, np.ptp(rows) + 1], [width, height])
        made, given = vision.RandomHorizontalFlipWithBBox(1.0)(image, boxes)
        self.assertEqual(given[0].tolist(), [21, 4, 6, 5, 7])
        self.assertTrue((made[4:9, 21:27] == 1).all())

    def test_refuse_boxes_outside(self):
        with self.refuses(ValueError, "[ResizeWithBBox] boxes that are not in the image", "expected them in 9 x 8"):
            vision.ResizeWithBBox(4)(RGB, BOXES + 5)
        with self.refuses(ValueError, "no boxes, got shape (4,)"):
            vision.RandomVerticalFlipWithBBox()(RGB, BOXES[0])


class Formulas(Case):
    """Maps that MindSpore computes otherwise than documented, or draws."""

    def test_normalize_pad(self):
        mean, std = np.array([0.5, 0.1, 0.2], np.float32), np.array([0.25, 2.0, 1.0], np.float32)
        made = vision.NormalizePad(mean.tolist(), std.tolist())(OPERANDS["floats"])
        self.close(made[..., :3], (OPERANDS["floats"] - mean) / std)
        self.assertTrue((made[..., 3] == 0).all())

    def test_random_ones_keep_to_their_ranges(self):
        lit = vision.RandomLighting(0.1)
        image = np.full((2, 2, 3), 128, np.uint8)
        moved = np.array([lit(image)[0, 0].astype(float) - 128 for _ in range(200)])
        self.assertLess(abs(moved.mean()), 1.5)
        self.assertTrue(2 < moved.std() < 5, moved.std())
        cut = vision.CutOut(3, 1)
        shares = {int((cut(np.ones((9, 9, 1), np.uint8)) == 0).sum()) for _ in range(300)}
        self.assertTrue(0 <= min(shares) and max(shares) == 9)
        resize, perspective = vision.RandomResize((4, 5)), vision.RandomPerspective(0.6, 1.0)
        sizes = {resize(SMOOTH).tobytes() for _ in range(40)}
        self.assertEqual(len(sizes), 4)
        looks = {perspective(RGB).tobytes() for _ in range(10)}
        self.assertGreater(len(looks), 5)
        gray = vision.RandomGrayscale(0.5)
        grays = [gray(RGB) for _ in range(60)]
        self.assertTrue(15 < sum((one[..., 0] == one[..., 1]).all() for one in grays) < 45)

    def test_crops_with_borders(self):
        small = RGB[:3, :4]
        for _ in range(10):
            made = vision.RandomCrop((6, 7), pad_if_needed=True, fill_value=9)(small)
            self.assertEqual(made.shape, (6, 7, 3))
        with self.refuses(ValueError, "[RandomCrop] the image is smaller than the window", "pad_if_needed=True"):
            vision.RandomCrop((6, 7), fill_value=9)(small)


class Refused(Case):
    def test_settings(self):
        inter = vision.Inter
        for make, kind, text in (
            (lambda: vision.AdjustHue(0.6), ValueError, "[AdjustHue] bad hue_factor, got 0.6, expected -0.5 to 0.5"),
            (lambda: vision.AdjustGamma("a"), TypeError, "[AdjustGamma] gamma is not a number"),
            (lambda: vision.AdjustBrightness(-1), ValueError, "bad brightness_factor"),
            (lambda: vision.Affine(0, (2, 0), 1, 0), ValueError, "bad translate"),
            (lambda: vision.Affine(0, 3, 1, 0), TypeError, "bad translate, got 3, expected two numbers"),
            (lambda: vision.AutoAugment("imagenet"), TypeError, "expected one of AutoAugmentPolicy.IMAGENET"),
            (lambda: vision.RandAugment(magnitude=31), ValueError, "bad magnitude, got 31, expected 0 to 30"),
            (lambda: vision.ConvertColor(3), TypeError, "bad convert_mode"),
            (lambda: vision.Crop((1,), 3), TypeError, "bad coordinates"),
            (lambda: vision.Pad((1, 2, 3)), ValueError, "bad padding"),
            (lambda: vision.Posterize(9), ValueError, "bad bits"),
            (lambda: vision.Resize(3, 2), TypeError, "[Resize] bad interpolation, got 2"),
            (lambda: vision.Solarize((9, 3)), ValueError, "bad threshold"),
            (lambda: vision.Perspective([[0, 0]], [[0, 0]]), TypeError, "expected four points"),
            (lambda: vision.UniformAugment([vision.Invert()], 2), ValueError, "bad num_ops"),
            (lambda: vision.RandomSelectSubpolicy([[3]]), TypeError, "expected lists of pairs"),
            (lambda: vision.Normalize((1, 2), (1,)), ValueError, "different numbers"),
            (lambda: vision.RandomResizedCrop(4, interpolation="x"), TypeError, "bad interpolation"),
            (lambda: vision.Invert().device("Ascend"), NotImplementedError, "maps of images run on the CPU"),
            (lambda: vision.read_video("x.mp4"), NotImplementedError, "expected frames of a reader of videos"),
            (lambda: vision.Resize((3, 4), inter.ANTIALIAS)(RGB), TypeError, "only images of Pillow have Inter.ANTI"),
            (lambda: vision.read_file("/nowhere"), RuntimeError, "[read_file] no such file"),
        ):
            with self.subTest(text), self.refuses(kind, text):
                make()

    def test_values_that_are_no_images(self):
        bad = (np.zeros((2, 3, 4, 5), np.uint8), np.zeros(7, np.uint8), np.array("text"), np.zeros((0, 4, 3), np.uint8))
        steps = [
            vision.AdjustHue(0.1), vision.AdjustContrast(2), vision.AutoContrast(), vision.CenterCrop(3),
            vision.Equalize(), vision.FiveCrop(2), vision.GaussianBlur(3), vision.HorizontalFlip(), vision.Pad(1),
            vision.Perspective([[0, 0], [1, 0], [1, 1], [0, 1]], [[0, 0], [1, 0], [1, 1], [0, 1]]), vision.Posterize(2),
            vision.RandomAffine(3), vision.RandomColor(), vision.RandomColorAdjust(0.5),
            vision.RandomCrop(3, 1, True, 5),
            vision.RandomResizedCrop(3), vision.RandomRotation(9), vision.RandomSharpness(), vision.RandAugment(),
            vision.Resize((2, 2)), vision.Resize((2, 2), vision.Inter.AREA), vision.Rotate(9),
            vision.SlicePatches(2, 2),
            vision.ToTensor(), vision.HWC2CHW(), vision.Normalize((1, 1, 1), (1, 1, 1)), vision.CutOut(2),
            vision.RandomErasing(1.0), vision.AutoAugment(), vision.Grayscale(), vision.RandomLighting(),
        ]  # fmt: skip
        silent = []
        for step in steps:
            for value in bad:
                try:
                    step(value)
                    silent.append(f"{type(step).__name__} of {value.shape}")
                except (TypeError, ValueError) as error:
                    self.assertRegex(str(error), r"^\[[A-Za-z0-9_ ]+\] .*(got|expected)", type(step).__name__)
        self.assertLess(len(silent), 45, silent)

    def test_in_a_data_set_they_name_the_map(self):
        data = ds.NumpySlicesDataset(np.zeros((2, 6, 5), np.float32), ["x"], shuffle=False)
        with self.refuses(TypeError, "[Equalize] the image is not of 8 bits"):
            list(data.map([lambda x: x, vision.Equalize()], "x"))


class OldNames(Case):
    def test_have_channels_first_in_python(self):
        from partita.dataset.vision import c_transforms, py_transforms
        from partita.dataset.vision.py_transforms_util import hwc_to_chw, is_numpy, is_pil

        chw = OPERANDS["chw"]
        mean, std = [0.1, 0.2, 0.3], [2.0, 4.0, 8.0]
        expected = (chw - np.array(mean)[:, None, None]) / np.array(std)[:, None, None]
        self.close(py_transforms.Normalize(mean, std)(chw), expected)
        self.close(py_transforms.NormalizePad(mean, std)(chw)[:3], expected)
        self.assertEqual(py_transforms.CutOut(5)(np.ones((3, 5, 5))).shape, (3, 5, 5))
        self.close(c_transforms.Normalize(mean, std)(chw.transpose(1, 2, 0).copy()), expected.transpose(1, 2, 0))
        self.assertIs(c_transforms.Resize, vision.Resize)
        self.close(hwc_to_chw(RGB), RGB.transpose(2, 0, 1))
        self.assertTrue(is_numpy(RGB) and not is_pil(RGB))
        self.assertEqual(vision.utils.parse_padding([1, 2]), (1, 2, 1, 2))

    @unittest.skipUnless(HAS_PILLOW, "no Pillow")
    def test_decode_to_pillow(self):
        from partita.dataset.vision import py_transforms

        data = vision.encode_png(RGB)
        image = py_transforms.Decode()(data)
        self.assertEqual((image.size, image.mode), ((9, 8), "RGB"))
        steps = [py_transforms.Decode(), py_transforms.RandomHorizontalFlip(1.0), lambda one: one.rotate(180)]
        rows = ds.NumpySlicesDataset(np.stack([data, data]), ["image"], shuffle=False).map(steps, "image")
        (made,) = next(iter(rows.create_tuple_iterator(output_numpy=True)))
        self.close(made, RGB[::-1])


@unittest.skipIf(HAS_PILLOW, "Pillow is there")
class WithoutPillow(Case):
    def test_say_so(self):
        for call in (
            lambda: vision.Decode()(np.zeros(9, np.uint8)),
            lambda: vision.ToPIL()(RGB),
            lambda: vision.encode_png(RGB),
        ):
            with self.refuses(ImportError, "no images of Pillow, got no module PIL", "pip install pillow"):
                call()


if __name__ == "__main__":
    unittest.main()
