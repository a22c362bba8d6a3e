"""Records of trainings: scalars of steps in the files that pages of the documented system and TensorBoard read."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Callable

import numpy as np

from partita._names import absent, refuse_missing
from partita.common.tensor import Tensor
from partita.nn.cell import Cell

_PLUGINS = "tensor image histogram train_lineage eval_lineage dataset_graph custom_lineage_data graph landscape".split()


def _crc_table():
    made = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        made.append(n)
    return made


_TABLE = _crc_table()


def _masked_crc(data):
    """CRC-32C of the bytes, as records of TensorFlow have it."""
    crc = 0xFFFFFFFF
    for one in data:
        crc = _TABLE[(crc ^ one) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _varint(value):
    made = bytearray()
    value &= 2**64 - 1
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


def _field(number, data):
    """Bytes as a field of a message of Protocol Buffers."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _event(content, step=None):
    head = b"\x09" + struct.pack("<d", time.time())
    return head + (b"" if step is None else b"\x10" + _varint(step)) + content


def _scalar(tag, value):
    return _field(1, _field(1, tag.encode()) + b"\x1d" + struct.pack("<f", value))


class SummaryRecord:
    """A file of scalars in the folder `log_dir`, which is made. After `add_value("scalar", name, tensor)`,
    `record(step)` writes the values that were added as those of a step; `close`, or the end of a `with`, completes the
    file. Raises TypeError for names that are no texts, NotImplementedError for a network, a size of files or other
    options."""

    def __init__(
        self,
        log_dir: str,
        file_prefix: str = "events",
        file_suffix: str = "_MS",
        num_process: int = 32,
        network: Cell | None = None,
        max_file_size: int | None = None,
        raise_exception: bool = False,
        export_options=None,
    ):
        for name, value in (("log_dir", log_dir), ("file_prefix", file_prefix), ("file_suffix", file_suffix)):
            if not isinstance(value, str):
                raise TypeError(f"[SummaryRecord] {name} is not a string, got {type(value).__name__}, expected str")
        if network is not None or max_file_size is not None or export_options is not None:
            raise NotImplementedError(
                "[SummaryRecord] only scalars are recorded, got network, max_file_size or export_options, expected None"
            )
        os.makedirs(log_dir, exist_ok=True)
        name = f"{file_prefix}.out.{file_prefix}.summary.{int(time.time())}.{socket.gethostname()}{file_suffix}"
        self._path, self._values = os.path.join(log_dir, name), {}
        self._file = open(self._path, "ab")
        self._write(_event(_field(3, b"brain.Event:2")))

    @property
    def log_dir(self) -> str:
        """The path of the file."""
        return self._path

    def _write(self, data):
        length = struct.pack("<Q", len(data))
        self._file.write(length + struct.pack("<I", _masked_crc(length)))
        self._file.write(data + struct.pack("<I", _masked_crc(data)))

    def set_mode(self, mode: str) -> None:
        """Whether a training or an evaluation records: "train" or "eval"."""
        if mode not in ("train", "eval"):
            raise ValueError(f"[SummaryRecord] unknown mode, got {mode!r}, expected 'train' or 'eval'")

    def add_value(self, plugin: str, name: str, value: Tensor) -> None:
        """Keeps a tensor of one number for the next `record`; of values with one name the last one counts."""
        if plugin in _PLUGINS:
            raise NotImplementedError(f"[SummaryRecord] only scalars are recorded, got {plugin!r}, expected 'scalar'")
        if plugin != "scalar":
            raise ValueError(f"[SummaryRecord] unknown plugin, got {plugin!r}, expected 'scalar'")
        if not isinstance(name, str) or not name:
            raise ValueError(f"[SummaryRecord] bad name, got {name!r}, expected a string that is not empty")
        if not isinstance(value, Tensor):
            raise TypeError(f"[SummaryRecord] the value is no tensor, got {type(value).__name__}, expected a Tensor")
        if value.size != 1:
            raise ValueError(f"[SummaryRecord] the value is no scalar, got shape {value.shape}, expected one element")
        self._values[name] = float(np.asarray(value.asnumpy()).reshape(()))

    def record(self, step: int, train_network: Cell | None = None, plugin_filter: Callable | None = None) -> bool:
        """Writes the values that were added as those of a step, and gives True, or False after `close`."""
        if isinstance(step, bool) or not isinstance(step, int):
            raise TypeError(f"[SummaryRecord] the step is not an integer, got {step!r}, expected one")
        if self._file is None:
            return False
        if self._values and (plugin_filter is None or plugin_filter("scalar")):
            values = b"".join(_scalar(name, value) for name, value in self._values.items())
            self._write(_event(_field(5, values), step))
        self._values = {}
        return True

    def flush(self) -> None:
        """Writes what was recorded through to the file."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class SummaryCollector:
    """Not there: see SummaryRecord."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            "[SummaryCollector] collecting is not supported, got a call, expected SummaryRecord in a callback"
        )


_get_summary_tensor_data = absent("_get_summary_tensor_data", __name__, "results of the network: it records nothing")

__getattr__ = refuse_missing(globals())
