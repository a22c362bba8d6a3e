"""Optimizers by averages of gradients and of their squares: Adam and its relatives."""

from partita.common import dtype as mstype
from partita.common._types import Parameters
from partita.common.tensor import Tensor
from partita.experimental.optim.optimizer import Updated, require
from partita.nn.optim.averaging import rest_of_power
from partita.ops import functional as F
from partita.ops.support import apply_op


class _Averaged(Updated):
    """The base: `exp_avg` and `exp_avg_sq` are the averages, with the shares `betas` of what was."""

    kept = ("exp_avg", "exp_avg_sq")

    def __init__(self, params, lr, betas, eps, weight_decay, **others):
        where = type(self).__name__
        for i, beta in enumerate(betas):
            require(where, f"betas[{i}]", beta, 0 <= beta < 1, "a number from 0 to below 1")
        require(where, "eps", eps, eps >= 0, "a number from 0")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, **others})

    def averages(self, gradient, states, group):
        """The averages with this gradient, by the names of the states."""
        beta1, beta2 = group["betas"]
        return {
            "exp_avg": states["exp_avg"] * beta1 + gradient * (1 - beta1),
            "exp_avg_sq": states["exp_avg_sq"] * beta2 + gradient * gradient * (1 - beta2),
        }

    def prepared(self, group, rate, step):
        """(1 - beta1^t, 1 - beta2^t)."""
        return tuple(rest_of_power(beta, step) for beta in group["betas"])


class Adam(_Averaged):
    """Adam (Kingma and Ba, 2015): w -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps); with `amsgrad` of the
    largest v so far. The decay of weights is added to gradients."""

    kept = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")

    def __init__(
        self,
        params: Parameters,
        lr: Tensor | float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad=amsgrad, maximize=maximize)

    scales_epsilon = False  # whether eps is added to the root of the corrected average

    def prepared(self, group, rate, step):
        return *super().prepared(group, rate, step), F.cast(step - 1.0, mstype.int64)

    def updated(self, parameter, gradient, states, group, rate, common):
        is_plain = not group["amsgrad"] and group["eps"] > 0 and isinstance(group["weight_decay"], float)
        if is_plain and {one.dtype for one in (parameter, gradient)} == {mstype.float32}:
            return self._by_library(parameter, gradient, states, group, rate, common[2])
        made = self.averages(gradient, states, group)
        square = made["exp_avg_sq"]
        if group["amsgrad"]:
            square = made["max_exp_avg_sq"] = F.maximum(states["max_exp_avg_sq"], square)
        first, second, _ = common
        if self.scales_epsilon:
            step = made["exp_avg"] / (F.sqrt(square) / F.sqrt(second) + group["eps"]) * (rate / first)
        else:
            step = made["exp_avg"] / (F.sqrt(square) + group["eps"]) * (rate * F.sqrt(second) / first)
        return self.decayed(parameter, group, rate) - step, made

    def _by_library(self, parameter, gradient, states, group, rate, steps):
        """`updated` as one op of the library; `steps` is the number of steps taken before."""
        attrs = dict(
            beta1=float(group["betas"][0]),
            beta2=float(group["betas"][1]),
            epsilon=float(group["eps"]),
            weight_decay=0.0 if self.decays_gradients else group["weight_decay"],
            decoupled=not self.decays_gradients,
            biased_epsilon=not self.scales_epsilon,
        )
        operands = parameter, gradient, states["exp_avg"], states["exp_avg_sq"], rate, steps
        following, mean, square = apply_op("adam", *operands, **attrs)
        return following, {"exp_avg": mean, "exp_avg_sq": square}

    def decayed(self, parameter, group, rate):
        """The parameter with the decay of weights that is not a part of gradients."""
        return parameter


class AdamW(Adam):
    """Adam with the decay of weights apart from gradients (Loshchilov and Hutter, 2019): w is multiplied by
    1 - lr weight_decay; eps is added to the root of the corrected average."""

    decays_gradients, scales_epsilon = False, True

    def __init__(
        self,
        params: Parameters,
        lr: Tensor | float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

    def decayed(self, parameter, group, rate):
        return parameter * (1.0 - rate * group["weight_decay"])


class Adamax(_Averaged):
    """Adam by the largest decayed magnitude in place of the root of the average of squares (Kingma and Ba, 2015)."""

    kept, counter = ("exp_avg", "exp_inf"), "step_t"

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, *, maximize=False):
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize)

    def updated(self, parameter, gradient, states, group, rate, common):
        beta1, beta2 = group["betas"]
        mean = states["exp_avg"] * beta1 + gradient * (1 - beta1)
        largest = F.maximum(states["exp_inf"] * beta2, F.abs(gradient) + group["eps"])
        return parameter - mean / largest * (rate / common[0]), {"exp_avg": mean, "exp_inf": largest}


class NAdam(_Averaged):
    """Adam with Nesterov's momentum (Dozat, 2016), whose share mu = beta1 (1 - 0.96^(t momentum_decay) / 2) grows."""

    kept, counter = ("exp_avg", "exp_avg_sq", "mu_product"), "step_t"

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, momentum_decay=4e-3):
        require("NAdam", "momentum_decay", momentum_decay, momentum_decay >= 0, "a number from 0")
        super().__init__(params, lr, betas, eps, weight_decay, momentum_decay=momentum_decay)

    def begin_of(self, name, group):
        return 1.0 if name == "mu_product" else 0.0

    def prepared(self, group, rate, step):
        beta1, beta2 = group["betas"]
        shares = [
            (1.0 - F.pow(0.96, one * group["momentum_decay"]) * 0.5) * beta1 for one in (step, step + 1.0)
        ]
        return rest_of_power(beta2, step), *shares

    def updated(self, parameter, gradient, states, group, rate, common):
        made, (correction, share, following) = self.averages(gradient, states, group), common
        product = made["mu_product"] = states["mu_product"] * share
        size = F.sqrt(made["exp_avg_sq"] / correction) + group["eps"]
        of_gradient = gradient * (rate * (1.0 - share)) / (1.0 - product)
        of_mean = made["exp_avg"] * (rate * following) / (1.0 - product * following)
        return parameter - of_gradient / size - of_mean / size, made


class RAdam(_Averaged):
    """Adam whose steps are rectified by the variance of the average of squares (Liu and others, 2020): while that is
    not known, steps go along the average of gradients."""

    counter = "step_t"

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(params, lr, betas, eps, weight_decay)

    def prepared(self, group, rate, step):
        first, second = super().prepared(group, rate, step)
        most = 2 / (1 - group["betas"][1]) - 1
        length = most - 2.0 * step * (1.0 - second) / second
        known = F.greater(length, 5.0)
        safe = F.select(known, length, F.full_like(length, 6.0))
        share = F.sqrt((safe - 4.0) * (safe - 2.0) * most / ((most - 4) * (most - 2) * safe))
        return first, F.sqrt(second) * share, known

    def updated(self, parameter, gradient, states, group, rate, common):
        made, (first, share, known) = self.averages(gradient, states, group), common
        mean = made["exp_avg"] * (rate / first)
        rectified = mean * share / (F.sqrt(made["exp_avg_sq"]) + group["eps"])
        return parameter - F.select(known, rectified, mean), made
