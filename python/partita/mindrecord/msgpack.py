"""The part of MessagePack that MindRecord uses: a map from names to numbers, texts and bytes."""

import struct

from partita._names import refuse_missing

# First byte: (format of struct) of numbers; (format of the length, kind) of texts and bytes.
_NUMBERS = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_LENGTHS = {
    0xD9: (">B", str),
    0xDA: (">H", str),
    0xDB: (">I", str),
    0xC4: (">B", bytes),
    0xC5: (">H", bytes),
    0xC6: (">I", bytes),
}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}


class _Reader:
    def __init__(self, data):
        self._data, self._at = data, 0

    def take(self, count):
        if count > len(self._data) - self._at:
            raise ValueError("it ends within a value")
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def value(self):
        first = self.take(1)[0]
        if first < 0x80 or first >= 0xE0:
            return first if first < 0x80 else first - 0x100
        if first in _CONSTANTS:
            return _CONSTANTS[first]
        if first in _NUMBERS:
            return self.number(_NUMBERS[first])
        length, kind = first & 0x1F, str
        if first in _LENGTHS:
            form, kind = _LENGTHS[first]
            length = self.number(form)
        elif first >> 5 != 5:
            raise ValueError(f"a value of a kind that no row has, got {first:#x}")
        found = bytes(self.take(length))
        return found.decode() if kind is str else found

    def map(self):
        first = self.take(1)[0]
        count = first & 0xF
        if first in (0xDE, 0xDF):
            count = self.number(">H" if first == 0xDE else ">I")
        elif first >> 4 != 8:
            raise ValueError(f"no map of names, got {first:#x}")
        if count > len(self._data):
            raise ValueError("it ends within a map")
        return {self.value(): self.value() for _ in range(count)}


def unpacked(data):
    """The map of the bytes. Raises ValueError if they are none."""
    return _Reader(data).map()


def _packed_value(one):
    if isinstance(one, str):
        text = one.encode()
        if len(text) < 32:
            return bytes([0xA0 | len(text)]) + text
        form = ((0xD9, ">B", 1 << 8), (0xDA, ">H", 1 << 16), (0xDB, ">I", 1 << 32))
        first, length = next((first, length) for first, length, end in form if len(text) < end)
        return bytes([first]) + struct.pack(length, len(text)) + text
    if isinstance(one, float):
        return b"\xcb" + struct.pack(">d", one)
    if 0 <= one < 128 or -32 <= one < 0:
        return bytes([one & 0xFF])
    bits = next(bits for bits in (8, 16, 32, 64) if -(1 << (bits - 1)) <= one < 1 << (bits - 1))
    first = {8: 0xD0, 16: 0xD1, 32: 0xD2, 64: 0xD3}[bits]
    return bytes([first]) + struct.pack(_NUMBERS[first], one)


def packed(values):
    """The bytes of a map from names to numbers and texts, in the order of the names."""
    head = bytes([0x80 | len(values)]) if len(values) < 16 else b"\xde" + struct.pack(">H", len(values))
    return head + b"".join(_packed_value(name) + _packed_value(values[name]) for name in sorted(values))


__getattr__ = refuse_missing(globals())
