"""The base of optimizers: which parameters an update is of, how fast, and how it becomes a part of a program."""

import functools
import numbers
from collections.abc import Sequence

from partita import _core, _trace, context
from partita._captured import signature
from partita._described import options_text
from partita._names import refuse_missing
from partita._program import Program
from partita._warnings import warn
from partita.common import dtype as mstype
from partita.common._types import Parameters
from partita.common.parameter import Parameter, ParameterTuple
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.optim.by_hand import ByHand, updates_by_hand
from partita.nn.optim.file_states import FileStates
from partita.nn.optim.of_ops import OfOps
from partita.nn.optim.rates import Rates, rates_of
from partita.nn.optim.rates import LearningRate

# Methods of the documented class that only a `construct` which updates parameters itself calls.
_NOT_REPLACED = ("get_lr", "get_lr_parameter", "get_weight_decay", "decay_weight", "scale_grad")
_UNDECAYED = ("gamma", "beta")  # parameters with these in their names: scales and offsets of norms


class Optimizer(FileStates, Rates, ByHand, OfOps, Cell):
    """The base: parameters, and a learning rate, which is a number, or one for each step. Weights decay but for the
    scales and offsets of norms.

    Parameters may come in groups, dicts of "params" and, where they are not those of the optimizer, their
    "weight_decay", of all of them, and "lr", a number or one for each step. {"order_params": parameters} gives their
    order. A call with the gradients, in the order of the parameters and of their shapes, updates them.

    Raises TypeError for what are no parameters and no rates, ValueError without parameters, for rates and decays below
    0, and for a loss_scale that is not above 0, RuntimeError for two parameters of one name. A call raises ValueError
    for another number of gradients, and for those of other shapes.
    """

    def __init__(
        self, learning_rate: LearningRate, parameters: Parameters, weight_decay: float = 0.0, loss_scale: float = 1.0
    ):
        super().__init__(auto_prefix=False)
        where = type(self).__name__
        for name in () if self.updates_itself() else _NOT_REPLACED:
            if getattr(type(self), name, None) is not getattr(Optimizer, name, None):
                raise NotImplementedError(
                    f"[{where}] the training would not call this method, got {name} of its own, expected `update` or "
                    "`construct`"
                )
        if isinstance(parameters, (Cell, Tensor, str)) or not hasattr(parameters, "__iter__"):
            raise TypeError(
                f"[{where}] not a list of parameters, got {type(parameters).__name__}, expected those of "
                "net.trainable_params()"
            )
        parameters, groups = list(parameters), {}
        if any(isinstance(one, dict) for one in parameters):
            parameters, groups = _ungrouped(where, parameters)
        for one in parameters:
            if not isinstance(one, Parameter):
                raise TypeError(
                    f"[{where}] not a parameter, got {type(one).__name__}, expected Parameter, as of "
                    "net.trainable_params()"
                )
        if not parameters:
            raise ValueError(f"[{where}] nothing to train, got no parameters, expected at least 1")
        names = [one.name for one in parameters]
        for name in names:
            if names.count(name) > 1:
                raise RuntimeError(
                    f"[{where}] two parameters have the same name, got '{name}' again, expected different names"
                )
        if isinstance(weight_decay, bool) or not isinstance(weight_decay, numbers.Real) or weight_decay < 0:
            raise ValueError(f"[{where}] bad weight_decay, got {weight_decay!r}, expected a number from 0")
        if isinstance(loss_scale, bool) or not isinstance(loss_scale, numbers.Real) or loss_scale <= 0:
            raise ValueError(f"[{where}] bad loss_scale, got {loss_scale!r}, expected a number above 0")
        self.__dict__["parameters"] = ParameterTuple(parameters)
        self.__dict__["groups"] = groups  # of each parameter's name its own decay and rate, where there are groups
        self.weight_decay, self.loss_scale = float(weight_decay), float(loss_scale)
        self.__dict__["learning_rates"] = rates_of(where, learning_rate)
        self.__dict__["global_step"] = 0
        self.__dict__["_counts"] = False
        self.__dict__["states"] = {}  # momentum and the like by their names in the library, once there are some
        self._forget_loaded()
        self.__dict__["_scale_after"] = None
        if self.updates_itself():
            self._begin_by_hand()

    @classmethod
    def updates_itself(cls):
        """Whether `construct` of the class makes the updates, instead of calling that of a class of the package."""
        names = ("construct", "update", "options")
        is_only_own = all((getattr(cls, one) is getattr(Optimizer, one)) != (one == "construct") for one in names)
        return is_only_own or updates_by_hand(cls, Optimizer)

    def options(self) -> dict:
        """Options of the job, by their keys."""
        if self.is_composed:
            return {"optimizer.kind": "adam"}  # that it has states: its updates are made of ops
        raise NotImplementedError(
            f"[{type(self).__name__}] a custom optimizer cannot be used here, got its own updates, expected SGD, "
            "Momentum, Adam or AdamWeightDecay"
        )

    def _decay(self):
        """Options of the decay of weights."""
        if not self.weight_decay:
            return {}
        return {"optimizer.weight_decay": self.weight_decay, "optimizer.no_decay": list(_UNDECAYED)}

    _entries = frozenset({"update"})
    _hinted = "Optimizer"
    _internals = Cell._internals | {
        "parameters",
        "learning_rates",
        "global_step",
        "states",
        "_counts",
        "loaded_rate",
        "loaded_scale",
        "_scale_after",
        "_known_options",
        "_rate",
        "_group_rates",
    }

    def extend_repr(self) -> str:
        """The number of parameters, the rate (of several the first), and options that have not their defaults."""
        rates, others = self.__dict__.get("learning_rates"), options_text(self, ("",))
        first = rates[0] if isinstance(rates, (list, tuple)) and rates else rates
        rate = f", learning_rate={first:g}" if isinstance(first, numbers.Real) else ""
        return f"parameters={len(self.parameters)}{rate}" + (f", {others}" if others else "")

    def program_state(self):
        """The options whose change makes another program of a step."""
        values = [(name, one) for name, one in self.__dict__.items() if name not in self._internals]
        return tuple((name, signature(one)) for name, one in values)

    def _decay_of(self, name):
        """The decay of one parameter."""
        if self.groups:
            decay = self._group_of(name)[0]
            return self.weight_decay if decay is None else decay
        return 0.0 if any(one in name for one in _UNDECAYED) else self.weight_decay

    def _group_of(self, name):
        if name not in self.groups:
            raise RuntimeError(
                f"[{type(self).__name__}] a parameter belongs to no group, got '{name}', expected one of "
                f"{sorted(self.groups)}: the names that they had when the optimizer was made"
            )
        return self.groups[name]

    def _options_of(self, name):
        """Options of the update of one parameter, as texts."""
        options = dict(self.options())
        if self.groups:
            options.update({"optimizer.weight_decay": self._decay_of(name), "optimizer.no_decay": []})
        return context.option_texts(options)

    @property
    def counts_steps(self):
        """Whether updates depend on the number of steps. For updates made of ops this is known once they are built."""
        return self._counts

    def __call__(self, gradients, *others):
        """Updates the parameters by their gradients, in their order; a `construct` of one's own may take more."""
        if self.updates_itself():
            return self._call_by_hand(gradients, *others)
        return self._program("update", lambda: Program(self._construct, rows=False))(*gradients)

    def _construct(self, *gradients):
        return self.construct(gradients)

    def construct(self, gradients: Sequence[Tensor]) -> Tensor:
        """The update of all parameters; a subclass may change the gradients before, for loops of one's own."""
        where = type(self).__name__
        if len(gradients) != len(self.parameters):
            raise ValueError(
                f"[{where}] wrong number of gradients, got {len(gradients)}, expected {len(self.parameters)}"
            )
        build = _trace.current()
        rate = build.rate(self)
        build.note(self)
        parameters = self.parameters
        if not all([one.requires_grad for one in parameters]):  # some were frozen since
            taken = [i for i, one in enumerate(parameters) if one.requires_grad]
            parameters, gradients = [parameters[i] for i in taken], [gradients[i] for i in taken]
        if not all([isinstance(one, Tensor) for one in gradients]):
            i = [isinstance(one, Tensor) for one in gradients].index(False)
            raise TypeError(
                f"[{where}] a gradient is not a tensor, got {type(gradients[i]).__name__}, expected one for "
                f"'{parameters[i].name}'"
            )
        own = self._rates_of_groups(parameters) if self.groups else {}
        if self.is_composed:
            for parameter, gradient in zip(parameters, gradients):
                self._require_shape(parameter.name, parameter, gradient)
            self._compose(build, parameters, gradients, rate, own)
        elif parameters:
            action = self._update_of(tuple([one.name for one in parameters]))
            made = build.do(*action, *parameters, *gradients, rate, *own.values())
            for parameter, value in zip(parameters, made):
                build.replace(parameter, value)
        return _done()

    @property
    def adds_updates(self):
        """Whether trainings have to call `add_update` for each parameter, instead of knowing updates by `options`."""
        return self.is_named_by_class or bool(self.groups)

    # Updates that are made of ops: `update` of a subclass.

    @property
    def is_composed(self):
        """Whether the update is made of ops instead of being one of the library."""
        return type(self).update is not Optimizer.update

    @property
    def is_named_by_class(self):
        """Whether files name what the optimizer measures by its class, instead of by the optimizer of the library."""
        return self.is_composed

    def update(self, parameter: Tensor, gradient: Tensor, learning_rate: Tensor, states) -> Tensor:
        """Returns the new value of a parameter, computed with ops of tensors. `states(name, begin)` returns a state of
        the parameter's shape that starts as `begin`, and `states.keep(name, value)` sets it. `states.step` is the
        number of steps taken, as a float, and `states.weight_decay` the decay of this parameter."""
        raise NotImplementedError

    def factor_under(self, manager):
        """The factor of the gradients of a training whose loss a manager scales; the training takes the scale out.
        Where a manager leaves no step out, the optimizer may be what divides by the scale."""
        if manager is None or manager.get_drop_overflow_update() or self.loss_scale == 1:
            return 1 / self.loss_scale
        return manager.get_loss_scale() / self.loss_scale

    def add_update(self, trace, parameter, gradient, rate, factor=None):
        """Adds the nodes that update one parameter, by its gradient times the factor, 1 / loss_scale if that is None.
        All of them are symbols. Returns the symbol of its new value."""
        with _trace.Build(trace, training=True) as build:
            tensors = [Tensor._from_symbol(one) for one in (parameter, gradient, rate)]
            if self.is_composed:
                return self._composed(build, parameter.name, *tensors, factor)._symbol
            return build.do(*self._update_of((parameter.name,), factor), *tensors)[0]._symbol

    def _require_shape(self, name, parameter, gradient):
        if tuple(gradient.shape) != tuple(parameter.shape):
            raise ValueError(
                f"[{type(self).__name__}] a gradient has the wrong shape, got {tuple(gradient.shape)} for '{name}', "
                f"expected {tuple(parameter.shape)}"
            )

    def _update_of(self, names, factor=None):
        """(key, action) of the update of parameters of these names by the library."""
        options, factor = self._options_now(names), 1 / self.loss_scale if factor is None else factor
        key = "update", _trace.Same(options), factor
        return key, lambda build, *symbols: self._add_updates(build, names, options, factor, symbols)

    def _add_updates(self, build, names, options, factor, symbols):
        rate, made, scheduled = symbols[2 * len(names)], [], iter(symbols[2 * len(names) + 1 :])
        for i, (name, texts) in enumerate(zip(names, options)):
            parameter, gradient = symbols[i], symbols[len(names) + i]
            self._require_shape(name, parameter, gradient)
            if factor != 1:
                with _trace.InPhase(build.trace, "update"):
                    gradient = _core.functions.scale(gradient, factor, 0.0)
            own = self._group_of(name)[1] if self.groups else None
            if own is None:
                own = rate
            elif len(own) > 1:
                own = next(scheduled, None) or self._refuse_schedule(name)
            else:
                own = build.trace.constant(own[0], "f32", [])
            made.append(build.trace.update(texts, parameter, gradient, own))
        return made

    def _options_now(self, names):
        """The options of the updates of parameters, as texts: the same object as long as nothing of the optimizer
        changes."""
        known = self._state_now()
        if names not in known[2]:
            known[2][names] = [self._options_of(name) for name in names]
        return known[2][names]

    def _state_now(self):
        """(changes so far, what updates depend on, options by names): the same as long as nothing of this changes."""
        known = self.__dict__.get("_known_options")
        if known is None or known[0] != self._changes:
            state = self.program_state()
            known = self._changes, state, known[2] if known is not None and known[1] == state else {}
            self.__dict__["_known_options"] = known
        return known

    decays_gradients = True

    @property
    def target(self):
        """The kind of device that updates run on: that of all ops."""
        return context.get_context("device_target")

    @target.setter
    def target(self, value):
        self._set_base_target(value)

    def _set_base_target(self, value):
        if value not in ("CPU", "GPU", "Ascend"):
            raise ValueError(f"[{type(self).__name__}] unknown target, got {value!r}, expected CPU, GPU or Ascend")
        if value != self.target:
            warn(f"[{type(self).__name__}] updates run where the gradients are, got target {value}, no effect")


