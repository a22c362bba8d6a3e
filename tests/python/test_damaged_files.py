"""Damaged files of data sets: cut, with other bytes, with huge numbers. All of it is an error of the library by name,
and none needs much memory."""

import gzip
import importlib.util
import json
import os
import re
import resource
import struct
import tempfile
import unittest

import numpy as np
import source_cases
import source_files
from support import Case

import partita as ms
from partita import dataset as ds

_NAMED = re.compile(r"\[[\w.]+\] .+, got .+", re.DOTALL)
_MOST = 256 << 10  # kilobytes that the reading of damaged files adds to the memory of the process at most
_ROUNDS = 3  # times that each file is damaged in each way


def _cut(data, random):
    return data[: int(random.integers(len(data) + 1))]


def _other_bytes(data, random):
    made = bytearray(data)
    for _ in range(int(random.integers(1, 9)) if made else 0):
        made[int(random.integers(len(made)))] = int(random.integers(256))
    return bytes(made)


def _other_head(data, random):
    count = int(random.integers(1, 48))
    return bytes(random.integers(0, 256, min(count, len(data)), np.uint8)) + data[count:]


def _huge_number(data, random):
    found = list(re.finditer(rb"\d+", data))
    if not found:
        return _other_bytes(data, random)
    place = found[int(random.integers(len(found)))]
    number = (b"9" * 12, b"-3", b"2.5", b"nan", b"9" * 5000)[int(random.integers(5))]
    return data[: place.start()] + number + data[place.end() :]


def _without_a_line(data, random):
    lines = data.splitlines(keepends=True)
    at = int(random.integers(len(lines))) if lines else 0
    return b"".join(lines[:at] + lines[at + 1 :])


_DAMAGES = _cut, _other_bytes, _other_head, _huge_number, _without_a_line


def _cases_by_folder(cases):
    """Pipelines by the folder whose files they read."""
    found = {}
    for name, make in cases.items():
        tops = set()

        def path(one, tops=tops):
            tops.add(one.split("/")[0])
            return "/no such folder/" + one

        try:
            make(ds, ms, path)
        except (ValueError, RuntimeError, TypeError):
            pass
        for top in tops:
            found.setdefault(top, {})[name] = make
    return found


