"""What goes with cells."""

from contextlib import contextmanager

from partita._names import refuse_missing


@contextmanager
def no_init_parameters():
    """Within it parameters are not drawn. Here they never are before they are needed."""
    yield


__getattr__ = refuse_missing(globals())
