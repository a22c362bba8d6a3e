"""Optimizers whose settings are dicts of groups; their learning rates are parameters that schedules set."""

from partita._names import refuse_missing
from partita.experimental.optim import adamw, lr_scheduler  # noqa: F401
from partita.experimental.optim.adaptive import Adadelta, Adagrad, RMSprop  # noqa: F401
from partita.experimental.optim.averaged import Adam, Adamax, AdamW, NAdam, RAdam  # noqa: F401
from partita.experimental.optim.descending import ASGD, SGD, Rprop  # noqa: F401
from partita.experimental.optim.optimizer import Optimizer  # noqa: F401

__getattr__ = refuse_missing(globals())
