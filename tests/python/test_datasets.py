"""Data sets against NumPy: rows, their order, shards, maps."""

import contextlib
import io

import numpy as np
from support import Case, Folder, rng

import partita as ms
from partita import dataset as ds
from partita.dataset import transforms, vision


class Rows(Case):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder(50)

    @classmethod
    def tearDownClass(cls):
        cls.folder.close()

    def test_parts_in_batches_keep_these(self):
        """Rows that a part leaves out do not return with the next part."""
        numbers = np.arange(20, dtype="i4")
        parts = [ds.NumpySlicesDataset((one,), ["n"], shuffle=False) for one in (numbers[:10], numbers[10:])]
        joined = parts[0].batch(4, drop_remainder=True).concat(parts[1].batch(4, drop_remainder=True))
        batches = [batch[0].asnumpy().tolist() for batch in joined.create_tuple_iterator()]
        self.assertEqual(batches, [[0, 1, 2, 3], [4, 5, 6, 7], [10, 11, 12, 13], [14, 15, 16, 17]])
        self.assertEqual(joined.get_dataset_size(), 4)
        every = (parts[0].batch(4) + parts[1].batch(4)).create_tuple_iterator()
        kept = [number for batch in every for number in batch[0].asnumpy().tolist()]
        self.assertEqual(kept, numbers.tolist())

    def test_are_those_of_files(self):
        data = ds.MnistDataset(self.folder.path, usage="train", shuffle=False)
        rows = list(data.create_dict_iterator(output_numpy=True))
        self.assertEqual((len(rows), rows[0]["image"].dtype, rows[0]["label"].dtype), (50, np.uint8, np.uint32))
        np.testing.assert_array_equal([row["label"] for row in rows], self.folder.labels["train"])
        np.testing.assert_array_equal(rows[7]["image"][:, :, 0], self.folder.train_images[7])
        self.assertEqual(ds.MnistDataset(self.folder.path).get_dataset_size(), 100)
        self.assertEqual(ds.Cifar10Dataset(self.folder.path, "test").get_dataset_size(), 50)

    def test_are_shuffled_as_the_enumeration_says(self):
        numbers = np.arange(64, dtype="i4")
        for shuffle in ds.Shuffle:
            data = ds.NumpySlicesDataset(numbers, ["x"], shuffle=shuffle)
            rows = [int(row[0]) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
            self.assertEqual(sorted(rows), list(numbers), shuffle)
            self.assertEqual(rows == list(numbers), shuffle is ds.Shuffle.FALSE, shuffle)

    def test_are_shuffled_by_default_and_by_epoch(self):
        data = ds.MnistDataset(self.folder.path, usage="train")
        first, second = ([int(label) for _, label in data.create_tuple_iterator(output_numpy=True)] for _ in range(2))
        plain = [int(one) for one in self.folder.labels["train"]]
        self.assertNotEqual(first, plain)
        self.assertNotEqual(first, second)
        self.assertEqual(sorted(first), sorted(plain))

    def test_are_cut_into_equal_shards(self):
        labels = self.folder.labels["train"]
        for shard in range(3):
            data = ds.MnistDataset(self.folder.path, "train", shuffle=False, num_shards=3, shard_id=shard)
            expected = [labels[(3 * k + shard) % 50] for k in range(17)]
            np.testing.assert_array_equal([row[1] for row in data.create_tuple_iterator(output_numpy=True)], expected)
        shards = [ds.MnistDataset(self.folder.path, "train", num_shards=2, shard_id=i) for i in range(2)]
        both = [int(row[1]) for data in shards for row in data.create_tuple_iterator(output_numpy=True)]
        self.assertEqual(sorted(both), sorted(map(int, labels)))

    def test_warn_once_however_many_epochs(self):
        ms.set_context(ranks=2)
        ms.set_auto_parallel_context(parallel_mode="data_parallel")
        numbers = np.arange(10, dtype="f4")
        options = {"shuffle": False, "num_shards": 2, "shard_id": 0}
        alone = [ds.NumpySlicesDataset({name: numbers}, **options) for name in ("first_of_two", "second_of_two")]
        ms.set_context(ranks=1)
        repeated = ds.NumpySlicesDataset({"a": numbers[:, None]}, shuffle=False).batch(3).repeat(2)
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            for ranks, data in ((2, alone[0]), (2, alone[1]), (1, repeated)):
                ms.set_context(ranks=ranks)
                for _ in range(3):
                    self.assertGreater(len(list(data)), 0)
            repeated.rows()
        lines = errors.getvalue().splitlines()
        self.assertEqual(len(lines), 3, lines)
        single = "got single rows with the columns first_of_two: those of one shard"
        for line, text in zip(lines, (single, "second_of_two", "10 rows in")):
            self.assertIn(text, line)

    def test_go_through_maps(self):
        data = ds.MnistDataset(self.folder.path, "train", shuffle=False)
        steps = [vision.Rescale(1 / 255, 0), vision.Normalize((0.5,), (0.25,)), vision.HWC2CHW()]
        data = data.map(steps, "image").map(transforms.TypeCast(ms.int32), "label").batch(16)
        self.assertEqual(data.get_dataset_size(), 4)
        batches = list(data.create_tuple_iterator(output_numpy=True))
        self.assertEqual([len(one[1]) for one in batches], [16, 16, 16, 2])
        expected = (self.folder.train_images[:16, None] / 255 - 0.5) / 0.25
        np.testing.assert_allclose(batches[0][0], expected, atol=1e-5)
        self.assertEqual(batches[0][1].dtype, np.int32)
        self.assertEqual(data.batch_size if hasattr(data, "batch_size") else data.get_batch_size(), 16)

    def test_go_through_functions_of_python(self):
        data = ds.NumpySlicesDataset({"a": np.arange(6, dtype="f4"), "b": np.arange(6, dtype="i4")}, shuffle=False)
        doubled = data.map([lambda a: a * 2, lambda a: a + 1], ["a"])
        np.testing.assert_array_equal(
            [row[0] for row in doubled.create_tuple_iterator(output_numpy=True)], np.arange(6) * 2 + 1
        )
        joined = data.map(lambda a, b: (a + b, a - b, b), ["a", "b"], ["sum", "difference", "b"])
        self.assertEqual(joined.get_col_names(), ["sum", "difference", "b"])
        self.assertEqual(
            [float(row["sum"]) for row in joined.create_dict_iterator(output_numpy=True)], [0, 2, 4, 6, 8, 10]
        )
        mixed = data.map([transforms.OneHot(6), lambda row: row[:2]], "b")
        self.assertEqual(list(mixed)[1][1].shape, (2,))

    def test_are_viewed(self):
        data = ds.NumpySlicesDataset(np.arange(10, dtype="i4"), ["x"], shuffle=False)

        def values(view):
            return [np.asarray(row[0].asnumpy()).tolist() for row in view]

        self.assertEqual(values(data.skip(2).take(3)), [2, 3, 4])
        self.assertEqual(values(data.take(2).repeat(2)), [0, 1, 0, 1])
        self.assertEqual(values(data.batch(4, drop_remainder=True)), [[0, 1, 2, 3], [4, 5, 6, 7]])
        self.assertEqual(values(data.batch(4).take(1).repeat(2)), [[0, 1, 2, 3]] * 2)
        self.assertEqual(values(data.take(1) + data.skip(9)), [0, 9])
        other = ds.NumpySlicesDataset(np.arange(10, dtype="f4"), ["y"], shuffle=False)
        self.assertEqual(ds.zip((data, other)).get_col_names(), ["x", "y"])
        self.assertEqual(data.rename("x", "z").project(["z"]).get_col_names(), ["z"])
        parts = data.split([0.7, 0.3], randomize=False)
        self.assertEqual([part.get_dataset_size() for part in parts], [7, 3])
        self.assertEqual(sorted(values(data.shuffle(4))), list(range(10)))
        with self.refuses(ValueError, "[project] unknown column, got 'z'"):
            data.project(["z"])
        with self.refuses(AttributeError, "[Dataset] unknown attribute, got 'shufle'", "did you mean 'shuffle'?"):
            data.shufle(4)

    def test_are_split_once_for_all_epochs(self):
        for shuffles in (False, True):
            data = ds.NumpySlicesDataset(np.arange(20, dtype="i4"), ["x"], shuffle=shuffles)
            in_order = data.split([0.6, 0.4], randomize=False)
            epochs = [[[int(row[0]) for row in part] for part in in_order] for _ in range(2)]
            self.assertEqual(epochs[0], epochs[1])
            self.assertEqual(sorted(sum(epochs[0], [])), list(range(20)))
            self.assertEqual(epochs[0][0] == list(range(12)), not shuffles)
            parts = data.split([0.6, 0.4])
            epochs = [[[int(row[0]) for row in part] for part in parts] for _ in range(3)]
            for first, second in epochs:
                self.assertEqual(sorted(first + second), list(range(20)))
                self.assertEqual(set(first), set(epochs[0][0]))
            self.assertNotEqual(epochs[0][0], epochs[1][0])
            self.assertNotEqual(epochs[0][0], sorted(epochs[0][0]))

    def test_come_from_generators(self):
        epochs = []

        def rows():
            epochs.append(len(epochs))
            for i in range(4):
                yield np.full(2, i + 10 * epochs[-1], "f4"), np.array(i, "i4")

        data = ds.GeneratorDataset(rows, ["x", "i"])
        first = [float(row[0][0]) for row in data.create_tuple_iterator(output_numpy=True)]
        second = [float(row[0][0]) for row in data.create_tuple_iterator(output_numpy=True)]
        self.assertEqual(first, [0, 1, 2, 3])
        self.assertEqual(second, [10, 11, 12, 13])

        class Squares:
            def __len__(self):
                return 5

            def __getitem__(self, index):
                return np.array(index**2, "i8")

        squares = ds.GeneratorDataset(Squares(), "n", shuffle=False, num_shards=2, shard_id=1)
        self.assertEqual([int(row[0]) for row in squares], [1, 9, 0])

    def test_refuse_bad_input(self):
        with self.refuses(ValueError, "no such folder, got '/nowhere'"):
            ds.MnistDataset("/nowhere")
        with self.refuses(ValueError, "num_shards and shard_id belong together, got num_shards=2"):
            ds.MnistDataset(self.folder.path, num_shards=2)
        with self.refuses(ValueError, "shard out of range, got 2, expected 0 to 1"):
            ds.MnistDataset(self.folder.path, num_shards=2, shard_id=2)
        with self.refuses(ValueError, "unknown column, got 'imag'", "did you mean 'image'"):
            ds.MnistDataset(self.folder.path).map(vision.HWC2CHW(), "imag").rows()
        with self.refuses(ValueError, "bad batch_size, got 0"):
            ds.MnistDataset(self.folder.path).batch(0)
        with self.refuses(ValueError, "a training has columns of numbers, got texts in column 'column_0'"):
            ds.NumpySlicesDataset(np.array(["a", "b"])).rows()
        data = ds.NumpySlicesDataset(rng().random((4, 2)).astype("f4"), ["x"], shuffle=False)
        with self.refuses(ZeroDivisionError):
            list(data.map(lambda x: x if x.sum() < 0 else 1 / 0, "x"))
        rows = [np.zeros(2, "f4"), np.zeros(2, "f4"), np.zeros(3, "f4")]
        with self.refuses(RuntimeError, "the rows of a batch differ in column 'x', got (2,), (3,)", "padded_batch"):
            list(ds.GeneratorDataset(rows, "x", shuffle=False).batch(3))
        padded = ds.GeneratorDataset(rows, "x", shuffle=False).padded_batch(3, pad_info={"x": None})
        self.assertEqual(next(padded.create_tuple_iterator(output_numpy=True))[0].tolist(), [[0.0] * 3] * 3)
        for info, error in ((3, TypeError), (([5],), ValueError), (([5], 0, 0), ValueError), ((5, 0), ValueError)):
            with self.refuses(error, "no padding of column 'x'", "expected (shape, value)"):
                ds.GeneratorDataset(rows, "x", shuffle=False).padded_batch(3, pad_info={"x": info})
        with self.refuses(TypeError, "differs in type from the first row", "row 2"):
            ds.GeneratorDataset(rows, "x", shuffle=False).rows().read(0, [2])
        with self.refuses(RuntimeError, "empty source"):
            ds.GeneratorDataset(lambda: iter(()), ["x"])
        with self.refuses(ValueError, "columns without names"):
            ds.GeneratorDataset([1.0], None)
