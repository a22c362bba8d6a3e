"""Data sets beyond images: rows of any type, samplers, files of many formats, and maps of texts."""

import gzip
import importlib.util
import os
import tempfile
import unittest

import numpy as np
import source_cases
import source_files
from support import Case

import partita as ms
from partita import dataset as ds
from partita import nn, train


def recorded():
    """Lines of rows that MindSpore gave, by the names of pipelines."""
    found, name = {}, None
    with open(os.path.join(os.path.dirname(__file__), "source_rows.txt"), encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("# "):
                name = line[2:]
                found[name] = []
            else:
                found[name].append(line)
    return found


class Files(Case):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.files = source_files.write_all(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def rows(self, data, epochs=1):
        return [row for _ in range(epochs) for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]

    def numbers(self, count=10, **options):
        options = options or {"shuffle": False}
        return ds.NumpySlicesDataset(np.arange(count, dtype="i4"), ["a"], **options)

    def read(self, data):
        return [int(row["a"]) for row in self.rows(data)]


class Recorded(Files):
    def test_rows_are_the_documented_ones(self):
        expected = recorded()
        self.assertEqual(set(expected), set(source_cases.CASES))
        for name, make in source_cases.CASES.items():
            with self.subTest(name):
                self.assertEqual(source_cases.text_of(ds, ms, make, self.files.path), expected[name])


class Rows(Files):
    """Rows of any type and shape."""

    def test_images_of_unlike_sizes_until_they_are_resized(self):
        random = np.random.default_rng(1)
        images = [random.integers(0, 256, (4 + i % 5, 6, 3)).astype("u1") for i in range(40)]
        rows = ds.GeneratorDataset([(one, i) for i, one in enumerate(images)], ["image", "n"], shuffle=False)
        cut = rows.map(lambda image: image[:4, :5], "image").map(ds.vision.HWC2CHW(), "image").batch(8)
        self.assertEqual(len(cut.rows()), 40)  # of the library, as trainings read them
        for first, batch in zip(range(0, 40, 8), self.rows(cut)):
            expected = np.stack([one[:4, :5].transpose(2, 0, 1) for one in images[first : first + 8]])
            np.testing.assert_array_equal(batch["image"], expected)
        shapes = [row["image"].shape for row in self.rows(rows.map(lambda image: image[1:], "image"))]
        self.assertEqual(shapes, [(3 + i % 5, 6, 3) for i in range(40)])
        late = [np.zeros(2 + (i == 7), "f4") for i in range(20)]  # no probe sees it
        late = ds.GeneratorDataset(late, ["x"], shuffle=False).map(lambda x: x + 1, "x")
        self.assertEqual([row["x"].shape[0] for row in self.rows(late)], [2] * 7 + [3] + [2] * 12)

    def test_errors_say_where_they_were(self):
        def fails(value):
            if int(np.max(value)) >= 5:
                raise KeyError("the error of a script")
            return value

        def batch(column, info):
            return ([fails(one) for one in column],)

        class Source:
            def __len__(self):
                return 9

            def __getitem__(self, i):
                return fails(i)

        def unlike():
            images = [np.zeros((8, 8, 3) if i < 6 else 8, "u1") for i in range(9)]
            return ds.GeneratorDataset(images, ["a"], shuffle=False)

        for make, kind, note in (
            (lambda: self.numbers().map([lambda a: a, fails], "a"), KeyError, "fails, at row or batch 5 of epoch 1"),
            (lambda: self.numbers().map(fails, "a").batch(4), KeyError, "fails, at row or batch 5 of epoch 1"),
            (lambda: self.numbers().batch(2).map(fails, "a"), KeyError, "fails, at row or batch 2 of epoch 1"),
            (lambda: self.numbers().filter(fails), KeyError, "[filter] in the predicate, at row or batch 5 of epoch 1"),
            (lambda: self.numbers().batch(3, per_batch_map=batch), KeyError, "per_batch_map, at row or batch 1"),
            (lambda: ds.GeneratorDataset(Source(), ["a"], shuffle=False), KeyError, "the source, at its row 5"),
            (lambda: unlike().map([ds.vision.RandomCrop(4)], "a"), ValueError, "RandomCrop, at row or batch 6"),
        ):
            with self.subTest(note), self.assertRaises(kind) as caught:
                self.rows(make())
            self.assertIn(note, "; ".join(caught.exception.__notes__))

    def test_order_does_not_depend_on_workers(self):
        def pipeline(workers):
            ms.set_seed(5)
            ds.config.set_num_parallel_workers(workers)
            data = ds.GeneratorDataset(list(range(30)), ["a"], num_parallel_workers=workers)
            data = data.map(lambda a: (a, a * 2), "a", ["a", "b"], num_parallel_workers=workers)
            data = data.filter(lambda a, b: a % 3 != 0, num_parallel_workers=workers).shuffle(7)
            return data.batch(4, num_parallel_workers=workers)

        before = ds.config.get_num_parallel_workers()
        one, eight = ([row["b"].tolist() for row in self.rows(pipeline(workers), 2)] for workers in (1, 8))
        ds.config.set_num_parallel_workers(before)
        self.assertEqual(one, eight)
        self.assertNotEqual(one[: len(one) // 2], one[len(one) // 2 :])

    def test_go_on_in_the_middle(self):
        for shuffles in (False, True):
            for filtered in (False, True):
                ms.set_seed(3)

                def data(shuffles=shuffles, filtered=filtered):
                    rows = ds.NumpySlicesDataset(np.arange(14), ["a"], shuffle=shuffles)
                    return (rows.filter(lambda a: a != 5) if filtered else rows).batch(3)

                whole, resumed = data(), data()
                every = [row["a"].tolist() for row in self.rows(whole, 3)]
                resumed.set_init_step(7)
                self.assertEqual(resumed.get_init_step(), 7)
                self.assertEqual([row["a"].tolist() for row in self.rows(resumed, 2)], every[7:])
                skipped = [row["a"].tolist() for row in self.rows(data().skip(2))]
                self.assertEqual(skipped, every[2:5])

    def test_go_on_where_nothing_is_left(self):
        data = self.numbers().filter(lambda a: a > 50)
        data.set_init_step(2)
        self.assertEqual(self.rows(data), [])

    def test_files_have_all_of_their_bytes_and_no_more(self):
        sizes = [os.path.getsize(self.files.path("voc", "JPEGImages", f"2007_00000{i}.jpg")) for i in (0, 2)]
        data = ds.VOCDataset(self.files.path("voc"), shuffle=False)
        self.assertEqual([len(row["image"]) for row in self.rows(data)], sizes)
        halved = data.map(lambda target: target[:4], "target")
        self.assertEqual([len(row["image"]) for row in self.rows(halved)], sizes)
        both = data.map(lambda image, target: (image[:3], target[:4]), ["image", "target"]).batch(2)
        self.assertEqual(len(both.rows()), 2)
        lengths = [shape[0] for _, _, shape in data.rows().columns]  # as a training reads them
        self.assertEqual(lengths[0], max(sizes))

    def test_trainings_read_what_python_reads(self):
        random = np.random.default_rng(2)
        x, y = random.standard_normal((40, 3)).astype("f4"), random.integers(0, 4, 40).astype("i4")

        def losses(data):
            net = nn.Dense(3, 4)
            for one in net.get_parameters():
                one.set_data(ms.Tensor(np.full(one.shape, 0.1, "f4")))
            history = train.History()
            loss = nn.CrossEntropyLoss()
            train.Model(net, loss, nn.SGD(net.trainable_params(), 0.5)).train(3, data, callbacks=[history])
            return history.history["net_output"]

        kept = [i for i in range(40) if y[i] != 3][:24]
        plain = ds.NumpySlicesDataset((x[kept], y[kept]), ["x", "y"], shuffle=False).batch(8)
        rows = ds.GeneratorDataset(lambda: iter(zip(x, y)), ["x", "y"])
        filtered = rows.filter(lambda y: y != 3, "y").take(24).batch(8)
        padded = ds.NumpySlicesDataset((x[kept], y[kept]), ["x", "y"], shuffle=False).padded_batch(8, pad_info={})
        expected = losses(plain)
        self.assertEqual(losses(filtered), expected)
        self.assertEqual(losses(padded), expected)

    def test_ranks_read_shards_of_loose_rows(self):
        random = np.random.default_rng(6)
        x, y = random.standard_normal((32, 3)).astype("f4"), random.integers(0, 4, 32).astype("i4")

        def losses(make):
            net = nn.Dense(3, 4)
            for one in net.get_parameters():
                one.set_data(ms.Tensor(np.full(one.shape, 0.1, "f4")))
            history = train.History()
            optimizer = nn.SGD(net.trainable_params(), 0.5)
            train.Model(net, nn.CrossEntropyLoss(), optimizer).train(2, make(), callbacks=[history])
            return history.history["net_output"]

        def rows(**options):
            return ds.GeneratorDataset(list(zip(x, y)), ["x", "y"], shuffle=False, **options)

        plain = losses(lambda: rows().batch(8))
        ms.set_context(ranks=2)
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
        try:
            shard = {"num_shards": 2, "shard_id": 0}
            self.assertAlmostEqual(losses(lambda: rows(**shard).padded_batch(4, pad_info={}))[-1], plain[-1], places=5)
            named = [(f"t{i}", i) for i in range(6)]
            named = ds.GeneratorDataset(named, ["s", "n"], shuffle=False, **shard).batch(2)
            found = [row["s"].tolist() for row in self.rows(named)]
            self.assertEqual(found, [["t0", "t2", "t1", "t3"], ["t4", "t5"]])
        finally:
            ms.reset_auto_parallel_context()
            ms.set_context(ranks=1)

    def test_a_training_that_forgot_its_batches(self):
        x, y = np.ones((8, 3), "f4"), np.zeros(8, "i4")
        net = nn.Dense(3, 4)
        model = train.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"acc"})
        for rows in (
            ds.NumpySlicesDataset((x, y), ["x", "y"]),
            ds.GeneratorDataset(lambda: iter(zip(x, y)), ["x", "y"]),
        ):
            begun = rows.batch(4)
            begun.set_init_step(1)
            with self.refuses(NotImplementedError, "begins with the first batch, got step 1"):
                model.train(1, begun)
            for call in (lambda rows=rows: model.train(1, rows), lambda rows=rows: model.eval(rows)):
                with self.refuses(ValueError, "single rows in place of batches, got the columns x f32[3]"):
                    call()

    def test_iterators_that_end(self):
        data = ds.GeneratorDataset((i for i in range(4)), ["a"])
        self.assertEqual(data.get_dataset_size(), 4)
        self.assertEqual(
            [self.read(data), self.read(data.batch(2).map(lambda a: a.sum(), "a"))], [[0, 1, 2, 3], [1, 5]]
        )

    def test_sources_without_an_end(self):
        def endless():
            number = 0
            while True:
                yield np.full(2, number, "i4")
                number += 1

        data = ds.GeneratorDataset(endless, ["a"]).filter(lambda a: a[0] % 2 == 1).take(3)
        self.assertEqual([row["a"].tolist() for row in self.rows(data)], [[1, 1], [3, 3], [5, 5]])
        self.assertEqual(data.get_dataset_size(), 3)


class BothWays(Files):
    """The library and Python read the same rows."""

    def drawn(self, random):
        """A random chain of views."""
        steps = []
        batched = False
        for _ in range(int(random.integers(1, 6))):
            n = int(random.integers(1, 5))
            steps.append(
                [
                    lambda data, n=n: data.map(lambda a: a * n, "a"),
                    lambda data, n=n: data.map(lambda a, b: (a + n, b, a - b), ["a", "b"], ["a", "c", "b"]),
                    lambda data, n=n: data.skip(n),
                    lambda data, n=n: data.take(2 * n),
                    lambda data, n=n: data.repeat(1 + n % 3),
                    lambda data, n=n: data.project(["b", "a"]),
                    lambda data, n=n: data.rename("b", "z").map(lambda z: z + n, "z").rename("z", "b"),
                    lambda data, n=n, batched=batched: data if batched else data.batch(n, drop_remainder=n % 2 == 0),
                    lambda data, n=n: data + data.take(n),
                    lambda data, n=n: ds.zip((data, data.rename(["a", "b"], ["d", "e"]).project(["d", "e"]))),
                ][int(random.integers(10))]
            )
        return steps

    def test_random_chains(self):
        random = np.random.default_rng(11)
        used = 0
        for _ in range(80):
            a, b = random.integers(0, 99, (2, 23)).astype("i4")
            steps = self.drawn(random)
            chains = [
                ds.NumpySlicesDataset((a, b), ["a", "b"], shuffle=False),
                ds.GeneratorDataset(lambda a=a, b=b: iter(zip(a, b)), ["a", "b"]),
            ]
            try:
                for step in steps:
                    chains = [step(one) for one in chains]
                expected, found = (
                    [[(name, value.tolist()) for name, value in row.items()] for row in self.rows(one)]
                    for one in chains
                )
            except (ValueError, RuntimeError):  # views that do not fit
                continue
            used += 1
            self.assertEqual(found, expected)
            self.assertEqual([one.get_dataset_size() for one in chains], [len(expected)] * 2)
        self.assertGreater(used, 40)

    def test_the_library_asks_for_rows_in_any_order(self):
        rows = ds.GeneratorDataset(lambda: iter(range(300)), ["a"]).batch(7).rows()
        random = np.random.default_rng(5)
        for epoch in (0, 1, 0):
            numbers = random.integers(0, 300, 40).tolist()
            np.testing.assert_array_equal(np.asarray(rows.read(epoch, numbers)[0]), numbers)


class Samplers(Files):
    def test_samplers_draw(self):
        weights = np.array([0.0, 1, 3, 0, 6])
        data = self.numbers(5, sampler=ds.WeightedRandomSampler(weights, 4000))
        counts = np.bincount(self.read(data), minlength=5)
        np.testing.assert_allclose(counts / 4000, weights / 10, atol=0.03)
        without = self.numbers(5, sampler=ds.WeightedRandomSampler(weights, 3, replacement=False))
        self.assertEqual(sorted(self.read(without)), [1, 2, 4])
        repeated = self.read(self.numbers(sampler=ds.RandomSampler(True, 50)))
        self.assertEqual((len(repeated), len(set(repeated)) <= 10), (50, True))
        first, second = (self.read(repeated_) for repeated_ in [self.numbers(sampler=ds.RandomSampler(True, 50))] * 2)
        self.assertNotEqual(first, second)
        labels = np.array([2, 0, 1, 0, 2, 2, 1], "i4")
        rows = ds.NumpySlicesDataset((np.arange(7), labels), ["a", "label"], sampler=ds.PKSampler(3))
        found = self.rows(rows)
        self.assertEqual([int(row["label"]) for row in found], [0] * 3 + [1] * 3 + [2] * 3)
        self.assertTrue(all(labels[int(row["a"])] == row["label"] for row in found))
        folder = ds.ImageFolderDataset(self.files.path("classes"), sampler=ds.PKSampler(2, shuffle=True))
        self.assertEqual(sorted(int(row["label"]) for row in self.rows(folder)), [0, 0, 1, 1])

    def test_samplers_refuse(self):
        for make, kind, message in (
            (lambda: ds.WeightedRandomSampler([0, 0]), ValueError, "bad weights"),
            (lambda: ds.PKSampler(0), ValueError, "bad num_val, got 0"),
            (lambda: ds.PKSampler(1, 2), NotImplementedError, "num_class is not supported"),
            (lambda: ds.DistributedSampler(2, 1, offset=3), ValueError, "bad offset, got 3, expected -1 to 2"),
            (lambda: self.read(self.numbers(sampler=ds.PKSampler(1))), ValueError, "unknown column, got 'label'"),
            (lambda: self.read(self.numbers(sampler=ds.Sampler())), NotImplementedError, "expected a method __iter__"),
        ):
            with self.refuses(kind, message):
                make()
        with self.refuses(RuntimeError, "a second child"):
            sampler = ds.SequentialSampler()
            sampler.add_child(ds.SequentialSampler())
            sampler.add_child(ds.SequentialSampler())


class Described(Files):
    """Callbacks, descriptions, files that are written, and refusals."""

    def test_callbacks_hear_of_rows(self):
        told = []

        class Listens(ds.DSCallback):
            pass

        for name in ("ds_begin", "ds_epoch_begin", "ds_epoch_end", "ds_step_begin", "ds_step_end"):
            setattr(
                Listens,
                name,
                lambda self, run, name=name: told.append(
                    (name, run.cur_epoch_num, run.cur_step_num_in_epoch, run.cur_step_num)
                ),
            )
        data = self.numbers(3).map(lambda a: a, "a", callbacks=[Listens(2)])
        self.rows(data, 2)
        self.assertEqual(told[0], ("ds_begin", 0, 0, 0))
        steps = [one for one in told if one[0] == "ds_step_begin"]
        self.assertEqual([one[1:] for one in steps], [(1, 1, 1), (1, 3, 3), (2, 1, 4), (2, 3, 6)])
        self.assertEqual(
            [one for one in told if "epoch" in one[0]][1:3], [("ds_epoch_end", 1, 3, 3), ("ds_epoch_begin", 2, 0, 3)]
        )
        with self.refuses(NotImplementedError, "[WaitedDSCallback] this name is not supported", "DSCallback"):
            ds.WaitedDSCallback()

    def test_sync_update_changes_what_follows(self):
        state = {"factor": 1}
        data = self.numbers(4).sync_wait("step", callback=lambda factor: state.update(factor=factor))
        data = data.map(lambda a: a * state["factor"], "a").batch(2)
        found = []
        for i, row in enumerate(data.create_dict_iterator(num_epochs=1, output_numpy=True)):
            found.append(row["a"].tolist())
            data.sync_update("step", data=10 + i)
        self.assertEqual(found, [[0, 1], [20, 30]])
        with self.refuses(RuntimeError, "nothing waits, got 'other'"):
            data.sync_update("other")

    def test_descriptions(self):
        data = ds.GeneratorDataset([("x", np.zeros((2, i + 1), "f4")) for i in range(3)], ["s", "x"], shuffle=False)
        self.assertEqual(repr(data), "<GeneratorDataset: columns s, x>")
        self.assertEqual(data.output_shapes(), [[], [2, 1]])
        self.assertEqual(data.output_shapes(estimate=True), [[], [2, None]])
        self.assertEqual(data.output_types(), [np.dtype("U"), np.dtype("f4")])
        self.assertIn("<td>x</td><td>float32</td><td>[2, 1]</td>", data._repr_html_())
        batched = data.project("s").batch(2)
        self.assertEqual(repr(batched), "<BatchDataset: columns s, in batches of 2>")
        self.assertEqual((batched.get_dataset_size(), batched.get_batch_size(), batched.batch_size), (2, 2, 2))
        self.assertEqual(self.numbers(3).repeat(4).get_repeat_count(), 4)
        self.assertEqual(self.numbers(3).batch(5).output_shapes(), [[3]])
        self.assertEqual(
            (self.numbers(num_shards=2, shard_id=0).is_sharded(), self.numbers().is_shuffled()), (True, False)
        )
        folder = ds.ImageFolderDataset(self.files.path("classes"), class_indexing={"b": 7, "a": 3})
        self.assertEqual((folder.num_classes(), folder.get_class_indexing()), (2, {"b": 7, "a": 3}))
        view = folder.map(lambda image: image, "image").shuffle(4).take(3)
        self.assertEqual((view.num_classes(), view.get_class_indexing()), (2, {"b": 7, "a": 3}))
        voc = ds.VOCDataset(self.files.path("voc"), "Detection")
        self.assertEqual(voc.get_class_indexing(), {"cat": 0, "train": 1})
        coco = ds.CocoDataset(self.files.path("coco/images"), self.files.path("coco/boxes.json"))
        self.assertEqual(coco.get_class_indexing(), {"person": [1], "car": [7]})

    def test_save_and_read_again(self):
        random = np.random.default_rng(4)
        columns = {
            "a": random.integers(0, 9, 6).astype("i4"),
            "s": [f"t{i}" for i in range(6)],
            "x": random.random((6, 2)),
        }
        data = ds.NumpySlicesDataset(columns, shuffle=False)
        path = self.files.path("saved.mindrecord")
        data.save(path)
        again = self.rows(ds.MindDataset(path, shuffle=False))
        for i, row in enumerate(again):
            self.assertEqual((int(row["a"]), str(row["s"])), (columns["a"][i], columns["s"][i]))
            np.testing.assert_array_equal(row["x"], columns["x"][i])
        with self.refuses(ValueError, "unknown file_type, got 'csv'"):
            data.save(path, file_type="csv")

    def test_made_rows(self):
        schema = ds.Schema()
        schema.add_column("image", ms.uint8, [2, 3])
        schema.add_column("label", "int32", [])
        rows = self.rows(ds.RandomDataset(4, schema))
        self.assertEqual(
            [(row["image"].shape, row["image"].dtype, row["label"].dtype) for row in rows],
            [((2, 3), np.uint8, np.int32)] * 4,
        )
        again = ds.Schema()
        again.parse_columns([{"name": "image", "type": "uint8", "shape": [2, 3]}, {"name": "label", "type": "int32"}])
        self.assertEqual(again.to_json(), schema.to_json())
        fake = ds.FakeImageDataset(5, (4, 5, 3), 3, base_seed=2, shuffle=False)
        first, second = (self.rows(fake) for _ in range(2))
        np.testing.assert_array_equal(first[3]["image"], second[3]["image"])
        self.assertTrue(all(row["label"] < 3 and row["image"].shape == (4, 5, 3) for row in first))
        joined = self.numbers(3) + ds.PaddedDataset([{"a": np.array(9, "i4")}])
        joined.use_sampler(ds.DistributedSampler(2, 1, shuffle=False))
        self.assertEqual(self.read(joined), [1, 9])

    def test_refused(self):
        for make, kind, message in (
            (lambda: self.numbers().filter(3), TypeError, "[filter] not a function, got int"),
            (lambda: self.numbers().filter(len, "z"), ValueError, "[filter] unknown column, got 'z'"),
            (lambda: self.numbers().flat_map(3), TypeError, "[flat_map] not a function"),
            (lambda: self.read(self.numbers().flat_map(lambda a: 3)), TypeError, "no data set, got int"),
            (lambda: self.numbers().bucket_batch_by_length("a", [3, 2], [1] * 3), ValueError, "bad bucket_boundaries"),
            (lambda: self.numbers().bucket_batch_by_length("a", [3], [1]), ValueError, "bad bucket_batch_sizes"),
            (
                lambda: self.numbers().batch(2, pad_info={"a": ([2], 0)}).rows(),
                RuntimeError,
                "wrong number of dimensions",
            ),
            (
                lambda: self.read(self.numbers() + self.numbers().rename("a", "b")),
                ValueError,
                "[concat] columns differ",
            ),
            (lambda: ds.serialize(None), NotImplementedError, "[serialize] this name is not supported"),
            (
                lambda: self.rows(ds.GeneratorDataset([1, 2], ["a"], column_types=[ms.float32])),
                TypeError,
                "another type of column 'a', got int64, expected Float32",
            ),
            (lambda: ds.LSUNDataset("x"), NotImplementedError, "expected ImageFolderDataset"),
            (lambda: ds.TFRecordDataset("x"), NotImplementedError, "MindDataset"),
            (lambda: ds.AGNewsDataset(self.files.path("news"), "valid"), ValueError, "unknown usage, got 'valid'"),
            (lambda: ds.TextFileDataset("/nowhere/*.txt"), ValueError, "no such files"),
            (
                lambda: ds.CSVDataset(self.files.path("plain/bare.csv"), column_names=["a"]),
                ValueError,
                "wrong number of fields",
            ),
            (lambda: ds.EMnistDataset(self.files.path("emnist"), "digits"), ValueError, "no such file"),
            (lambda: ds.CocoDataset(self.files.path("coco/images")), TypeError, "[CocoDataset] wrong arguments"),
            (lambda: ds.config.set_num_parallel_workers(0), ValueError, "out of range, got 0"),
            (
                lambda: ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP),
                NotImplementedError,
                "then filter",
            ),
        ):
            with self.subTest(message), self.refuses(kind, message):
                make()


class Converters(Files):
    def test_tables_and_images(self):
        record = ms.mindrecord
        self.files.write("table.csv", "n,x,s\n1,2.5,a\n2,3,b\n")
        record.CsvToMR(self.files.path("table.csv"), self.files.path("table.mindrecord")).transform()
        rows = self.rows(ds.MindDataset(self.files.path("table.mindrecord"), shuffle=False))
        self.assertEqual([(int(r["n"]), float(r["x"]), str(r["s"])) for r in rows], [(1, 2.5, "a"), (2, 3.0, "b")])
        self.files.write("map.txt", "a 3\nb 1\n")
        classes = self.files.path("classes")
        record.ImageNetToMR(self.files.path("map.txt"), classes, self.files.path("images.mindrecord")).transform()
        rows = self.rows(ds.MindDataset(self.files.path("images.mindrecord"), shuffle=False))
        self.assertEqual([int(row["label"]) for row in rows], [3, 1])
        with open(os.path.join(classes, "a", "1.jpg"), "rb") as file:
            self.assertEqual(rows[0]["data"].tobytes(), file.read())
        with self.refuses(NotImplementedError, "[TFRecordToMR] this name is not supported"):
            record.TFRecordToMR("a", "b", {})
        with self.refuses(NotImplementedError, "files are not encrypted"):
            record.set_enc_key("k")

    @unittest.skipUnless(importlib.util.find_spec("PIL"), "needs Pillow")
    def test_digits(self):
        random = np.random.default_rng(8)
        images = {
            name: np.repeat(random.integers(0, 256, (3, 1, 1)), 784, 1).astype("u1") for name in ("train", "t10k")
        }
        labels = {name: random.integers(0, 10, 3).astype("u1") for name in images}
        for name, pixels in images.items():
            pixels = pixels.reshape(3, 28, 28)
            self.files.write(f"zipped/{name}-images-idx3-ubyte.gz", gzip.compress(source_files.idx(pixels)))
            self.files.write(f"zipped/{name}-labels-idx1-ubyte.gz", gzip.compress(source_files.idx(labels[name])))
        ms.mindrecord.MnistToMR(self.files.path("zipped"), self.files.path("digits")).transform()
        for part, name in (("train", "train"), ("test", "t10k")):
            data = ds.MindDataset(self.files.path(f"digits_{part}.mindrecord"), shuffle=False)
            rows = self.rows(data.map(ds.vision.Decode(), "data"))
            self.assertEqual([int(row["label"]) for row in rows], labels[name].tolist())
            for row, pixels in zip(rows, images[name]):
                self.assertLessEqual(np.abs(row["data"].astype(int) - int(pixels[0, 0])).max(), 2)
