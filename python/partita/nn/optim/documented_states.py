"""The states of optimizers under the names that checkpoints of MindSpore have: moments.X of a parameter X."""

import numpy as np

from partita import _core
from partita._names import refuse_missing
from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.nn.learning_rate_schedule import Scheduled

# What precedes the name of a parameter in the states of all its optimizers.
_PREFIXES = frozenset(_core.documented_state_prefixes())
# Numbers of its optimizers that follow from the options and the number of steps.
_NUMBERS = frozenset(("beta1_power", "beta2_power", "momentum"))


def parameter_of(name, parameters):
    """The parameter of `parameters` that a state of any optimizer is of, by the name of the state; "" for none."""
    head = name.rpartition(".")[0]
    if head in parameters:
        return head
    prefix, _, rest = name.partition(".")
    return rest if prefix in _PREFIXES and rest in parameters else ""


def is_of(optimizer, name):
    """Whether a name is one of a number or a state that an optimizer of these parameters has."""
    if name in optimizer.own_states():
        return True
    parameters = {one.name for one in optimizer.parameters}
    is_number = name in _NUMBERS or name in ("global_step", "learning_rate") or name.startswith("checkpoint.")
    return is_number or (name not in parameters and parameter_of(name, parameters) != "")


def in_own_names(optimizer, given, parameters):
    """({name: tensor}, {name: name in the file}) of a file, in which the states of `parameters` have the names of this
    package. What the optimizer does not need is left out. Files with such names go through unchanged."""
    states = {prefix: state for state, prefix in optimizer.documented.items()}
    kept, own, documented = optimizer.kept_states() or (), {}, {}
    for name, one in given.items():
        prefix, _, rest = name.partition(".")
        state = states.get(prefix)
        if name in _NUMBERS or (prefix == "stat" and "accum" in states and rest in parameters):
            continue
        if name in parameters or rest not in parameters or state is None:
            own[name] = one
        elif state in kept:
            own[f"{rest}.{state}"] = one
            documented[f"{rest}.{state}"] = name
    if documented and optimizer.counts_steps and "step" not in own and "global_step" in own:
        steps = int(own["global_step"].asnumpy().reshape(-1)[0])
        own["step"] = Parameter(Tensor(steps, mstype.int64), "step", requires_grad=False)
    return own, documented


def missing(optimizer, given):
    """The names that a checkpoint of MindSpore has for the numbers and the states of an optimizer, without those that
    `given` has under one of their names."""
    kept = optimizer.kept_states() or ()
    names = [("global_step", "checkpoint.position")]
    if not isinstance(optimizer.learning_rates, Scheduled):
        names.append(("learning_rate", "checkpoint.learning_rate"))
    names += [(name, name) for name in optimizer.own_states()]
    for state, prefix in optimizer.documented.items():
        if state in kept:
            names += [(f"{prefix}.{one.name}", f"{one.name}.{state}") for one in optimizer.parameters]
    return [documented for documented, own in names if documented not in given and own not in given]


def saved(optimizer):
    """(name, tensor) of the numbers and the states of an optimizer, as MindSpore names them. States that it lacks keep
    the names of this package."""
    named = [("global_step", np.array([int(optimizer.global_step)], "i4"))]
    if not isinstance(optimizer.learning_rates, Scheduled):
        rates = optimizer.learning_rates if optimizer.is_scheduled else optimizer.rate_of(0)
        named.append(("learning_rate", np.array(rates, "f4")))
    if optimizer.updates_itself():
        return [(name, Tensor(one)) for name, one in named] + list(optimizer.own_states().items())
    named += _numbers_of(optimizer)
    arrays = [(name, Tensor(one)) for name, one in named]
    parameters = {one.name for one in optimizer.parameters}
    for name, one in optimizer.states.items():
        head, _, state = name.rpartition(".")
        prefix = optimizer.documented.get(state) if head in parameters else None
        if prefix:
            arrays.append((f"{prefix}.{head}", one))
        elif name != "step" or not optimizer.documented:
            arrays.append((name, one))
    return arrays + (_unused_states(optimizer) if optimizer.global_step else [])


def _unused_states(optimizer):
    """(name, zeros) of what MindSpore's optimizers have, too, and do not use after the first step: a momentum of 0, and
    the flags of gradient descent that no step was taken."""
    kept = optimizer.kept_states() or ()
    unused = [own for state, own in optimizer.documented.items() if "momentum" in state and state not in kept]
    if optimizer.documented.get("momentum") == "accum":
        unused.append("stat")
    return [(f"{own}.{one.name}", Tensor(np.zeros(one.shape, "f4"))) for own in unused for one in optimizer.parameters]


def _numbers_of(optimizer):
    """(name, array) of the options that MindSpore keeps as parameters of this optimizer."""
    own = optimizer.documented
    numbers = []
    if "momentum" in own:
        numbers.append(("momentum", np.array(optimizer.momentum, "f4")))
    if "moment1" in own.values():
        shape = () if own.get("exp_avg_sq") else (1,)
        for name, beta in (("beta1_power", optimizer.beta1), ("beta2_power", optimizer.beta2)):
            if name == "beta1_power" or not shape:
                numbers.append((name, np.full(shape, beta**optimizer.global_step, "f4")))
    return numbers


__getattr__ = refuse_missing(globals())
