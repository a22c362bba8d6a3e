"""Files of MindRecord, one of which MindSpore has written (tests/mindspore/write_files.py)."""

import json
import lzma
import os
import random
import sqlite3
import struct
import tempfile

import numpy as np
from support import Case

import partita as ms
from partita import Tensor, nn
from partita import dataset as ds
from partita.dataset import vision
from partita.mindrecord import FileReader, FileWriter, integers, msgpack

_FILES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "mindspore", "files")
_NUMBER = {"n": {"type": "int32"}}


class Records(Case):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def theirs(self):
        """A file that MindSpore has written."""
        for name in ("rows.mindrecord", "rows.mindrecord.db"):
            with lzma.open(os.path.join(_FILES, f"{name}.xz")) as packed, open(self.path(name), "wb") as file:
                file.write(packed.read())
        return self.path("rows.mindrecord")

    def written(self, name, schema, rows, shards=1, page=1 << 15, **options):
        writer = FileWriter(self.path(name), shards, **options)
        writer.set_header_size(1 << 15)
        writer.set_page_size(page)
        writer.add_schema(schema)
        writer.write_raw_data(rows)
        writer.commit()
        return self.path(name)

    def numbers(self, rows, column="n"):
        return [int(row[column]) for row in rows.create_dict_iterator(output_numpy=True)]


