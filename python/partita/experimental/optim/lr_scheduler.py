"""Schedules that set the learning rates of the groups of an optimizer after steps or epochs."""

import math
from bisect import bisect_right
from collections import Counter

from partita._names import refuse_missing
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.experimental.optim.optimizer import Optimizer, require


def _require_optimizer(where, optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(
            f"[{where}] not an optimizer of experimental.optim or mint.optim, got {type(optimizer).__name__}, expected "
            "one"
        )


def _for_groups(where, what, value, optimizer):
    """A value for each group, of one or of as many."""
    count = len(optimizer.param_groups)
    values = list(value) if isinstance(value, (list, tuple)) else [value] * count
    require(where, what, value, len(values) == count, f"one value or {count}")
    return values


def _set(rate, value):
    rate.set_data(Tensor(float(value), mstype.float32))


class LRScheduler:
    """The base of schedules. `get_lr` of a subclass gives the rates of groups from `last_epoch`, the number of steps of
    the schedule, the rates of before, `_last_lr`, and those at the beginning, `base_lrs`. It may have a
    `_get_closed_form_lr`, which gives them for `step(epoch)` without those of before. Making a schedule takes its first
    step."""

    def __init__(self, optimizer, last_epoch=-1):
        where = type(self).__name__
        _require_optimizer(where, optimizer)
        require(where, "last_epoch", last_epoch, isinstance(last_epoch, int) and last_epoch >= -1, "an integer from -1")
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", Tensor(float(group["lr"]), mstype.float32))
            elif "initial_lr" not in group:
                raise KeyError(f"[{where}] group {i} is not resumed, got no 'initial_lr', expected one")
        self.optimizer, self.last_epoch = optimizer, last_epoch
        self.base_lrs = [float(group["initial_lr"]) for group in optimizer.param_groups]
        self._last_lr = list(optimizer.lrs)
        self.groups_num = len(optimizer.param_groups)
        self.step()

    def get_lr(self):
        """The rates of this step, one for each group."""
        raise NotImplementedError(f"[{type(self).__name__}] no rates, got a call, expected get_lr of a subclass")

    def get_last_lr(self):
        """The rates that groups have, as tensors."""
        return [one.value() for one in self._last_lr]

    def _rates(self):
        return [float(one) for one in self._last_lr]

    def step(self, epoch=None):
        """Sets the rates of the next step, or of a given one."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else int(epoch)
        closed = getattr(self, "_get_closed_form_lr", None)
        values = self.get_lr() if epoch is None or closed is None else closed()
        for rate, value in zip(self._last_lr, values):
            _set(rate, value)
        return True


class StepLR(LRScheduler):
    """Rates times gamma after every `step_size` steps."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        require("StepLR", "step_size", step_size, isinstance(step_size, int) and step_size > 0, "an integer from 1")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        turns = self.last_epoch and self.last_epoch % self.step_size == 0
        return [one * self.gamma if turns else one for one in self._rates()]

    def _get_closed_form_lr(self):
        return [one * self.gamma ** (self.last_epoch // self.step_size) for one in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Rates times gamma after the steps that `milestones` names, as often as each is there."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        require("MultiStepLR", "milestones", milestones, isinstance(milestones, list), "a list of integers")
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [one * self.gamma ** self.milestones[self.last_epoch] for one in self._rates()]

    def _get_closed_form_lr(self):
        passed = sum(count for step, count in self.milestones.items() if step <= self.last_epoch)
        return [one * self.gamma**passed for one in self.base_lrs]


class ConstantLR(LRScheduler):
    """Rates times a factor for the first `total_iters` steps."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        require("ConstantLR", "factor", factor, 0 <= factor <= 1, "a number from 0 to 1")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return [one * self.factor for one in self._rates()]
        return [one / self.factor if self.last_epoch == self.total_iters else one for one in self._rates()]

    def _get_closed_form_lr(self):
        return [one * (1 if self.last_epoch >= self.total_iters else self.factor) for one in self.base_lrs]


class LinearLR(LRScheduler):
    """Rates times a factor that goes in a line from one number to another in `total_iters` steps."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        require("LinearLR", "start_factor", start_factor, 0 < start_factor <= 1, "a number above 0, at most 1")
        require("LinearLR", "end_factor", end_factor, 0 <= end_factor <= 1, "a number from 0 to 1")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, step):
        share = min(step, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * share

    def get_lr(self):
        if self.last_epoch == 0:
            return [one * self.start_factor for one in self._rates()]
        if self.last_epoch > self.total_iters:
            return self._rates()
        ratio = self._factor(self.last_epoch) / self._factor(self.last_epoch - 1)
        return [one * ratio for one in self._rates()]

    def _get_closed_form_lr(self):
        return [one * self._factor(self.last_epoch) for one in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Rates times gamma after each step."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [one * self.gamma if self.last_epoch else one for one in self._rates()]

    def _get_closed_form_lr(self):
        return [one * self.gamma**self.last_epoch for one in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Rates times (1 - step / total_iters)^power."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        require("PolynomialLR", "power", power, power >= 0, "a number from 0")
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        step = self.last_epoch
        if step == 0 or step > self.total_iters:
            return self._rates()
        ratio = ((1.0 - step / self.total_iters) / (1.0 - (step - 1) / self.total_iters)) ** self.power
        return [one * ratio for one in self._rates()]

    def _get_closed_form_lr(self):
        share = min(self.last_epoch, self.total_iters) / self.total_iters
        return [one * (1.0 - share) ** self.power for one in self.base_lrs]


class LambdaLR(LRScheduler):
    """Rates at the beginning times what a function, one or one for each group, gives for the step."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        _require_optimizer("LambdaLR", optimizer)
        self.lr_lambdas = _for_groups("LambdaLR", "lr_lambda", lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [one * function(self.last_epoch) for one, function in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(LRScheduler):
    """Rates of the step before times what a function, one or one for each group, gives for the step."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        _require_optimizer("MultiplicativeLR", optimizer)
        self.lr_lambdas = _for_groups("MultiplicativeLR", "lr_lambda", lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch <= 0:
            return self._rates()
        return [one * function(self.last_epoch) for one, function in zip(self._rates(), self.lr_lambdas)]


class CosineAnnealingLR(LRScheduler):
    """Rates along half a cosine from those at the beginning to `eta_min` in T_max steps, and back in as many
    (Loshchilov and Hutter, 2017)."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, step):
        return 1 + math.cos(math.pi * step / self.T_max)

    def get_lr(self):
        step = self.last_epoch
        if step == 0:
            return self._rates()
        if (step - 1 - self.T_max) % (2 * self.T_max) == 0:  # the step before was the lowest
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [one + (base - self.eta_min) * rise for one, base in zip(self._rates(), self.base_lrs)]
        ratio = self._height(step) / self._height(step - 1)
        return [ratio * (one - self.eta_min) + self.eta_min for one in self._rates()]

    def _get_closed_form_lr(self):
        return [self.eta_min + (one - self.eta_min) * self._height(self.last_epoch) / 2 for one in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Rates along half a cosine from those at the beginning to `eta_min`, which begins anew after T_0 steps, then after
    T_mult times as many (Loshchilov and Hutter, 2017)."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0, last_epoch=-1):
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            require(type(self).__name__, name, value, isinstance(value, int) and value >= 1, "an integer from 1")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (one - self.eta_min) * height for one in self.base_lrs]

    def step(self, epoch=None):
        """Sets the rates of the next step, or of a given one, which may lie between two."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch, self.T_cur = self.last_epoch + 1, self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        else:
            epoch = float(epoch)
            require(type(self).__name__, "epoch", epoch, epoch >= 0, "a number from 0")
            self._jump(epoch)
        self.last_epoch = math.floor(epoch)
        for rate, value in zip(self._last_lr, self.get_lr()):
            _set(rate, value)

    def _jump(self, epoch):
        begin, self.T_i = 0, self.T_0
        if self.T_mult == 1:
            begin = epoch // self.T_0 * self.T_0
        while self.T_mult > 1 and epoch >= begin + self.T_i:
            begin, self.T_i = begin + self.T_i, self.T_i * self.T_mult
        self.T_cur = epoch - begin


class CyclicLR(LRScheduler):
    """Rates that rise from `base_lr` to `max_lr` in `step_size_up` steps and fall again (Smith, 2017). Cycles keep
    their height ("triangular"), halve it ("triangular2"), or scale it by gamma^step ("exp_range"), or by `scale_fn` of
    the cycle or of the step ("iterations")."""

    def __init__(
        self,
        optimizer,
        base_lr,
        max_lr,
        step_size_up=2000,
        step_size_down=None,
        mode="triangular",
        gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        last_epoch=-1,
    ):
        where, known = "CyclicLR", ("triangular", "triangular2", "exp_range")
        _require_optimizer(where, optimizer)
        require(where, "mode", mode, scale_fn is not None or mode in known, f"one of {known}, or scale_fn")
        begins = _for_groups(where, "base_lr", base_lr, optimizer)
        self.max_lrs = _for_groups(where, "max_lr", max_lr, optimizer)
        if last_epoch == -1:
            for rate, group in zip(begins, optimizer.param_groups):
                _set(group["lr"], rate)
        up = float(step_size_up)
        self.total_step_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_up_ratio = up / self.total_step_size
        self.mode, self.gamma, self._scale = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        super().__init__(optimizer, last_epoch)
        self.base_lrs = begins

    def scale_fn(self, x):
        """The height of a cycle, or at a step."""
        if self._scale is not None:
            return self._scale(x)
        return {"triangular": 1.0, "triangular2": 0.5 ** (x - 1), "exp_range": self.gamma**x}[self.mode]

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_step_size)
        at = 1.0 + self.last_epoch / self.total_step_size - cycle
        ratio = self.step_up_ratio
        share = at / ratio if at <= ratio else (at - 1) / (ratio - 1)
        scale = share * self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        return [base + (most - base) * scale for base, most in zip(self.base_lrs, self.max_lrs)]


class SequentialLR:
    """Schedules of one optimizer after one another: the k-th from the step `milestones[k - 1]` on."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        where = "SequentialLR"
        for i, one in enumerate(schedulers):
            same = one.optimizer is optimizer
            require(where, "schedulers", f"another optimizer in schedule {i}", same, "that of all")
        require(where, "milestones", milestones, len(milestones) == len(schedulers) - 1, f"{len(schedulers) - 1} steps")
        self._schedulers, self.milestones, self.optimizer = schedulers, milestones, optimizer
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            _set(group["lr"], group["initial_lr"])
        for one in schedulers:  # takes back the step of each when it was made
            one.last_epoch -= 1
        schedulers[0].step()
        self._last_lr = schedulers[0]._last_lr

    def step(self):
        """Sets the rates of the next step."""
        self.last_epoch += 1
        at = bisect_right(self.milestones, self.last_epoch)
        if at and self.milestones[at - 1] == self.last_epoch:
            self._schedulers[at].step(0)
        else:
            self._schedulers[at].step()

    def get_last_lr(self):
        """The rates that groups have, as tensors."""
        return [one.value() for one in self._last_lr]


class ReduceLROnPlateau:
    """Rates times a factor when a measure has not become better for more than `patience` steps: lower ("min") or
    higher ("max") by a share ("rel") or an amount ("abs") `threshold`. After that `cooldown` steps do not count."""

    def __init__(
        self,
        optimizer,
        mode="min",
        factor=0.1,
        patience=10,
        threshold=1e-4,
        threshold_mode="rel",
        cooldown=0,
        min_lr=0,
        eps=1e-8,
    ):
        where = "ReduceLROnPlateau"
        _require_optimizer(where, optimizer)
        require(where, "factor", factor, factor < 1, "a number below 1")
        require(where, "mode", mode, mode in ("min", "max"), "'min' or 'max'")
        require(where, "threshold_mode", threshold_mode, threshold_mode in ("rel", "abs"), "'rel' or 'abs'")
        self.min_lrs = _for_groups(where, "min_lr", min_lr, optimizer)
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.best, self.wait, self.cooldown_counter, self.last_epoch = math.inf, 0, 0, 0
        self.best = math.inf if mode == "min" else -math.inf
        self._last_lr = [group["lr"] for group in optimizer.param_groups]

    def step(self, metrics):
        """Takes the measure of a step, a number or a tensor."""
        current, self.last_epoch = float(metrics), self.last_epoch + 1
        if self._is_better(current):
            self.best, self.wait = current, 0
        else:
            self.wait += 1
        if self.in_cooldown():
            self.cooldown_counter, self.wait = self.cooldown_counter - 1, 0
        if self.wait > self.patience:
            for rate, least in zip(self._last_lr, self.min_lrs):
                following = max(float(rate) * self.factor, least)
                if float(rate) > following + self.eps:
                    _set(rate, following)
            self.cooldown_counter, self.wait = self.cooldown, 0
        return True

    def in_cooldown(self):
        """Whether steps do not count."""
        return self.cooldown_counter > 0

    def _is_better(self, current):
        sign = 1 if self.mode == "min" else -1
        margin = self.threshold * (1 if self.threshold_mode == "abs" else self.best)
        if math.isinf(self.best):
            return sign * current < sign * self.best
        return sign * current < sign * self.best - margin

    def get_last_lr(self):
        """The rates that groups have, as tensors."""
        return [one.value() for one in self._last_lr]


__getattr__ = refuse_missing(globals())
