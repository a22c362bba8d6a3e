"""Linear algebra with the parameters that PyTorch has."""

from partita._names import refuse_missing
from partita.mint.matrices import inv, qr  # noqa: F401
from partita.mint.reduced import linalg_norm as norm  # noqa: F401
from partita.mint.reduced import matrix_norm, vector_norm  # noqa: F401

__getattr__ = refuse_missing(globals())
