"""Names of scientific computing that libraries import: NumPy and SciPy have the functions."""

from partita._names import refuse_missing
from partita.scipy import linalg  # noqa: F401

__getattr__ = refuse_missing(globals())
