"""The names of NumPy for functions of tensors, with the defaults of the documented system."""

import math

from partita._names import refuse_missing
from partita.common.dtype import bool_, float16, float32, float64, int32, int64, uint8, uint32  # noqa: F401
from partita.common.tensor import Tensor  # noqa: F401
from partita.numpy.creation import *  # noqa: F401,F403
from partita.numpy.elements import *  # noqa: F401,F403
from partita.numpy.shapes import *  # noqa: F401,F403
from partita.numpy.sums import *  # noqa: F401,F403

pi, inf, nan, e = math.pi, math.inf, math.nan, math.e
newaxis = None
PINF, NINF = inf, -inf

__getattr__ = refuse_missing(globals())
