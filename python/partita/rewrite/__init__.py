"""Rewriting of networks: refused by name."""

from partita._names import refuse_missing, refused

globals().update(refused("rewrite"))
__getattr__ = refuse_missing(globals())
