"""The base of optimizers whose settings are dicts of groups, and of those that are made of an update."""

import itertools
import numbers
from collections import defaultdict

from partita._captured import Same, signature
from partita._current import current
from partita._names import refuse_missing
from partita._program import Program
from partita._trace import InPhase
from partita.common import dtype as mstype
from partita.common.parameter import Parameter, ParameterTuple
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.optim.averaging import require
from partita.ops import functional as F
from partita.ops.program_tools import HyperMap, Map

_OPERANDS = ("params", "lr", "weight_decay")  # of groups: all else is a setting


class Optimizer(Cell):
    """Parameters in groups. `param_groups` has a dict for each: "params", "lr", which is a parameter that may be
    assigned to, "weight_decay", and the settings of the class, which `defaults` has for groups without them. Values of
    these dicts may be replaced between steps. A call with the gradients, in the order of `parameters`, updates these.

    A subclass of one's own updates parameters in its `construct(gradients)`: `lrs` has the learning rates of groups,
    and group k the parameters from `group_start_id[k]` to before `group_start_id[k + 1]`."""

    def __init__(self, params, defaults):
        super().__init__(auto_prefix=False)
        where = type(self).__name__
        if isinstance(params, (Parameter, str)) or not hasattr(params, "__iter__"):
            raise TypeError(f"[{where}] no list of parameters, got {type(params).__name__}, expected one")
        given = list(params)
        if not given:
            raise ValueError(f"[{where}] nothing to train, got no parameters, expected at least 1")
        groups = given if isinstance(given[0], dict) else [{"params": given}]
        self.__dict__.update(
            defaults=defaults,
            state=defaultdict(dict),
            param_groups=[],
            parameters=ParameterTuple(()),
            lrs=[],
            group_start_id=[0],
            hyper_map=HyperMap(),
            map_=Map(),
        )
        for one in groups:
            self.add_param_group(one)

    _internals = Cell._internals | {"defaults", "state", "parameters", "lrs", "group_start_id"}

    def add_param_group(self, param_group):
        """Adds a group of parameters, a dict with those under "params". Raises TypeError if these are no parameters,
        ValueError if one of them is in a group already."""
        where = type(self).__name__
        if not isinstance(param_group, dict):
            raise TypeError(f"[{where}] a group is not a dict, got {type(param_group).__name__}, expected one")
        params = param_group["params"]
        params = [params] if isinstance(params, Parameter) else list(params)
        known = {id(one) for one in self.parameters}
        for one in params:
            if not isinstance(one, Parameter):
                raise TypeError(f"[{where}] not a parameter, got {type(one).__name__}, expected Parameter")
            if id(one) in known:
                raise ValueError(f"[{where}] a parameter is in two groups, got '{one.name}' again, expected it once")
        param_group["params"] = params
        for name, value in self.defaults.items():
            param_group.setdefault(name, value)
        decay = param_group.get("weight_decay", 0.0)
        is_number = isinstance(decay, numbers.Real) and not isinstance(decay, bool)
        require(where, "weight_decay", decay, is_number and decay >= 0, "a number from 0")
        rate = self._rate(param_group.get("lr"), f"learning_rate_group_{len(self.param_groups)}")
        param_group["weight_decay"], param_group["lr"] = float(decay), rate
        self.lrs.append(rate)
        self.param_groups.append(param_group)
        self.group_start_id.append(self.group_start_id[-1] + len(params))
        self.__dict__["parameters"] = ParameterTuple((*self.parameters, *params))

    def _rate(self, value, name):
        where = type(self).__name__
        if isinstance(value, Tensor):
            require(where, "lr", value, value.ndim == 0, "a tensor without dimensions")
            return Parameter(F.cast(value, mstype.float32), name, requires_grad=False)
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(f"[{where}] bad lr, got {type(value).__name__}, expected a number or a tensor")
        require(where, "lr", value, value >= 0, "a number from 0")
        return Parameter(Tensor(float(value), mstype.float32), name, requires_grad=False)

    def _decay_weight(self, weight_decay, params, gradients):
        """The gradients with a share of the parameters."""
        if not isinstance(weight_decay, Tensor) and not weight_decay:
            return gradients
        return tuple(g + F.cast(w * weight_decay, g.dtype) for w, g in zip(params, gradients))

    def __call__(self, *gradients):
        return self._program("update", lambda: Program(self.construct, rows=False))(*gradients)

    def construct(self, gradients):
        raise NotImplementedError(f"[{type(self).__name__}] the base makes no updates, got a call, expected a subclass")

    def _kept(self):
        """States besides those that a constructor of one's own made."""
        return ()

    def states_in_files(self):
        """The states, as a list: what files of a cell that trains with the optimizer have besides its parameters."""
        trained = {id(one) for one in self.parameters}
        return [one for one in self.get_parameters() if id(one) not in trained]

    def _stated(self):
        return [(name, one) for name, one in self.parameters_and_names()]

    def parameters_and_names(self, name_prefix="", expand=True):
        """(name, parameter) of the parameters and of their states, each once."""
        seen = set()
        for one in (*self.parameters, *self._kept(), *(one for _, one in super().parameters_and_names())):
            if id(one) not in seen:
                seen.add(id(one))
                yield one.name, one

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            for name in sorted(group):
                if name != "params":
                    value = group[name]
                    lines.append(f"    {name}: {value.asnumpy() if isinstance(value, Tensor) else value}")
        return "\n".join(lines) + "\n)"


