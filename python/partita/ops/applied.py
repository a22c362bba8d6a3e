"""Updates of parameters by the formulas of optimizers, as ops that are objects: each sets the parameters that it is
called with, and returns their values."""

from partita._names import absent_all
from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.op_classes import MUST, with_options
from partita.ops.primitive import Primitive

# The new values of parameters, in their order. Averages and sums come before what is made of them.


def _averages(m, v, beta1, beta2, g):
    return m * beta1 + g * (1 - beta1), v * beta2 + F.square(g) * (1 - beta2)


def adam(self, var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient):
    """Kingma and Ba, 2015; `beta1_power` is beta1^t of this step."""
    m, v = _averages(m, v, beta1, beta2, gradient)
    ahead = m * beta1 + gradient * (1 - beta1) if self.use_nesterov else m
    rate = lr * F.sqrt(1.0 - beta2_power) / (1.0 - beta1_power)
    return var - rate * ahead / (F.sqrt(v) + epsilon), m, v


def adamax(self, var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad):
    """Kingma and Ba, 2015, by the largest decayed magnitude."""
    m, v = m * beta1 + grad * (1 - beta1), F.maximum(v * beta2, F.abs(grad))
    return var - lr / (1.0 - beta1_power) * m / (v + epsilon), m, v


def amsgrad(self, var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad):
    """Reddi and others, 2018: Adam by the largest average of squares."""
    m, v = _averages(m, v, beta1, beta2, grad)
    vhat = F.maximum(vhat, v)
    rate = lr * F.sqrt(1.0 - beta2_power) / (1.0 - beta1_power)
    return var - rate * m / (F.sqrt(vhat) + epsilon), m, v, vhat


def amsgrad_of_settings(self, var, m, v, vhat, beta1_power, beta2_power, lr, grad):
    """`amsgrad` whose averages the object knows."""
    return amsgrad(self, var, m, v, vhat, beta1_power, beta2_power, lr, self.beta1, self.beta2, self.epsilon, grad)


def adadelta(self, var, accum, accum_update, lr, rho, epsilon, grad):
    """One step of Adadelta (Zeiler, 2012): gives (var, accum, accum_update)."""
    accum = accum * rho + F.square(grad) * (1.0 - rho)
    step = F.sqrt(accum_update + epsilon) / F.sqrt(accum + epsilon) * grad
    return var - lr * step, accum, accum_update * rho + F.square(step) * (1.0 - rho)


def adagrad(self, var, accum, lr, grad):
    """One step of Adagrad (Duchi and others, 2011): gives (var, accum)."""
    accum = accum + F.square(grad) if self.update_slots else accum
    return var - lr * grad / F.sqrt(accum), accum


def adagrad_v2(self, var, accum, lr, grad):
    """`adagrad` with an epsilon."""
    accum = accum + F.square(grad) if self.update_slots else accum
    return var - lr * grad / (F.sqrt(accum) + self.epsilon), accum


def adagrad_da(self, var, total, squares, grad, lr, l1, l2, global_step):
    """Duchi and others, 2011, by dual averaging."""
    total, squares = total + grad, squares + F.square(grad)
    pulled = F.sign(total) * F.maximum(F.abs(total) - l1 * global_step, 0.0)
    return pulled * -lr / (l2 * global_step * lr + F.sqrt(squares)), total, squares


def add_sign(self, var, m, lr, alpha, sign_decay, beta, grad):
    """Bello and others, 2017."""
    m = m * beta + grad * (1.0 - beta)
    return var - lr * (alpha + sign_decay * F.sign(grad) * F.sign(m)) * grad, m


def power_sign(self, var, m, lr, logbase, sign_decay, beta, grad):
    """Bello and others, 2017."""
    m = m * beta + grad * (1.0 - beta)
    return var - lr * F.exp(logbase * sign_decay * F.sign(grad) * F.sign(m)) * grad, m


def rms_prop(self, var, mean_square, moment, learning_rate, grad, decay, momentum, epsilon):
    """Tieleman and Hinton, 2012."""
    mean_square = mean_square * decay + F.square(grad) * (1.0 - decay)
    moment = moment * momentum + learning_rate * grad / F.sqrt(mean_square + epsilon)
    return var - moment, mean_square, moment


def centered_rms_prop(self, var, mean_gradient, mean_square, moment, grad, learning_rate, decay, momentum, epsilon):
    """`rms_prop` by the variance."""
    mean_gradient = mean_gradient * decay + grad * (1.0 - decay)
    mean_square = mean_square * decay + F.square(grad) * (1.0 - decay)
    moment = moment * momentum + learning_rate * grad / F.sqrt(mean_square - F.square(mean_gradient) + epsilon)
    return var - moment, mean_gradient, mean_square, moment


