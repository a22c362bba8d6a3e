"""How `Model` scales the loss while it is differentiated."""


class LossScaleManager:
    """The base of managers, which say how `Model` scales the loss while it is differentiated. Checkpoints, not the
    manager, keep the scale of a training."""


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
    not finite, which is left out, and multiplied by it after `scale_window` other steps in a row."""

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

    def options(self):
        """Options of the job, by their keys."""
        return {
            "training.loss_scaling": "dynamic",
            "training.loss_scale": float(self.loss_scale),
            "training.loss_scale_factor": float(self.scale_factor),
            "training.loss_scale_window": int(self.scale_window),
        }
