"""Optimizers that pull weights to 0, by sums of squared gradients; their updates are those of ops.updates."""

from partita._names import refuse_missing
from partita.common._types import Parameters
from partita.common.tensor import Tensor
from partita.nn.optim.averaging import require
from partita.nn.optim.optimizer import Optimizer
from partita.nn.optim.rates import LearningRate
from partita.ops.applied import ftrl, proximal_adagrad

__all__ = ("FTRL", "ProximalAdagrad")


class FTRL(Optimizer):
    """Follow the regularized leader (McMahan and others, 2013), with weights of the absolute values, l1, and of the
    squares, l2, of parameters. All weights decay."""

    documented = {"moments": "moments", "linear": "linear"}

    def __init__(
        self,
        params: Parameters,
        initial_accum: float = 0.1,
        learning_rate: LearningRate = 1e-3,
        lr_power: float = -0.5,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: float = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        for name, value in (("initial_accum", initial_accum), ("l1", l1), ("l2", l2)):
            require("FTRL", name, value, value >= 0, "a number from 0")
        require("FTRL", "lr_power", lr_power, lr_power <= 0, "a number up to 0")
        self.initial_accum, self.lr_power, self.l1, self.l2 = initial_accum, lr_power, l1, l2

    def _decay_of(self, name):
        return super()._decay_of(name) if self.groups else self.weight_decay

    def kept_states(self):
        return ("moments", "linear")

    def update(self, parameter: Tensor, gradient: Tensor, learning_rate: Tensor, states):
        options = learning_rate, self.l1, self.l2, self.lr_power
        moments, linear = states("moments", self.initial_accum), states("linear")
        following, moments, linear = ftrl(parameter, moments, linear, gradient, *options)
        states.keep("moments", moments)
        states.keep("linear", linear)
        return following


class ProximalAdagrad(Optimizer):
    """Adagrad (Duchi and others, 2011) with weights of the absolute values, l1, and of the squares, l2, of
    parameters."""

    documented = {"accum": "accum"}

    def __init__(
        self,
        params: Parameters,
        accum: float = 0.1,
        learning_rate: LearningRate = 1e-3,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: float = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        for name, value in (("accum", accum), ("l1", l1), ("l2", l2)):
            require("ProximalAdagrad", name, value, value >= 0, "a number from 0")
        self.accum, self.l1, self.l2 = accum, l1, l2

    def kept_states(self):
        return ("accum",)

    def update(self, parameter: Tensor, gradient: Tensor, learning_rate: Tensor, states):
        total = states("accum", self.accum)
        following, total = proximal_adagrad(parameter, total, learning_rate, self.l1, self.l2, gradient)
        states.keep("accum", total)
        return following


__getattr__ = refuse_missing(globals())
