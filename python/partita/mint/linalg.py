"""Linear algebra with the parameters that PyTorch has."""

from partita._names import refuse_missing
from partita.mint.matrices import inv, matrix_norm, norm, qr, vector_norm  # noqa: F401

__getattr__ = refuse_missing(globals())
