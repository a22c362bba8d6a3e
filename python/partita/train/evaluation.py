"""Evaluations that tell callbacks how they go on."""

from partita._warnings import warn
from partita.common.tensor import Tensor
from partita.train.callback import TimeMonitor
from partita.train.callback_base import Callback, InternalCallbackParam, RunContext
from partita.train.metrics import Loss

_OLD_NAMES = ("begin", "end", "epoch_begin", "epoch_end", "step_begin", "step_end")
_STEPS = ("on_eval_step_begin", "on_eval_step_end")
_EVENTS = ("on_eval_begin", "on_eval_epoch_begin", *_STEPS, "on_eval_epoch_end", "on_eval_end")


def hears(callback, event):
    """Whether it has a method of its own for an event, also by the name of old scripts."""
    names = event, event.split("_", 2)[2]
    own = getattr(callback, "__dict__", ())
    return any(getattr(type(callback), name) is not getattr(Callback, name) or name in own for name in names)


def may_lag(callback):
    """Whether a callback may hear late of steps: `may_lag` of the class that has its method for them, or of one derived
    from that. Raises TypeError unless it is a bool."""
    for members in (getattr(callback, "__dict__", {}), *map(vars, type(callback).__mro__)):
        if "may_lag" in members:
            if isinstance(members["may_lag"], bool):
                return members["may_lag"]
            raise TypeError(
                f"[train] bad may_lag of {type(callback).__name__}, got {members['may_lag']!r}, expected True or False"
            )
        if "on_train_step_end" in members or "step_end" in members:
            return False
    return False


def hear_evaluations(callbacks):
    """Whether one of the callbacks has a method for an event of evaluations."""
    return any(hears(one, event) for one in callbacks for event in _EVENTS)


def _is_own(callback):
    return type(callback).__module__.startswith("partita.")


def epochs_with(frequency):
    """Returns whether an epoch of a number ends with an evaluation, as a function: each multiple of a number, or those
    that are listed. Raises ValueError for numbers below 1."""
    listed = frequency if isinstance(frequency, (tuple, list)) else [frequency]
    for one in listed:
        if isinstance(one, bool) or not isinstance(one, int):
            raise TypeError(
                f"[fit] valid_frequency is not an integer, got {frequency!r}, expected one from 1, or several"
            )
        if one < 1:
            raise ValueError(f"[fit] bad valid_frequency, got {frequency!r}, expected an integer from 1, or several")
    return lambda epoch: epoch in listed if listed is frequency else epoch % frequency == 0


def validated(model, dataset, epochs, callbacks):
    """A function that evaluates a model at the end of those of its training's epochs that are to be."""
    callbacks = [one for one in callbacks if isinstance(one, TimeMonitor) or not _is_own(one)]
    made = []

    def validate(args):
        args["_has_no_evaluation"] = not epochs(args.cur_epoch_num)
        if args["_has_no_evaluation"]:
            return
        if model._eval_network is not None:
            args.metrics = args.eval_results = model.eval(dataset, callbacks)
            return
        if not made:
            made.append(Evaluation(model, dataset))
        model._set_train(False)
        own = Arguments(args)
        made[0].run(callbacks, own)
        model._set_train(True)
        kept = ("cur_step_num", "batch_num", "mode", "dataset_sink_mode")
        args.update((name, one) for name, one in own.items() if name not in kept)

    return validate


def require_new_names(callbacks):
    """Raises ValueError for callbacks of scripts with methods whose names do not say whether they are of trainings."""
    for one in callbacks:
        old = [name for name in _OLD_NAMES if name in vars(type(one)) and not _is_own(one)]
        if old:
            raise ValueError(
                f"[fit] methods of {type(one).__name__} would be called in trainings and evaluations, got {old}, "
                f"expected {['on_train_' + name for name in old]} or {['on_eval_' + name for name in old]}"
            )


