"""Cells, layers, losses, optimizers."""

import sys

from partita import _later
from partita.nn import cell, later, layer, learning_rate_schedule, loss, optim  # noqa: F401
from partita.nn.cell import Cell, CellList, SequentialCell
from partita.nn.layer import (
    AdaptiveAvgPool2d,
    AvgPool2d,
    BatchNorm1d,
    BatchNorm2d,
    Conv2d,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    Identity,
    LayerNorm,
    Linear,
    MaxPool2d,
    SyncBatchNorm,
)
from partita.nn.absent import ABSENT
from partita.nn.activations import *  # noqa: F401,F403
from partita.nn.dynamic_lr import *  # noqa: F401,F403
from partita.nn.learning_rate_schedule import *  # noqa: F401,F403
from partita.nn.layer_names import names_of
from partita.nn.layers_of_parts import *  # noqa: F401,F403
from partita.nn.other_losses import *  # noqa: F401,F403
from partita.nn.transposed import *  # noqa: F401,F403
from partita.nn.usual_activations import *  # noqa: F401,F403
from partita.nn.loss import (
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    L1Loss,
    LossBase,
    MAELoss,
    MSELoss,
    SoftmaxCrossEntropyWithLogits,
)
from partita.nn.optim import CLASSES, SGD, AdamWeightDecay, Optimizer
from partita.nn.optim import (  # noqa: F401
    AdamOffload,
    AdaSumByDeltaWeightWrapCell,
    AdaSumByGradWrapCell,
    OptTFTWrapper,
    thor,
)
from partita.nn.reducer import DistributedGradReducer
from partita.nn.volumes import *  # noqa: F401,F403
from partita.nn.wrap import (
    DynamicLossScaleUpdateCell,
    FixedLossScaleUpdateCell,
    ForwardValueAndGrad,
    GradAccumulation,
    GradAccumulationCell,
    MicroBatchInterleaved,
    PipelineCell,
    TrainOneStepCell,
    TrainOneStepWithLossScaleCell,
    WithEvalCell,
    WithLossCell,
)

globals().update(ABSENT)
globals().update(CLASSES)  # the optimizers that the library describes
del CLASSES, ABSENT
LATER = _later.places_of(later.LAYERS, "partita.nn") | {"probability": "partita.nn.probability"}
_INNER = {"containers": "_get_prefix_and_index _valid_cell _valid_index"}
layer.__getattr__ = names_of(sys.modules[__name__])
__getattr__, __dir__ = _later.names_later(globals(), LATER | _later.places_of(_INNER, "partita.nn"))
