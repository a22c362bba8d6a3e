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


class _Known:
    """Whether any cell has had a precision of its own: else all of a network computes in one."""

    any_cell = False


def note_cell(precision):
    """Called with each precision that a cell gets, which may be None."""
    _Known.any_cell = _Known.any_cell or precision is not None


def cells_have_precisions():
    """Whether there may be cells that compute in another precision than what is around them."""
    return _Known.any_cell
