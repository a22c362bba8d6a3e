"""Functions as programs: traced once for each signature, compiled, and run with their states in place."""

import functools
from collections import OrderedDict

from partita import _core, _trace, context
from partita._captured import Captured, signature, version_of
from partita._parallelism import Parallelism
from partita._warnings import warn
from partita.common import seed as _seed
from partita.common.tensor import Tensor
from partita.communication import management as ranks

_MANY_VARIANTS = 8  # of a function for arguments of the same kinds
_MOST_COMPILED = 64  # of a function
_TENSOR = object()  # with its number, in place of a tensor


def rebuilt(value, change):
    """A tuple, list or dict with other elements."""
    kind = type(value)
    if isinstance(value, dict):
        made = [(key, change(one)) for key, one in value.items()]
        return kind(made) if kind in (dict, OrderedDict) else dict(made)
    made = [change(one) for one in value]
    if hasattr(kind, "_make"):  # a named tuple
        return kind._make(made)
    return kind(made) if kind in (list, tuple) else list(made) if isinstance(value, list) else tuple(made)


class _Structure:
    """A result with its tensors numbered, so that others can be put in their places."""

    def __init__(self, value):
        self.tensors, self.others = [], []
        self.made = self._number(value)

    def _number(self, value):
        if isinstance(value, Tensor):
            self.tensors.append(value)
            return _TENSOR, len(self.tensors) - 1
        if isinstance(value, (tuple, list, dict)):
            return rebuilt(value, self._number)
        self.others.append(value)
        return value

    def filled(self, tensors):
        """The result with these tensors."""

        def fill(made):
            if isinstance(made, tuple) and len(made) == 2 and made[0] is _TENSOR:
                return tensors[made[1]]
            return rebuilt(made, fill) if isinstance(made, (tuple, list, dict)) else made

        return fill(self.made)


