"""Streams, memory and threads of a process."""

from __future__ import annotations

import os
from collections.abc import Sequence

from partita import _memory, _streams
from partita._names import refuse_missing
from partita._warnings import warn

globals().update({name: getattr(_streams, name) for name in _streams.NAMES})
globals().update({name: getattr(_memory, name) for name in _memory.NAMES})


def set_memory(
    init_size: str = "2GB",
    increase_size: str = "2GB",
    max_size: str = "1024GB",
    optimize_level: str = "O0",
    huge_page_reserve_size: str = "0GB",
) -> None:
    """Kept, without effect: a program uses the memory that its plan says."""
    for name, value in list(locals().items()):
        if name.endswith("_size") and not str(value).upper().endswith("GB"):
            raise ValueError(f"[set_memory] bad {name}, got {value!r}, expected a size such as '2GB'")
    warn("[set_memory] the plan of a program decides how much memory it takes: set_memory has no effect")


def launch_blocking() -> None:
    """Kept, without effect: results are there when calls return in any case."""


def dispatch_threads_num(threads_num: int) -> None:
    """Kept, without effect: calls are not handed to threads. See `set_context(threads=..)` for those that compute."""
    if not isinstance(threads_num, int) or isinstance(threads_num, bool) or threads_num < 1:
        raise ValueError(f"[dispatch_threads_num] bad threads_num, got {threads_num!r}, expected an integer from 1")


def set_kernel_launch_group(thread_num: int = 2, kernel_group_num: int = 8) -> None:
    """Kept, without effect: how kernels are grouped is the library's."""


def set_kernel_launch_capture(enable_capture_graph: bool, op_capture_skip=None) -> None:
    """Kept, without effect: see `set_kernel_launch_group`."""


def set_cpu_affinity(
    enable_affinity: bool, affinity_cpu_list: Sequence[str] | None = None, module_to_cpu_dict=None, bind_file=None
) -> None:
    """Has the process run on some cores: those of `affinity_cpu_list`, such as ["0-3", "8"]. Threads that run already
    stay where they are. Raises NotImplementedError for cores by modules or by a file."""
    if not isinstance(enable_affinity, bool):
        raise TypeError(f"[set_cpu_affinity] enable_affinity is not a bool, got {enable_affinity!r}, expected one")
    if module_to_cpu_dict or bind_file:
        raise NotImplementedError(
            "[set_cpu_affinity] cores cannot be chosen by modules or by a file, got one of these, expected "
            "affinity_cpu_list"
        )
    if not enable_affinity or not affinity_cpu_list:
        return
    cores = set()
    for one in affinity_cpu_list:
        first, _, last = str(one).partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            raise ValueError(f"[set_cpu_affinity] bad cores, got {one!r}, expected a text such as '0-3'")
        cores.update(range(int(first), int(last or first) + 1))
    os.sched_setaffinity(0, cores)


__getattr__ = refuse_missing(globals())
