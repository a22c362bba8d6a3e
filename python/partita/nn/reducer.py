"""Gradients of ranks."""

from collections.abc import Iterable, Sequence

from partita import context
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.communication import management as ranks
from partita.nn.cell import Cell
from partita.ops import functional as F


class DistributedGradReducer(Cell):
    """The gradients of all ranks: their mean, or their sum. Gradients of a program over ranks are means over the global
    batch already; a sum is as many times the mean as there are ranks."""

    def __init__(
        self,
        parameters: Iterable[Parameter],
        mean: bool | None = None,
        degree: int | None = None,
        fusion_type: int = 1,
        group: str = ranks.GlobalComm.WORLD_COMM_GROUP,
    ):
        super().__init__(auto_prefix=False)
        self.mean = context.get_auto_parallel_context("gradients_mean") if mean is None else bool(mean)
        self.degree = ranks.get_group_size(group) if degree is None else degree
        if not isinstance(self.degree, int) or self.degree < 1:
            raise ValueError(f"[DistributedGradReducer] bad degree, got {self.degree!r}, expected an integer from 1")

    def construct(self, grads: Sequence[Tensor]) -> Sequence[Tensor]:
        if self.mean or self.degree == 1:
            return grads
        return tuple(F.mul(one, float(self.degree)) for one in grads)
