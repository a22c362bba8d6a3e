"""Types that annotations of several modules name."""

from collections.abc import Iterable, Sequence

from partita.common.dtype import DType
from partita.common.initializer import Initializer
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor

__all__ = "DType Init Initializer Ints Number Parameters".split()

Number = int | float
Ints = int | Sequence[int]
Init = str | float | Tensor | Initializer  # what parameters begin with
Parameters = Iterable[Parameter] | Iterable[dict]  # of an optimizer: parameters, or groups of them
