"""Layers of Bayesian networks, by the names that libraries import. They are not there."""

from partita._names import absent_all, refuse_missing

_INSTEAD = {
    "ConvReparam": "nn.Conv2d with weights that nn.probability.distribution.Normal draws",
    "DenseLocalReparam": "nn.Dense with results that nn.probability.distribution.Normal draws",
    "DenseReparam": "nn.Dense with weights that nn.probability.distribution.Normal draws",
    "NormalPosterior": "nn.probability.distribution.Normal of two parameters",
    "NormalPrior": "nn.probability.distribution.Normal",
    "WithBNNLossCell": "a cell that adds kl_loss to the loss",
}
globals().update(absent_all(__name__, _INSTEAD))

__getattr__ = refuse_missing(globals())
