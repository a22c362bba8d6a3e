"""Adam."""

from partita._names import refuse_missing
from partita.nn.optim.composed import AdamWeightDecay  # noqa: F401
from partita.nn.optim.optimizer import Optimizer, require_betas


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
                "[Adam] a variant that is not there, got use_nesterov or use_amsgrad, expected False"
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


__getattr__ = refuse_missing(globals())
