"""Gradient descent, with one of two updates of the library, or one made of ops."""

from partita._names import refuse_missing
from partita.common._types import Parameters
from partita.common.tensor import Tensor
from partita.nn.optim.optimizer import Optimizer
from partita.nn.optim.rates import LearningRate
from partita.ops import functional as F


class SGD(Optimizer):
    """Gradient descent: w -= lr (g + weight_decay w), with `momentum` above 0 w -= lr v of v = momentum v + (1 -
    dampening) g, in the first step g, or with `nesterov` lr (g + momentum v). Gradients are divided by `loss_scale`.
    `learning_rate` is a number, one for each step, or a rule of steps. Raises ValueError for rates, momentum and decay
    below 0 and for `nesterov` without momentum or with dampening, TypeError for what are no parameters."""

    documented = {"momentum": "accum"}

    def __init__(
        self,
        params: Parameters,
        learning_rate: LearningRate = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if momentum < 0:
            raise ValueError(f"[SGD] bad momentum, got {momentum}, expected a number from 0")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                f"[SGD] nesterov excludes other options, got momentum={momentum}, dampening={dampening}, expected "
                "momentum above 0 and dampening 0"
            )
        self.momentum, self.dampening, self.nesterov = float(momentum), float(dampening), bool(nesterov)

    @property
    def is_composed(self):
        return self.momentum > 0 and self.dampening != 0  # the first gradient is not dampened

    @property
    def counts_steps(self):
        return self.is_composed

    def kept_states(self):
        return ("momentum",) if self.momentum > 0 else ()

    def update(self, parameter: Tensor, gradient: Tensor, learning_rate: Tensor, states):
        velocity = states("momentum") * self.momentum + gradient * (1 - self.dampening)
        velocity = F.select(F.less(states.step, 0.5), gradient, velocity)
        states.keep("momentum", velocity)
        return parameter - learning_rate * velocity

    def options(self):
        if self.is_composed:
            return super().options()
        if self.momentum == 0:
            return {"optimizer.kind": "sgd", **self._decay()}
        return {
            "optimizer.kind": "momentum",
            "optimizer.momentum": self.momentum,
            "optimizer.dampening": 0.0,
            "optimizer.nesterov": self.nesterov,
            **self._decay(),
        }


__getattr__ = refuse_missing(globals())
