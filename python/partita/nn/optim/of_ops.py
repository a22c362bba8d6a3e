"""Optimizers whose updates are made of ops: how these become a part of a program."""

from partita import _trace
from partita._names import refuse_missing
from partita.common import dtype as mstype
from partita.common.tensor import Tensor


class OfOps:
    """The part of an optimizer that adds its updates."""

    def _compose(self, build, parameters, gradients, rate, own):
        """Updates parameters by updates that are made of ops. Those of the package, which depend on the attributes of
        the optimizer alone, are one call, because a recorded step pays for each."""
        if not type(self).__module__.startswith("partita."):
            for parameter, gradient in zip(parameters, gradients):
                of_group = own.get(parameter.name)
                build.replace(parameter, self._composed(build, parameter.name, parameter, gradient, rate, own=of_group))
            return
        names = tuple([one.name for one in parameters])
        key = "update", _trace.Same(self), self._state_now()[1], names
        operands = *parameters, *gradients, rate, *own.values()
        made = build.do(key, lambda build, *symbols: self._add_composed(build, names, tuple(own), symbols), *operands)
        for parameter, value in zip(parameters, made or ()):
            build.replace(parameter, value)

    def _add_composed(self, build, names, scheduled, symbols):
        """Adds the updates of parameters of these names; some have rates of their own in each step."""
        count, tensors = len(names), [Tensor._from_symbol(one) for one in symbols]
        rate, own = tensors[2 * count], dict(zip(scheduled, tensors[2 * count + 1 :]))
        with build:
            rows = zip(names, tensors, tensors[count:])
            return [self._composed(build, name, w, g, rate, own=own.get(name))._symbol for name, w, g in rows]

    def _composed(self, build, name, parameter, gradient, rate, factor=None, own=None):
        """The new value of a parameter of this name, made of ops; `own` is the rate of its group, if that has one for
        each step."""
        of_group = self._group_of(name)[1] if self.groups else None
        if of_group is not None and own is None:
            own = Tensor(of_group[0], mstype.float32) if len(of_group) == 1 else self._refuse_schedule(name)
        before, build.phase = build.phase, "update"
        states = _States(build, parameter, self._decay_of(name))
        factor = 1 / self.loss_scale if factor is None else factor
        g, r = gradient if factor == 1 else gradient * factor, rate if own is None else own
        if self.decays_gradients and states.weight_decay:
            g = g + parameter * states.weight_decay
        following = self.update(parameter, g, r, states)
        self.__dict__["_counts"] |= states.counts
        build.do(("store",), _store, parameter, following)
        states.store()
        build.phase = before
        return following


def _store(build, state, value):
    build.trace.store(state, value)


class _States:
    """The states that an optimizer keeps for one parameter, while its update is built."""

    def __init__(self, build, parameter, weight_decay):
        self._build, self._parameter, self._kept = build, parameter, {}
        self.weight_decay, self.counts = weight_decay, False

    def __call__(self, name, begin=0.0):
        begin, shape = float(begin), list(self._parameter.shape)
        state = self._build.do(
            ("state", name, begin),
            lambda build, parameter: build.trace.optimizer_state(parameter, name, shape, begin),
            self._parameter,
        )
        self._kept[name] = [state, None]
        return state

    def keep(self, name, value):
        self._kept[name][1] = value

    @property
    def step(self):
        self.counts = True
        return self._build.do(("count",), lambda build: build.trace.count_step()).astype("f4")

    def store(self):
        for state, value in self._kept.values():
            if value is not None:
                self._build.do(("store",), _store, state, value)


__getattr__ = refuse_missing(globals())
