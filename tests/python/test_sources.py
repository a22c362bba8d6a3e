"""Data sets beyond images: rows of any type, samplers, files of many formats, and maps of texts."""

import importlib.util
import os
import tempfile

import numpy as np
import source_cases
import source_files
from support import Case

import partita as ms
from partita import dataset as ds
from partita import nn, train
from partita.dataset import text, transforms


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


class Recorded(Files):
    def test_rows_are_the_documented_ones(self):
        expected = recorded()
        self.assertEqual(set(expected), set(source_cases.CASES))
        for name, make in source_cases.CASES.items():
            with self.subTest(name):
                self.assertEqual(source_cases.text_of(ds, ms, make, self.files.path), expected[name])


