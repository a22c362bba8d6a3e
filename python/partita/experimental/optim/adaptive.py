"""Optimizers by sums or averages of squared gradients: Adagrad, Adadelta and RMSprop."""

from partita.experimental.optim.optimizer import Updated, require
from partita.ops import functional as F


class Adagrad(Updated):
    """Adagrad (Duchi and others, 2011): w -= lr / (1 + (t - 1) lr_decay) g / (sqrt(sum of g^2) + eps)."""

    kept, counter = ("accum",), "step_t"

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0.0,
        weight_decay=0.0,
        initial_accumulator_value=0.0,
        eps=1e-10,
        *,
        maximize=False,
    ):
        require("Adagrad", "lr_decay", lr_decay, lr_decay >= 0, "a number from 0")
        begin = initial_accumulator_value
        require("Adagrad", "initial_accumulator_value", begin, begin >= 0, "a number from 0")
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": begin,
                "maximize": maximize,
            },
        )

    def begin_of(self, name, group):
        return group["initial_accumulator_value"]

    def prepared(self, group, rate, step):
        return rate / ((step - 1.0) * group["lr_decay"] + 1.0)

    def updated(self, parameter, gradient, states, group, rate, common):
        total = states["accum"] + gradient * gradient
        return parameter - gradient / (F.sqrt(total) + group["eps"]) * common, {"accum": total}


class Adadelta(Updated):
    """Adadelta (Zeiler, 2012): steps whose size is the ratio of the roots of the averages of squared steps and of
    squared gradients."""

    kept = ("accum", "accum_update")

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0, *, maximize=False):
        require("Adadelta", "rho", rho, 0 <= rho <= 1, "a number from 0 to 1")
        super().__init__(
            params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        )

    def updated(self, parameter, gradient, states, group, rate, common):
        rho, eps = group["rho"], group["eps"]
        square = states["accum"] * rho + gradient * gradient * (1 - rho)
        step = F.sqrt(states["accum_update"] + eps) / F.sqrt(square + eps) * gradient
        of_steps = states["accum_update"] * rho + step * step * (1 - rho)
        return parameter - step * rate, {"accum": square, "accum_update": of_steps}


class RMSprop(Updated):
    """RMSprop (Tieleman and Hinton, 2012): w -= lr g / (sqrt(average of g^2) + eps), with `centered` of the variance,
    and with `momentum` an average of these."""

    kept = ("mean_square", "mean_grad", "moment")

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha=0.99,
        eps=1e-8,
        weight_decay=0.0,
        momentum=0.0,
        centered=False,
        maximize=False,
    ):
        for name, value in (("alpha", alpha), ("momentum", momentum)):
            require("RMSprop", name, value, value >= 0, "a number from 0")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
                "maximize": maximize,
            },
        )

    def updated(self, parameter, gradient, states, group, rate, common):
        alpha = group["alpha"]
        made = {"mean_square": states["mean_square"] * alpha + gradient * gradient * (1 - alpha)}
        variance = made["mean_square"]
        if group["centered"]:
            mean = made["mean_grad"] = states["mean_grad"] * alpha + gradient * (1 - alpha)
            variance = variance - mean * mean
        step = gradient / (F.sqrt(variance) + group["eps"])
        if group["momentum"] > 0:
            step = made["moment"] = states["moment"] * group["momentum"] + step
        return parameter - step * rate, made
