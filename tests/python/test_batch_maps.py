"""Maps of whole batches, samplers of Python, and the maps of automatic augmentation."""

import json
import os

import numpy as np
from support import Case

import partita as ms
from partita import dataset as ds
from partita import nn, train
from partita.dataset import batched, vision

X = np.random.default_rng(3).standard_normal((10, 3)).astype("f4")
Y = np.arange(10, dtype="i4") % 4


def rows(sampler=None):
    return ds.NumpySlicesDataset((X, Y), ["x", "y"], shuffle=None if sampler else False, sampler=sampler)


def read(data, epochs=1):
    return [row for _ in range(epochs) for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


class Maps(Case):
    def test_of_several_columns(self):
        mixed = rows().batch(4).map(lambda x, y: (x + x[::-1], np.eye(4, dtype="f4")[y]), ["x", "y"])
        self.assertEqual((mixed.get_dataset_size(), mixed.get_batch_size()), (3, 4))
        self.assertEqual(mixed.output_shapes(), [[4, 3], [4, 4]])
        for first, row in zip((0, 4, 8), read(mixed)):
            x = X[first : first + 4]
            self.close(row["x"], x + x[::-1])
            self.close(row["y"], np.eye(4)[Y[first : first + 4]])

    def test_of_one_column_with_another_name_and_order(self):
        mixed = rows().batch(5).map(lambda y: y * 2, "y", "twice", column_order=["twice", "x"])
        self.assertEqual(mixed.get_col_names(), ["twice", "x"])
        self.close(np.concatenate([row["twice"] for row in read(mixed)]), Y * 2)
        typed = rows().batch(5).map(ds.transforms.TypeCast(ms.float32), "y")
        self.assertEqual(read(typed)[0]["y"].dtype, np.float32)

    def test_that_make_more_rows(self):
        twice = rows().batch(4, drop_remainder=True).map(lambda x, y: (np.tile(x, (2, 1)), np.tile(y, 2)), ["x", "y"])
        self.assertEqual((twice.get_dataset_size(), twice.get_batch_size()), (2, 8))
        self.close(read(twice)[1]["x"], np.tile(X[4:8], (2, 1)))

    def test_that_join_columns(self):
        split = rows().map(ds.transforms.Duplicate(), "x", ["x", "z"]).map(lambda z: z * 2, "z")
        self.assertEqual(split.get_col_names(), ["x", "z", "y"])
        joined = split.batch(5, drop_remainder=True).map(
            lambda x, z, y: (np.concatenate((x, z)), np.tile(y, 2)), ["x", "z", "y"], ["x", "y"]
        )
        self.assertEqual((joined.get_col_names(), joined.get_batch_size()), (["x", "y"], 10))
        self.close(read(joined)[1]["x"], np.concatenate((X[5:], X[5:] * 2)))

    def test_samplers_keep_few_epochs(self):
        rows = batched.PythonSampler([3, 1, 2])
        for epoch in (*range(9), 0):
            self.assertEqual(list(rows._of_epoch(epoch)), [3, 1, 2])
            self.assertLessEqual(len(rows._epochs), 4)

    def test_draw_anew_in_each_epoch(self):
        drawn = np.random.default_rng(1)
        noisy = rows().batch(5).map(lambda x: x + drawn.standard_normal(x.shape).astype("f4"), "x")
        first, second, third, fourth = (row["x"] for row in read(noisy, 2))
        self.assertGreater(np.abs(first - third).max(), 0.1)
        self.assertGreater(np.abs(second - fourth).max(), 0.1)

    def test_functions_that_batch_calls(self):
        told = []

        def changed(x, info):
            told.append((info.get_epoch_num(), info.get_batch_num()))
            return ([one * (info.get_batch_num() + 1) for one in x],)

        data = rows().batch(4, per_batch_map=changed, input_columns=["x"])
        self.close(np.concatenate([row["x"] for row in read(data)]), X * np.repeat([1, 2, 3], 4)[:10, None])
        self.assertEqual(told[-3:], [(0, 0), (0, 1), (0, 2)])

    def test_trainings_read_them(self):
        def losses(data):
            ms.set_seed(2)
            net = nn.Dense(3, 4)
            for one in net.get_parameters():
                one.set_data(ms.Tensor(np.full(one.shape, 0.1, "f4")))
            history = train.History()
            loss = nn.CrossEntropyLoss()
            train.Model(net, loss, nn.SGD(net.trainable_params(), 0.5)).train(2, data, callbacks=[history])
            return history.history["net_output"]

        mapped = rows().batch(5).map(lambda x, y: (x * 2, y), ["x", "y"])
        before = rows().map(lambda x: x * 2, "x").batch(5)
        self.assertEqual(losses(mapped), losses(before))

    def test_refuse_other_numbers_of_rows(self):
        with self.refuses(ValueError, "as many rows in each column", "expected a multiple of 5"):
            rows().batch(5).map(lambda x: x[:3], "x").rows()
        data = rows().batch(4).map(lambda x: x if len(x) == 4 else x[:1], "x")
        self.assertEqual([len(row["x"]) for row in read(data)], [4, 4, 1])
        with self.refuses(ValueError, "rows of different shapes"):
            rows().batch(2, per_batch_map=lambda x, info: ([x[0], x[1][:1]],), input_columns=["x"])
        for made in (lambda x, info: (x[:2],)), (lambda x, info: (x + x,)):  # lists; arrays have any number
            with self.refuses(ValueError, "another number of rows, got a list of", "expected 5, or an array"):
                read(rows().batch(5, per_batch_map=made, input_columns=["x"]))
        with self.refuses(ValueError, "unknown column, got 'z'"):
            rows().batch(5).map(lambda x: x, "z")


class Samplers(Case):
    def test_of_python(self):
        class Backward:
            epoch = 0

            def __iter__(self):
                self.epoch += 1
                return iter([2, 1, 0] if self.epoch % 2 else [5, 5, 4])

            def __len__(self):
                return 3

        data = rows(sampler=Backward())
        self.close([row["x"] for row in read(data, 2)], X[[2, 1, 0, 5, 5, 4]])
        self.close([row["x"] for row in read(rows(sampler=[3, 3, 9]), 1)], X[[3, 3, 9]])

    def test_refused(self):
        with self.refuses(TypeError, "bad sampler, got int"):
            rows(sampler=3)
        with self.refuses(ValueError, "bad numbers of rows in epoch 1"):
            read(rows(sampler=[1, 10]))


class Images(Case):
    def _lines(self):
        path = os.path.join(os.path.dirname(__file__), "image_values.txt")
        with open(path, encoding="utf-8") as file:
            for line in file.readlines()[1:]:
                name, options, shape, values = line.rstrip("\n").split("\t")
                values = np.frombuffer(bytes.fromhex(values), np.uint8).reshape(json.loads(shape))
                yield name, json.loads(options), values

    def test_numbers_are_the_documented_ones(self):
        (_, _, image), *lines = self._lines()
        exact = {"Invert", "Equalize", "RandomSolarize", "RandomPosterize", "RandomRotation", "RandomAffine"}
        self.assertEqual(len(lines), 19)
        for name, options, expected in lines:
            with self.subTest(name, **options):
                if "resample" in options:
                    options["resample"] = vision.Inter[options["resample"]]
                made = getattr(vision, name)(**options)(image)
                self.assertEqual((made.dtype, made.shape), (np.uint8, expected.shape))
                far = np.abs(made.astype(int) - expected)
                self.assertLessEqual(far.max(), 0 if name in exact else 1)
                self.assertLessEqual(np.mean(far > 0), 0.2)

    def test_draw_within_their_intervals(self):
        image = np.full((8, 8, 3), 100, np.uint8)
        posterize, solarize = vision.RandomPosterize((1, 8)), vision.RandomSolarize((0, 255))
        kept = {int(posterize(image)[0, 0, 0]) for _ in range(60)}
        self.assertEqual(kept, {100 & (256 - (1 << (8 - bits))) for bits in range(1, 9)})
        solarized = {int(solarize(image)[0, 0, 0]) for _ in range(30)}
        self.assertEqual(solarized, {100, 155})
        self.close(vision.RandomRotation(0.0)(image), image)
        gray = np.random.default_rng(1).integers(0, 256, (6, 5)).astype(np.uint8)
        for one in (vision.Equalize(), vision.RandomRotation(30), vision.RandomAffine(0, (0.1, 0.2)), vision.Invert()):
            self.assertEqual(one(gray).shape, (6, 5))

    def test_refuse_bad_settings(self):
        for make, kind, text in (
            (lambda: vision.AutoContrast(60), ValueError, "bad cutoff, got 60"),
            (lambda: vision.AutoContrast(0, [300]), ValueError, "bad ignore"),
            (lambda: vision.GaussianBlur(4), ValueError, "bad kernel_size, got 4"),
            (lambda: vision.GaussianBlur(3, -1.0), ValueError, "bad sigma"),
            (lambda: vision.RandomSolarize((0, 300)), ValueError, "bad threshold"),
            (lambda: vision.RandomPosterize(9), ValueError, "bad bits, got (9, 9)"),
            (lambda: vision.RandomRotation(-3), ValueError, "bad degrees, got -3"),
            (lambda: vision.RandomRotation(3, resample=7), TypeError, "bad resample"),
            (lambda: vision.RandomAffine(3, (2.0, 3.0)), ValueError, "bad translate"),
            (lambda: vision.RandomAffine(3, shear=(1, 2, 3)), ValueError, "bad shear"),
            (lambda: vision.RandomAffine(3, fill_value=300), ValueError, "bad fill_value, got 300"),
            (lambda: vision.RandomColor((1.0, 0.5)), ValueError, "bad degrees"),
            (lambda: vision.Equalize()(X), TypeError, "the image is not of 8 bits, got float32"),
        ):
            with self.refuses(kind, text):
                make()


class SeveralImages(Case):
    """Rows of several images [n, height, width, channels], of floats, and of gray images."""

    def _mapped(self, image, steps):
        source = ds.GeneratorDataset([(image,)] * 3, ["image"], shuffle=False)
        return [row["image"] for row in read(source.map(steps, "image"))]

    def test_are_mapped_alone_or_alike(self):
        images = np.random.default_rng(4).integers(0, 256, (5, 12, 14, 3)).astype(np.uint8)
        steps = [vision.Resize((8, 9)), vision.Rescale(1 / 255, 0.0), vision.Normalize([0.5], [0.25])]
        expected = (np.stack([vision.Resize((8, 9))(one) for one in images]).astype("f4") / 255 - 0.5) / 0.25
        for made in self._mapped(images, steps):
            self.close(made, expected, 1e-5)
        (first, *_) = self._mapped(images, [vision.RandomCrop(4), vision.RandomResizedCrop(3)])
        self.assertEqual((first.shape, first.dtype), ((5, 3, 3, 3), np.uint8))
        flipped = vision.RandomHorizontalFlip(0.5)(np.stack([images[0]] * 16))
        self.assertTrue(all(np.array_equal(one, flipped[0]) for one in flipped))

    def test_of_other_numbers_and_without_channels(self):
        image = np.random.default_rng(5).random((6, 7, 3))
        self.assertEqual(self._mapped(image, [vision.Resize(4), vision.HWC2CHW()])[0].shape, (3, 4, 4))
        steps = [vision.Normalize([0.5], [2.0]), vision.HWC2CHW()]
        self.assertEqual(self._mapped(image[..., 0], steps)[0].shape, (6, 7))
        with self.refuses(ValueError, "[Normalize] another number of channels, got shape (2, 6, 7, 3), expected 2"):
            vision.Normalize([0.5, 1], [2.0, 1])(np.stack([image, image]))
        with self.refuses(ValueError, "[RandomHorizontalFlip] bad prob, got 2"):
            vision.RandomHorizontalFlip(2)


class Options(Case):
    def test_refuse_what_is_none(self):
        for make, kind, text in (
            (lambda: rows().split([0.5, 0.2]), ValueError, "[split] shares do not add up, got [0.5, 0.2]"),
            (lambda: rows().concat(3), TypeError, "[concat] no data set, got int"),
            (lambda: rows().zip((rows(), "x")), TypeError, "[zip] no data set, got str"),
            (lambda: rows().create_dict_iterator(num_epochs="a"), TypeError, "num_epochs is not an integer, got 'a'"),
            (lambda: rows().create_tuple_iterator(num_epochs=0), ValueError, "bad num_epochs, got 0"),
            (lambda: rows().create_tuple_iterator(output_numpy=1), TypeError, "output_numpy is not a bool, got 1"),
            (lambda: ds.GeneratorDataset([], "x"), RuntimeError, "[GeneratorDataset] no rows, got an empty source"),
            (lambda: ds.GeneratorDataset([(1, 2)], ["x", "x"]), ValueError, "repeated column, got 'x' twice"),
        ):
            with self.refuses(kind, text):
                make()
