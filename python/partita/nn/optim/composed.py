"""Optimizers whose updates are made of ops."""

from partita.nn.optim.optimizer import Optimizer, require_betas
from partita.ops import functional as F


class AdamWeightDecay(Optimizer):
    """Loshchilov and Hutter, 2019, without the correction of the bias of the averages."""

    decays_gradients = False

    def __init__(self, params, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay)
        require_betas("AdamWeightDecay", beta1, beta2, eps)
        self.beta1, self.beta2, self.eps = beta1, beta2, eps

    def kept_states(self):
        return ("exp_avg", "exp_avg_sq")

    def update(self, parameter, gradient, learning_rate, states):
        mean = states("exp_avg") * self.beta1 + gradient * (1 - self.beta1)
        square = states("exp_avg_sq") * self.beta2 + F.square(gradient) * (1 - self.beta2)
        states.keep("exp_avg", mean)
        states.keep("exp_avg_sq", square)
        step = mean / (F.sqrt(square) + self.eps)
        if states.weight_decay:
            step = step + parameter * states.weight_decay
        return parameter - learning_rate * step


class Adagrad(Optimizer):
    """Duchi et al., 2011."""

    def __init__(self, params, accum=0.1, learning_rate=0.001, update_slots=True, loss_scale=1.0, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if accum < 0:
            raise ValueError(f"[Adagrad] bad accum, got {accum}, expected a number from 0")
        self.accum, self.update_slots = accum, update_slots

    def kept_states(self):
        return ("sum",) if self.update_slots else ()

    def update(self, parameter, gradient, learning_rate, states):
        total = states("sum", self.accum)
        if self.update_slots:
            total = total + F.square(gradient)
            states.keep("sum", total)
        return parameter - learning_rate * gradient * F.rsqrt(total)


class RMSProp(Optimizer):
    """Hinton, 2012; centered: with the variance of the gradient in place of its mean square."""

    def __init__(
        self,
        params,
        learning_rate=0.1,
        decay=0.9,
        momentum=0.0,
        epsilon=1e-10,
        use_locking=False,
        centered=False,
        loss_scale=1.0,
        weight_decay=0.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if decay < 0 or momentum < 0 or epsilon <= 0:
            raise ValueError(
                f"[RMSProp] bad numbers, got decay={decay}, momentum={momentum}, epsilon={epsilon}, expected "
                "numbers from 0, and epsilon above 0"
            )
        self.decay, self.momentum, self.epsilon, self.centered = decay, momentum, epsilon, bool(centered)

    renamed = {"momentum": ("step_momentum", "square_avg")}

    def kept_states(self):
        return ("square_avg", *["grad_avg"] * self.centered, *["step_momentum"] * (self.momentum > 0))

    def update(self, parameter, gradient, learning_rate, states):
        square = states("square_avg", 1.0) * self.decay + F.square(gradient) * (1 - self.decay)
        states.keep("square_avg", square)
        if self.centered:
            mean = states("grad_avg") * self.decay + gradient * (1 - self.decay)
            states.keep("grad_avg", mean)
            square = square - F.square(mean)
        step = learning_rate * gradient * F.rsqrt(square + self.epsilon)
        if self.momentum:
            # The momentum of steps, not that of gradients, which others keep.
            step = states("step_momentum") * self.momentum + step
            states.keep("step_momentum", step)
        return parameter - step


class AdaMax(Optimizer):
    """Kingma and Ba, 2015, section 7.1."""

    def __init__(self, params, learning_rate=0.001, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.0, loss_scale=1.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        require_betas("AdaMax", beta1, beta2, eps)
        self.beta1, self.beta2, self.eps = beta1, beta2, eps

    def kept_states(self):
        return ("exp_avg", "exp_inf")

    def update(self, parameter, gradient, learning_rate, states):
        mean = states("exp_avg") * self.beta1 + gradient * (1 - self.beta1)
        largest = F.maximum(states("exp_inf") * self.beta2, F.abs(gradient))
        states.keep("exp_avg", mean)
        states.keep("exp_inf", largest)
        correction = 1.0 - F.pow(self.beta1, states.step + 1.0)
        return parameter - learning_rate / correction * mean / (largest + self.eps)


class Adadelta(Optimizer):
    """Zeiler, 2012."""

    def __init__(self, params, learning_rate=1.0, rho=0.9, epsilon=1e-6, loss_scale=1.0, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if not 0 <= rho <= 1 or epsilon < 0:
            raise ValueError(
                f"[Adadelta] bad numbers, got rho={rho}, epsilon={epsilon}, expected rho of 0 to 1 and epsilon from 0"
            )
        self.rho, self.epsilon = rho, epsilon

    def kept_states(self):
        return ("square_avg", "delta_avg")

    def update(self, parameter, gradient, learning_rate, states):
        square = states("square_avg") * self.rho + F.square(gradient) * (1 - self.rho)
        before = states("delta_avg")
        step = F.sqrt(before + self.epsilon) * F.rsqrt(square + self.epsilon) * gradient
        states.keep("square_avg", square)
        states.keep("delta_avg", before * self.rho + F.square(step) * (1 - self.rho))
        return parameter - learning_rate * step
