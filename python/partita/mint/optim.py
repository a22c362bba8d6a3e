"""Optimizers whose settings are dicts of groups, with the updates that PyTorch has."""

from partita._names import refuse_missing
from partita.common._types import Parameters
from partita.common.tensor import Tensor
from partita.experimental.optim import averaged, descending


def _kept_of(group):
    """The states of Adam: the largest average of squares only where it is used."""
    return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")


class Adam(averaged.Adam):
    """Adam (Kingma and Ba, 2015), whose epsilon is added to the root of the corrected average. The decay of weights is
    added to gradients."""

    scales_epsilon = True

    def kept_of(self, group):
        return _kept_of(group)


class AdamW(averaged.AdamW):
    """Adam with the decay of weights apart from gradients (Loshchilov and Hutter, 2019)."""

    def kept_of(self, group):
        return _kept_of(group)


class FusedAdamW(AdamW):
    """`AdamW`: its ops are one program in either case."""


class SGD(descending.SGD):
    """Gradient descent with momentum: v = momentum v + (1 - dampening) g, in the first step g; w -= lr v, or with
    `nesterov` lr (g + momentum v)."""

    kept, counter, velocity = ("momentum_buf",), "step_t", "momentum_buf"

    def __init__(
        self,
        params: Parameters,
        lr: Tensor | float,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ):
        super().__init__(params, lr, momentum, dampening, weight_decay, nesterov, maximize=maximize)


__getattr__ = refuse_missing(globals())
