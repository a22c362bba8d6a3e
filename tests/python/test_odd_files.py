"""Tables and folders of images that are not as they should be: what is read, and what is refused by its place."""

import importlib.util
import os
import struct
import tempfile
import unittest
import zlib

import numpy as np
import source_files
from support import Case

from partita import dataset as ds

HAS_PILLOW = importlib.util.find_spec("PIL") is not None


def grey_png(values):
    """The bytes of a grey PNG file, of 8 or 16 bits."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = values.shape
    bits = values.dtype.itemsize * 8
    lines = b"".join(b"\0" + line.astype(values.dtype.newbyteorder(">")).tobytes() for line in values)
    head = struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


class Files(Case):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.files = source_files.Files(cls.folder.name)
        cls.files.write("plain/bare.csv", "1,2.5,x\n3,4,y z\n")

    def rows(self, data):
        return list(data.create_dict_iterator(num_epochs=1, output_numpy=True))


class Tables(Files):
    """Files of comma-separated values: what they may hold, and what is refused."""

    def table(self, text, defaults=(1, 1.0, ""), names=("p", "q", "r"), **options):
        self.files.write("tables/t.csv", text)
        path = self.files.path("tables/t.csv")
        data = ds.CSVDataset(path, column_defaults=list(defaults), column_names=list(names), shuffle=False, **options)
        return [tuple(np.asarray(row[name]).item() for name in names) for row in self.rows(data)]

    def test_numbers(self):
        for text, expected in (
            ("1,2.5,x\r\n-2,.5,\n", [(1, 2.5, "x"), (-2, 0.5, "")]),
            ("2147483647,-inf,x", [(2147483647, -np.inf, "x")]),
            ("-2147483648,+1e3,x", [(-2147483648, 1000.0, "x")]),
            (' 3.0,4.,"a,""b"""', [(3, 4.0, 'a,"b"')]),
        ):
            with self.subTest(text):
                self.assertEqual(self.table(text), expected)

    def test_bad_fields_are_refused_with_their_place(self):
        for text, column, got in (
            ("1,2,x\n2147483648,3,x", "p", "'2147483648', expected a whole number of 32 bits"),
            ("1,2,x\n99999999999,3,x", "p", "'99999999999', expected a whole number of 32 bits"),
            ("1,2,x\n1.5,3,x", "p", "'1.5', expected a whole number"),
            ("1,2,x\n1_0,3,x", "p", "'1_0', expected a whole number"),
            ("1,2,x\n,3,x", "p", "'', expected a whole number"),
            ("1,2,x\n1,,x", "q", "'', expected a number"),
            ("1,2,x\n1,4e38,x", "q", "'4e38', expected a number that f32 holds"),
            ("1,2,x\n1,1e400,x", "q", "'1e400', expected a number that f32 holds"),
            ("1,2,x\n1,0x10,x", "q", "'0x10', expected a number"),
        ):
            with self.subTest(text), self.refuses(ValueError, f"row 2, column '{column}', got {got}"):
                self.table(text)
        for text, message in (
            ('1,2,x\n1,2,"x\n3,4,y\n', "unexpected end of data"),
            ('"1"2,2,x', "expected after"),
            ("1,2,x\n1,2", "row 2, got 2, expected 3"),
        ):
            with self.subTest(text), self.refuses(ValueError, message):
                self.table(text)

    def test_columns(self):
        self.assertEqual(self.table("1,2,x", (1,)), [(1, "2", "x")])
        self.assertEqual(self.table("1,2,x", (True, "")), [(1, "2", "x")])
        with self.refuses(ValueError, "bad column_defaults, got 4, expected at most 3"):
            self.table("1,2,x", (1, 2, "", ""))
        with self.refuses(TypeError, "bad column_defaults, got None, expected values of int, float or str"):
            self.table("1,2,x", (1, None, ""))
        for delimiter in ",,", '"', "\n":
            with self.refuses(ValueError, "bad field_delim"):
                self.table("1,2,x", field_delim=delimiter)
        self.files.write("tables/empty.csv", "")
        with self.refuses(ValueError, "no rows, got the empty file"):
            ds.CSVDataset(self.files.path("tables/empty.csv"))

    def test_every_name_has_a_file(self):
        there, missing = self.files.path("plain/bare.csv"), self.files.path("plain/nowhere.csv")
        for source in ds.CSVDataset, ds.TextFileDataset:
            with self.refuses(ValueError, f"no such files, got ['{missing}']"):
                source([there, missing])


class Folders(Files):
    """Folders of image files that are not as they should be."""

    def images(self, name, content=None, link=None):
        self.files.write(f"{name}/a/1.png", grey_png(np.full((3, 4), 77, "u1")))
        if content is not None:
            self.files.write(f"{name}/b/bad.png", content)
        if link is not None:
            os.symlink(link, self.files.path(name, "a", "link.png"))
        return self.files.path(name)

    def test_links_to_nothing_are_no_rows_left_out(self):
        data = ds.ImageFolderDataset(self.images("dangling", link="/nowhere.png"), shuffle=False)
        with self.refuses(ValueError, "FileNotFoundError", "link.png"):
            self.rows(data)

    @unittest.skipUnless(HAS_PILLOW, "no Pillow")
    def test_damaged_images_are_named(self):
        for number, content in enumerate((b"", b"no image", grey_png(np.zeros((9, 9), "u1"))[:-30])):
            data = ds.ImageFolderDataset(self.images(f"damaged{number}", content), decode=True, shuffle=False)
            with self.refuses(ValueError, "[ImageFolderDataset] row 1 cannot be read", "bad.png'") as caught:
                self.rows(data)
            self.assertNotIn(" 0x", str(caught.exception))

    @unittest.skipUnless(HAS_PILLOW, "no Pillow")
    def test_images_of_16_bits_have_their_high_bytes(self):
        values = np.arange(12, dtype="u2").reshape(3, 4) * 5000
        self.files.write("deep/a/1.png", grey_png(values))
        (row,) = self.rows(ds.ImageFolderDataset(self.files.path("deep"), decode=True))
        np.testing.assert_array_equal(row["image"], np.repeat((values >> 8)[..., None], 3, 2))
