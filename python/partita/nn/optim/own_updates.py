"""Optimizers of scripts whose `construct` updates the parameters itself, with what the documented class gives them."""

from partita import context
from partita._current import current
from partita._warnings import warn
from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import NeedsSteps, Tensor
from partita.nn.cell import Cell, CellList
from partita.nn.optim.steps import Steps
from partita.ops import functional as F
from partita.ops.program_tools import HyperMap, Map


def require_steps(what):
    """Raises NeedsSteps in a program whose Python does not run in every step."""
    build = current()
    if build is not None and not build.is_recorded:
        raise NeedsSteps(f"[Optimizer] {what} follows the steps, got a program that is traced once, expected steps")


class _AssignAdd:
    """Adds to a parameter, or counts steps."""

    def __call__(self, parameter, value):
        if not isinstance(parameter, Steps):
            return F.assign_add(parameter, value)
        require_steps("the number of steps")
        return parameter.set_data(Tensor([int(parameter) + int(value)], mstype.int32))


class _RateOfGroup(Cell):
    """The learning rates of one parameter, for each step, counted from 0."""

    def __init__(self, rates):
        super().__init__(auto_prefix=False)
        self.rates = list(rates)

    def construct(self, step):
        require_steps("a learning rate")
        return Tensor([self.rates[min(int(step), len(self.rates) - 1)]], mstype.float32)


class OwnUpdates:
    """The part of an optimizer that a `construct` of a script's own finds. `parameters`, `learning_rate`, `global_step`
    and `loss_scale` are those of Optimizer."""

    use_parallel = dynamic_weight_decay = grad_centralization = False
    need_scale = property(lambda self: self.loss_scale != 1.0)
    is_group = property(lambda self: bool(self.groups))
    is_group_lr = property(lambda self: any(rates is not None for _, rates in self.groups.values()))
    _parameters = property(lambda self: self.parameters)
    param_length = property(lambda self: len(self.parameters))
    optim_filter = property(lambda self: (True,) * len(self.parameters))
    exec_weight_decay = property(lambda self: any(self.decay_flags))

    def _begin_own_updates(self):
        """Called by the constructor, after all settings are known."""
        decays = [self._decay_of(one.name) for one in self.parameters]
        named = [not any(part in one.name for part in ("gamma", "beta")) for one in self.parameters]
        flags = [decay > 0 for decay in decays] if self.groups else named
        own = [self.groups[one.name][0] if self.groups else None for one in self.parameters]
        own = [self.weight_decay if one is None else one for one in own]
        scale = self.loss_scale
        tensors = tuple(Tensor(one * scale, mstype.float32) for one in own)
        values = {
            "decay_flags": tuple(flags),
            "weight_decay": tensors if self.groups else Tensor(self.weight_decay * scale, mstype.float32),
            "reciprocal_scale": Tensor(1.0 / scale, mstype.float32),
            "global_step_increase_tensor": Tensor([1], mstype.int32),
            "map_": Map(),
            "hyper_map": HyperMap(),
            "assignadd": _AssignAdd(),
            "_own_rate": None,
        }
        self.__dict__.update(values)

    def _rates_of_groups(self):
        """Learning rates in the order of the parameters: a list of schedules, or of parameters."""
        if self.__dict__.get("_group_rates") is None:
            own = [self.groups[one.name][1] for one in self.parameters]
            rates = [self.learning_rates if one is None else one for one in own]
            self.__dict__["_group_rates"] = (
                CellList([_RateOfGroup(one) for one in rates], auto_prefix=False)
                if self.dynamic_lr
                else tuple(Parameter(Tensor(one[0], mstype.float32), "learning_rate") for one in rates)
            )
        return self.__dict__["_group_rates"]

    def _is_dynamic_lr_or_weight_decay(self):
        return self.dynamic_lr

    def get_lr(self):
        """The learning rate of the next step; of optimizers with updates of their own, one for each parameter if groups
        have rates."""
        if self.updates_itself() and self.is_group_lr:
            rates = self._rates_of_groups()
            return tuple(one(self.global_step).reshape(()) for one in rates) if self.dynamic_lr else rates
        require_steps("a learning rate")
        return Tensor(self.rate_of(self.global_step))

    def get_weight_decay(self):
        """The decay of weights: a number, or one for each parameter."""
        return self.weight_decay

    def decay_weight(self, gradients):
        """The gradients plus the weights times their decay, for those that decay."""
        if not self.exec_weight_decay:
            return gradients
        decays = self.weight_decay if self.groups else (self.weight_decay,) * len(self.parameters)
        together = zip(decays, self.decay_flags, self.parameters, gradients)
        return tuple(
            gradient + weight * F.cast(decay, weight.dtype) if flag else gradient
            for decay, flag, weight, gradient in together
        )

    def scale_grad(self, gradients):
        """The gradients over the scale of the loss."""
        if not self.need_scale:
            return gradients
        return tuple(one * F.cast(self.reciprocal_scale, one.dtype) for one in gradients)

    def gradients_centralization(self, gradients):
        """The gradients themselves: no group centralizes them."""
        return gradients

    flatten_gradients = _grad_sparse_indices_deduplicate = gradients_centralization

    def _own_parameters(self):
        """The states that the script made, and the number of steps taken."""
        steps = Parameter(Tensor([int(self.global_step)], mstype.int32), "global_step", requires_grad=False)
        return [*Cell.get_parameters(self), steps]

    def _take_own_states(self, given):
        """Takes states of a file by their names. Returns the names that are none of these."""
        own, unused = {one.name: one for one in Cell.get_parameters(self)}, []
        for name, one in given.items():
            if name in own and not isinstance(one, str):
                own[name].set_data(one if isinstance(one, Tensor) else Tensor(one))
            elif name == "global_step":
                self.global_step = Tensor(one.asnumpy())
            else:
                unused.append(name)
        return unused

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
