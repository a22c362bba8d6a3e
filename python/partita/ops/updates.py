"""Updates of parameters and of what optimizers keep of them, as ops that are objects: each sets the parameters that it
is called with."""

from partita.common import dtype as mstype
from partita.ops import functional as F
from partita.ops.primitive import Primitive

__all__ = ("AdamWeightDecay", "FusedAdaFactor", "FusedCastAdamWeightDecay")


def _wide(x):
    """A tensor as float32."""
    return F.cast(x, mstype.float32)


def _keep(parameter, value):
    """Sets a parameter to a value of any type, and returns it."""
    return F.assign(parameter, F.cast(F.reshape(value, parameter.shape), parameter.dtype))


def _adam(var, m, v, rate, beta1, beta2, epsilon, decay, gradient):
    """Adam with decayed weights, without the correction of the bias of the averages (Loshchilov and Hutter, 2019)."""
    mean = _keep(m, _wide(m) * beta1 + gradient * (1 - beta1))
    square = _keep(v, _wide(v) * beta2 + F.square(gradient) * (1 - beta2))
    wide = _wide(var)
    step = _wide(mean) / (F.sqrt(_wide(square)) + epsilon) + wide * decay
    return _keep(var, wide - step * rate), mean, square


class AdamWeightDecay(Primitive):
    """(var, m, v, lr, beta1, beta2, epsilon, decay, gradient): updates a parameter and the averages of its gradients
    and of their squares, all of one shape, which it returns. Raises ValueError for shapes that do not fit."""

    def __init__(self, use_locking=False):
        super().__init__()

    def compute(self, var, m, v, lr, beta1, beta2, epsilon, decay, gradient):
        return _adam(var, m, v, lr, beta1, beta2, epsilon, decay, _wide(gradient))


class FusedCastAdamWeightDecay(Primitive):
    """AdamWeightDecay with one more operand, `global_norm`, by which gradients are divided."""

    def __init__(self, use_locking=False):
        super().__init__()

    def compute(self, var, m, v, lr, beta1, beta2, epsilon, decay, gradient, global_norm):
        return _adam(var, m, v, lr, beta1, beta2, epsilon, decay, _wide(gradient) / global_norm)


class FusedAdaFactor(Primitive):
    """(epsilon, clip_threshold, beta1, beta2, decay, lr, gradient, param, exp_avg, exp_avg_sq_row, exp_avg_sq_col,
    exp_avg_sq): the update of Shazeer and Stern, 2018. The averages of squares of a matrix are products of those of its
    rows and columns; `epsilon` has what is added to squares, and the least scale of a parameter."""

    def __init__(self, enable_scale_parameter=False, enable_first_moment=False, enable_weight_decay=False):
        super().__init__()
        self.scales, self.averages, self.decays = enable_scale_parameter, enable_first_moment, enable_weight_decay

    def compute(self, epsilon, clip, beta1, beta2, decay, lr, gradient, param, mean, row, column, square):
        gradient, wide, before = _wide(gradient), _wide(param), 1 - beta2
        if self.scales:
            lr = lr * F.maximum(F.sqrt(F.square(wide).mean()), epsilon[1])
        squares = F.square(gradient) + epsilon[0]
        if gradient.ndim > 1:
            row = _keep(row, row * beta2 + squares.mean(-1) * before)
            column = _keep(column, column * beta2 + squares.mean(-2) * before)
            share = F.expand_dims(row / row.mean(-1, keep_dims=True), -1)
            update = gradient / F.sqrt(share) / F.sqrt(F.expand_dims(column, -2))
        else:
            square = _keep(square, square * beta2 + squares * before)
            update = gradient / F.sqrt(square)
        size = F.sqrt(F.square(update).mean()) / clip
        update = update / F.maximum(size, F.ones_like(size)) * lr
        if self.averages:
            mean = update = _keep(mean, mean * beta1 + update * (1 - beta1))
        if self.decays:
            wide = wide - wide * decay * lr
        return _keep(param, wide - update), mean, row, column, square
