"""The base of callbacks, and what they see of a run."""

from __future__ import annotations

from partita._described import Described


class RunContext:
    """The arguments of a run, for callbacks: `original_args()` has them as attributes (cur_step_num, cur_epoch_num,
    net_outputs, ..), and `request_stop()` ends the run after the step."""

    def __init__(self, original_args: dict):
        self._original_args, self._stop_requested = original_args, False

    def original_args(self):
        return self._original_args

    def request_stop(self) -> None:
        """Ends the run after this step."""
        self._stop_requested = True

    def get_stop_requested(self) -> bool:
        return self._stop_requested


class InternalCallbackParam(dict):
    """Named values, as attributes too; those that are not there are None. Subclasses compute some of them in
    `__missing__`."""

    def get(self, name: str, default=None):
        try:
            return self[name]
        except KeyError:
            return default

    def __getattr__(self, name):
        return self.get(name)

    def __setattr__(self, name, value):
        self[name] = value


def require_rate(where, optimizer):
    """Raises NotImplementedError unless an optimizer is of nn: the rates of others are those of their groups."""
    if not hasattr(optimizer, "is_scheduled"):
        raise NotImplementedError(
            f"[{where}] the rates of this optimizer are those of its groups, got {type(optimizer).__name__}, expected "
            "an optimizer of nn, or a schedule of experimental.optim.lr_scheduler in a loop"
        )


class Callback(Described):
    """The base: override what is of interest. The names without `on_train_` and `on_eval_` are those of old scripts. A
    run enters its callbacks as contexts before it begins, and leaves them when it ends or fails.

    may_lag: whether `on_train_step_end` of this class may be called when the next step has begun, so that an
    accelerator does not wait for it. The method then reads the arguments of the run alone. It reads no parameter,
    changes no learning rate, and asks neither for a checkpoint nor for the end of the run."""

    may_lag = False

    def begin(self, run_context: RunContext):
        """Called when a training or an evaluation begins."""

    def epoch_begin(self, run_context: RunContext):
        """Called before each epoch."""

    def epoch_end(self, run_context: RunContext):
        """Called after each epoch."""

    def step_begin(self, run_context: RunContext):
        """Called before each step."""

    def step_end(self, run_context: RunContext):
        """Called after each step."""

    def end(self, run_context: RunContext):
        """Called when a training or an evaluation ends."""

    def on_train_begin(self, run_context: RunContext) -> None:
        """Called when a training begins."""
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Called before each epoch of a training."""
        self.epoch_begin(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Called after each epoch of a training."""
        self.epoch_end(run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Called before each step of a training."""
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Called after each step of a training."""
        self.step_end(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        """Called when a training ends."""
        self.end(run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Called when an evaluation begins."""
        self.begin(run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        """Called before the rows of an evaluation."""
        self.epoch_begin(run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """Called after the rows of an evaluation."""
        self.epoch_end(run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        """Called before each batch of an evaluation."""
        self.step_begin(run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Called after each batch of an evaluation."""
        self.step_end(run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        """Called when an evaluation ends."""
        self.end(run_context)

    def _before_training(self, network, optimizer):
        """Called before a training is made, while parameters may still be changed."""

    def _after_training(self, network):
        """Called after a training that did not fail, when parameters may be changed again."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None
