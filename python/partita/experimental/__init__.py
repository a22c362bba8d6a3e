"""Names that the documented system calls experimental: refused by name."""

from partita._names import refuse_missing

__getattr__ = refuse_missing(globals())
