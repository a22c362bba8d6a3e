"""Training and evaluation."""

from partita._names import refuse_missing
from partita._loss_scale import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager
from partita import nn
from partita.train import callback, metrics
from partita.train.checkpoints import CheckpointConfig, ModelCheckpoint
from partita.train.callback import (
    Callback,
    EarlyStopping,
    History,
    LambdaCallback,
    LearningRateScheduler,
    LossMonitor,
    OnRequestExit,
    RunContext,
    TimeMonitor,
)
from partita.train.metrics import (
    Accuracy,
    Loss,
    Metric,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
    get_metric_fn,
)
from partita.train.model import Model
from partita.train.distributed import load_distributed_checkpoint, transform_checkpoints
from partita.train.summary import SummaryCollector, SummaryRecord
from partita.train.serialization import export, load_checkpoint, load_param_into_net, save_checkpoint

# Names that scripts import from the module of layers.
nn.metrics, nn.get_metric_fn = metrics, get_metric_fn
for _one in (Accuracy, Loss, Metric, Top1CategoricalAccuracy, Top5CategoricalAccuracy, TopKCategoricalAccuracy):
    setattr(nn, _one.__name__, _one)

__getattr__ = refuse_missing(globals())
