"""An optimizer whose update is made of ops."""

from partita._names import refuse_missing
from partita.common._types import Parameters
from partita.common.tensor import Tensor
from partita.nn.optim.optimizer import Optimizer, require_betas
from partita.nn.optim.rates import LearningRate
from partita.ops import functional as F


class AdamWeightDecay(Optimizer):
    """w -= lr (m / (sqrt(v) + eps) + weight_decay w), of the averages m of gradients and v of their squares (Loshchilov
    and Hutter, 2019), without the correction of their bias. Raises ValueError for betas that are not between 0 and 1,
    an eps that is not above 0, and rates below 0, TypeError for what are no parameters."""

    decays_gradients = False
    documented = {"exp_avg": "adam_m", "exp_avg_sq": "adam_v"}

    def __init__(
        self,
        params: Parameters,
        learning_rate: LearningRate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay)
        require_betas("AdamWeightDecay", beta1, beta2, eps)
        self.beta1, self.beta2, self.eps = beta1, beta2, eps

    def kept_states(self):
        return ("exp_avg", "exp_avg_sq")

    def update(self, parameter: Tensor, gradient: Tensor, learning_rate: Tensor, states):
        mean = states("exp_avg") * self.beta1 + gradient * (1 - self.beta1)
        square = states("exp_avg_sq") * self.beta2 + F.square(gradient) * (1 - self.beta2)
        states.keep("exp_avg", mean)
        states.keep("exp_avg_sq", square)
        step = mean / (F.sqrt(square) + self.eps)
        if states.weight_decay:
            step = step + parameter * states.weight_decay
        return parameter - learning_rate * step


__getattr__ = refuse_missing(globals())