def ftrl(var, accum, linear, grad, lr, l1, l2, lr_power):
    """McMahan and others, 2013."""
    total = accum + F.square(grad)
    after = F.pow(total, -lr_power)
    linear = linear + grad - (after - F.pow(accum, -lr_power)) / lr * var
    pulled = (F.sign(linear) * l1 - linear) / (after / lr + 2.0 * l2)
    return F.select(F.greater(F.abs(linear), l1), pulled, F.zeros_like(var)), total, linear


def _proximal(var, rate, l1, l2):
    """Duchi and Singer, 2009: a value nearer to 0 by rate l1, over 1 + rate l2."""
    return F.sign(var) * F.maximum(F.abs(var) - rate * l1, 0.0) / (1.0 + rate * l2)


def proximal_adagrad(var, accum, lr, l1, l2, grad):
    """Duchi and others, 2011; the rate of each element is lr over the root of the sum of its squares."""
    accum = accum + F.square(grad)
    rate = lr / F.sqrt(accum)
    return _proximal(var - rate * grad, rate, l1, l2), accum


def momentum(self, variable, accumulation, learning_rate, gradient, momentum):
    """Sutskever and others, 2013."""
    accumulation = accumulation * momentum + gradient * self.gradient_scale
    step = gradient * self.gradient_scale + accumulation * momentum if self.use_nesterov else accumulation
    return variable - learning_rate * step, accumulation


def keras_momentum(self, var, accum, lr, grad, momentum):
    """Sutskever and others, 2013, with the learning rate in the average."""
    accum = accum * momentum - grad * lr
    return var + (accum * momentum - grad * lr if self.use_nesterov else accum), accum


class SGD(Primitive):
    """(parameters, gradient, learning_rate, accum, momentum, stat): gradient descent with momentum. Where `stat` is
    above 0, as at the beginning, the gradient is not dampened, and `stat` becomes 0. Returns the parameter."""

    def __init__(self, dampening=0.0, weight_decay=0.0, nesterov=False):
        super().__init__()
        if nesterov and dampening != 0:
            raise ValueError(f"[SGD] nesterov excludes dampening, got dampening={dampening}, expected 0")
        self.dampening, self.weight_decay, self.nesterov = dampening, weight_decay, nesterov

    def compute(self, parameters, gradient, learning_rate, accum, momentum, stat):
        w, g, moved, first = (_wide(one) for one in (parameters, gradient, accum, stat))
        rate, share = _wide(learning_rate), _wide(momentum)
        g = g + w * self.weight_decay if self.weight_decay else g
        is_first = F.greater(first, 0.0)
        moved = F.select(is_first, g, moved * share + g * (1.0 - self.dampening))
        with_momentum = g + moved * share if self.nesterov else moved
        _keep(accum, F.select(F.greater(share, 0.0), moved, _wide(accum)))
        _keep(stat, F.select(is_first, F.zeros_like(first), first))
        return _keep(parameters, w - rate * F.select(F.greater(share, 0.0), with_momentum, g))


class AdamNoUpdateParam(Primitive):
    """(m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient): updates the averages of Adam, and returns
    what is to be added to the parameter."""

    def __init__(self, use_locking=False, use_nesterov=False):
        super().__init__()
        self.use_nesterov = use_nesterov

    def compute(self, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient):
        others = [_wide(one) for one in (beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient)]
        step, mean, square = adam(self, 0.0, _wide(m), _wide(v), *others)
        _keep(m, mean)
        _keep(v, square)
        return step


class LARSUpdate(Primitive):
    """(weight, gradient, norm_weight, norm_gradient, weight_decay, learning_rate): the gradient with the decay of
    weights times hyperpara |w| / (|g| + decay |w| + epsilon) (You and others, 2017), where neither is 0; with
    `use_clip` times at most the learning rate of it. The norms are sums of squares."""

    def __init__(self, epsilon=1e-5, hyperpara=1e-3, use_clip=False):
        super().__init__()
        self.epsilon, self.hyperpara, self.use_clip = epsilon, hyperpara, use_clip

    def compute(self, weight, gradient, norm_weight, norm_gradient, weight_decay, learning_rate):
        size, slope = F.sqrt(_wide(norm_weight)), F.sqrt(_wide(norm_gradient))
        trust = size * self.hyperpara / (slope + size * weight_decay + self.epsilon)
        if self.use_clip:
            trust = F.minimum(trust / _wide(learning_rate), 1.0)
        trust = F.select(F.greater(size * slope, 0.0), trust, F.ones_like(trust))
        return F.cast((_wide(gradient) + _wide(weight) * weight_decay) * trust, gradient.dtype)


