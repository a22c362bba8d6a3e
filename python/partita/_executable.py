"""Compiled programs: what they are compiled with, and how parameters and states of optimizers move in and out."""

import numpy as np

from partita import _core, context
from partita._captured import version_of
from partita._parallelism import Parallelism
from partita.common import seed as _seed
from partita.common.tensor import Tensor
from partita.communication import management as ranks


def is_alone():
    """Whether programs run on this process alone."""
    return context.get_auto_parallel_context("parallel_mode") == "stand_alone" or not ranks.is_process()


def feeders():
    """The number of processes that pass rows of their own to a program of all of them."""
    if is_alone():
        return 1
    get = context.get_auto_parallel_context
    whole = get("full_batch") or get("dataset_strategy") == "full_batch"
    return 1 if whole else max(1, ranks.group_size_or_one() // max(1, get("pipeline_stages")))


def statistics_groups():
    """The number of groups of rows with batch norms of their own: one for each rank that has rows, under data
    parallelism, as in trainings, unless the context says `batch_norm="global"`. Raises ValueError for "local" in other
    modes."""
    mode, kind = context.get_auto_parallel_context("parallel_mode"), context.get_context("batch_norm")
    if mode in ("data_parallel", "hybrid_parallel"):
        stages = max(1, context.get_auto_parallel_context("pipeline_stages"))
        return 1 if kind == "global" else max(1, ranks.ranks_of_job() // stages)
    if kind == "local" and mode != "stand_alone":
        raise ValueError(
            f"[batch_norm] has no effect here, got 'local' under {mode}, expected data_parallel, or 'global'"
        )
    return 1


def require_rows(tensors, ways):
    """Raises ValueError unless the tensors of a program of several processes are batches of as many rows."""
    counts = [tensor.shape[0] for tensor in tensors if tensor.shape]
    if ways > 1 and len(set(counts)) > 1:
        raise ValueError(
            f"[jit] the arguments differ in their number of rows, got first dimensions {counts}, expected "
            f"{counts[0]} of each, or scalars: a tensor that is not a batch must be a parameter or captured"
        )


def _without_stages(options):
    """The options of a program whose every part all ranks compute. Raises NotImplementedError if several pipelines have
    rows of their own."""
    if "plan.stages" not in options:
        return options
    if feeders() > 1:
        raise NotImplementedError(
            f"[step] a program outside of Model.train has no pipeline stages, got {feeders()} pipelines with rows of "
            "their own, expected one (dataset_strategy='full_batch'), or Model.train"
        )
    kept = {name: value for name, value in options.items() if name not in ("plan.stages", "plan.order")}
    return {**kept, "plan.parallel": "semi", "plan.dataset_strategy": "full_batch"}


class Executable:
    """A program whose graph `fill(trace)` makes; it returns the build. Parameters that the program changes belong to it
    until something else asks for their values."""

    keeps_values = False  # parameters take theirs when they are asked for

    def __init__(self, fill, groups=1):
        self.build = None
        alone = is_alone()
        options = {
            "training.seed": _seed.seed_or_default(),
            "ranks.threads": context.get_context("threads"),
            "ranks.kernels": context.get_context("kernels"),
            "ranks.deterministic": context.get_context("deterministic") == "ON",
            "ranks.device": context.device_option(alone),
        }
        if not alone:
            options.update(_without_stages(Parallelism().options))

        def build(trace):
            self.build = fill(trace)

        self._rates = {}  # (value, its array) of learning rates, by their names
        self._core = _core.Stepper(context.option_texts(options), alone, build, self._initial, groups)
        counting = [one for one in self.build.rates.values() if one.counts_steps]
        self._counting = counting if "step" in self._core.states() else []
        self._all, self._versions = [], []  # (name, parameter or state); versions that the program has
        for name in self._core.states():
            if name in self.build.parameters:
                parameter = self.build.parameters[name]
                version = parameter._updates = version_of(parameter)  # which a tensor may not have yet
            elif self.build.rates:
                parameter, version = self._shared(name)
            else:
                continue
            self._all.append((name, parameter))
            self._versions.append(version)
        changed = set(self._core.written())
        self._written = [(i, one, (self, name)) for i, (name, one) in enumerate(self._all) if name in changed]

    def _initial(self):
        return {name: one.array for name, one in self.build.parameters.items()}

    def _shared(self, name):
        """(a state of an optimizer, the version of it that the program has): that of an earlier program, or the one
        that begins here."""
        optimizer, known_as = self._owner(name)
        is_known = known_as in optimizer.states
        if not is_known:
            optimizer.state(known_as, self._core.state(name))
        state = optimizer.states[known_as]
        state._updates = version_of(state)
        return state, -1 if is_known else state._updates

    def _owner(self, name):
        """(the optimizer that a state belongs to, the name by which it knows it). It is that of its parameter; the
        first one that counts has the steps."""
        optimizers = [*self._counting, *self.build.rates.values()]
        owners = [one for one in self.build.parameters if name.startswith(one + ".")]
        if owners:
            owner = max(owners, key=len)
            parameter = self.build.parameters[owner]
            for optimizer in optimizers:
                if any(one is parameter for one in optimizer.parameters):
                    return optimizer, parameter.name + name[len(owner) :]
        return optimizers[0], name

    def run(self, inputs):
        """Runs the program on (name, array) of each input but the learning rates. Returns the arrays of its outputs.
        Raises RuntimeError if the optimizers of the program have taken different numbers of steps."""
        versions = self._versions
        for i, (name, parameter) in enumerate(self._all):
            if versions[i] != parameter._updates:
                self._core.set_state(name, parameter.array)
                versions[i] = parameter._updates
        if len(self._counting) > 1:
            self._require_same_steps()
        for name, optimizer in self.build.rates.items():
            inputs.append((name, self._rate(name, optimizer.rate_of(optimizer.global_step))))
        arrays = self._core.run(inputs)
        for i, parameter, holder in self._written:
            if parameter._holder is holder:
                parameter._updates = versions[i] = parameter._updates + 1
            else:
                versions[i] = parameter._belong_to(holder)
        for optimizer in self.build.rates.values():
            optimizer.__dict__["global_step"] += 1
        for optimizer in self._counting[1:]:
            steps = self._counting[0].states["step"]
            optimizer.state("step", Tensor(optimizer.global_step, steps.dtype).array)
        return arrays

    def _rate(self, name, value):
        """The array of a learning rate, made when it changes."""
        if self._rates.get(name, (None,))[0] != value:
            self._rates[name] = value, _core.Array(np.float32(value))
        return self._rates[name][1]

    def _require_same_steps(self):
        steps = {optimizer.global_step for optimizer in self._counting}
        if len(steps) > 1:
            raise RuntimeError(
                f"[jit] the optimizers of a program have taken different numbers of steps, got {sorted(steps)} steps, "
                "expected the same number by each, or a program for each"
            )

    def value_of(self, name):
        """Current value of the parameter that had this name when the program was compiled."""
        return self._core.state(name)
