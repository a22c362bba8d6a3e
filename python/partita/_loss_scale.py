"""How `Model` scales the loss while it is differentiated."""

from __future__ import annotations

import math
import numbers

from partita._described import Described

_LARGEST_FIRST_SCALE = 2.0**40  # that a training begins with


def require_scale(where, what, value, least=1, most=math.inf):
    """Raises TypeError unless the value is a number, ValueError unless it is finite and within the limits."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"[{where}] {what} is not a number, got {value!r}, expected a number from {least}")
    if not (math.isfinite(value) and least <= value <= most):
        limit = "" if most == math.inf else f" to {most:g}"
        raise ValueError(f"[{where}] bad {what}, got {value}, expected a number from {least}{limit}")


def require_window(where, value):
    """Raises TypeError unless the value is an integer, ValueError unless it is positive."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"[{where}] scale_window is not an integer, got {value!r}, expected one from 1")
    if value < 1:
        raise ValueError(f"[{where}] bad scale_window, got {value}, expected an integer from 1")


class LossScaleManager(Described):
    """The base of managers, which say how `Model` scales the loss while it is differentiated."""

    def begin_training(self, good_steps=0):
        """Called when a training begins. `good_steps`: steps in a row since the scale of a checkpoint changed."""

    def end_step(self, loss_scale, skipped):
        """Called after each step of a training, with its scale and whether it was left out."""


class FixedLossScaleManager(LossScaleManager):
    """A scale that stays. A step whose gradients are not finite is left out, or with `drop_overflow_update=False` ends
    the training."""

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True):
        require_scale(type(self).__name__, "loss_scale", loss_scale, most=_LARGEST_FIRST_SCALE)
        if not isinstance(drop_overflow_update, bool):
            raise TypeError(
                f"[{type(self).__name__}] drop_overflow_update is no bool, got {drop_overflow_update!r}, "
                "expected True or False"
            )
        self._loss_scale, self._drop_overflow_update = loss_scale, drop_overflow_update

    def get_loss_scale(self):
        return self._loss_scale

    def get_drop_overflow_update(self):
        return self._drop_overflow_update

    def update_loss_scale(self, overflow: bool):
        pass

    def options(self):
        """Options of the job, by their keys."""
        on_nan = "skip" if self._drop_overflow_update else "stop"
        return {
            "training.loss_scaling": "static",
            "training.loss_scale": float(self._loss_scale),
            "training.on_nan": on_nan,
        }


class DynamicLossScaleManager(LossScaleManager):
    """A scale that follows the gradients. It is divided by `scale_factor`, down to 1, after a step whose gradients are
    not finite, which is left out, and multiplied by it after `scale_window` other steps in a row. A training begins
    with the scale after the one before, at most 2^40, and counts steps anew. One whose optimizer was loaded from a
    checkpoint goes on with its scale and count."""

    def __init__(self, init_loss_scale: float = 2**24, scale_factor: float = 2, scale_window: int = 2000):
        where = type(self).__name__
        require_scale(where, "init_loss_scale", init_loss_scale, most=_LARGEST_FIRST_SCALE)
        require_scale(where, "scale_factor", scale_factor, 1.001, 65536)
        require_window(where, scale_window)
        self.loss_scale, self.scale_factor, self.scale_window = init_loss_scale, scale_factor, scale_window
        self.good_steps = 0

    def get_loss_scale(self):
        return self.loss_scale

    def get_drop_overflow_update(self):
        return True

    def update_loss_scale(self, overflow: bool):
        if overflow:
            self.loss_scale, self.good_steps = max(1, self.loss_scale / self.scale_factor), 0
            return
        self.good_steps += 1
        if self.good_steps >= self.scale_window:
            self.loss_scale, self.good_steps = self.loss_scale * self.scale_factor, 0

    def begin_training(self, good_steps=0):
        self.good_steps = good_steps

    def end_step(self, loss_scale, skipped):
        self.loss_scale = loss_scale
        self.update_loss_scale(skipped)
        self.loss_scale = min(self.loss_scale, _LARGEST_FIRST_SCALE)

    def options(self):
        """Options of the job, by their keys."""
        return {
            "training.loss_scaling": "dynamic",
            "training.loss_scale": float(self.loss_scale),
            "training.loss_scale_factor": float(self.scale_factor),
            "training.loss_scale_window": int(self.scale_window),
        }