class Updated(Optimizer):
    """The base of the optimizers of this package. A subclass names the `kept` states of a parameter, which have its
    shape and begin as zeros, and computes an update of one parameter."""

    kept = ()
    counter = "state_step"  # name of the number of steps, "" where files do not have it

    def __init__(self, params, defaults):
        self.__dict__["kept_states"] = {name: {} for name in self.kept}  # {number of a parameter: its state}
        count = Parameter(Tensor(0, mstype.int32), self.counter or "steps", requires_grad=False)
        self.__dict__["step_count"] = count
        super().__init__(params, defaults)

    _internals = Optimizer._internals | {"kept_states", "step_count"}

    def add_param_group(self, param_group):
        super().add_param_group(param_group)
        group, first = self.param_groups[-1], self.group_start_id[-2]
        for name in self.kept_of(group):
            begin = self.begin_of(name, group)
            for i, one in enumerate(group["params"], first):
                value = F.full(one.shape, begin, dtype=one.dtype)
                self.kept_states[name][i] = Parameter(value, f"{name}.{one.name}", requires_grad=False)

    def kept_of(self, group):
        """The names of the states of a parameter of a group."""
        return self.kept

    def _states(self):
        return [one for kept in self.kept_states.values() for one in kept.values()]

    def _kept(self):
        return [*self._states(), *([self.step_count] if self.counter else [])]

    def begin_of(self, name, group):
        """The value that the elements of a state begin as."""
        return 0.0

    def __getattr__(self, name):
        known = self.__dict__.get("kept_states", {})
        if name in known:
            return ParameterTuple(known[name].values())
        if name == self.counter and "step_count" in self.__dict__:
            return self.__dict__["step_count"]
        return super().__getattr__(name)

    def construct(self, gradients):
        self._require(gradients)
        build = current()
        build.begin_update()
        build.note(self)
        settings = [{name: one for name, one in group.items() if name not in _OPERANDS} for group in self.param_groups]
        for one, group in zip(settings, self.param_groups):
            one["decays"] = bool(group["weight_decay"])
        given = [group[name] for name in ("lr", "weight_decay") for group in self.param_groups]
        given = [one if isinstance(one, Tensor) else float(one) for one in given]
        operands = *self.parameters, *self._states(), self.step_count, *gradients, *given
        key = "update", Same(self), len(self.parameters), signature(settings)
        before, build.phase = build.phase, "update"
        made = build.do(key, lambda build, *symbols: _update(self, settings, build, *symbols), *operands)
        build.phase = before
        for one, value in zip(operands, made):
            build.replace(one, value)
        return True

    def _require(self, gradients):
        """Raises an error unless there is a gradient for each parameter."""
        where = type(self).__name__
        if len(gradients) != len(self.parameters):
            raise ValueError(
                f"[{where}] wrong number of gradients, got {len(gradients)}, expected {len(self.parameters)}"
            )
        for parameter, one in zip(self.parameters, gradients):
            if not isinstance(one, Tensor):
                raise TypeError(
                    f"[{where}] a gradient is not a tensor, got {type(one).__name__}, expected one for "
                    f"'{parameter.name}'"
                )
            if tuple(one.shape) != tuple(parameter.shape):
                raise ValueError(
                    f"[{where}] a gradient has the wrong shape, got {tuple(one.shape)} for '{parameter.name}', "
                    f"expected {tuple(parameter.shape)}: gradients in the order of optimizer.parameters, which groups "
                    "change"
                )

    def updated_all(self, settings, parameters, states, count, gradients, rates):
        """The new (parameters, {name: {number of a parameter: state}}, number of steps)."""
        made, kept, count = [], {name: dict(of_name) for name, of_name in states.items()}, count + 1
        step = F.cast(count, mstype.float32)
        for k, (group, rate) in enumerate(zip(settings, rates)):
            rate = F.cast(rate, mstype.float32)
            common = self.prepared(group, rate, step)
            for i in range(*self.group_start_id[k : k + 2]):
                own = {name: of_name[i] for name, of_name in states.items() if i in of_name}
                following, changed = self._updated(parameters[i], gradients[i], own, group, rate, common)
                made.append(following)
                for name, value in changed.items():
                    kept[name][i] = value
        return made, kept, count

    def _updated(self, parameter, gradient, states, group, rate, common):
        gradient = F.neg(gradient) if group.get("maximize") else gradient
        if self.decays_gradients:
            (gradient,) = self._decay_weight(group["weight_decay"], (parameter,), (gradient,))
        return self.updated(parameter, gradient, states, group, rate, common)

    decays_gradients = True

    def prepared(self, group, rate, step):
        """Values that all parameters of a group share in a step, whose number, a tensor, begins at 1."""
        return step

    def updated(self, parameter, gradient, states, group, rate, common):
        """(the new value of a parameter, {name: new value of a state})."""
        raise NotImplementedError


