"""Names of linear algebra that libraries import."""

from partita._names import absent_all, refuse_missing

_INSTEAD = {"eigh": "numpy.linalg.eigh on asnumpy()", "inv": "numpy.linalg.inv on asnumpy()"}
globals().update(absent_all(__name__, _INSTEAD))

__getattr__ = refuse_missing(globals())
