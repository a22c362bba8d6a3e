"""Arrays of integers as MindRecord keeps them: their number, the widths of all in 2 bits each, and the values, each in
the fewest of 1, 2, 4 and 8 bytes."""

import struct

import numpy as np

from partita._names import refuse_missing

_WIDTHS = np.array([1, 2, 4, 8])
_SHIFTS = np.array([6, 4, 2, 0])  # of the widths in a byte


def _offsets(widths):
    return np.cumsum(widths) - widths


def compressed(values):
    """The bytes of an array of integers."""
    values = np.ascontiguousarray(values, "<i8").reshape(-1)
    codes = np.zeros(values.size, np.uint8)
    for bits in (8, 16, 32):
        codes += (values < -(1 << (bits - 1))) | (values >= 1 << (bits - 1))
    padded = np.zeros(-(-values.size // 4) * 4, np.uint8)
    padded[: values.size] = codes
    packed = (padded.reshape(-1, 4) << _SHIFTS.astype(np.uint8)).sum(1).astype(np.uint8)
    widths = _WIDTHS[codes]
    offsets, data = _offsets(widths), np.zeros(int(widths.sum()), np.uint8)
    lines = values.view(np.uint8).reshape(-1, 8)
    for code, width in enumerate(_WIDTHS):
        own = codes == code
        data[offsets[own][:, None] + np.arange(width)] = lines[own, :width]
    return struct.pack(">I", values.size) + packed.tobytes() + data.tobytes()


def expanded(data):
    """The integers of the bytes. Raises ValueError if they are none."""
    if len(data) < 4:
        raise ValueError(f"an array of integers has {len(data)} bytes, expected at least 4")
    (count,) = struct.unpack(">I", data[:4])
    begin = 4 + -(-count // 4)
    if begin > len(data):
        raise ValueError(f"an array of {count} integers has {len(data)} bytes")
    packed = np.frombuffer(data, np.uint8, begin - 4, 4)
    codes = ((packed[:, None] >> _SHIFTS) & 3).reshape(-1)[:count]
    widths = _WIDTHS[codes]
    if begin + int(widths.sum()) != len(data):
        raise ValueError(f"an array of {count} integers has {len(data)} bytes, expected {begin + int(widths.sum())}")
    rest, offsets = np.frombuffer(data, np.uint8, len(data) - begin, begin), _offsets(widths)
    values = np.zeros(count, np.int64)
    for code, width in enumerate(_WIDTHS):
        own = codes == code
        lines = np.ascontiguousarray(rest[offsets[own][:, None] + np.arange(width)])
        values[own] = lines.view(f"<i{width}").reshape(-1)
    return values


__getattr__ = refuse_missing(globals())
