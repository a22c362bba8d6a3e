"""Parts of data sets, by the names of the documented module."""

from partita._names import refuse_missing
from partita.dataset.core import datatypes  # noqa: F401

__getattr__ = refuse_missing(globals())
