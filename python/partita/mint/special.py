"""Functions of single elements, and log_softmax."""

from partita._names import refuse_missing
from partita.mint.functions import log_softmax  # noqa: F401
from partita.ops import functional as F
from partita.ops.functional import erfc, exp2, expm1, log1p, sinc  # noqa: F401


def round(input, *, decimals=0):
    """The nearest number of as many decimals, of two the even one."""
    return F.round(input, decimals=decimals)


__getattr__ = refuse_missing(globals())