def _decay(settings, value):
    """The decay of weights of a group: a number, or a tensor where it is another one in each step."""
    if not settings["decays"]:
        return 0.0
    return F.cast(value, mstype.float32) if isinstance(value, Tensor) else value


def _update(optimizer, settings, build, *symbols):
    """Adds the update of all parameters of an optimizer, as one call, because a recorded step pays for each. Returns
    the symbols of parameters, of states and of the number of steps, in this order."""
    given = iter([one if type(one) is float else Tensor._from_symbol(one) for one in symbols])
    count = len(optimizer.parameters)
    with build:
        parameters = list(itertools.islice(given, count))
        states = {name: dict(zip(kept, given)) for name, kept in optimizer.kept_states.items()}
        steps, gradients = next(given), list(itertools.islice(given, count))
        rates = list(itertools.islice(given, len(settings)))
        settings = [{**one, "weight_decay": _decay(one, value)} for one, value in zip(settings, given)]
        made, states, steps = optimizer.updated_all(settings, parameters, states, steps, gradients, rates)
        made = [*made, *(one for kept in states.values() for one in kept.values()), steps]
        # A state keeps its type, whatever the type of the formula is.
        made = [F.cast(one, mstype.of_core(symbol.dtype))._symbol for one, symbol in zip(made, symbols)]
    with InPhase(build.trace, build.phase):
        for symbol, value in zip(symbols, made):
            build.trace.store(symbol, value)
    return made


__getattr__ = refuse_missing(globals())
