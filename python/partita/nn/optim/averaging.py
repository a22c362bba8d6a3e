"""Optimizers whose updates are made of ops: averaged gradient descent, steps by signs, and Adam of earlier scripts."""

import math

from partita._names import refuse_missing
from partita.common._types import Parameters
from partita.common.tensor import Tensor
from partita.nn.optim.optimizer import Optimizer, require_betas
from partita.nn.optim.rates import LearningRate
from partita.ops import functional as F

__all__ = ("ASGD", "LazyAdam", "Rprop")


def require(where, name, value, holds, expected):
    """Raises ValueError, which says what was expected, unless a setting is right."""
    if not holds:
        raise ValueError(f"[{where}] bad {name}, got {value!r}, expected {expected}")


def rest_of_power(beta, step):
    """1 - beta^step, without the digits that a difference of float32 loses while it is small."""
    return F.neg(F.expm1(step * math.log(beta))) if beta else F.ones_like(step)


def asgd_shares(before, rate, lambd, alpha, t0):
    """(eta of the step after, share of the new parameter in their mean), after a number of steps."""
    following = rate / F.pow((before + 1.0) * rate * lambd + 1.0, alpha)
    return following, F.reciprocal(F.maximum(before - t0, 1.0))


def asgd(parameter, gradient, eta, mean, lambd, share):
    """(new parameter, new mean of parameters) of averaged gradient descent."""
    following = parameter * (1.0 - eta * lambd) - eta * gradient
    return following, mean + (following - mean) * share


def rprop(parameter, gradient, prev, size, etas, step_sizes):
    """(new parameter, gradient that counts as the one before, new sizes of steps) of steps by signs."""
    sign = gradient * prev
    turns, stays = F.less(sign, 0.0), F.greater(sign, 0.0)
    size = F.select(stays, size * etas[1], F.select(turns, size * etas[0], size))
    size = F.clamp(size, *step_sizes)
    taken = F.select(turns, F.zeros_like(gradient), gradient)
    return parameter - F.sign(taken) * size, taken, size


def begun(is_first, state, rate):
    """A state that the learning rate stands for in the first step."""
    return F.select(is_first, F.mul(F.ones_like(state), rate), state)


class ASGD(Optimizer):
    """Averaged gradient descent (Polyak and Juditsky, 1992): w = w (1 - lambd eta) - eta g, with
    eta = lr / (1 + lambd lr t)^alpha of the step before. The state `ax_` is the mean of parameters from step t0 on."""

    def __init__(
        self,
        params: Parameters,
        learning_rate: LearningRate = 0.1,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay)
        for name, value in (("lambd", lambd), ("alpha", alpha), ("t0", t0)):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError(f"[ASGD] {name} is not a number, got {value!r}, expected one")
        self.lambd, self.alpha, self.t0 = float(lambd), float(alpha), float(t0)

    def kept_states(self):
        return ("ax_", "eta")

    def update(self, parameter: Tensor, gradient: Tensor, learning_rate: Tensor, states):
        before = states.step
        eta = begun(F.less(before, 0.5), states("eta"), learning_rate)
        eta_after, share = asgd_shares(before, learning_rate, self.lambd, self.alpha, self.t0)
        following, mean = asgd(parameter, gradient, eta, states("ax_"), self.lambd, share)
        states.keep("ax_", mean)
        states.keep("eta", F.mul(F.ones_like(eta), eta_after))
        return following


class Rprop(Optimizer):
    """Steps by the signs of gradients (Riedmiller and Braun, 1993): the size of a step grows by etas[1] while the sign
    stays, shrinks by etas[0] and leaves out a step where it turns, within `step_sizes`."""

    documented = {"prev": "prev", "step_size": "step_size"}

    def __init__(
        self,
        params: Parameters,
        learning_rate: LearningRate = 0.1,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        weight_decay: float = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay)
        for name, value in (("etas", etas), ("step_sizes", step_sizes)):
            if not isinstance(value, tuple) or len(value) != 2:
                raise TypeError(f"[Rprop] {name} is not a pair, got {value!r}, expected a tuple of two numbers")
        require("Rprop", "etas", etas, 0 < etas[0] < 1 < etas[1], "0 < etas[0] < 1 < etas[1]")
        require("Rprop", "step_sizes", step_sizes, step_sizes[0] <= step_sizes[1], "the smaller one first")
        self.etas, self.step_sizes = etas, step_sizes

    def kept_states(self):
        return ("prev", "step_size")

    def update(self, parameter: Tensor, gradient: Tensor, learning_rate: Tensor, states):
        size = begun(F.less(states.step, 0.5), states("step_size"), learning_rate)
        following, taken, size = rprop(parameter, gradient, states("prev"), size, self.etas, self.step_sizes)
        states.keep("prev", taken)
        states.keep("step_size", size)
        return following


class LazyAdam(Optimizer):
    """Adam (Kingma and Ba, 2015), with `use_nesterov` by the average of the step after. Gradients have all rows here,
    so that all of them are updated."""

    documented = {"moment1": "moment1", "moment2": "moment2"}

    def __init__(
        self,
        params: Parameters,
        learning_rate: LearningRate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: float = 0.0,
        loss_scale: float = 1.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        require_betas("LazyAdam", beta1, beta2, eps)
        self.beta1, self.beta2, self.eps, self.use_nesterov = beta1, beta2, eps, bool(use_nesterov)

    def kept_states(self):
        return ("moment1", "moment2")

    def update(self, parameter: Tensor, gradient: Tensor, learning_rate: Tensor, states):
        step = states.step + 1.0
        mean = states("moment1") * self.beta1 + gradient * (1 - self.beta1)
        square = states("moment2") * self.beta2 + F.square(gradient) * (1 - self.beta2)
        states.keep("moment1", mean)
        states.keep("moment2", square)
        ahead = mean * self.beta1 + gradient * (1 - self.beta1) if self.use_nesterov else mean
        rate = learning_rate * F.sqrt(rest_of_power(self.beta2, step)) / rest_of_power(self.beta1, step)
        return parameter - rate * ahead / (F.sqrt(square) + self.eps)


__getattr__ = refuse_missing(globals())
