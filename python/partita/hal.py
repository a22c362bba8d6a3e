"""Streams of devices: there is one, and results are there when calls return."""

from partita._names import absent, refuse_missing


def synchronize():
    """Returns at once: results are there when calls return."""


Stream = absent("Stream", __name__, "calls one after the other")
StreamCtx = absent("StreamCtx", __name__, "calls one after the other")
current_stream = absent("current_stream", __name__, "calls one after the other")

__getattr__ = refuse_missing(globals())
