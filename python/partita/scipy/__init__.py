"""Names of scientific computing that libraries import."""

from partita._names import refuse_missing
from partita.scipy import linalg, ops, optimize  # noqa: F401

__getattr__ = refuse_missing(globals())
