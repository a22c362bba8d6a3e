"""Training and evaluation."""
from partita._names import refuse_missing
from partita.train import callback
from partita.train.callback import (
    Callback, CheckpointConfig, EarlyStopping, History, LambdaCallback, LearningRateScheduler, LossMonitor,
    ModelCheckpoint, OnRequestExit, RunContext, TimeMonitor)
from partita.train.model import Model

__getattr__ = refuse_missing(globals())