class Damaged(Case):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.files, self.random = source_files.write_all(folder.name), np.random.default_rng(11)

    def read(self, name, make):
        """Reads all rows; says whether that failed. Only errors of the library may do so."""
        try:
            source_cases.text_of(ds, ms, make, self.files.path)
        except Exception as error:
            self.assertRegex(str(error), _NAMED, f"{name}: {type(error).__name__}")
            return True
        return False

    def damage(self, cases, endings=None):
        """Damages each file that the pipelines read. Gives the numbers of readings, and of those that failed."""
        read, failed, before = 0, 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for top, pipelines in _cases_by_folder(cases).items():
            found = [os.path.join(at, one) for at, _, names in os.walk(self.files.path(top)) for one in names]
            for path in sorted(found):
                if path.endswith((".png", ".jpg")) and endings is None or endings and not path.endswith(endings):
                    continue
                with open(path, "rb") as file:
                    data = file.read()
                for damage in _DAMAGES:
                    for _ in range(_ROUNDS if len(data) < 1 << 16 else 1):
                        self.files.write(os.path.relpath(path, self.files.folder), damage(data, self.random))
                        names = sorted(pipelines)
                        name = names[int(self.random.integers(len(names)))]
                        with self.subTest(f"{name}: {os.path.basename(path)}, {damage.__name__}"):
                            failed += self.read(name, pipelines[name])
                            read += 1
                self.files.write(os.path.relpath(path, self.files.folder), data)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, _MOST)
        return read, failed

    def test_files_without_images(self):
        read, failed = self.damage(source_cases.CASES)
        self.assertGreater(read, 1000)
        self.assertGreater(failed, read // 10)

    @unittest.skipUnless(importlib.util.find_spec("PIL"), "needs Pillow")
    def test_images(self):
        read, failed = self.damage(source_cases.DECODED, (".png", ".jpg"))
        self.assertGreater(read, 100)
        self.assertGreater(failed, read // 10)

    @unittest.skipUnless(importlib.util.find_spec("scipy"), "needs scipy")
    def test_matrices(self):
        source_files.write_matrices(self.files)
        read, failed = self.damage(source_cases.WITH_MATRICES, (".mat",))
        self.assertGreater(read, 50)
        self.assertGreater(failed, read // 10)

    def refused(self, name, *texts, reading=False):
        """The pipeline refuses its files: when it is made, or when rows are read."""
        with self.refuses(ValueError, *texts) as caught:
            data = source_cases.CASES[name](ds, ms, self.files.path)
            if reading:
                list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
        self.assertRegex(str(caught.exception), _NAMED)

    def test_names_that_lead_out_of_the_folder(self):
        path = self.files.path
        with open(path("celeba", "list_attr_celeba.txt"), encoding="utf-8") as file:
            attributes = file.read()
        with open(path("coco", "captions.json"), encoding="utf-8") as file:
            captions = json.load(file)
        for bad in ("../../secret", "/etc/passwd", "a/../../../secret"):
            captions["images"][1]["file_name"] = bad
            for name, file, content in (
                ("CelebA all", "celeba/list_attr_celeba.txt", attributes.replace("000002.jpg", bad)),
                ("Flickr", "flickr/captions.token", f"{bad}#0\tx\n"),
                ("Food101 train", "food/meta/train.txt", f"../{bad}\n"),
                ("SUN397", "sun/ClassName.txt", f"../{bad}\n"),
                ("LFW pairs all", "lfw/pairsDevTrain.txt", f"1\n../{bad}\t1\t2\n"),
                ("Coco Captioning", "coco/captions.json", json.dumps(captions)),
                ("VOC Segmentation", "voc/ImageSets/Segmentation/train.txt", f"../{bad}\n"),
                ("VOC Detection", "voc/ImageSets/Main/train.txt", f"../{bad}\n"),
                ("WIDERFace test", "wider/wider_face_split/wider_face_test_filelist.txt", f"../../{bad}\n"),
                ("Places365 val", "places/places365_val.txt", f"../../{bad} 1\n"),
                ("LJSpeech", "lj/metadata.csv", f"../../{bad}|x|y\n"),
            ):
                with self.subTest(name, bad=bad):
                    if not (bad[0] == "/" and name not in ("CelebA all", "Flickr", "Coco Captioning")):
                        self.files.write(file, content)
                        self.refused(name, "outside of the folder")

    def test_numbers_that_would_take_all_memory(self):
        head = bytes([0, 0, 8, 4]) + struct.pack(">4I", 2**31, 2**31, 4, 0) + b"x" * 6
        self.files.write("fashion/train-images-idx3-ubyte", head)  # 0 images, and those wrapped round
        self.refused("FashionMnist train", "damaged file")
        self.files.write("fashion/train-images-idx3-ubyte", bytes([0, 0, 8, 255]) + b"x" * 100)
        self.refused("FashionMnist train", "damaged file")
        self.files.write("lfw/peopleDevTrain.txt", "1\nAnn\t999999999999\n")
        self.refused("LFW people all", "too many faces of Ann", "expected 2")
        with open(self.files.path("coco", "boxes.json"), encoding="utf-8") as file:
            boxes = json.load(file)
        boxes["annotations"][0]["segmentation"] = [[1] * 9000, *[[1]] * 9000]
        self.files.write("coco/boxes.json", json.dumps(boxes))
        self.refused("Coco Stuff", "outlines too large")
        bomb = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10 if i else "x" * 1000}">' for i in range(9))
        text = f"<!DOCTYPE a [{bomb}]><annotation><object><name>&a8;</name></object></annotation>"
        self.files.write("voc/Annotations/2007_000000.xml", text)
        self.refused("VOC Detection", "VOCDataset")

    def test_sounds_with_other_sizes(self):
        path = self.files.path("gtzan", "blues", "blues.00000.wav")
        with open(path, "rb") as file:
            data = file.read()
        self.files.write("gtzan/blues/blues.00000.wav", data[:-1])
        self.refused("GTZAN", "whole samples", reading=True)
        at = data.index(b"data") + 4
        self.files.write("gtzan/blues/blues.00000.wav", data[:at] + b"\xf0\xff\xff\xff" + data[at + 4 :])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        data = source_cases.CASES["GTZAN"](ds, ms, self.files.path)
        rows = list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
        self.assertEqual(rows[0][0].shape, (1, 40))
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, _MOST)

    def test_lines_that_are_missing(self):
        self.files.write("stl10/train_y.bin", b"\1")
        self.refused("STL10 train", "got 2 and 1")
        self.files.write("udpos/en-ud-tag.v2.train.txt", "a\tADP\tIN\nb\tDET\n\n")
        self.refused("UDPOS train", "bad line", "expected word, universal, stanford")
        self.files.write("fashion/train-images-idx3-ubyte", source_files.idx(np.zeros((0, 28, 28), "u1")))
        self.files.write("fashion/train-labels-idx1-ubyte", source_files.idx(np.zeros(0, "u1")))
        self.refused("FashionMnist train", "no rows")

    def test_files_of_words_and_columns(self):
        columns = json.dumps({"columns": {"a": {"type": "int8", "shape": [2]}, "b": {"type": "string"}}})
        words = "the 0.5 1.5\nof 2.5 -1.5\n"
        for name, content, read in (
            ("schema.json", columns, lambda path: ds.Schema(path)),
            ("a.vec", words, lambda path: ds.text.FastText.from_file(path)),
            ("words.txt", words, lambda path: ds.text.Vocab.from_file(path)),
        ):
            failed = 0
            for i in range(200):
                damaged = _DAMAGES[i % len(_DAMAGES)](content.encode(), self.random)
                self.files.write(name, damaged)
                try:
                    read(self.files.path(name))
                except Exception as error:
                    self.assertRegex(str(error), _NAMED, f"{name}: {type(error).__name__}, {damaged}")
                    failed += 1
            self.assertGreater(failed, 20, name)

    def test_files_to_convert(self):
        record, path = ms.mindrecord, self.files.path
        for number, (content, text) in enumerate((("", "a line with the names"), ("a,b\n1,2\n3\n", "got 1 fields"))):
            self.files.write("table.csv", content)
            with self.refuses(ValueError, "[CsvToMR] a damaged table", text):
                record.CsvToMR(path("table.csv"), path(f"{number}.mindrecord")).transform()
        for line in ("../../etc 3", "x", "x y", ".. 1"):
            self.files.write("map.txt", line)
            with self.refuses(ValueError, "[ImageNetToMR] a bad line"):
                record.ImageNetToMR(path("map.txt"), path("classes"), path("x.mindrecord")).transform()

    @unittest.skipUnless(importlib.util.find_spec("PIL"), "needs Pillow")
    def test_compressed_files_to_convert(self):
        images, labels = (source_files.idx(np.zeros((2, 28, 28)[:n], "u1")) for n in (3, 1))
        good = {"images-idx3-ubyte": gzip.compress(images), "labels-idx1-ubyte": gzip.compress(labels)}
        for name, data in (
            ("images-idx3-ubyte", good["images-idx3-ubyte"][:-9]),
            ("images-idx3-ubyte", gzip.compress(images[:-1])),
            ("images-idx3-ubyte", gzip.compress(images + b"x")),
            ("images-idx3-ubyte", b"none"),
            ("labels-idx1-ubyte", gzip.compress(source_files.idx(np.zeros(3, "u1")))),
        ):
            for part in ("train", "t10k"):
                for one, content in {**good, name: data}.items():
                    self.files.write(f"zipped/{part}-{one}.gz", content)
            with self.refuses(ValueError, "[MnistToMR] "):
                ms.mindrecord.MnistToMR(self.files.path("zipped"), self.files.path("digits")).transform()

    def test_empty_sentences_keep_their_translations(self):
        self.files.write("multi30k/training/train.en", " e1 \n\n<e3>\n\n")
        self.files.write("multi30k/training/train.de", "d1\nd2\nd3\n\n")
        data = ds.Multi30kDataset(self.files.path("multi30k"), "train", ["en", "de"], shuffle=False)
        rows = [[str(one) for one in row] for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
        self.assertEqual(rows, [[" e1 ", "d1"], ["", "d2"], ["<e3>", "d3"]])  # MindSpore's of these files
        lines = '<mteval>\n<doc docid="1">\n\n<seg id="1">{}</seg>\n<seg id="2">{}</seg>\n</doc>\n</mteval>\n'
        for one, said in (("de", ("", "zwei")), ("en", ("one", "two"))):
            self.files.write(f"iwslt16/texts/de/en/de-en/IWSLT16.TED.tst2014.de-en.{one}.xml", lines.format(*said))
        data = ds.IWSLT2016Dataset(self.files.path("iwslt16"), "test", ("de", "en"), shuffle=False)
        rows = [[str(one) for one in row] for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
        self.assertEqual(rows, [["", "one"], ["zwei", "two"]])


if __name__ == "__main__":
    unittest.main()
