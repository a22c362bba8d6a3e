"""Gradient descent with momentum."""

import numbers

from partita._names import refuse_missing
from partita.nn.optim.optimizer import Optimizer


class Momentum(Optimizer):
    """v = momentum v + g; p -= rate v, or, with Nesterov, rate (g + momentum v)."""

    def __init__(self, params, learning_rate, momentum, weight_decay=0.0, loss_scale=1.0, use_nesterov=False):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if isinstance(momentum, bool) or not isinstance(momentum, numbers.Real):
            raise TypeError(f"[Momentum] the momentum is no number, got {momentum!r}, expected one from 0")
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


__getattr__ = refuse_missing(globals())
