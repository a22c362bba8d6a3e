"""Optimizers that scale the steps of whole parameters: Adafactor, and LARS around another optimizer."""

import numbers
from collections.abc import Callable, Sequence

from partita._names import refuse_missing
from partita.common import dtype as mstype
from partita.common._types import Parameters
from partita.common.initializer import initializer
from partita.common.parameter import Parameter, ParameterTuple
from partita.common.tensor import Tensor
from partita.nn.optim.averaging import require
from partita.nn.optim.optimizer import Optimizer
from partita.nn.optim.rates import LearningRate
from partita.ops import functional as F
from partita.ops.applied import LARSUpdate
from partita.ops.updates import FusedAdaFactor

__all__ = ("AdaFactor", "LARS")


def _zeros(shape, dtype, name):
    return Parameter(initializer(0, shape, dtype), name=name)


class AdaFactor(Optimizer):
    """Adafactor (Shazeer and Stern, 2018): the average of squares of a matrix is a product of those of its rows and
    columns. Without a learning rate it is 1 / sqrt(step), at most 0.01, or with `warmup_init` 1e-6 step. See
    nn.Adafactor for the optimizer of the library, which trainings by Model and plans take."""

    def __init__(
        self,
        params: Parameters,
        learning_rate: LearningRate | None = None,
        eps: tuple[float, float] = (1e-30, 1e-3),
        clip_threshold: float = 1.0,
        decay_rate: float = 0.8,
        beta1: float = 0.9,
        weight_decay: float = 0.0,
        scale_parameter: bool = True,
        relative_step: bool = True,
        warmup_init: bool = False,
        compression: bool = False,
        loss_scale: float = 1.0,
    ):
        where = "AdaFactor"
        has_rate = learning_rate is not None
        require(where, "learning_rate", learning_rate, has_rate != relative_step, "one of it and relative_step")
        require(where, "warmup_init", warmup_init, not warmup_init or relative_step, "relative_step with it")
        require(where, "eps", eps, len(eps) == 2 and min(eps) >= 0, "two numbers from 0")
        require(where, "decay_rate", decay_rate, 0 < decay_rate < 1, "a number between 0 and 1")
        require(where, "clip_threshold", clip_threshold, clip_threshold >= 0, "a number from 0")
        super().__init__(learning_rate if has_rate else 0.0, params, weight_decay, loss_scale)
        is_number = not has_rate or isinstance(learning_rate, numbers.Real)
        self.is_relative, self.warmup_init = relative_step and is_number, warmup_init
        self.eps = tuple(Tensor(one, mstype.float32) for one in eps)
        self.clip_threshold, self.decay_rate = Tensor(clip_threshold, mstype.float32), decay_rate
        self.beta1, self.decay = Tensor(beta1 or 0.0, mstype.float32), Tensor(weight_decay, mstype.float32)
        self._make_states(bool(beta1), mstype.float16 if compression else None)
        self.step = _zeros([1], mstype.float32, "afactor_step")
        self.updated = FusedAdaFactor(scale_parameter and is_number, bool(beta1), bool(weight_decay))

    def _make_states(self, averages, kept_type):
        rows, columns, squares, means = [], [], [], []
        for one in self._parameters:
            name, kind, shape = one.name, one.dtype, list(one.shape)
            is_matrix = len(shape) > 1
            rows.append(_zeros(shape[:-1] if is_matrix else [1], kind, f"exp_avg_sq_row_{name}"))
            columns.append(_zeros(shape[:-2] + shape[-1:] if is_matrix else [1], kind, f"exp_avg_sq_col_{name}"))
            own = ([1], kind) if is_matrix else (shape, kept_type or kind)
            squares.append(_zeros(*own, f"exp_avg_sq_{name}"))
            means.append(_zeros(shape if averages else [1], kind, f"exp_avg.{name}"))
        self.exp_avg_sq_row, self.exp_avg_sq_col = ParameterTuple(rows), ParameterTuple(columns)
        self.exp_avg_sq, self.exp_avg = ParameterTuple(squares), ParameterTuple(means)

    def construct(self, gradients: Sequence[Tensor]) -> Tensor:
        rate = self.get_lr()
        self.assignadd(self.global_step, self.global_step_increase_tensor)
        step = F.reshape(F.assign_add(self.step, 1.0), [])
        if self.is_relative:
            rate = F.minimum(step * 1e-6 if self.warmup_init else F.full([], 0.01), F.rsqrt(step))
        share = 1.0 - F.pow(step, -self.decay_rate)
        states = self.exp_avg, self.exp_avg_sq_row, self.exp_avg_sq_col, self.exp_avg_sq
        rates = rate if isinstance(rate, tuple) else (rate,) * len(self._parameters)
        common = self.eps, self.clip_threshold, self.beta1, share, self.decay
        for own, gradient, parameter, *kept in zip(rates, gradients, self._parameters, *states):
            self.updated(*common, own, gradient, parameter, *kept)
        return True


class LARS(Optimizer):
    """LARS (You and others, 2017) around another optimizer: the gradients of parameters that `lars_filter` takes, with
    the decay of weights, are multiplied by coefficient |w| / (|g| + decay |w| + epsilon), with `use_clip` by at most
    the learning rate of it. See nn.Lars for the optimizer of the library, which plans take."""

    def __init__(
        self,
        optimizer: Optimizer,
        epsilon: float = 1e-5,
        coefficient: float = 1e-3,
        use_clip: bool = False,
        lars_filter: Callable = lambda x: "LayerNorm" not in x.name and "bias" not in x.name,
    ):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"[LARS] not an optimizer, got {type(optimizer).__name__}, expected one")
        super().__init__(0.0, optimizer.parameters)
        self.__dict__["opt"] = optimizer
        self.decays = tuple(optimizer._decay_of(one.name) for one in optimizer.parameters)
        self.lars_flag = tuple(bool(lars_filter(one)) for one in optimizer.parameters)
        self.use_clip, self.lars = bool(use_clip), LARSUpdate(epsilon, coefficient, use_clip)
        self._take_over(optimizer)

    def _take_over(self, optimizer):
        """Leaves the decay of weights, and taking out the scale of the loss, to this optimizer."""
        if optimizer.updates_itself():
            raise NotImplementedError(
                f"[LARS] this optimizer has a construct of its own, got {type(optimizer).__name__}, expected one of nn"
            )
        self.loss_scale, optimizer.loss_scale = optimizer.loss_scale, 1.0
        self.reciprocal_scale, optimizer.weight_decay = Tensor(1.0 / self.loss_scale, mstype.float32), 0.0
        optimizer.groups.update({name: (0.0, rates) for name, (_, rates) in optimizer.groups.items()})

    @property
    def kept_by(self):
        return self.opt.kept_by

    def get_parameters(self, expand: bool = True):
        return self.kept_by.get_parameters(expand)

    def construct(self, gradients: Sequence[Tensor]) -> Tensor:
        rates = self.opt.get_lr() if self.use_clip else 0.0
        made = []
        for i, (gradient, parameter) in enumerate(zip(self.scale_grad(gradients), self.parameters)):
            if self.lars_flag[i]:
                sizes = F.reduce_sum(F.square(parameter)), F.reduce_sum(F.square(gradient))
                rate = rates[i] if isinstance(rates, tuple) else rates
                gradient = self.lars(parameter, gradient, *sizes, self.decays[i], rate)
            made.append(gradient)
        return self.opt(tuple(made))


__getattr__ = refuse_missing(globals())
