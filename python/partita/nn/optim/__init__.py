"""Optimizers: which update of the library a training has as a part of its program, of what, and how fast.

The classes of the library's optimizers are made from its descriptions of them."""

from partita._names import absent_all, refuse_missing
from partita.nn.optim.averaging import ASGD, LazyAdam, Rprop
from partita.nn.optim.composed import AdamWeightDecay
from partita.nn.optim.optimizer import Optimizer
from partita.nn.optim.proximal import FTRL, ProximalAdagrad
from partita.nn.optim.registered import CLASSES
from partita.nn.optim.scaled import LARS, AdaFactor
from partita.nn.optim.sgd import SGD

globals().update(
    absent_all(
        __name__,
        {
            "AdaSumByDeltaWeightWrapCell": "gradients that are averaged over ranks, as they are without it",
            "AdaSumByGradWrapCell": "gradients that are averaged over ranks, as they are without it",
            "AdamOffload": "nn.Adam, and offload of a plan",
            "OptTFTWrapper": "ModelCheckpoint and a training that is resumed",
            "thor": "nn.Muon, or nn.Lamb",
        },
    )
)
globals().update(CLASSES)
__getattr__ = refuse_missing(globals())
