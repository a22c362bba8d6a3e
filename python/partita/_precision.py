"""Levels of mixed precision."""

from partita.common import dtype as mstype

LEVELS = ("O0", "O1", "O2", "O3", "auto")


def precision_of(where, amp_level, dtype=mstype.float16):
    """The precision of products, as the option `training.precision` has it. Raises ValueError for an unknown level or a
    dtype of other than 16 bits."""
    if amp_level not in LEVELS:
        raise ValueError(f"[{where}] unknown amp_level, got {amp_level!r}, expected one of {' '.join(LEVELS)}")
    if dtype not in (mstype.float16, mstype.bfloat16):
        raise ValueError(f"[{where}] not a type of 16 bits, got dtype={dtype}, expected float16 or bfloat16")
    return "f32" if amp_level == "O0" else dtype.core
