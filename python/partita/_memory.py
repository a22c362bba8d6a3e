"""Memory of the process, as the system counts it: of tensors, programs, Python and libraries together. Figures of
tensors alone are those of a plan: `Model.program(data).memory`."""

from __future__ import annotations

import gc
import os

from partita._warnings import warn

_STATUS, _RESET = "/proc/self/status", "/proc/self/clear_refs"


def _bytes(key):
    """A figure of the process, such as VmRSS. Raises NotImplementedError where the system does not say it."""
    try:
        with open(_STATUS) as file:
            for line in file:
                if line.startswith(key + ":"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    raise NotImplementedError(
        f"[memory] this system does not say how much memory a process has, got no {key}, expected Linux; "
        "ms.plan(model, dataset) estimates what a training needs"
    )


def memory_allocated(device_target: str | None = None) -> int:
    """Bytes of memory that the process has now."""
    return _bytes("VmRSS")


def max_memory_allocated(device_target: str | None = None) -> int:
    """The largest number of bytes that the process had, since it began or since the last reset."""
    return _bytes("VmHWM")


def memory_reserved(device_target: str | None = None) -> int:
    """Bytes of memory that the process has now: nothing is kept aside from what it uses."""
    return _bytes("VmRSS")


def max_memory_reserved(device_target: str | None = None) -> int:
    """The largest number of bytes that the process had, since it began or since the last reset."""
    return _bytes("VmHWM")


def reset_peak_memory_stats(device_target: str | None = None) -> None:
    """The largest number counts from now on. Warns where the system does not allow that."""
    try:
        with open(_RESET, "w") as file:
            file.write("5")  # see proc(5)
    except OSError as error:
        warn(f"[reset_peak_memory_stats] the system keeps the largest number: {error.strerror}")


reset_max_memory_allocated = reset_max_memory_reserved = reset_peak_memory_stats


def memory_stats(device_target: str | None = None) -> dict:
    """Bytes of memory of the process, as a dict."""
    now, most = _bytes("VmRSS"), _bytes("VmHWM")
    return {
        "total_reserved_memory": now,
        "total_allocated_memory": now,
        "total_idle_memory": 0,
        "total_eager_free_memory": 0,
        "max_reserved_memory": most,
        "max_allocated_memory": most,
    }


def memory_summary(device_target: str | None = None) -> str:
    """The figures of `memory_stats` as a text."""
    lines = [f"{name.replace('_', ' '):26}{value / 2**20:12.1f} MiB" for name, value in memory_stats().items()]
    return "\n".join([f"memory of process {os.getpid()}", *lines])


def empty_cache() -> None:
    """Releases what Python holds and nobody uses. There is no other cache: memory of tensors goes back with them."""
    gc.collect()


ms_memory_recycle = empty_cache
NAMES = (
    "empty_cache max_memory_allocated max_memory_reserved memory_allocated memory_reserved memory_stats memory_summary "
    "reset_max_memory_allocated reset_max_memory_reserved reset_peak_memory_stats"
).split()
