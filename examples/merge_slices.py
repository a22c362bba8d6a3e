"""Merges the slices of a checkpoint by hand, without Partita: merge_slices.py CHECKPOINT OUT.npz (weights alone)."""
import json
import sys

import numpy as np

TYPES = {"f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4", "u8": "u1", "u32": "u4", "bool": "?"}


def read_slice(path, name):
    """One tensor of a safetensors file: 8 bytes with the length of the header, JSON, then all elements."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        place = json.loads(file.read(length))[name]
        file.seek(8 + length + place["data_offsets"][0])
        return file.read(place["data_offsets"][1] - place["data_offsets"][0]), place["shape"]


folder, out = sys.argv[1:]
manifest = json.load(open(folder + "/manifest.json"))
weights = {}
for tensor in manifest["tensors"]:
    if tensor["kind"] not in ("parameter", "statistic"):
        continue
    whole = np.empty(tensor["shape"], TYPES[tensor["dtype"]])
    for piece in tensor["pieces"]:
        data, shape = read_slice(folder + "/" + manifest["files"][piece["file"]]["name"], tensor["name"])
        whole[tuple(slice(begin, end) for begin, end in piece["box"])] = np.frombuffer(data, whole.dtype).reshape(shape)
    weights[tensor["name"]] = whole
np.savez(out, **weights)
print(len(weights), "tensors merged")