def _ungrouped(where, groups):
    """(parameters in their order, for each name its own (weight decay, learning rates), None where it has none)."""
    parameters, own, order = [], {}, None
    for group in groups:
        if not isinstance(group, dict):
            raise TypeError(
                f"[{where}] groups are mixed with parameters, got {type(group).__name__}, expected a dict like the "
                "others"
            )
        unknown = sorted(set(group) - {"params", "weight_decay", "lr", "order_params", "grad_centralization"})
        if unknown or ("params" in group) == ("order_params" in group):
            raise KeyError(
                f"[{where}] bad group of parameters, got {sorted(group)}, expected params with weight_decay or lr, or "
                "order_params alone"
            )
        if "order_params" in group:
            order = list(group["order_params"])
            continue
        if group.get("grad_centralization"):
            raise NotImplementedError(f"[{where}] grad_centralization is not supported, got True, expected False")
        decay, rate = group.get("weight_decay"), group.get("lr")
        if decay is not None and (isinstance(decay, bool) or not isinstance(decay, numbers.Real) or decay < 0):
            raise ValueError(f"[{where}] bad weight_decay of a group, got {decay!r}, expected a number from 0")
        if rate is not None:
            rate = rates_of(where, rate)
        for one in group["params"]:
            parameters.append(one)
            own[getattr(one, "name", "")] = (None if decay is None else float(decay), rate)
    if order is not None:
        if sorted(map(id, order)) != sorted(map(id, parameters)):
            raise ValueError(
                f"[{where}] order_params names other parameters, got {len(order)}, expected the {len(parameters)} of "
                "the groups"
            )
        parameters = order
    return parameters, own


@functools.lru_cache(maxsize=1)
def _done():
    """The result of an update."""
    return Tensor(True)


def opt_init_args_register(fn):
    """The constructor itself: optimizers keep their settings as attributes."""
    return fn


def require_betas(where, beta1, beta2, eps):
    for name, value in (("beta1", beta1), ("beta2", beta2)):
        if not 0 < value < 1:
            raise ValueError(f"[{where}] {name} out of range, got {value}, expected 0 to 1, both excluded")
    if eps <= 0:
        raise ValueError(f"[{where}] bad eps, got {eps}, expected a number above 0")


__getattr__ = refuse_missing(globals())
