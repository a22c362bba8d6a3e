"""The learning rates of optimizers: of all parameters, and of groups."""

import numbers
from collections.abc import Iterable

import numpy as np

from partita import _trace
from partita._current import outside
from partita._names import refuse_missing
from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import NeedsSteps, Tensor
from partita.nn.learning_rate_schedule import LearningRateSchedule, Scheduled
from partita.nn.optim.steps import StepCount, Steps

# A number, one for each step, or a rule for all steps.
LearningRate = float | Iterable[float] | Tensor | LearningRateSchedule


def rate_at(rates, step):
    """The learning rate of a step, counted from 0; the last one of a list from its end on."""
    return rates[min(step, len(rates) - 1)]


def read(function, *arguments):
    """Calls a function where nothing is recorded: schedules read what they compute."""
    with outside():
        return function(*arguments)


def require_steps(what):
    """Raises NeedsSteps in a program whose Python does not run in every step."""
    build = _trace.current()
    if build is not None and not build.is_recorded:
        raise NeedsSteps(
            f"[{what}] what follows the steps cannot be a part of a program that is traced once, got a call in one, "
            "expected PYNATIVE_MODE, or a function of its own"
        )


def rates_of(where, given):
    """Returns learning rates by steps, of a number, numbers or a schedule. Raises TypeError for what is none of these,
    ValueError for rates below 0."""
    if isinstance(given, bool):
        raise TypeError(f"[{where}] the learning rate is a bool, got {given}, expected a number")
    if isinstance(given, LearningRateSchedule):
        return Scheduled(where, given)
    if isinstance(given, numbers.Real):
        rates = [float(given)]
    elif isinstance(given, Tensor):
        rates = [float(one) for one in given.asnumpy().reshape(-1)]
    elif not isinstance(given, (str, bytes, dict)) and hasattr(given, "__iter__"):
        rates = [float(one) for one in given]
    else:
        raise TypeError(
            f"[{where}] bad learning rate, got {type(given).__name__}, expected a number, or one for each step"
        )
    if not rates or any(not 0 <= one < float("inf") for one in rates):
        raise ValueError(f"[{where}] bad learning rate, got {given!r}, expected numbers from 0")
    return rates


class Rates:
    """The part of an optimizer that knows its learning rates and how many steps it has taken."""

    @property
    def is_group_lr(self):
        """Whether a group has a learning rate of its own."""
        return any(rates is not None for _, rates in self.groups.values())

    def rate_of(self, step):
        """The learning rate of a step, counted from 0; the last one of a list from its end on."""
        return rate_at(self.learning_rates, step)

    @property
    def global_step(self):
        """The number of steps taken."""
        if self.updates_itself():
            return StepCount(self, self.__dict__["global_step"])
        return Steps(self, self.__dict__["global_step"])

    @global_step.setter
    def global_step(self, value):
        steps = int(np.asarray(value.asnumpy() if isinstance(value, Tensor) else value).reshape(()))
        if steps < 0:
            raise ValueError(f"[{type(self).__name__}] bad global_step, got {steps}, expected an integer from 0")
        self.__dict__["global_step"] = steps

    @property
    def dynamic_lr(self):
        """Whether each step has a learning rate of its own: `learning_rate(step)`."""
        own = [rates for _, rates in self.groups.values() if rates is not None]
        return self.is_scheduled or any(len(rates) > 1 for rates in own)

    @property
    def learning_rate(self):
        """The learning rate of the next step, as a parameter that `set_data` sets. `set_data` raises ValueError if a
        rate for each step was given. Where groups have rates for each step, a tuple with that of each parameter."""
        if self.is_group_lr and (self.dynamic_lr or self.updates_itself()):
            if self.__dict__.get("_group_rates") is None:  # programs know them by their identities
                rates = [self._group_of(one.name)[1] for one in self.parameters]
                self.__dict__["_group_rates"] = tuple(Rate(self, one) for one in rates)
            return self.__dict__["_group_rates"]
        known = self.__dict__.get("_rate")
        if known is None or known._rates is not self.learning_rates or len(known._rates) > 1:
            known = self.__dict__["_rate"] = Rate(self)  # the same one as long as it is this rate
        return known

    @learning_rate.setter
    def learning_rate(self, value):
        self.__dict__["learning_rates"] = rates_of(type(self).__name__, value)
        self.__dict__["loaded_rate"] = self.__dict__["_group_rates"] = None

    @property
    def is_scheduled(self):
        return len(self.learning_rates) > 1

    def _rates_of_groups(self, parameters):
        """{name: learning rate of this step as a tensor} of the parameters whose groups have a rate for each step."""
        own, step = {}, self.__dict__["global_step"]
        for one in parameters:
            rates = self._group_of(one.name)[1]
            if rates is not None and len(rates) > 1:
                require_steps(type(self).__name__)
                own[one.name] = Tensor(read(rate_at, rates, step), mstype.float32)
        return own

    def _refuse_schedule(self, name):
        raise NotImplementedError(
            f"[{type(self).__name__}] a group cannot have a learning rate for each step under Model, got a schedule of "
            f"'{name}', expected one number, or a loop of your own"
        )


class Rate(Parameter):
    """The learning rate of an optimizer, which hears of what is set."""

    __slots__ = ("_optimizer", "_rates")

    def __init__(self, optimizer, rates=None):
        rates = optimizer.learning_rates if rates is None else rates
        rate = read(rate_at, rates, int(optimizer.global_step))
        super().__init__(Tensor(rate), "learning_rate", requires_grad=False)
        self._optimizer, self._rates = optimizer, rates

    def set_data(self, data, slice_shape=False):
        if self._optimizer.is_scheduled:
            raise ValueError(
                "[learning_rate] the rates of all steps are given already, got set_data, expected "
                "optimizer.learning_rate = .."
            )
        super().set_data(data)
        self._optimizer.learning_rate = float(self)
        return self

    def __call__(self, step):
        """The learning rate of a step, counted from 0, as a tensor of shape [1]."""
        require_steps("learning rate")
        return Tensor([read(rate_at, self._rates, int(step))])

    def __deepcopy__(self, memo):
        return Rate(self._optimizer, self._rates) if len(self._rates) > 1 else self.clone()

    def __setitem__(self, index, value):
        super().__setitem__(index, value)
        self.set_data(self)

    def clone(self, init="same"):
        return Parameter(Tensor(self.array), self.name, requires_grad=False)


__getattr__ = refuse_missing(globals())
