"""Learning rates as functions of the step."""

import math
import numbers

from partita._described import options_text
from partita.common.tensor import Tensor
from partita.nn.cell import Cell

__all__ = (
    "CosineDecayLR ExponentialDecayLR InverseDecayLR LearningRateSchedule NaturalExpDecayLR PolynomialDecayLR WarmUpLR"
).split()


class LearningRateSchedule(Cell):
    """The base: `construct(global_step)` gives the learning rate of a step, counted from 0, as a tensor without
    dimensions. Optimizers take it in place of a number. A call raises NotImplementedError unless a subclass defines
    it."""

    def construct(self, global_step: Tensor) -> Tensor:
        raise NotImplementedError(
            f"[{type(self).__name__}] no learning rate, got no construct, expected construct(self, global_step)"
        )


def _require(where, name, value, least, whole=False):
    """Raises TypeError and ValueError unless the value is a number, or an integer, above `least` or equal to it."""
    kind = numbers.Integral if whole else numbers.Real
    if isinstance(value, bool) or not isinstance(value, kind):
        raise TypeError(f"[{where}] {name} is not a number, got {value!r}, expected {'an integer' if whole else 'one'}")
    if value < least or (whole and value < 1) or (not whole and least == 0 and name != "min_lr" and value <= 0):
        raise ValueError(f"[{where}] bad {name}, got {value!r}, expected a number above {least}")


class _Rule(LearningRateSchedule):
    """A schedule by a function of numbers."""

    def rate(self, step: int) -> float:
        raise NotImplementedError

    def construct(self, global_step: Tensor) -> Tensor:
        return Tensor(self.rate(float(global_step)))

    def extend_repr(self) -> str:
        return options_text(self, ("",))


class _Decay(_Rule):
    def __init__(self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False):
        super().__init__()
        where = type(self).__name__
        _require(where, "learning_rate", learning_rate, 0)
        _require(where, "decay_rate", decay_rate, 0)
        _require(where, "decay_steps", decay_steps, 1, whole=True)
        self.learning_rate, self.decay_rate, self.decay_steps = learning_rate, decay_rate, decay_steps
        self.is_stair = bool(is_stair)

    def _passes(self, step):
        passes = step / self.decay_steps
        return math.floor(passes) if self.is_stair else passes


class ExponentialDecayLR(_Decay):
    """learning_rate decay_rate^(step / decay_steps), with `is_stair` of whole quotients. Raises ValueError for numbers
    that are not above 0, TypeError for others than numbers."""

    def rate(self, step: int) -> float:
        return self.learning_rate * self.decay_rate ** self._passes(step)


class NaturalExpDecayLR(_Decay):
    """learning_rate exp(-decay_rate step), with `is_stair` of the last multiple of `decay_steps`. Raises ValueError for
    numbers that are not above 0, TypeError for others than numbers."""

    def rate(self, step: int) -> float:
        if self.is_stair:
            step = math.floor(step / self.decay_steps) * self.decay_steps
        return self.learning_rate * math.exp(-self.decay_rate * step)


class InverseDecayLR(_Decay):
    """learning_rate / (1 + decay_rate step / decay_steps), with `is_stair` of whole quotients. Raises ValueError for
    numbers that are not above 0, TypeError for others than numbers."""

    def rate(self, step: int) -> float:
        return self.learning_rate / (1 + self.decay_rate * self._passes(step))


class CosineDecayLR(_Rule):
    """From `max_lr` to `min_lr` by half a wave of the cosine over `decay_steps` steps, after which `min_lr` stays.
    Raises ValueError unless min_lr is below max_lr."""

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int):
        super().__init__()
        _require("CosineDecayLR", "min_lr", min_lr, 0)
        _require("CosineDecayLR", "max_lr", max_lr, 0)
        _require("CosineDecayLR", "decay_steps", decay_steps, 1, whole=True)
        if min_lr >= max_lr:
            raise ValueError(f"[CosineDecayLR] bad min_lr, got {min_lr!r}, expected a number below max_lr, {max_lr!r}")
        self.min_lr, self.max_lr, self.decay_steps = min_lr, max_lr, decay_steps

    def rate(self, step: int) -> float:
        share = min(step, self.decay_steps) / self.decay_steps
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * (1 + math.cos(math.pi * share))


class PolynomialDecayLR(_Rule):
    """From `learning_rate` to `end_learning_rate` by a power of the share of the steps that are left of `decay_steps`;
    with `update_decay_steps` of its next multiple. Raises ValueError for a rate, steps and a power that are not above
    0."""

    def __init__(
        self,
        learning_rate: float,
        end_learning_rate: float,
        decay_steps: int,
        power: float,
        update_decay_steps: bool = False,
    ):
        super().__init__()
        _require("PolynomialDecayLR", "learning_rate", learning_rate, 0)
        _require("PolynomialDecayLR", "decay_steps", decay_steps, 1, whole=True)
        _require("PolynomialDecayLR", "power", power, 0)
        self.learning_rate, self.end_learning_rate = learning_rate, end_learning_rate
        self.decay_steps, self.power, self.update_decay_steps = decay_steps, power, bool(update_decay_steps)

    def rate(self, step: int) -> float:
        steps = self.decay_steps
        if self.update_decay_steps:
            steps *= max(1, math.ceil(step / steps))
        share = 1 - min(step, steps) / steps
        return (self.learning_rate - self.end_learning_rate) * share**self.power + self.end_learning_rate


class WarmUpLR(_Rule):
    """From 0 to `learning_rate` in `warmup_steps` equal steps, after which it stays. Raises ValueError for numbers that
    are not above 0."""

    def __init__(self, learning_rate: float, warmup_steps: int):
        super().__init__()
        _require("WarmUpLR", "learning_rate", learning_rate, 0)
        _require("WarmUpLR", "warmup_steps", warmup_steps, 1, whole=True)
        self.learning_rate, self.warmup_steps = learning_rate, warmup_steps

    def rate(self, step: int) -> float:
        return self.learning_rate * min(step, self.warmup_steps) / self.warmup_steps


class Scheduled:
    """The learning rates of all steps by a schedule, like a list that has no end."""

    def __init__(self, where, schedule):
        # A rule computes with numbers of Python, which is no part of a program.
        self._schedule = schedule.construct if isinstance(schedule, _Rule) else schedule
        self._where, self._last = where, (None, None)
        self[0]  # a schedule that cannot be called is refused where it is given

    def __len__(self):
        return 2**62

    def __getitem__(self, step):
        if self._last[0] != step:
            found = self._schedule(Tensor(step))
            rate = float(found)
            if not 0 <= rate < math.inf:
                raise ValueError(
                    f"[{self._where}] bad learning rate, got {rate} of step {step}, expected a number from 0"
                )
            self._last = step, rate
        return self._last[1]

    def __iter__(self):
        raise TypeError(
            f"[{self._where}] the rates of a schedule have no end, got a loop over them, expected rate_of(step)"
        )
