"""Classes of the optimizers of the library, made from their descriptions."""

import ast
import inspect
import numbers

from partita import _core
from partita._names import refuse_missing
from partita.common._types import Parameters
from partita.nn.optim.optimizer import Optimizer
from partita.nn.optim.rates import LearningRate

_OF_BASE = ("learning_rate", "weight_decay", "loss_scale")  # parameters that the base class takes


class Registered(Optimizer):
    """The base of the optimizers of the library: parameters become attributes, and these the options of a job."""

    description = None  # of a subclass: what the library says of it

    def _take_arguments(self, given):
        """Initializes the optimizer from the arguments of its constructor by their names."""
        super().__init__(*(given.get(name, standard) for name, standard in self._base_arguments()))
        for one in self.description["parameters"]:
            name = one["name"]
            if name in _OF_BASE or one["is_ignored"]:
                continue
            if one["is_refused"]:
                self._require_default(name, given[name], one["standard"])
            else:
                setattr(self, name, self._checked(name, given[name], self.description["options"][one["option"]]))

    @staticmethod
    def _base_arguments():
        return ("learning_rate", None), ("params", None), ("weight_decay", 0.0), ("loss_scale", 1.0)

    def _require_default(self, name, value, standard):
        if value != ast.literal_eval(standard):
            raise NotImplementedError(
                f"[{type(self).__name__}] this variant is not supported, got {name}={value!r}, expected {standard}"
            )

    def _checked(self, name, value, option):
        where, least, most = type(self).__name__, option["least"], option["most"]
        if option["is_switch"]:
            return bool(value)
        kind = numbers.Integral if option["is_whole"] else numbers.Real
        if isinstance(value, bool) or not isinstance(value, kind):
            what = "an integer" if option["is_whole"] else "a number"
            raise TypeError(f"[{where}] {name} is not {what}, got {value!r}, expected one from {least:g} to {most:g}")
        if not least <= value <= most:
            raise ValueError(f"[{where}] bad {name}, got {value!r}, expected a number from {least:g} to {most:g}")
        return int(value) if option["is_whole"] else float(value)

    def options(self):
        options = {"optimizer.kind": self.description["kind"]}
        for name, value in self.description["fixed"]:
            options[f"optimizer.{name}"] = self._in_type(name, value)
        for name, option in self._own_numbers():
            options[f"optimizer.{option}"] = self._in_type(option, getattr(self, name))
        return {**options, **self._decay()}

    def _own_numbers(self):
        """(attribute, option) of the parameters that are options."""
        for one in self.description["parameters"]:
            if one["name"] not in _OF_BASE and not one["is_ignored"] and not one["is_refused"]:
                yield one["name"], one["option"]

    def _in_type(self, option, value):
        return bool(value) if self.description["options"][option]["is_switch"] else value

    def _number(self, option):
        """The value of an option of the optimizer."""
        options = self.options()
        return options.get(f"optimizer.{option}", self.description["options"][option]["standard"])

    @property
    def counts_steps(self):
        return self._counts or self.description["counts_steps"]

    @property
    def is_named_by_class(self):
        return self.is_composed or not self.description["is_named_by_kind"]

    def kept_states(self):
        return tuple(
            name for name, _, only_with, _ in self.description["states"] if not only_with or self._number(only_with) > 0
        )

    def partial_states(self):
        return tuple(name for name, _, _, of_some in self.description["states"] if of_some)


def _type_of(parameter, option, standard):
    """The type of a parameter in annotations, by its option and its default."""
    if parameter["name"] == "learning_rate":
        return LearningRate
    if option is None or parameter["name"] in _OF_BASE:
        return bool if isinstance(standard, bool) else float
    return bool if option["is_switch"] else int if option["is_whole"] else float


def _constructor_of(description):
    """The constructor of the class, with the parameters of the description."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("self", kind), inspect.Parameter("params", kind, annotation=Parameters)]
    for one in description["parameters"]:
        standard = ast.literal_eval(one["standard"]) if one["standard"] else inspect.Parameter.empty
        kept = _type_of(one, description["options"].get(one["option"]), standard)
        parameters.append(inspect.Parameter(one["name"], kind, default=standard, annotation=kept))
    signature = inspect.Signature(parameters)

    def __init__(self, *args, **kwargs):
        try:
            given = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            names = ", ".join(list(signature.parameters)[1:])
            raise TypeError(f"[{type(self).__name__}] {error}, expected arguments of ({names})") from None
        given.apply_defaults()
        self._take_arguments(given.arguments)

    __init__.__signature__ = signature
    return __init__


def _documentation_of(description):
    """The docstring of the class: the formula, then the states and the parameters."""
    lines = [f"{description['summary']}.", ""]
    for name, what, only_with, _ in description["states"]:
        lines.append(f"State {name}: {what}{f', with {only_with}' if only_with else ''}.")
    for one in description["parameters"]:
        option = description["options"].get(one["option"])
        if option is not None and not one["is_refused"] and not one["is_ignored"]:
            lines.append(f"{one['name']}: {option['help']}.")
    lines.append("Raises ValueError for numbers out of their ranges and without parameters, TypeError for other kinds.")
    return "\n".join(lines)


def _class_of(description):
    members = {
        "description": description,
        "documented": dict(description["documented"]),
        "renamed": {old: (present, other) for old, present, other in description["renamed"]},
        "__init__": _constructor_of(description),
        "__doc__": _documentation_of(description),
        "__module__": "partita.nn.optim",
    }
    return type(Registered)(description["name"], (Registered,), members)


CLASSES = {one["name"]: _class_of(one) for one in _core.optimizers()}

__getattr__ = refuse_missing(globals())
