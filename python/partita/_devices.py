"""The device that programs run on: the CPU, or an accelerator with a plugin (docs/guide/accelerators.md)."""

import os
import sys

from partita import _core, _ranks
from partita._warnings import warn

_opened = {}  # by name: the number of devices, or the error


def _open(name):
    """The number of devices of an accelerator. Raises RuntimeError if it cannot be used."""
    if name not in _opened:
        _core.search_packages_in([folder for folder in sys.path if folder and os.path.isdir(folder)])
        try:
            _opened[name] = _core.open_device(name)
        except RuntimeError as error:
            _opened[name] = error
    if isinstance(_opened[name], RuntimeError):
        raise _opened[name]
    return _opened[name]


def device_of(target, device_id, alone, ranks):
    """The option `ranks.device` for a device_target of the context. `device_id` is None if the script names none;
    `alone` says that processes do not share the program; `ranks` are threads of this process. A device that cannot be
    used is a warning, and the CPU computes."""
    if target == "CPU":
        return "cpu"
    if target != "GPU":
        warn(
            f"[set_context] no plugin has this device, got device_target={target!r}, expected 'GPU' to compute on "
            "accelerators: the CPU computes"
        )
        return "cpu"
    name = os.environ.get("PARTITA_GPU") or "cuda"
    if name == "cpu":
        return name
    try:
        count = _open(name)
    except RuntimeError as error:
        warn(
            f"[set_context] the GPU cannot be used: {error}; the CPU computes. To install what is missing: "
            f"{_core.device_remedy(name)}"
        )
        return "cpu"
    if name[-1].isdigit() or ranks > 1:  # one device is named, or each rank takes its own
        return name
    if device_id is None:
        return f"{name}:{_core.this_place().local_rank % count}" if alone and _ranks.is_process() else name
    if device_id >= count:
        warn(
            f"[set_context] there are fewer devices, got device_id={device_id} of {count}, expected a smaller one: "
            f"device {device_id % count} computes"
        )
    return f"{name}:{device_id % count}"


def gpu_count():
    """How many accelerators the plugin of PARTITA_GPU finds. Raises RuntimeError if there are none."""
    name = os.environ.get("PARTITA_GPU") or "cuda"
    if name == "cpu":
        raise RuntimeError("[devices] there is no GPU, got PARTITA_GPU=cpu, expected the name of a plugin")
    return _open(name)
