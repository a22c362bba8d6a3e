"""Optimizers: which update of the library a training has as a part of its program, of what, and how fast.

The classes of the library's optimizers are made from its descriptions of them."""

from partita import _later
from partita._names import absent_all
from partita.nn import later
from partita.nn.optim.composed import AdamWeightDecay
from partita.nn.optim.optimizer import Optimizer
from partita.nn.optim.registered import CLASSES
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
_LATER = {key: names for key, names in later.LAYERS.items() if key.startswith("optim.")}
__getattr__, __dir__ = _later.names_later(globals(), _later.places_of(_LATER, "partita.nn"))
