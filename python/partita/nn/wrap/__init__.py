"""Cells around a network: with its loss, in micro-batches, as one step of a training."""

from collections.abc import Callable

from partita import _core, _later
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.wrap.divided import Divided, MicroBatch as _MicroBatch  # noqa: F401
from partita.nn.wrap.loss_scale import (  # noqa: F401
    DynamicLossScaleUpdateCell,
    FixedLossScaleUpdateCell,
    TrainOneStepWithLossScaleCell,
)
from partita.nn.wrap.steps import TrainOneStepCell  # noqa: F401
from partita.ops import functional as F


class WithLossCell(Cell):
    """The loss of a network: a call with (data, label) gives `loss_fn(backbone(data), label)`. Its parameters have the
    names that they have in the network."""

    def __init__(self, backbone: Cell, loss_fn: Callable | None):
        super().__init__(auto_prefix=False)
        self._backbone, self._loss_fn = backbone, loss_fn

    def construct(self, data: Tensor, label: Tensor) -> Tensor:
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self) -> Cell:
        return self._backbone


class WithEvalCell(Cell):
    """(loss, result, label) of a network, from (data, label); with `add_cast_fp32` the latter two as float32. Raises
    TypeError for an `add_cast_fp32` that is no bool."""

    def __init__(self, network: Cell, loss_fn: Callable, add_cast_fp32: bool = False):
        super().__init__(auto_prefix=False)
        if not isinstance(add_cast_fp32, bool):
            raise TypeError(f"[WithEvalCell] add_cast_fp32 is no bool, got {add_cast_fp32!r}, expected True or False")
        self._network, self._loss_fn, self.add_cast_fp32 = network, loss_fn, add_cast_fp32

    def construct(self, data: Tensor, label: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        outputs = self._network(data)
        if self.add_cast_fp32:
            outputs = F.cast(outputs, mstype.float32)
            label = F.cast(label, mstype.float32) if mstype.is_float(label.dtype) else label
        return self._loss_fn(outputs, label), outputs, label


class PipelineCell(Divided):
    """A network in micro-batches over pipeline stages; `stage_config` names the stage of cells by their paths."""

    def __init__(self, network: Cell, micro_size: int, stage_config: dict[str, int] | None = None):
        super().__init__(network, micro_size)
        if stage_config is not None:
            self._set_stages(network, stage_config)

    @staticmethod
    def _set_stages(network, stage_config):
        cells = dict(network.cells_and_names())
        for path, stage in stage_config.items():
            if path not in cells:
                near = _core.nearest(path, list(cells))
                raise KeyError(
                    f"[PipelineCell] unknown cell, got '{path}', expected one of {len(cells)} paths"
                    + (f", did you mean '{near}'?" if near else "")
                )
            cells[path].pipeline_stage = stage


class GradAccumulationCell(Divided):
    """A network in micro-batches whose gradients are added up before the update."""


GradAccumulation = GradAccumulationCell


class MicroBatchInterleaved(Divided):
    """A network whose batch is computed in parts."""

    def __init__(self, network: Cell, interleave_num: int = 2):
        super().__init__(network, interleave_num)


class ForwardValueAndGrad(Cell):
    """Not there: see value_and_grad."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            "[ForwardValueAndGrad] this cell is not supported, got a call, expected value_and_grad"
        )


class _VirtualDatasetCell(Cell):
    """A network whose inputs are rows of a data set, which holds for all networks here."""

    def __init__(self, backbone):
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def construct(self, *inputs):
        return self._backbone(*inputs)


_OTHERS = "DistributedGradReducer GetNextSingleOp ParameterUpdate TimeDistributed WithGradCell"
__getattr__, __dir__ = _later.names_later(globals(), dict.fromkeys(_OTHERS.split(), "partita.nn"))
