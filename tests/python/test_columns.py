"""Names of columns that methods of data sets are given: unknown, repeated, and of other types."""

import unittest

import numpy as np
from support import Case

from partita import dataset as ds
from partita.dataset import text


def rows():
    """Three columns that the library holds."""
    numbers = np.arange(4)
    return ds.NumpySlicesDataset((numbers, numbers + 10, numbers + 20), ["a", "b", "image"], shuffle=False)


def loose_rows():
    """The same columns, with rows of unlike shapes."""

    def made():
        for i in range(1, 5):
            yield np.arange(i), np.arange(i) + 10, np.arange(i) + 20

    return ds.GeneratorDataset(made, ["a", "b", "image"], shuffle=False)


def same(*columns):
    """A map that changes nothing."""
    return columns if len(columns) > 1 else columns[0]


def batch_map(*columns):
    """A function of `batch` that changes nothing."""
    return columns[:-1]


UNKNOWN = {  # calls with a column that is not there
    "map": lambda data: data.map(same, ["imag"]),
    "map of two": lambda data: data.map(same, ["a", "imag"]),
    "map after batch": lambda data: data.batch(1).map(same, "imag"),
    "project": lambda data: data.project(["a", "imag"]),
    "rename": lambda data: data.rename("imag", "c"),
    "batch": lambda data: data.batch(1, per_batch_map=batch_map, input_columns=["imag"]),
    "padded_batch": lambda data: data.padded_batch(1, pad_info={"imag": ([4], 0)}),
    "filter": lambda data: data.filter(lambda x: True, ["imag"]),
    "bucket_batch_by_length": lambda data: data.bucket_batch_by_length(["imag"], [3], [1, 1]),
    "bucket_batch_by_length, pads": lambda data: data.bucket_batch_by_length(
        ["a"], [3], [1, 1], lambda x: 1, {"imag": ([4], 0)}
    ),
    "create_tuple_iterator": lambda data: data.create_tuple_iterator(["imag"]),
    "Vocab": lambda data: text.Vocab.from_dataset(data, "imag"),
}
NAMED = {  # calls with these names of columns
    "map": lambda data, names: data.map(same, names),
    "map to": lambda data, names: data.map(same, "a", names),
    "project": lambda data, names: data.project(names),
    "rename": lambda data, names: data.rename(names, ["c", "d"]),
    "rename to": lambda data, names: data.rename(["a", "b"], names),
    "batch": lambda data, names: data.batch(1, per_batch_map=batch_map, input_columns=names),
    "filter": lambda data, names: data.filter(lambda *x: True, names),
    "bucket_batch_by_length": lambda data, names: data.bucket_batch_by_length(names, [3], [1, 1], lambda *x: 1),
    "create_tuple_iterator": lambda data, names: data.create_tuple_iterator(names),
    "NumpySlicesDataset": lambda data, names: ds.NumpySlicesDataset((np.arange(3), np.arange(3)), names),
    "GeneratorDataset": lambda data, names: ds.GeneratorDataset([(1, 2)], names),
}


class Columns(Case):
    def test_unknown_ones_are_refused_with_the_nearest(self):
        for source in (rows, loose_rows):
            for name, call in UNKNOWN.items():
                with self.subTest(call=name, source=source.__name__):
                    where = name.split(" ")[0].strip(",")
                    expected = "expected one of a, b, image, did you mean 'image'?"
                    with self.refuses(ValueError, f"[{where}] unknown column, got 'imag', {expected}"):
                        made = call(source())
                        if isinstance(made, ds.Dataset):
                            next(iter(made))

    def test_what_is_no_name_is_refused_at_once(self):
        for name, call in NAMED.items():
            where = name.split(" ")[0]
            for given in (3, [3], ["a", 3], {"a": 1}):
                with self.subTest(call=name, given=given):
                    text = f"got {given!r}, expected a str or a list of them"
                    with self.refuses(TypeError, f"[{where}]", "is not names of columns", text):
                        call(rows(), given)
            with self.refuses(ValueError, f"[{where}] repeated column, got 'a' twice, expected it once"):
                call(rows(), ["a", "a"])
            with self.refuses(ValueError, f"[{where}]", "has no name, got [], expected one or more"):
                call(rows(), [])
            with self.refuses(ValueError, f"[{where}]", "has no name, got ['a', ''], expected one or more"):
                call(rows(), ["a", ""])
        with self.refuses(ValueError, "[batch] input_columns has no function, got ['a'], expected per_batch_map"):
            rows().batch(2, input_columns=["a"])
        with self.refuses(TypeError, "[padded_batch] pad_info is no dict, got 3, expected {column: (shape, value)}"):
            rows().padded_batch(2, pad_info=3)

    def test_results_take_the_place_of_columns_of_their_names(self):
        cases = (
            (["a"], ["image"], ["image", "b"]),
            (["image"], ["a"], ["b", "a"]),
            (["a", "b"], ["image", "d"], ["image", "d"]),
            (["a", "b"], ["b", "a"], ["b", "a", "image"]),
        )
        for source in (rows, loose_rows):
            for inputs, outputs, names in cases:
                with self.subTest(inputs=inputs, outputs=outputs, source=source.__name__):
                    before = next(source().create_dict_iterator(output_numpy=True))
                    data = source().map(same, inputs, outputs)
                    found = next(data.create_dict_iterator(output_numpy=True))
                    self.assertEqual(data.get_col_names(), names)
                    expected = {**before, **{new: before[old] for old, new in zip(inputs, outputs)}}
                    self.assertEqual(found, {name: expected[name] for name in names})

    def test_one_name_of_two_columns_is_refused(self):
        calls = {
            "map": lambda data: data.map(lambda x: (x, x), ["a"], ["c", "b"]),
            "batch": lambda data: data.batch(1, per_batch_map=batch_map, input_columns="a", output_columns="b"),
            "dataset": lambda data: data.rename("a", "b"),
            "dataset ": lambda data: ds.zip((data, rows())),
        }
        for source in (rows, loose_rows):
            for name, call in calls.items():
                with self.subTest(call=name, source=source.__name__):
                    with self.refuses(ValueError, f"[{name.strip()}] repeated column, got ", "twice, expected it once"):
                        next(iter(call(source())))

    def test_counts_of_repetitions_pass_through_views(self):
        for data, count in (
            (rows().repeat(2).batch(2), 2),
            (rows().repeat(2).skip(1).take(5).rename("a", "z"), 2),
            (rows().repeat(2).repeat(3), 3),
            (rows().batch(2), 1),
            (rows().repeat(2) + rows(), 1),
        ):
            self.assertEqual(data.get_repeat_count(), count)


if __name__ == "__main__":
    unittest.main()