def entered(stack, callbacks):
    """The callbacks as their `__enter__` gives them. The stack calls their `__exit__`."""
    found = []
    for one in callbacks:
        inner = stack.enter_context(one)
        if not isinstance(inner, Callback):
            warn(
                f"[{type(one).__name__}] __enter__ gave no callback, got {type(inner).__name__}, expected a "
                "Callback such as self"
            )
            inner = one
        found.append(inner)
    return found


class _Parts:
    """The measurements of a data set from those of its batches."""

    def __init__(self):
        self._parts = []

    def add(self, found):
        self._parts.append(found)

    @property
    def classified(self):
        return all(one.classified for one in self._parts)

    def __getattr__(self, name):
        rows = sum(one.samples for one in self._parts)
        return sum(getattr(one, name) * one.samples for one in self._parts) / rows


class Arguments(InternalCallbackParam):
    """The arguments of an evaluation. The rows of a batch, and what the network makes of them, are computed when they
    are asked for."""

    def __missing__(self, name):
        evaluation = super().get("_evaluation")
        if evaluation is None or name not in ("eval_dataset_element", "net_outputs"):
            raise KeyError(name)
        return evaluation.element() if name == "eval_dataset_element" else evaluation.outputs()


class Evaluation:
    """An evaluation of a model on a data set, which may be run several times."""

    def __init__(self, model, dataset):
        self._model, self._dataset = model, dataset
        self._job, self._rows, self._batch = model._evaluation_job(dataset)
        self._called = model._called_metrics()
        self._part = self._found = self._made = None  # of the batch that was evaluated last

    def run(self, callbacks, args):
        """The measurements. Callbacks hear of the evaluation, and see the arguments of the run."""
        context = RunContext(args)

        def call(event):
            for one in callbacks:
                getattr(one, event)(context)

        self._job.give(list(self._model._network.get_parameters()), {})
        args.update(cur_step_num=0, batch_num=self._dataset.get_dataset_size(), mode="eval", dataset_sink_mode=False)
        args.update(eval_network=self._model._network, valid_dataset=self._dataset, _evaluation=self)
        call("on_eval_begin")
        call("on_eval_epoch_begin")
        for one in self._called.values():
            one.clear()
        self._prediction = None
        if self._called or any(hears(one, event) for one in callbacks for event in _STEPS):
            found = self._by_batches(call, context, args)
        else:
            found = self._job.core.eval(self._rows)
        call("on_eval_epoch_end")
        args.metrics = self._model._measured(found)
        args.eval_results = {**args.metrics, "eval_loss": found.loss}
        call("on_eval_end")
        del args["_evaluation"]
        return found

    def _by_batches(self, call, context, args):
        found = _Parts()
        for begin in range(0, len(self._rows), self._batch):
            self._part = self._rows.skip(begin)
            if begin + self._batch < len(self._rows):
                self._part = self._part.take(self._batch)
            self._found = self._made = None
            args.cur_step_num += 1
            call("on_eval_step_begin")
            self._found = self._job.core.eval(self._part)
            found.add(self._found)
            self._call_metrics()
            call("on_eval_step_end")
            if context.get_stop_requested():
                break
        return found

    def element(self):
        """The columns of the last batch."""
        return tuple(Tensor(one) for one in self._part.read(0, list(range(len(self._part)))))

    def _call_metrics(self):
        """Gives the metrics that are called the results of the last batch: the loss to those that measure it."""
        if self._called:
            results = self.outputs()
        for one in self._called.values():
            one.update(*(results[:1] if isinstance(one, Loss) else results[1:]))

    def outputs(self):
        """(loss, outputs of the network, labels) of the last batch; the loss of a network that is one itself."""
        loss = Tensor(self._found.loss)
        if self._model._loss_fn is None:
            return loss
        data, label = self.element()
        if self._made is None:
            self._prediction = self._prediction or self._model._prediction([data])
            self._made = self._prediction([data])
        return loss, self._made, label
