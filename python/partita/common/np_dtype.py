"""Element types of NumPy that it lacks: a use says what to use."""

from partita._names import absent, refuse_missing

bfloat16 = absent("bfloat16", __name__, "float32 arrays, and Tensor(array).astype(bfloat16)")

__getattr__ = refuse_missing(globals())
