"""Options of devices, which the CPU has not."""

from partita._names import refuse_missing
from partita._warnings import warn


def set_memory(
    init_size="2GB", increase_size="2GB", max_size="1024GB", optimize_level="O0", huge_page_reserve_size="0GB"
):
    """Kept, without effect: a program uses the memory that its plan says."""
    for name, value in list(locals().items()):
        if name.endswith("_size") and not str(value).upper().endswith("GB"):
            raise ValueError(f"[set_memory] bad {name}, got {value!r}, expected a size such as '2GB'")
    warn("[set_memory] the plan of a program decides how much memory it takes: set_memory has no effect")


__getattr__ = refuse_missing(globals())
