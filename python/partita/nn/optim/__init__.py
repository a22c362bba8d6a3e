"""Optimizers: which update of the library a training has as a part of its program, of what, and how fast.

The classes of the library's optimizers are made from its descriptions of them."""

from partita._names import absent, refuse_missing
from partita.nn.optim.composed import AdamWeightDecay
from partita.nn.optim.optimizer import Optimizer
from partita.nn.optim.registered import CLASSES
from partita.nn.optim.sgd import SGD

AdaFactor = absent("AdaFactor", __name__, "nn.Adam")
globals().update(CLASSES)
__getattr__ = refuse_missing(globals())
