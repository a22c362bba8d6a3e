"""MindRecord files, exchanged with MindSpore: compare_records.py mindspore|partita FOLDER write|SIDE. The first way
writes files of five schemas, the other prints all rows of the files that SIDE wrote, of shards and of samplers."""

import importlib
import os
import sys

import numpy as np

side, folder, way = sys.argv[1:4]
data, records = (importlib.import_module(f"{side}.{one}") for one in ("dataset", "mindrecord"))


def write(name, shards, schema, rows, index=None):
    writer = records.FileWriter(os.path.join(folder, f"{side}-{name}"), shards, overwrite=True)
    writer.set_header_size(1 << 15)
    writer.set_page_size(1 << 15)
    writer.add_schema(schema, "a schema")
    if index:
        writer.add_index(index)
    for begin in range(0, len(rows), 11):
        writer.write_raw_data(rows[begin : begin + 11])
    writer.commit()


def write_all():
    chance = np.random.default_rng(3)

    def some(most):
        return int(chance.integers(1, most))

    images = {"file_name": {"type": "string"}, "label": {"type": "int32"}, "data": {"type": "bytes"}}
    rows = [
        {
            "file_name": f"image {i}.jpg",
            "label": i % 7,
            "data": chance.integers(0, 256, some(3000), dtype="u1").tobytes(),
        }
        for i in range(60)
    ]
    write("images", 1, images, rows, ["label"])
    arrays = {
        "x": {"type": "float32", "shape": [2, 3]},
        "d": {"type": "float64", "shape": [2]},
        "ids": {"type": "int64", "shape": [-1]},
        "m": {"type": "int32", "shape": [4]},
        "y": {"type": "float64"},
        "n": {"type": "int64"},
        "f": {"type": "float32"},
    }
    rows = [
        {
            "x": chance.random((2, 3), "f4"),
            "d": chance.random(2),
            "ids": chance.integers(-(2 ** some(62)), 2 ** some(62), some(40)),
            "m": chance.integers(-300, 300, 4).astype("i4"),
            "y": float(chance.random()),
            "n": int(chance.integers(-(2**60), 2**60)),
            "f": 0.25 * i,
        }
        for i in range(100)
    ]
    write("arrays", 3, arrays, rows)
    texts = {"text": {"type": "string"}, "n": {"type": "int64"}}
    write("texts", 2, texts, [{"text": "Zoë " * some(90) + str(i), "n": -i} for i in range(23)])
    integers = {"a": {"type": "int32", "shape": [-1]}}
    write("one", 1, integers, [{"a": chance.integers(-(2**31), 2**31, 5).astype("i4")} for _ in range(5)])
    parts = {"a": {"type": "bytes"}, "b": {"type": "bytes"}}
    write("two", 1, parts, [{"a": b"x" * (i + 1), "b": b"yz" * (i + 1)} for i in range(5)])


def text(one):
    one = np.asarray(one)
    if one.dtype.kind == "S":
        one = np.frombuffer(one.tobytes(), "u1")
    if one.dtype.kind in "fi" and one.shape == ():
        return f"{float(one)!r}" if one.dtype.kind == "f" or abs(int(one)) < 2**50 else str(int(one))
    return f"{one.dtype.kind}{one.shape} {one.tolist()}"


def print_all():
    choices = (
        lambda: {"shuffle": False},
        lambda: {"shuffle": False, "num_shards": 3, "shard_id": 0},
        lambda: {"shuffle": False, "num_shards": 3, "shard_id": 2},
        lambda: {"shuffle": False, "num_samples": 4},
        lambda: {"shuffle": False, "num_shards": 2, "shard_id": 1, "num_samples": 3},
        lambda: {"sampler": data.SequentialSampler(1, 3)},
        lambda: {"sampler": data.DistributedSampler(4, 3, shuffle=False)},
        lambda: {"sampler": data.SubsetSampler([3, 1, 4])},
        lambda: {"sampler": data.SubsetSampler([3, 1, 4, 0], 2)},
    )
    for name, count in (("images", 1), ("arrays", 3), ("texts", 2), ("one", 1), ("two", 1)):
        files = [name] if count == 1 else [f"{name}{i}" for i in range(count)]
        paths = [os.path.join(folder, f"{way}-{file}") for file in files]
        for number, choose in enumerate(choices):
            for given in (paths[0], paths[::-1]):
                rows = data.MindDataset(given, **choose())
                print(name, number, rows.get_dataset_size(), sorted(rows.get_col_names()))
                for row in rows.create_dict_iterator(output_numpy=True, num_epochs=1):
                    print(" ", *(f"{column}: {text(row[column])}" for column in sorted(row)))
        reader = records.FileReader(paths[0])
        for row in reader.get_next():
            print(" ", *(f"{column}: {text(row[column])}" for column in sorted(row)))
        print(reader.len())
        reader.close()


if way == "write":
    write_all()
else:
    print_all()
