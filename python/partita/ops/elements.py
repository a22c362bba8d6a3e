"""Functions of elements, of creation and of random draws: what the modules of their kinds have."""

from partita._names import ELSEWHERE
from partita.ops import (
    distributions,
    exponents,
    integers,
    older_names,
    scalars,
    signs,
    special,
    thresholds,
    updates_of_rows,
    windows,
)
from partita.ops.distributions import *  # noqa: F401,F403
from partita.ops.exponents import *  # noqa: F401,F403
from partita.ops.integers import *  # noqa: F401,F403
from partita.ops.older_names import *  # noqa: F401,F403
from partita.ops.scalars import *  # noqa: F401,F403
from partita.ops.signs import *  # noqa: F401,F403
from partita.ops.special import *  # noqa: F401,F403
from partita.ops.thresholds import *  # noqa: F401,F403
from partita.ops.updates_of_rows import *  # noqa: F401,F403
from partita.ops.windows import *  # noqa: F401,F403

# Names of scalars follow those of older ones, which they replace.
_MODULES = (
    distributions,
    exponents,
    integers,
    older_names,
    scalars,
    signs,
    special,
    thresholds,
    updates_of_rows,
    windows,
)
__all__ = [
    name
    for module in _MODULES
    for name in module.__all__
]

_COMPLEX = "there are no complex types: two tensors, of real and of imaginary parts"
ELSEWHERE.update(
    {
        "Angle": _COMPLEX,
        "Betainc": "ops.igamma of two gamma functions, or scipy.special.betainc on asnumpy()",
        "Conj": _COMPLEX,
        "LogUniformCandidateSampler": "candidates that NumPy draws, in a data set",
        "ParameterizedTruncatedNormal": "ops.TruncatedNormal, ops.clip and ops.normal",
        "UniformCandidateSampler": "candidates that NumPy draws, in a data set",
        "angle": _COMPLEX,
        "imag": _COMPLEX,
        "log_uniform_candidate_sampler": "candidates that NumPy draws, in a data set",
        "polar": f"{_COMPLEX}, abs * ops.cos(angle) and abs * ops.sin(angle)",
        "uniform_candidate_sampler": "candidates that NumPy draws, in a data set",
        "view_as_real": _COMPLEX,
    }
)
