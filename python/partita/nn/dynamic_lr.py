"""Lists of learning rates, one for each step."""

import math
import numbers
from collections.abc import Sequence

__all__ = (
    "cosine_decay_lr exponential_decay_lr inverse_decay_lr natural_exp_decay_lr piecewise_constant_lr"
    " polynomial_decay_lr warmup_lr"
).split()


def _require(where, **values):
    for name, value in values.items():
        whole = name.endswith(("step", "epoch"))
        if isinstance(value, bool) or not isinstance(value, numbers.Integral if whole else numbers.Real):
            raise TypeError(
                f"[{where}] {name} is not {'an integer' if whole else 'a number'}, got {value!r}, expected one"
            )
        if value < 0 or (value == 0 and name not in ("min_lr", "end_learning_rate")):
            raise ValueError(f"[{where}] bad {name}, got {value!r}, expected a number above 0")


def _by_epochs(total_step, step_per_epoch, rate):
    return [float(rate(step // step_per_epoch)) for step in range(total_step)]


def piecewise_constant_lr(milestone: Sequence[int], learning_rates: Sequence[float]) -> list[float]:
    """Each rate up to its milestone, a number of steps: a list of as many rates as the last milestone says. Raises
    ValueError for different numbers of both, and for milestones that fall, TypeError for rates that are no numbers."""
    if len(milestone) != len(learning_rates) or not milestone:
        raise ValueError(
            f"[piecewise_constant_lr] different numbers of milestones and rates, got {len(milestone)} and "
            f"{len(learning_rates)}, expected as many, at least 1"
        )
    rates, begin = [], 0
    for end, rate in zip(milestone, learning_rates):
        if isinstance(end, bool) or not isinstance(end, numbers.Integral) or end < begin:
            raise ValueError(f"[piecewise_constant_lr] bad milestone, got {end!r}, expected an integer from {begin}")
        _require("piecewise_constant_lr", learning_rate=rate)
        rates += [float(rate)] * (end - begin)
        begin = end
    return rates


def exponential_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """rate decay_rate^(epoch / decay_epoch), with `is_stair` of whole quotients: a list of `total_step` rates, of which
    `step_per_epoch` are those of one epoch. Raises ValueError for numbers that are not above 0, TypeError for others
    than numbers."""
    _require("exponential_decay_lr", learning_rate=learning_rate, decay_rate=decay_rate, total_step=total_step)
    _require("exponential_decay_lr", step_per_epoch=step_per_epoch, decay_epoch=decay_epoch)

    def rate(epoch):
        passes = epoch // decay_epoch if is_stair else epoch / decay_epoch
        return learning_rate * decay_rate**passes

    return _by_epochs(total_step, step_per_epoch, rate)


def natural_exp_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """rate exp(-decay_rate epoch), with `is_stair` of the last multiple of `decay_epoch`: a list of `total_step` rates,
    of which `step_per_epoch` are those of one epoch. Raises ValueError for numbers that are not above 0."""
    _require("natural_exp_decay_lr", learning_rate=learning_rate, decay_rate=decay_rate, total_step=total_step)
    _require("natural_exp_decay_lr", step_per_epoch=step_per_epoch, decay_epoch=decay_epoch)

    def rate(epoch):
        passed = epoch // decay_epoch * decay_epoch if is_stair else epoch
        return learning_rate * math.exp(-decay_rate * passed)

    return _by_epochs(total_step, step_per_epoch, rate)


def inverse_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """rate / (1 + decay_rate epoch / decay_epoch), with `is_stair` of whole quotients: a list of `total_step` rates, of
    which `step_per_epoch` are those of one epoch. Raises ValueError for numbers that are not above 0."""
    _require("inverse_decay_lr", learning_rate=learning_rate, decay_rate=decay_rate, total_step=total_step)
    _require("inverse_decay_lr", step_per_epoch=step_per_epoch, decay_epoch=decay_epoch)

    def rate(epoch):
        passes = epoch // decay_epoch if is_stair else epoch / decay_epoch
        return learning_rate / (1 + decay_rate * passes)

    return _by_epochs(total_step, step_per_epoch, rate)


def cosine_decay_lr(
    min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int
) -> list[float]:
    """From `max_lr` to `min_lr` by half a wave of the cosine over `decay_epoch` epochs, after which `min_lr` stays: a
    list of `total_step` rates, of which `step_per_epoch` are those of one epoch. Raises ValueError unless min_lr is
    below max_lr, and for other numbers that are not above 0."""
    _require("cosine_decay_lr", min_lr=min_lr, max_lr=max_lr, total_step=total_step)
    _require("cosine_decay_lr", step_per_epoch=step_per_epoch, decay_epoch=decay_epoch)
    if min_lr >= max_lr:
        raise ValueError(f"[cosine_decay_lr] bad min_lr, got {min_lr!r}, expected a number below max_lr, {max_lr!r}")

    def rate(epoch):
        return min_lr + 0.5 * (max_lr - min_lr) * (1 + math.cos(math.pi * min(epoch, decay_epoch) / decay_epoch))

    return _by_epochs(total_step, step_per_epoch, rate)


def polynomial_decay_lr(
    learning_rate: float,
    end_learning_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    power: float,
    update_decay_epoch: bool = False,
) -> list[float]:
    """From `learning_rate` to `end_learning_rate` by a power of the share of the epochs that are left of `decay_epoch`;
    with `update_decay_epoch` of its next multiple. A list of `total_step` rates, of which `step_per_epoch` are those of
    one epoch. Raises ValueError for an end below 0, and for other numbers that are not above 0."""
    _require("polynomial_decay_lr", learning_rate=learning_rate, end_learning_rate=end_learning_rate, power=power)
    _require("polynomial_decay_lr", total_step=total_step, step_per_epoch=step_per_epoch, decay_epoch=decay_epoch)

    def rate(epoch):
        epochs = decay_epoch * max(1, math.ceil(epoch / decay_epoch)) if update_decay_epoch else decay_epoch
        share = 1 - min(epoch, epochs) / epochs
        return (learning_rate - end_learning_rate) * share**power + end_learning_rate

    return _by_epochs(total_step, step_per_epoch, rate)


def warmup_lr(learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int) -> list[float]:
    """From 0 to `learning_rate` in equal steps of `warmup_epoch` epochs: a list of `total_step` rates, of which
    `step_per_epoch` are those of one epoch. Raises ValueError for numbers that are not above 0."""
    _require("warmup_lr", learning_rate=learning_rate, total_step=total_step, step_per_epoch=step_per_epoch)
    _require("warmup_lr", warmup_epoch=warmup_epoch)
    return _by_epochs(total_step, step_per_epoch, lambda epoch: learning_rate * min(epoch, warmup_epoch) / warmup_epoch)
