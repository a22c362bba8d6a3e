"""Obfuscated files: refused by name."""

from partita._names import refuse_missing, refused

globals().update(refused("safeguard"))
__getattr__ = refuse_missing(globals())