def _wide(x):
    """A number, or a tensor as float32."""
    return F.cast(x, mstype.float32) if isinstance(x, Tensor) else Tensor(float(x), mstype.float32)


def _keep(parameter, value):
    return F.assign(parameter, F.cast(F.reshape(value, parameter.shape), parameter.dtype))


def gradient_descent(self, var, alpha, delta):
    """var - alpha delta."""
    return (var - alpha * delta,)


def proximal_descent(self, var, alpha, l1, l2, delta):
    """Duchi and Singer, 2009."""
    return (_proximal(var - alpha * delta, alpha, l1, l2),)


def _without_op(function):
    def call(self, *operands):
        return function(*operands)

    call.__doc__ = function.__doc__
    return call


_LOCKS, _NESTEROV = {"use_locking": False}, {"use_locking": False, "use_nesterov": False}
_AVERAGES = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "use_locking": False}

# (how many of the first operands are set, the function, parameters of the constructor), by the names of ops.
_TABLE = {
    "Adam": (3, adam, _NESTEROV),
    "ApplyAdaMax": (3, adamax, {}),
    "ApplyAdadelta": (3, adadelta, {}),
    "ApplyAdagrad": (2, adagrad, {"update_slots": True}),
    "ApplyAdagradDA": (3, adagrad_da, _LOCKS),
    "ApplyAdagradV2": (2, adagrad_v2, {"epsilon": MUST, "update_slots": True}),
    "ApplyAdamWithAmsgrad": (4, amsgrad_of_settings, _AVERAGES),
    "ApplyAdamWithAmsgradV2": (4, amsgrad, _LOCKS),
    "ApplyAddSign": (2, add_sign, {}),
    "ApplyCenteredRMSProp": (4, centered_rms_prop, _LOCKS),
    "ApplyFtrl": (3, _without_op(ftrl), _LOCKS),
    "ApplyGradientDescent": (1, gradient_descent, {}),
    "ApplyKerasMomentum": (2, keras_momentum, _NESTEROV),
    "ApplyMomentum": (2, momentum, {"use_nesterov": False, "use_locking": False, "gradient_scale": 1.0}),
    "ApplyPowerSign": (2, power_sign, {}),
    "ApplyProximalAdagrad": (2, _without_op(proximal_adagrad), _LOCKS),
    "ApplyProximalGradientDescent": (1, proximal_descent, {}),
    "ApplyRMSProp": (3, rms_prop, _LOCKS),
}
_FIRST_ALONE = {  # ops that return the parameter without its states
    "ApplyAdagradDA",
    "ApplyCenteredRMSProp",
    "ApplyFtrl",
    "ApplyGradientDescent",
    "ApplyMomentum",
    "ApplyProximalGradientDescent",
    "ApplyRMSProp",
}


def _op_of(name, count, function, settings):
    """The class of an op that sets its first `count` operands to what a function gives."""

    def compute(self, *operands):
        for one in operands[:count]:
            if not isinstance(one, Parameter):
                raise TypeError(
                    f"[{name}] not a parameter, got {type(one).__name__}, expected a Parameter in each of the first "
                    f"{count} places"
                )
        made = function(self, *(_wide(one) for one in operands))
        kept = tuple(_keep(one, value) for one, value in zip(operands, made))
        return kept[0] if name in _FIRST_ALONE else kept

    return with_options(name, compute, function.__doc__, __name__, settings)


globals().update({name: _op_of(name, *row) for name, row in _TABLE.items()})

# Updates by some rows of a gradient: gradients have all rows here.
_SPARSE = {
    "FusedSparseAdam": "ops.Adam",
    "FusedSparseFtrl": "ops.ApplyFtrl",
    "FusedSparseLazyAdam": "ops.Adam",
    "FusedSparseProximalAdagrad": "ops.ApplyProximalAdagrad",
    "FusedWeightScaleApplyMomentum": "ops.ApplyMomentum",
    "SparseApplyAdadelta": "ops.ApplyAdadelta",
    "SparseApplyAdagrad": "ops.ApplyAdagrad",
    "SparseApplyAdagradV2": "ops.ApplyAdagradV2",
    "SparseApplyFtrl": "ops.ApplyFtrl",
    "SparseApplyFtrlV2": "ops.ApplyFtrl",
    "SparseApplyProximalAdagrad": "ops.ApplyProximalAdagrad",
    "SparseApplyRMSProp": "ops.ApplyRMSProp",
}
globals().update(
    absent_all(__name__, {name: f"{dense} with a gradient of all rows" for name, dense in _SPARSE.items()})
)
__all__ = ["AdamNoUpdateParam", "LARSUpdate", "SGD", *_TABLE, *_SPARSE]
