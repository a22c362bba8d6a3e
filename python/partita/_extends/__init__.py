"""Names of the documented module that client libraries import."""

from partita._names import refuse_missing


def cell_attr_register(fn=None, attrs=None):
    """The constructor itself: cells keep their arguments as attributes."""
    return fn if callable(fn) else lambda function: function


__getattr__ = refuse_missing(globals())
