"""Maps of distributions that client libraries import."""

from partita._names import absent, refuse_missing

ScalarAffine = absent("ScalarAffine", __name__, "ops.mul and ops.add")

__getattr__ = refuse_missing(globals())
