"""Gradient descent, averaged gradient descent, and steps by the signs of gradients."""

from partita.common._types import Parameters
from partita.common.tensor import Tensor
from partita.experimental.optim.optimizer import Updated, require
from partita.nn.optim.averaging import asgd, asgd_shares, begun, rprop
from partita.ops import functional as F


class SGD(Updated):
    """Gradient descent with momentum: v = momentum v + (1 - dampening) g, in the first step g; w -= lr v, or with
    `nesterov` lr (g + momentum v)."""

    kept, counter = ("accum", "stat"), ""
    velocity = "accum"  # name of the state

    def __init__(
        self,
        params: Parameters,
        lr: Tensor | float,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ):
        where = type(self).__name__
        require(where, "momentum", momentum, momentum >= 0, "a number from 0")
        plain = not nesterov or (momentum > 0 and dampening == 0)
        require(where, "nesterov", nesterov, plain, "momentum above 0 and dampening 0 with it")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": float(momentum),
                "dampening": float(dampening),
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "grad_centralization": False,
            },
        )

    def begin_of(self, name, group):
        return 1.0 if name == "stat" else 0.0

    def updated(self, parameter, gradient, states, group, rate, common):
        momentum, made = group["momentum"], {}
        if "stat" in states:  # above 0 before the first step
            first, made["stat"] = F.greater(states["stat"], 0.0), F.zeros_like(states["stat"])
        else:
            first = F.less(common, 1.5)
        if not momentum:
            return parameter - gradient * rate, made
        moved = states[self.velocity] * momentum + gradient * (1 - group["dampening"])
        velocity = made[self.velocity] = F.select(first, gradient, moved)
        step = gradient + velocity * momentum if group["nesterov"] else velocity
        return parameter - step * rate, made


class ASGD(Updated):
    """Averaged gradient descent (Polyak and Juditsky, 1992): w = w (1 - lambd eta) - eta g, with
    eta = lr / (1 + lambd lr t)^alpha of the step before; `ax` is the mean of parameters from step t0 on."""

    kept, counter = ("ax", "eta"), "step_t"

    def __init__(
        self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0, maximize=False
    ):
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
                "weight_decay": weight_decay,
                "maximize": maximize,
            },
        )

    def prepared(self, group, rate, step):
        return step, *asgd_shares(step - 1.0, rate, group["lambd"], group["alpha"], group["t0"])

    def updated(self, parameter, gradient, states, group, rate, common):
        step, eta_after, share = common
        eta = begun(F.less(step, 1.5), states["eta"], rate)
        following, mean = asgd(parameter, gradient, eta, states["ax"], group["lambd"], share)
        return following, {"ax": mean, "eta": F.mul(F.ones_like(eta), eta_after)}


class Rprop(Updated):
    """Steps by the signs of gradients (Riedmiller and Braun, 1993): the size of a step grows by etas[1] while the sign
    stays, shrinks by etas[0] and leaves out a step where it turns, within `step_sizes`."""

    kept, counter, decays_gradients = ("prev", "step_size"), "step_t", False

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, maximize=False):
        where = type(self).__name__
        require(where, "etas", etas, 0 < etas[0] < 1 < etas[1], "0 < etas[0] < 1 < etas[1]")
        super().__init__(
            params,
            {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize},
        )

    def updated(self, parameter, gradient, states, group, rate, common):
        size = begun(F.less(common, 1.5), states["step_size"], rate)
        options = states["prev"], size, group["etas"], group["step_sizes"]
        following, taken, size = rprop(parameter, gradient, *options)
        return following, {"prev": taken, "step_size": size}
