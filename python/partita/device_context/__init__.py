"""Kinds of devices: whether there are some, and how many."""

from partita import _devices
from partita._names import refuse_missing

_KINDS = ("CPU", "GPU", "Ascend")


def count_of(kind):
    """How many devices of a kind programs run on. Raises RuntimeError if there are none, ValueError for an unknown
    kind."""
    if kind not in _KINDS:
        raise ValueError(f"[device_context] unknown device, got {kind!r}, expected one of {list(_KINDS)}")
    if kind == "CPU":
        return 1
    if kind == "Ascend":
        raise RuntimeError("[device_context] there is no such device, got 'Ascend', expected 'CPU' or 'GPU'")
    return _devices.gpu_count()


def is_there(kind):
    """Whether programs run on a kind of device."""
    try:
        return count_of(kind) > 0
    except RuntimeError:
        return False


def functions_of(kind):
    """`device_count` and `is_available` of one kind."""

    def device_count():
        """How many devices there are. Raises RuntimeError if there are none."""
        return count_of(kind)

    def is_available():
        """Whether there is a device."""
        return is_there(kind)

    return {"device_count": device_count, "is_available": is_available}


__getattr__ = refuse_missing(globals())