class Files(Records):
    def test_a_file_of_mindspore(self):
        reader = FileReader(self.theirs())
        self.assertEqual(reader.len(), 6)
        for i, row in enumerate(reader.get_next()):
            self.assertEqual(
                (row["name"], row["label"], row["image"]), (f"Zoë {i}", i - 2, bytes(range(i, i + 3 * i + 1)))
            )
            np.testing.assert_array_equal(row["x"], np.array([i, 0.5], "f4"))
            np.testing.assert_array_equal(row["ids"], np.arange(i + 1) * (-1000) ** i)
            self.assertEqual((row["x"].dtype, row["ids"].dtype), (np.float32, np.int64))
        reader.close()

    def test_what_is_written_is_read(self):
        chance = np.random.default_rng(1)
        schema = {
            "text": {"type": "string"},
            "n": {"type": "int64"},
            "y": {"type": "float64"},
            "data": {"type": "bytes"},
            "x": {"type": "float32", "shape": [2, 3]},
            "m": {"type": "int32", "shape": [-1, 2]},
        }
        rows = [
            {
                "text": "ü" * int(chance.integers(0, 400)),
                "n": int(chance.integers(-(2**62), 2**62)),
                "y": float(chance.random()),
                "data": chance.bytes(int(chance.integers(0, 900))),
                "x": chance.random((2, 3), "f4"),
                "m": chance.integers(-(2**31), 2**31, (int(chance.integers(1, 9)), 2)).astype("i4"),
            }
            for _ in range(200)
        ]
        path = self.written("rows", schema, rows)
        found = list(FileReader(path).get_next())
        self.assertEqual(len(found), 200)
        for row, one in zip(rows, found):
            for name, value in row.items():
                np.testing.assert_array_equal(one[name], value)
        with open(path, "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        self.assertGreater(len(header["page"]), 4)
        self.assertEqual(
            [one["text"] for one in FileReader(path, columns=["text"]).get_next()], [one["text"] for one in rows]
        )

    def test_rows_are_appended(self):
        schema = {"n": {"type": "int64"}, "x": {"type": "float32", "shape": [-1]}, "data": {"type": "bytes"}}

        def rows(begin, end):
            return [{"n": i, "x": np.arange(i % 4 + 1, dtype="f4"), "data": bytes(i % 3)} for i in range(begin, end)]

        for shards in (1, 3):
            path = self.path(f"rows{shards}_")
            writer = FileWriter(path, shards)
            writer.set_header_size(1 << 15)
            writer.set_page_size(1 << 15)
            writer.add_schema(schema, "some rows")
            writer.add_index(["n"])
            writer.write_raw_data(rows(0, 10))
            writer.commit()
            first = path if shards == 1 else path + "0"
            for begin, end in ((10, 17), (17, 18)):
                more = FileWriter.open_for_append(first)
                with self.refuses(ValueError, "a second schema"):
                    more.add_schema(schema)
                more.write_raw_data(rows(begin, end))
                more.commit()
            found = sorted(FileReader(first).get_next(), key=lambda row: row["n"])
            self.assertEqual([row["n"] for row in found], list(range(18)))
            for row, expected in zip(found, rows(0, 18)):
                np.testing.assert_array_equal(row["x"], expected["x"])
                self.assertEqual(row["data"], expected["data"])
            self.assertEqual(len(os.listdir(self.folder)), 2 if shards == 1 else 8)
            with open(first, "rb") as file:
                header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            self.assertEqual((header["header_size"], header["page_size"]), (1 << 15, 1 << 15))
            self.assertEqual(header["index_fields"], [{"index_field": "n", "schema_id": 0}])
            self.assertEqual(header["schema"][0]["desc"], "some rows")

    def test_rows_that_do_not_fit_into_smaller_pages_are_refused(self):
        schema = {"data": {"type": "bytes"}}
        path = self.written("rows", schema, [{"data": bytes(100_000)}], page=1 << 20)
        for writer in (FileWriter.open_for_append(path), FileWriter(self.path("new"))):
            if writer._schema is None:
                writer.set_page_size(1 << 20)
                writer.add_schema(schema)
                writer.write_raw_data([{"data": bytes(100_000)}])
            writer.set_page_size(1 << 15)
            with self.refuses(ValueError, "a row is larger than a page, got 100008 bytes, expected at most 32768"):
                writer.commit()
        self.assertEqual([len(row["data"]) for row in FileReader(path).get_next()], [100_000])

    def test_rows_that_others_append_are_not_lost(self):
        path = self.written("rows", _NUMBER, [{"n": 1}])
        first, second = FileWriter.open_for_append(path), FileWriter.open_for_append(path)
        for writer, n in ((first, 2), (second, 3)):
            writer.write_raw_data([{"n": n}])
        first.commit()
        with self.refuses(ValueError, f"another has written the file since it was read, got {path}"):
            second.commit()
        self.assertEqual([row["n"] for row in FileReader(path).get_next()], [1, 2])

    def test_a_damaged_file_is_not_appended_to(self):
        path = self.written("rows", _NUMBER, [{"n": i} for i in range(5)])
        os.truncate(path, os.stat(path).st_size - 3)
        before = os.stat(path).st_size
        with self.refuses(ValueError, path):
            FileWriter.open_for_append(path)
        self.assertEqual(os.stat(path).st_size, before)

    def test_files_are_whole_or_not_there(self):
        path = self.written("rows", _NUMBER, [{"n": 1}])
        with self.refuses(ValueError, f"there is such a file, got {path}, expected overwrite=True"):
            FileWriter(path)
        writer = FileWriter(path, overwrite=True)
        writer.set_header_size(1 << 14)
        writer.add_schema({"n" * 9000: {"type": "int32"}})
        writer.write_raw_data([{"n" * 9000: 2}])
        with self.refuses(ValueError, "the header is too small, got 16384 bytes", "set_header_size"):
            writer.commit()
        self.assertEqual(sorted(os.listdir(self.folder)), ["rows", "rows.db"])
        self.assertEqual([row["n"] for row in FileReader(path).get_next()], [1])
        self.written("rows", _NUMBER, [{"n": 2}], overwrite=True)
        self.assertEqual([row["n"] for row in FileReader(path).get_next()], [2])

    def test_the_writer_refuses(self):
        def write(schema, row):
            FileWriter(self.path("bad"), overwrite=True).add_schema(schema)
            writer = FileWriter(self.path("bad"), overwrite=True)
            writer.add_schema(schema)
            writer.write_raw_data([row])

        array = {"x": {"type": "int32", "shape": [2]}}
        for schema, row, text in (
            ({"n": {"type": "int8"}}, {}, "field 'n' has no such type, got {'type': 'int8'}"),
            ({"n": {"type": "string", "shape": [1]}}, {}, "field 'n' has no such type"),
            ({"a b": {"type": "int32"}}, {}, "a bad name of a field, got 'a b'"),
            ({}, {}, "a bad schema, got {}"),
            (_NUMBER, {"m": 1}, "a row lacks a field, got ['m'], expected 'n' too"),
            (_NUMBER, {"n": 2**31}, "field 'n' does not fit, got 2147483648, expected int32"),
            (_NUMBER, {"n": 0.5}, "field 'n' does not fit, got 0.5, expected int32"),
            ({"t": {"type": "string"}}, {"t": b"x"}, "field 't' does not fit, got b'x', expected a str"),
            ({"t": {"type": "bytes"}}, {"t": "x"}, "field 't' does not fit, got 'x', expected bytes"),
            (array, {"x": np.zeros(2, "i8")}, "field 'x' does not fit, got dtype('int64'), expected an array of int32"),
            (array, {"x": np.zeros(3, "i4")}, "field 'x' does not fit, got (3,), expected the shape (2,)"),
        ):
            with self.subTest(text), self.refuses(ValueError, text):
                write(schema, row)
        with self.refuses(
            ValueError, "a row is larger than a page, got 40008 bytes, expected at most 32768: set_page_size"
        ):
            self.written("bad", {"t": {"type": "bytes"}}, [{"t": bytes(40000)}])
        with self.refuses(ValueError, "rows without a schema"):
            FileWriter(self.path("bad")).write_raw_data([])
        with self.refuses(TypeError, "no rows, got dict, expected a list of dicts"):
            write_raw = FileWriter(self.path("bad"))
            write_raw.add_schema(_NUMBER)
            write_raw.write_raw_data({"n": 1})
        with self.refuses(ValueError, "a second schema"):
            write_raw.add_schema(_NUMBER)
        with self.refuses(ValueError, "no field for the index, got 'm', expected one of ['n']"):
            write_raw.add_index(["m"])
        write_raw.commit()
        with self.refuses(ValueError, "the files are written, got rows after commit"):
            write_raw.write_raw_data([{"n": 1}])
        for name, call in (
            ("shard_num", lambda: FileWriter(self.path("x"), 0)),
            ("header_size", lambda: FileWriter(self.path("x")).set_header_size(5)),
            ("page_size", lambda: FileWriter(self.path("x")).set_page_size(1 << 30)),
        ):
            with self.refuses(ValueError, f"bad {name}, got "):
                call()
        with self.refuses(TypeError, "the file is not a path, got int"):
            FileWriter(1)
        with self.refuses(ValueError, f"[FileWriter] cannot read {self.path('none')}"):
            FileWriter.open_for_append(self.path("none"))

    def test_the_reader_refuses(self):
        path = self.theirs()
        with self.refuses(ValueError, f"cannot read {self.path('none')}: No such file or directory"):
            FileReader(self.path("none"))
        with self.refuses(
            ValueError, "no such column, got 'labels', expected one of ['ids', 'image', 'label', 'name', 'x']"
        ):
            FileReader(path, columns=["labels"])
        with self.refuses(TypeError, "no file, got 3, expected its name or a list of names"):
            FileReader(3)
        with self.refuses(NotImplementedError, "operators are not supported"):
            FileReader(path, operator=1)
        other = self.written("other", _NUMBER, [{"n": 1}])
        with self.refuses(ValueError, f"files with different fields, got {other}, expected those of {path}"):
            FileReader([path, other])
        os.rename(path + ".db", self.path("away"))
        with self.refuses(ValueError, f"there is no index {path}.db, expected it next to {path}"):
            FileReader(path)
        with open(path + ".db", "w") as file:
            file.write("no database")
        with self.refuses(
            ValueError, f"{path} is damaged, or no MindRecord file: its index {path}.db: file is not a database"
        ):
            FileReader(path)
        os.replace(self.path("away"), path + ".db")

        def changed(old, new):
            with open(path, "rb") as file:
                content = file.read()
            with open(self.path("changed"), "wb") as file:
                file.write(content.replace(old, new, 1))
            with open(self.path("changed.db"), "wb") as file, open(path + ".db", "rb") as index:
                file.write(index.read())
            return list(FileReader(self.path("changed")).get_next())

        for old, new, text in (
            (b'"version":"3.0"', b'"version":"2.0"', "version '2.0', of which 3.0 is supported"),
            (b'"header_size":16384', b'"header_size":-6384', "bad sizes, got -6384 and 32768"),
            (b'"int32"', b'"int33"', "field 'label' has the type 'int33'"),
            (b'{"header', b'["header', "damaged, or no MindRecord file: "),
            (b'["ids","image","x"]', b'["ids","image","y"]', "field 'x' is in a wrong page"),
            (b"\xa5label", b"\xa5lobel", "row 0: KeyError: 'label'"),
            ("Zoë".encode(), b"Zo\xff\xff", "row 0: "),
        ):
            with self.subTest(text), self.refuses(ValueError, self.path("changed"), text):
                changed(old, new)
        base = sqlite3.connect(path + ".db")
        base.execute("UPDATE INDEXES SET PAGE_OFFSET_RAW_END = 99999 WHERE ROW_ID = 2")
        base.commit()
        base.close()
        with self.refuses(ValueError, f"its index {path}.db has a place outside of the file"):
            FileReader(path)

    def test_thousand_changed_files_are_read_or_refused(self):
        path, chance = self.theirs(), random.Random(5)
        content = {}
        for name in (path, path + ".db"):
            with open(name, "rb") as file:
                content[name] = file.read()
        begin = content[path].index(b"\xa5label")  # of the first row's fields
        read = 0
        for _ in range(1000):
            for name, data in content.items():
                changed = bytearray(data)
                for _ in range(chance.choice((0, 1, 3))):
                    places = (len(data), 700) if name.endswith(".db") else (700, 16384 + 200, begin + 300)
                    at = chance.randrange(min(chance.choice(places), len(data)))
                    changed[at] = chance.choice((0, 1, 127, 255, changed[at] ^ (1 << chance.randrange(8))))
                if chance.random() < 0.1:
                    del changed[chance.randrange(len(changed)) :]
                with open(name, "wb") as file:
                    file.write(changed)
            try:
                list(FileReader(path).get_next())
                read += 1
            except ValueError as error:
                self.assertTrue(str(error).startswith("[FileReader] "), error)
        self.assertGreater(read, 50)
        self.assertLess(read, 900)


class Parts(Case):
    def test_integers(self):
        edges = [0, 127, 128, -128, -129, 32767, 32768, -32769, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63)]
        for count in range(len(edges) + 1):
            np.testing.assert_array_equal(
                integers.expanded(integers.compressed(np.array(edges[:count], "i8"))), edges[:count]
            )
        self.assertEqual(integers.compressed(np.array([-1, 300])).hex(), "0000000210ff2c01")
        for data in (b"", b"\0\0\0\2", b"\xff\xff\xff\xff", b"\0\0\0\1\0", b"\0\0\0\1\0\1\1"):
            with self.refuses(ValueError, "an array of "):
                integers.expanded(data)

    def test_msgpack(self):
        texts = ["", "a" * 31, "a" * 32, "ü" * 200, "x" * 70000]
        numbers = [0, 127, 128, -32, -33, -128, 2**15, -(2**31), 2**63 - 1, -(2**63)]
        values = (
            {f"t{i}": one for i, one in enumerate(texts)} | {f"n{i}": one for i, one in enumerate(numbers)} | {"f": 0.1}
        )
        self.assertEqual(msgpack.unpacked(msgpack.packed(values)), values)
        self.assertEqual(msgpack.packed({"label": 3}).hex(), "81a56c6162656c03")
        self.assertEqual(msgpack.unpacked(b"\x82\xa1a\xce\xff\xff\xff\xff\xa1b\xc0"), {"a": 2**32 - 1, "b": None})
        for data in (
            b"",
            b"\x90",
            b"\x81",
            b"\x81\xa1",
            b"\xdf\xff\xff\xff\xff",
            b"\x81\xa1a\x90",
            b"\x81\xa1a\xdb\xff\xff\xff\xff",
        ):
            with self.assertRaises(ValueError):
                msgpack.unpacked(data)


