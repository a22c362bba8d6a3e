"""Optimizers whose `construct` updates parameters itself, as those of client libraries do: what the documented base
class gives them."""

import functools
import inspect

import numpy as np

from partita._names import refuse_missing
from partita._program import Program
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.nn.optim.rates import read, rate_at, require_steps
from partita.nn.optim.steps import StepCount
from partita.ops import functional as F
from partita.ops.program_tools import HyperMap, Map


@functools.lru_cache(maxsize=256)
def updates_by_hand(kind, base):
    """Whether a class of optimizers updates parameters in its `construct`, instead of calling that of the base."""
    construct = inspect.unwrap(kind.construct)
    code = getattr(construct, "__code__", None)
    return construct is not inspect.unwrap(base.construct) and (code is None or "construct" not in code.co_names)


class ByHand:
    """The part of an optimizer that its own `construct` uses."""

    def _begin_by_hand(self):
        """Sets what the documented constructor sets."""
        count = len(self.parameters)
        self.__dict__.update(
            hyper_map=HyperMap(),
            hyper_map_reverse=HyperMap(),
            map_=Map(),
            map_reverse=Map(),
            is_group=bool(self.groups),
            is_group_params_ordered=False,
            use_parallel=False,
            param_length=count,
            optim_filter=(True,) * count,
            dynamic_weight_decay=False,
            dynamic_decay_flags=False,
            grad_centralization=False,
            need_scale=self.loss_scale != 1,
            global_step_increase_tensor=Tensor(np.array([1], np.int32)),
            reciprocal_scale=Tensor(1.0 / self.loss_scale, mstype.float32),
        )
        decays = [self._decay_of(one.name) for one in self.parameters]
        self.__dict__["decay_flags"] = tuple(one > 0 for one in decays) if self.is_group else self._undecayed()
        self.__dict__["exec_weight_decay"] = any(self.decay_flags)
        as_given = [one * self.loss_scale for one in (decays if self.is_group else [self.weight_decay])]
        as_given = [Tensor(one, mstype.float32) for one in as_given]  # of gradients that are still scaled
        self.__dict__["weight_decay"] = tuple(as_given) if self.is_group else as_given[0]

    def _undecayed(self):
        return tuple(not any(part in one.name for part in ("beta", "gamma")) for one in self.parameters)

    def own_states(self):
        """{name: parameter} of what an optimizer that updates parameters itself has besides them."""
        if not self.updates_itself():
            return {}
        trained = {id(one) for one in self.parameters}
        return {one.name: one for one in self._params.values() if id(one) not in trained}

    def _take_own_states(self, given):
        """Sets what an optimizer that updates parameters itself has to what a file has of it, and returns the rest of
        the file. Raises RuntimeError for other shapes."""
        own = self.own_states()
        for name, one in own.items():
            value = given.get(name)
            if isinstance(value, Tensor):
                if value.shape != one.shape:
                    raise RuntimeError(
                        f"[{type(self).__name__}] '{name}' is of another shape, got {value.shape}, expected {one.shape}"
                    )
                one.set_data(value)
        return {name: one for name, one in given.items() if name not in own or not isinstance(one, Tensor)}

    @property
    def _parameters(self):
        return self.parameters

    def _call_by_hand(self, gradients, *others):
        return self._program("update", lambda: Program(self.construct, rows=False))(gradients, *others)

    def assignadd(self, variable, value):
        """Adds a value to a parameter, or takes a step if it is the number of steps."""
        if not isinstance(variable, StepCount):
            return F.assign_add(variable, value)
        require_steps(type(self).__name__)
        self.__dict__["global_step"] += 1
        return self.global_step

    def get_lr(self) -> Tensor | tuple[Tensor, ...]:
        """The learning rate of this step as a tensor; for groups with rates of their own one of each parameter."""
        step = self.__dict__["global_step"]
        if self.updates_itself():
            require_steps(type(self).__name__)
        common = Tensor(read(self.rate_of, step), mstype.float32)
        if not self.is_group_lr:
            return common
        own = [self._group_of(one.name)[1] for one in self.parameters]
        return tuple(common if one is None else Tensor(read(rate_at, one, step), mstype.float32) for one in own)

    def get_weight_decay(self) -> Tensor | tuple[Tensor, ...]:
        """The decay of weights as a tensor; for groups one of each parameter."""
        return self.weight_decay

    def flatten_gradients(self, gradients):
        """The gradients: they are not packed."""
        return gradients

    gradients_centralization = _grad_sparse_indices_deduplicate = flatten_gradients

    def _is_dynamic_lr_or_weight_decay(self):
        """Whether the learning rate or the decay of weights is another one in each step."""
        return self.dynamic_lr or self.dynamic_weight_decay

    def scale_grad(self, gradients):
        """The gradients divided by `loss_scale`."""
        if self.loss_scale == 1:
            return gradients
        return tuple(one * F.cast(self.reciprocal_scale, one.dtype) for one in gradients)

    def decay_weight(self, gradients):
        """The gradients with the decay of the weights that decay."""
        if not self.exec_weight_decay:
            return gradients
        decays = self.weight_decay if self.is_group else (self.weight_decay,) * len(gradients)
        rows = zip(self.parameters, gradients, decays, self.decay_flags)
        return tuple(one + w * F.cast(decay, one.dtype) if flag else one for w, one, decay, flag in rows)

    def broadcast_params(self, optim_result):
        """The results: every rank has the parameters."""
        return optim_result


__getattr__ = refuse_missing(globals())
