"""Passes over graphs: refused by name."""

from partita._names import refuse_missing, refused

globals().update(refused("graph"))
__getattr__ = refuse_missing(globals())