class Rows(Records):
    def shards(self):
        for i, rows in enumerate((range(0, 4), range(4, 9), range(9, 11))):
            self.written(f"part{i}", _NUMBER, [{"n": n} for n in rows])
        return [self.path(f"part{i}") for i in range(3)]

    def test_order(self):
        files = self.shards()
        self.assertEqual(self.numbers(ds.MindDataset(files, shuffle=False)), list(range(11)))
        self.assertEqual(self.numbers(ds.MindDataset(files[::-1], shuffle=False)), [9, 10, 4, 5, 6, 7, 8, 0, 1, 2, 3])
        got = [self.numbers(ds.MindDataset(files, shuffle=False, num_shards=3, shard_id=i)) for i in range(3)]
        self.assertEqual(got, [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 0]])
        self.assertEqual(self.numbers(ds.MindDataset(files, shuffle=False, num_samples=5)), [0, 1, 2, 3, 4])
        self.assertEqual(self.numbers(ds.MindDataset(files, sampler=ds.SequentialSampler(2, 4))), [2, 3, 4, 5])
        sampler = ds.DistributedSampler(4, 1, shuffle=False)
        self.assertEqual(self.numbers(ds.MindDataset(files, sampler=sampler)), [1, 5, 9])
        self.assertEqual(self.numbers(ds.MindDataset(files, sampler=ds.SubsetSampler([9, 0, 9]))), [9, 0, 9])
        self.assertEqual(self.numbers(ds.MindDataset(files, sampler=ds.SubsetSampler(range(5, 9), 2))), [5, 6])
        subset = ds.MindDataset(files, sampler=ds.SubsetRandomSampler([1, 3, 5, 7, 9]))
        first, second = self.numbers(subset), self.numbers(subset)
        self.assertEqual((sorted(first), sorted(second)), ([1, 3, 5, 7, 9],) * 2)
        self.assertNotEqual(first, second)
        with self.refuses(IndexError, "[select] no such row, got 11, expected 0 to 10"):
            ds.MindDataset(files, sampler=ds.SubsetSampler([11])).get_dataset_size()
        with self.refuses(TypeError, "the numbers of rows are no integers, got [0.5], expected a list"):
            ds.SubsetSampler([0.5])
        with self.refuses(ValueError, "bad num_samples, got -1, expected an integer from 0"):
            ds.SubsetSampler([1], -1)
        shuffled = ds.MindDataset(files)
        first, second = self.numbers(shuffled), self.numbers(shuffled)
        self.assertEqual((sorted(first), sorted(second)), (list(range(11)),) * 2)
        self.assertNotEqual(first, second)

    def test_files_of_one_name(self):
        self.written("rows", _NUMBER, [{"n": n} for n in range(7)], shards=3)
        self.assertEqual(self.numbers(ds.MindDataset(self.path("rows0"), shuffle=False)), list(range(7)))
        self.assertEqual(self.numbers(ds.MindDataset([self.path("rows1")], shuffle=False)), [3, 4])
        os.rename(self.path("rows1"), self.path("renamed"))
        os.rename(self.path("rows1.db"), self.path("renamed.db"))
        self.assertEqual(self.numbers(ds.MindDataset(self.path("renamed"), shuffle=False)), [3, 4])

    def test_padding(self):
        files = self.shards()
        got = [
            self.numbers(
                ds.MindDataset(files, shuffle=False, num_shards=4, shard_id=i, padded_sample={"n": -1}, num_padded=1)
            )
            for i in range(4)
        ]
        self.assertEqual(got, [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, -1]])
        with self.refuses(ValueError, "padded_sample and num_padded belong together"):
            ds.MindDataset(files, padded_sample={"n": -1})
        with self.refuses(ValueError, "the padded sample lacks columns, got ['m'], expected ['n']"):
            ds.MindDataset(files, padded_sample={"m": -1}, num_padded=1)

    def test_columns_without_a_shape(self):
        rows = ds.MindDataset(self.theirs(), shuffle=False)
        self.assertEqual(rows.get_col_names(), ["ids", "image", "label", "name", "x"])
        found = list(rows.create_dict_iterator(output_numpy=True))
        self.assertEqual([str(row["name"]) for row in found], [f"Zoë {i}" for i in range(6)])
        self.assertEqual([row["image"].tolist() for row in found], [list(range(i, 4 * i + 1)) for i in range(6)])
        self.assertIsInstance(next(iter(rows.create_dict_iterator()))["image"], Tensor)
        with self.refuses(RuntimeError, "the rows of a batch differ in column 'ids', got "):
            list(rows.batch(2))
        with self.refuses(TypeError, "an operation is not a function"):
            rows.map(3, "image")

    def test_maps_make_arrays(self):
        rows = ds.MindDataset(self.theirs(), ["image", "label", "name"], shuffle=False)
        rows = rows.map(lambda image: np.resize(image, 4), "image").map(
            lambda name: np.float32(len(str(name))), "name", "length"
        )
        rows = rows.map(vision.Rescale(0.5, 0.0), "image").batch(3)
        first, second = rows.create_dict_iterator(output_numpy=True)
        self.assertEqual(first["image"].shape, (3, 4))
        np.testing.assert_array_equal(first["image"][1], np.resize(np.arange(1, 5), 4) * 0.5)
        np.testing.assert_array_equal(second["label"], [1, 2, 3])
        np.testing.assert_array_equal(second["length"], [5, 5, 5])
        with self.refuses(ValueError, "[map] wrong number of columns, got 2, expected 1"):
            list(ds.MindDataset(self.theirs()).map(lambda name: (name, name), "name"))

    def test_a_training(self):
        chance = np.random.default_rng(1)
        x = chance.standard_normal((64, 5)).astype("f4")
        schema = {"data": {"type": "float32", "shape": [5]}, "label": {"type": "int32"}}
        self.written("rows", schema, [{"data": one, "label": int(one.argmax())} for one in x], shards=2)
        net = nn.Dense(5, 5)
        loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
        model = ms.Model(net, loss, nn.Momentum(net.trainable_params(), 0.5, 0.9), metrics={"acc"})
        model.train(20, ds.MindDataset(self.path("rows0")).batch(16))
        self.assertGreater(model.eval(ds.MindDataset(self.path("rows0"), shuffle=False).batch(16))["acc"], 0.9)

    def test_no_rows(self):
        with self.refuses(ValueError, "no rows, got "):
            ds.MindDataset(self.written("none", _NUMBER, []))

    def test_decode(self):
        with self.refuses(TypeError, "[Decode] to_pil is not a boolean, got 1"):
            vision.Decode(to_pil=1)
        try:
            import PIL  # noqa: F401
        except ImportError:
            with self.refuses(ImportError, "[Decode] no images of Pillow, got no module PIL"):
                vision.Decode()(np.zeros(3, "u1"))
            return
        with self.refuses(ValueError, "[Decode] no image, got 3 bytes"):
            vision.Decode()(np.zeros(3, "u1"))
        gif = bytes.fromhex("47494638396102000100800000ff000000ff0021f90400000000002c00000000020001000002024c0a003b")
        self.assertEqual(vision.Decode()(np.frombuffer(gif, "u1")).shape, (1, 2, 3))
