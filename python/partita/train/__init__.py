"""Training and evaluation."""

from partita._names import refuse_missing
from partita.train import callback
from partita.train.callback import (
    Callback,
    CheckpointConfig,
    EarlyStopping,
    History,
    LambdaCallback,
    LearningRateScheduler,
    LossMonitor,
    ModelCheckpoint,
    OnRequestExit,
    RunContext,
    TimeMonitor,
)
from partita.train.model import Model
from partita.train.serialization import (
    export,
    load_checkpoint,
    load_distributed_checkpoint,
    load_param_into_net,
    save_checkpoint,
    transform_checkpoints,
)

__getattr__ = refuse_missing(globals())
