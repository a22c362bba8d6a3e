"""Training and evaluation."""

from partita import _later
from partita._names import refused
from partita._loss_scale import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager
from partita import nn
from partita.train import callback, metrics
from partita.train.checkpoints import CheckpointConfig, ModelCheckpoint
from partita.train.callback import (
    BackupAndRestore,
    Callback,
    EarlyStopping,
    History,
    LambdaCallback,
    LearningRateScheduler,
    LossMonitor,
    OnRequestExit,
    ReduceLROnPlateau,
    RunContext,
    TimeMonitor,
)
from partita.train.metrics import *  # noqa: F401,F403
from partita.train.data_sink import DatasetHelper, connect_network_with_dataset, data_sink
from partita.train.model import Model
from partita.train.distributed import (
    build_searched_strategy,
    load_distributed_checkpoint,
    merge_pipeline_strategys,
    merge_sliced_parameter,
    transform_checkpoints,
)
from partita.train.summary import SummaryCollector, SummaryRecord
from partita.train.serialization import export, load_checkpoint, load_param_into_net, save_checkpoint

# Names that scripts import from the module of layers.
nn.metrics, nn.get_metrics = metrics, metrics.get_metrics
for _name in metrics.__all__:
    setattr(nn, _name, getattr(metrics, _name))

globals().update({name: one for name, one in refused("train").items() if name not in globals()})
_CONVERSIONS = """
    async_ckpt_thread_status ckpt_to_safetensors get_ckpt_path_with_strategy load_checkpoint_async
    load_segmented_checkpoints safetensors_to_ckpt
    """
_PLACES = {"conversions": _CONVERSIONS, "serialization": "load"}
__getattr__, __dir__ = _later.names_later(globals(), _later.places_of(_PLACES, "partita.train"))
