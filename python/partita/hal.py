"""Devices, their streams and their memory, by the older names of the documented system."""

from partita import _memory, _streams, context
from partita._names import absent, refuse_missing
from partita.device_context import count_of, is_there

globals().update({name: getattr(_streams, name) for name in _streams.NAMES})
globals().update({name: getattr(_memory, name) for name in _memory.NAMES})


def _target(device_target):
    return context.get_context("device_target") if device_target is None else device_target


def device_count(device_target=None):
    """How many devices there are of a kind, of that of the context by default. Raises RuntimeError for a kind without
    any, ValueError for an unknown one."""
    return count_of(_target(device_target))


def is_available(device_target):
    """Whether there is a device of a kind."""
    return is_there(device_target)


def is_initialized(device_target):
    """Whether programs ran on a kind of device: on the CPU from the beginning."""
    return is_there(device_target)


def get_device_name(device_id, device_target=None):
    """The name of a device: that of its kind. Raises ValueError for a number that no device has."""
    count = device_count(device_target)
    if not isinstance(device_id, int) or not 0 <= device_id < count:
        raise ValueError(f"[hal] there is no such device, got {device_id!r}, expected 0 to {count - 1}")
    return _target(device_target)


def get_device_capability(device_id, device_target=None):
    """None: what a device can do is not said by a number here, as there on a CPU."""
    get_device_name(device_id, device_target)


get_device_properties = get_device_capability


def get_arch_list(device_target=None):
    """None: programs are compiled for the device that is there, as there on a CPU."""


combine_tensor_list_contiguous = absent(
    "combine_tensor_list_contiguous", __name__, "ops.concat of the flattened tensors, a copy of them"
)


__getattr__ = refuse_missing(globals())
