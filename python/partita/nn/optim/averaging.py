"""Optimizers whose updates are made of ops: averaged gradient descent, steps by signs, and Adam of earlier scripts."""

from partita._names import refuse_missing
from partita.nn.optim.optimizer import Optimizer, require_betas
from partita.ops import functional as F

__all__ = ("ASGD", "LazyAdam", "Rprop")


def require(where, name, value, holds, expected):
    """Raises ValueError, which says what was expected, unless a setting is right."""
    if not holds:
        raise ValueError(f"[{where}] bad {name}, got {value!r}, expected {expected}")


class ASGD(Optimizer):
    """Averaged gradient descent (Polyak and Juditsky, 1992): w = w (1 - lambd eta) - eta g, with
    eta = lr / (1 + lambd lr t)^alpha of the step before. The state `ax_` is the mean of parameters from step t0 on."""

    def __init__(self, params, learning_rate=0.1, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay)
        for name, value in (("lambd", lambd), ("alpha", alpha), ("t0", t0)):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError(f"[ASGD] {name} is not a number, got {value!r}, expected one")
        self.lambd, self.alpha, self.t0 = float(lambd), float(alpha), float(t0)

    def kept_states(self):
        return ("ax_", "eta")

    def update(self, parameter, gradient, learning_rate, states):
        before, eta, mean = states.step, states("eta"), states("ax_")
        eta = F.select(F.less(before, 0.5), F.mul(F.ones_like(eta), learning_rate), eta)
        following = parameter * (1.0 - eta * self.lambd) - eta * gradient
        share = F.reciprocal(F.maximum(before - self.t0, 1.0))
        states.keep("ax_", mean + (following - mean) * share)
        shrunk = learning_rate / F.pow((before + 1.0) * learning_rate * self.lambd + 1.0, self.alpha)
        states.keep("eta", F.mul(F.ones_like(eta), shrunk))
        return following


class Rprop(Optimizer):
    """Steps by the signs of gradients (Riedmiller and Braun, 1993): the size of a step grows by etas[1] while the sign
    stays, shrinks by etas[0] and leaves out a step where it turns, within `step_sizes`."""

    documented = {"prev": "prev", "step_size": "step_size"}

    def __init__(self, params, learning_rate=0.1, etas=(0.5, 1.2), step_sizes=(1e-6, 50.0), weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay)
        for name, value in (("etas", etas), ("step_sizes", step_sizes)):
            if not isinstance(value, tuple) or len(value) != 2:
                raise TypeError(f"[Rprop] {name} is not a pair, got {value!r}, expected a tuple of two numbers")
        require("Rprop", "etas", etas, 0 < etas[0] < 1 < etas[1], "0 < etas[0] < 1 < etas[1]")
        require("Rprop", "step_sizes", step_sizes, step_sizes[0] <= step_sizes[1], "the smaller one first")
        self.etas, self.step_sizes = etas, step_sizes

    def kept_states(self):
        return ("prev", "step_size")

    def update(self, parameter, gradient, learning_rate, states):
        prev, size = states("prev"), states("step_size")
        size = F.select(F.less(states.step, 0.5), F.mul(F.ones_like(size), learning_rate), size)
        sign = gradient * prev
        turns, stays = F.less(sign, 0.0), F.greater(sign, 0.0)
        size = F.select(stays, size * self.etas[1], F.select(turns, size * self.etas[0], size))
        size = F.clamp(size, *self.step_sizes)
        taken = F.select(turns, F.zeros_like(gradient), gradient)
        states.keep("prev", taken)
        states.keep("step_size", size)
        return parameter - F.sign(taken) * size


class LazyAdam(Optimizer):
    """Adam (Kingma and Ba, 2015), with `use_nesterov` by the average of the step after. Gradients have all rows here,
    so that all of them are updated."""

    documented = {"moment1": "moment1", "moment2": "moment2"}

    def __init__(
        self,
        params,
        learning_rate=1e-3,
        beta1=0.9,
        beta2=0.999,
        eps=1e-8,
        use_locking=False,
        use_nesterov=False,
        weight_decay=0.0,
        loss_scale=1.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        require_betas("LazyAdam", beta1, beta2, eps)
        self.beta1, self.beta2, self.eps, self.use_nesterov = beta1, beta2, eps, bool(use_nesterov)

    def kept_states(self):
        return ("moment1", "moment2")

    def update(self, parameter, gradient, learning_rate, states):
        step = states.step + 1.0
        mean = states("moment1") * self.beta1 + gradient * (1 - self.beta1)
        square = states("moment2") * self.beta2 + F.square(gradient) * (1 - self.beta2)
        states.keep("moment1", mean)
        states.keep("moment2", square)
        ahead = mean * self.beta1 + gradient * (1 - self.beta1) if self.use_nesterov else mean
        rate = learning_rate * F.sqrt(1.0 - F.pow(self.beta2, step)) / (1.0 - F.pow(self.beta1, step))
        return parameter - rate * ahead / (F.sqrt(square) + self.eps)


__getattr__ = refuse_missing(globals())
