"""Optimizers: which update of the library a training has as a part of its program, of what, and how fast."""

from partita._names import refuse_missing
from partita.nn.optim.composed import Adadelta, Adagrad, AdaMax, AdamWeightDecay, RMSProp
from partita.nn.optim.fused import SGD, Adam, Momentum
from partita.nn.optim.optimizer import Optimizer

__getattr__ = refuse_missing(globals())
