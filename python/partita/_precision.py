"""Precisions of products: of networks, by levels, and of single cells."""

from partita.common import dtype as mstype

LEVELS = ("O0", "O1", "O2", "O3", "auto")


def precision_of(where, amp_level, dtype=mstype.float16):
    """The precision of products, as the option `training.precision` has it, None for O0. Raises ValueError for an
    unknown level or a dtype of other than 16 bits."""
    if amp_level not in LEVELS:
        raise ValueError(f"[{where}] unknown amp_level, got {amp_level!r}, expected one of {' '.join(LEVELS)}")
    if dtype not in (mstype.float16, mstype.bfloat16):
        raise ValueError(f"[{where}] not a type of 16 bits, got dtype={dtype}, expected float16 or bfloat16")
    return None if amp_level == "O0" else dtype.core


def is_half(precision):
    """Whether a precision, which may be None, has 16 bits."""
    return precision in ("f16", "bf16")


class FullPrecision:
    """Stands for a function that computes in float32 also within cells of 16 bits."""

    _keeps_digits = True

    @staticmethod
    def _precision_within(around):
        """The precision of products, whatever that of the cell is in which the function is called."""
        return "f32"


def precisions_within(cell, scope, precision):
    """{scope: precision} of the cells within `cell` that compute in another precision than what is around them. `cell`
    itself stands in `scope` and computes in `precision`. Losses are left out: they have another scope."""
    found = {}
    for inner in cell.cells():
        if inner._keeps_digits:
            continue
        inner_scope, own = f"{scope}/{inner._scope_name}", inner._precision_within(precision)
        if own != precision:
            found[inner_scope] = own
        found.update(precisions_within(inner, inner_scope, own))
    return found
