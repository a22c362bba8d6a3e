"""Optimizers whose updates are those of the library."""

import numbers

from partita.nn.optim.optimizer import Optimizer, require_betas
from partita.ops import functional as F


class SGD(Optimizer):
    """Gradient descent, with momentum where it is above 0."""

    def __init__(
        self, params, learning_rate=0.1, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, loss_scale=1.0
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

    def kept_states(self):
        return ("momentum",)

    def update(self, parameter, gradient, learning_rate, states):
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


class Momentum(Optimizer):
    """v = momentum v + g; p -= rate v, or, with Nesterov, rate (g + momentum v)."""

    def __init__(self, params, learning_rate, momentum, weight_decay=0.0, loss_scale=1.0, use_nesterov=False):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if isinstance(momentum, bool) or not isinstance(momentum, numbers.Real):
            raise TypeError(f"[Momentum] the momentum is not a number, got {momentum!r}, expected one from 0")
        if momentum < 0:
            raise ValueError(f"[Momentum] bad momentum, got {momentum}, expected a number from 0")
        self.momentum, self.use_nesterov = float(momentum), bool(use_nesterov)

    def options(self):
        return {
            "optimizer.kind": "momentum",
            "optimizer.momentum": self.momentum,
            "optimizer.dampening": 0.0,
            "optimizer.nesterov": self.use_nesterov,
            **self._decay(),
        }


class Adam(Optimizer):
    """Kingma and Ba, 2015: p -= rate sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps)."""

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
        use_amsgrad=False,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if use_nesterov or use_amsgrad:
            raise NotImplementedError(
                "[Adam] this variant is not supported, got use_nesterov or use_amsgrad, expected False"
            )
        require_betas("Adam", beta1, beta2, eps)
        self.beta1, self.beta2, self.eps = beta1, beta2, eps

    def options(self):
        return {
            "optimizer.kind": "adam",
            "optimizer.beta1": self.beta1,
            "optimizer.beta2": self.beta2,
            "optimizer.epsilon": self.eps,
            "optimizer.biased_epsilon": True,
            **self._decay(),
        }
