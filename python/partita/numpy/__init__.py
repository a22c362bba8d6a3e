"""The names of NumPy for functions of tensors, with the defaults of the documented system."""

import math

from partita._names import refuse_missing
from partita.common.dtype import (  # noqa: F401
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from partita.common.tensor import Tensor  # noqa: F401
from partita.numpy.borders import *  # noqa: F401,F403
from partita.numpy.creation import *  # noqa: F401,F403
from partita.numpy.elements import *  # noqa: F401,F403
from partita.numpy.grids import *  # noqa: F401,F403
from partita.numpy.joined import *  # noqa: F401,F403
from partita.numpy.pairs import *  # noqa: F401,F403
from partita.numpy.shapes import *  # noqa: F401,F403
from partita.numpy.statistics import *  # noqa: F401,F403
from partita.numpy.sums import *  # noqa: F401,F403
from partita.numpy.windows import *  # noqa: F401,F403

pi, inf, nan, e = math.pi, math.inf, math.nan, math.e
newaxis = None
PINF, NINF = inf, -inf
int_, float_ = int32, float32

__getattr__ = refuse_missing(globals())
