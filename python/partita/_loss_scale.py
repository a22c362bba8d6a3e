"""How `Model` scales the loss while it is differentiated."""


_LARGEST_FIRST_SCALE = 2.0**40  # that a training begins with


class LossScaleManager:
    """The base of managers, which say how `Model` scales the loss while it is differentiated."""

    def begin_training(self):
        """Called when a training begins."""

    def end_step(self, loss_scale, skipped):
        """Called after each step of a training, with its scale and whether it was left out."""


class FixedLossScaleManager(LossScaleManager):
    """A scale that stays. A step whose gradients are not finite is left out, or with `drop_overflow_update=False` ends
    the training."""

    def __init__(self, loss_scale=128.0, drop_overflow_update=True):
        if loss_scale < 1:
            raise ValueError(f"[FixedLossScaleManager] bad loss_scale, got {loss_scale}, expected a number from 1")
        self._loss_scale, self._drop_overflow_update = loss_scale, drop_overflow_update

    def get_loss_scale(self):
        return self._loss_scale

    def get_drop_overflow_update(self):
        return self._drop_overflow_update

    def update_loss_scale(self, overflow):
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
    with the scale after the one before, at most 2^40, and counts steps anew. One that is resumed goes on with the scale
    and the count of its checkpoint."""

    def __init__(self, init_loss_scale=2**24, scale_factor=2, scale_window=2000):
        if init_loss_scale < 1:
            raise ValueError(
                f"[DynamicLossScaleManager] bad init_loss_scale, got {init_loss_scale}, expected a number from 1"
            )
        self.loss_scale, self.scale_factor, self.scale_window = init_loss_scale, scale_factor, scale_window
        self.good_steps = 0

    def get_loss_scale(self):
        return self.loss_scale

    def get_drop_overflow_update(self):
        return True

    def update_loss_scale(self, overflow):
        if overflow:
            self.loss_scale, self.good_steps = max(1, self.loss_scale / self.scale_factor), 0
            return
        self.good_steps += 1
        if self.good_steps >= self.scale_window:
            self.loss_scale, self.good_steps = self.loss_scale * self.scale_factor, 0

    def begin_training(self):
        self.good_steps = 0

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
