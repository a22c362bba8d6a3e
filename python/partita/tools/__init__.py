"""Tests of devices and dumps: refused by name."""

from partita._names import refuse_missing, refused

globals().update(refused("tools"))
__getattr__ = refuse_missing(globals())
