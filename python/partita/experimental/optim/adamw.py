"""Adam with the decay of weights apart from gradients, under the name of the documented module."""

from partita._names import refuse_missing
from partita.experimental.optim.averaged import AdamW
from partita.ops import functional as F


class SpeedAdamW(AdamW):
    """`AdamW`: its ops are one program in either case."""


def prepare_func(lr, weight_decay, state_step, beta1, beta2):
    """(1 - lr weight_decay, lr / (1 - beta1^t), sqrt(1 - beta2^t)) of step t."""
    first, second = 1 - F.pow(beta1, state_step), 1 - F.pow(beta2, state_step)
    return 1 - lr * weight_decay, lr / first, F.sqrt(second)


__getattr__ = refuse_missing(globals())