class _Compiled:
    """A function for one signature, and for the values that it had captured then."""

    keeps_values = False  # parameters take theirs when they are asked for

    def __init__(self, function, args, kwargs, rows):
        self.build = self.structure = None
        given = _Structure((args, kwargs))
        self._alone = context.get_auto_parallel_context("parallel_mode") == "stand_alone" or not ranks.is_process()
        ways = 1 if self._alone or not rows else self._feeders()
        options = {
            "training.seed": _seed.seed_or_default(),
            "ranks.threads": context.get_context("threads"),
            "ranks.kernels": context.get_context("kernels"),
            "ranks.deterministic": context.get_context("deterministic") == "ON",
            "ranks.device": context.device_option(self._alone),
        }
        if not self._alone:
            options.update(Parallelism().options)

        def build(trace):
            self.build = _trace.Build(trace, training=True)
            with self.build:
                symbols = []
                self._require_rows(given.tensors, ways)
                for i, tensor in enumerate(given.tensors):
                    shape = list(tensor.shape)
                    if ways > 1 and shape:
                        shape[0] *= ways
                    symbol = trace.network_input(f"input{i}", tensor.dtype.core, shape, rows and bool(shape))
                    symbols.append(Tensor._from_symbol(symbol))
                own_args, own_kwargs = given.filled(symbols)
                self.structure = _Structure(function(*own_args, **own_kwargs))
                for i, tensor in enumerate(self.structure.tensors):
                    shape = list(tensor.shape)
                    copy = _trace.run(lambda trace, x: _core.functions.reshape(x, shape), tensor)
                    trace.output(f"output{i}", copy._symbol)
            for scope, precision in self.build.precisions.items():
                trace.set_precision(scope, precision)

        self._known = {}
        self._core = _core.Stepper(context.option_texts(options), self._alone, build, self._initial)
        self._parameters = {}
        counting = [one for one in self.build.rates.values() if one.counts_steps]
        self._counting = counting if "step" in self._core.states() else []
        for name in self._core.states():
            if name in self.build.parameters:
                self._parameters[name] = self.build.parameters[name]
                self._known[name] = version_of(self._parameters[name])
            elif self.build.rates:
                self._share(name, self._owner(name))
        self._remember(function, given.others)
        self._written = [name for name in self._core.written() if name in self._parameters]

    @staticmethod
    def _require_rows(tensors, ways):
        counts = [tensor.shape[0] for tensor in tensors if tensor.shape]
        if ways > 1 and len(set(counts)) > 1:
            raise ValueError(
                f"[jit] the arguments differ in their number of rows, got first dimensions {counts}, expected "
                f"{counts[0]} of each, or scalars: a tensor that is not a batch must be a parameter or captured"
            )

    def _remember(self, function, arguments):
        """Records the values that the trace depended on, to find out later whether they changed."""
        self._constants = [(tensor, version_of(tensor)) for tensor in self.build.constants]
        self._required = [(one, one.requires_grad) for one in self.build.parameters.values() if one.is_parameter]
        self._cells = {}  # (when it changed last, what it was then, what else it has that can change)
        self.names, known = frozenset(), None
        self._note(self.build.cells)
        while known != (self.names, len(self._cells)):  # until nothing is found that leads to more
            known = self.names, len(self._cells)
            self._captured = Captured(self.names, function, arguments)
            self._of_cells = self._captured_by_cells()
            for one in (self._captured, self._of_cells):
                self._note(one.cells)
                self.names |= one.found

    def _note(self, cells):
        for cell in [inner for one in cells for _, inner in one.cells_and_names()]:
            if cell not in self._cells:
                self._cells[cell] = cell._changes, cell.program_state(), cell.program_open()

    def _captured_by_cells(self):
        return Captured(self.names, cells=[(cell, known[2]) for cell, known in self._cells.items()])

    def is_current(self, captured):
        """Whether the function would be traced the same again; `captured` is what it uses by names."""
        if captured.values != self._captured.values:
            return False
        for cell, (version, state, _) in self._cells.items():
            if cell._changes != version:
                if cell.program_state() != state:
                    return False
                self._cells[cell] = cell._changes, state, cell.program_open()
        return (
            self._captured_by_cells().values == self._of_cells.values
            and all(version_of(tensor) == version for tensor, version in self._constants)
            and all(one.requires_grad == required for one, required in self._required)
        )

    def _owner(self, name):
        """The optimizer that a state belongs to: that of its parameter; the first one that counts has the steps."""
        optimizers = [*self._counting, *self.build.rates.values()]
        for optimizer in optimizers:
            if any(name.startswith(one.name + ".") for one in optimizer.parameters):
                return optimizer
        return optimizers[0]

    def _share(self, name, optimizer):
        """A state of the optimizer: that of an earlier program, or the one that begins here."""
        if name in optimizer.states:
            self._known[name] = -1
        else:
            optimizer.state(name, self._core.state(name))
            self._known[name] = version_of(optimizer.states[name])
        self._parameters[name] = optimizer.states[name]

    def _initial(self):
        return {name: one.array for name, one in self.build.parameters.items()}

    @staticmethod
    def _feeders():
        get = context.get_auto_parallel_context
        whole = get("full_batch") or get("dataset_strategy") == "full_batch"
        return 1 if whole else max(1, ranks.group_size_or_one() // max(1, get("pipeline_stages")))

    def __call__(self, tensors):
        for name, parameter in self._parameters.items():
            if self._known[name] != version_of(parameter):
                self._core.set_state(name, parameter.array)
                self._known[name] = version_of(parameter)
        inputs = [(f"input{i}", tensor.array) for i, tensor in enumerate(tensors)]
        steps = {optimizer.global_step for optimizer in self._counting}
        if len(steps) > 1:
            raise RuntimeError(
                f"[jit] the optimizers of a program have taken different numbers of steps, got {sorted(steps)} steps, "
                "expected the same number by each, or a program for each"
            )
        for name, optimizer in self.build.rates.items():
            inputs.append((name, Tensor(optimizer.rate_of(optimizer.global_step)).array))
        arrays = self._core.run(inputs)
        for name in self._written:
            parameter = self._parameters[name]
            parameter._belong_to(self, name)
            self._known[name] = version_of(parameter)
        for optimizer in self.build.rates.values():
            optimizer.__dict__["global_step"] += 1
        for optimizer in self._counting[1:]:
            optimizer.state("step", Tensor(optimizer.global_step, self._parameters["step"].dtype).array)
        return self.structure.filled([Tensor._from_array(array) for array in arrays])

    def value_of(self, name):
        """Current value of the parameter that had this name when the program was compiled."""
        return self._core.state(name)


class Program:
    """A function that runs as one program. The first dimension of its tensors is the samples, and every process passes
    its own rows, unless `rows` is False. In a network that is being built it acts like any other function."""

    def __init__(self, function, rows=True):
        functools.update_wrapper(self, function, updated=())
        self._function, self._rows = function, rows
        self._compiled = {}  # by signatures of arguments: those of different captured values, the last used first
        self._of_owners = {}  # of a method: programs of objects without attributes of their own

    def program_parts(self):
        """Objects whose change makes a call another part of a program."""
        return [self._function]

    def __get__(self, owner, kind=None):
        if owner is None:
            return self
        try:
            programs = owner.__dict__.setdefault("_programs", {})
        except AttributeError:  # it has slots
            programs = self._of_owners.setdefault(id(owner), {})
        found = programs.get(self)
        if found is not None and found._function.__self__ is not owner:  # copied with the owner's attributes
            programs = owner.__dict__["_programs"] = {}
            found = None
        if found is None:
            found = programs[self] = Program(self._function.__get__(owner, kind))
        return found

    def __call__(self, *args, **kwargs):
        if _trace.current() is not None:
            return self._function(*args, **kwargs)
        given = _Structure((args, kwargs))
        types = tuple((one.shape, one.dtype) for one in given.tensors)
        key = signature(given.made), types, context.program_state(), _seed.seed_or_default()
        variants = self._compiled.setdefault(key, [])
        captured = {}
        for i, compiled in enumerate(variants):
            names = compiled.names
            if names not in captured:
                captured[names] = Captured(names, self._function, given.others)
            if compiled.is_current(captured[names]):
                if i > 0:
                    variants.insert(0, variants.pop(i))
                break
        else:
            variants.insert(0, _Compiled(self._function, args, kwargs, self._rows))
            self._limit(variants)
        return variants[0](list(given.tensors))

    def _limit(self, variants):
        """Programs of values that come no more are given up."""
        if len(variants) > _MANY_VARIANTS:
            variants.pop()
        counts = [len(one) for one in self._compiled.values()]
        if max(len(variants) + 1, len(counts)) in (_MANY_VARIANTS + 1, _MOST_COMPILED + 1):
            warn(
                f"[jit] '{getattr(self, '__name__', type(self._function).__name__)}' is compiled again and again, got "
                f"{sum(counts)} programs of it, expected few: pass numbers that change as tensors"
            )
        if len(counts) > _MOST_COMPILED:
            del self._compiled[next(iter(self._compiled))]
