"""Functions as programs: traced once for each signature, compiled, and run with their states in place."""

import functools

from partita import _core, _trace, context
from partita._captured import Captured, signature, version_of
from partita._warnings import warn
from partita.common import seed as _seed
from partita.common.tensor import Tensor
from partita.communication import management as ranks

_MANY_VARIANTS = 8  # of a function for arguments of the same kinds
_MOST_COMPILED = 64  # of a function


class _Structure:
    """A result with its tensors numbered, so that others can be put in their places."""

    def __init__(self, value):
        self.tensors = []
        self._made = self._number(value)

    def _number(self, value):
        if isinstance(value, Tensor):
            self.tensors.append(value)
            return (_Structure, len(self.tensors) - 1)
        if isinstance(value, (tuple, list)):
            return type(value)(self._number(one) for one in value)
        if isinstance(value, dict):
            return {key: self._number(one) for key, one in value.items()}
        return value

    def filled(self, tensors):
        """The result with these tensors."""
        return self._fill(self._made, tensors)

    def _fill(self, made, tensors):
        if isinstance(made, tuple) and len(made) == 2 and made[0] is _Structure:
            return tensors[made[1]]
        if isinstance(made, (tuple, list)):
            return type(made)(self._fill(one, tensors) for one in made)
        if isinstance(made, dict):
            return {key: self._fill(one, tensors) for key, one in made.items()}
        return made


class _Compiled:
    """A function for one signature, and for the values that it had captured then."""

    def __init__(self, function, args, kwargs, rows):
        self.build = self.structure = None
        given = _Structure((args, kwargs))
        self._alone = context.get_auto_parallel_context("parallel_mode") == "stand_alone" or not ranks.is_process()
        ways = 1 if self._alone or not rows else self._feeders()
        options = {"training.seed": _seed.seed_or_default(), "ranks.threads": context.get_context("threads")}
        if not self._alone:
            from partita.train.job import Parallelism

            options.update(Parallelism().options)

        def build(trace):
            self.build = _trace.Build(trace, training=True)
            with self.build:
                symbols = []
                for i, tensor in enumerate(given.tensors):
                    shape = list(tensor.shape)
                    if ways > 1 and shape:
                        shape[0] *= ways
                    symbols.append(
                        _trace.from_symbol(
                            trace.network_input(f"input{i}", tensor.dtype.core, shape, rows and bool(shape))
                        )
                    )
                own_args, own_kwargs = given.filled(symbols)
                self.structure = _Structure(function(*own_args, **own_kwargs))
                for i, tensor in enumerate(self.structure.tensors):
                    symbol = self.build.symbol(tensor)
                    if symbol is tensor._symbol or tensor._symbol is None:
                        symbol = _trace.run(
                            lambda trace, x: _core.functions.reshape(x, list(tensor.shape)), tensor
                        )._symbol
                    trace.output(f"output{i}", symbol)

        self._known = {}
        self._core = _core.Stepper(context.option_texts(options), self._alone, build, self._initial)
        self._parameters = {}
        for name in self._core.states():
            if name in self.build.parameters:
                self._parameters[name] = self.build.parameters[name]
                self._known[name] = version_of(self._parameters[name])
            elif self.build.rates:
                self._share(name, self._owner(name))
        self._remember(function)
        self._written = [name for name in self._core.written() if name in self._parameters]

    def _remember(self, function):
        """What the trace found, and left."""
        owner = getattr(function, "__self__", None)
        if hasattr(owner, "program_state"):
            self.build.note(owner)
        self._captured = Captured(function)
        self._cells = []  # what was called, when it changed last, what it was then, whether to look each time
        for cell in self.build.cells:
            self._cells.append([cell, cell._changes, cell.program_state(), cell.has_collections()])
        self._kinds = tuple({type(cell): None for cell in self.build.cells})
        self._of_kinds = Captured(kinds=self._kinds)
        self._constants = [(tensor, version_of(tensor)) for tensor in self.build.constants]

    def is_current(self, captured):
        """Whether the function would be traced the same again."""
        if captured.values != self._captured.values:
            return False
        for one in self._cells:
            cell, version, state, looks = one
            if looks or cell._changes != version:
                if cell.program_state() != state:
                    return False
                one[1] = cell._changes
        if Captured(kinds=self._kinds).values != self._of_kinds.values:
            return False
        return all(version_of(tensor) == version for tensor, version in self._constants)

    def _owner(self, name):
        """The optimizer that a state belongs to: that of its parameter; the first one counts the steps."""
        optimizers = list(self.build.rates.values())
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
        for name, optimizer in self.build.rates.items():
            inputs.append((name, Tensor(optimizer.rate_of(optimizer.global_step)).array))
        arrays = self._core.run(inputs)
        for name in self._written:
            parameter = self._parameters[name]
            parameter._belong_to(self)
            self._known[name] = version_of(parameter)
        for optimizer in self.build.rates.values():
            optimizer.__dict__["global_step"] += 1
        return self.structure.filled([_trace.from_array(array) for array in arrays])

    def value_of(self, parameter):
        """What calls have made of a parameter."""
        return self._core.state(parameter.name)


class Program:
    """A function that runs as one program. Tensors that it is given begin with samples, of which every process has rows
    of its own, unless `rows` is False. In a network that is being built it is a function as others are."""

    def __init__(self, function, rows=True):
        functools.update_wrapper(self, function, updated=())
        self._function, self._rows = function, rows
        self._compiled = {}  # by signatures of arguments: those of different captured values, the last used first
        self._given = []  # what is known by its identity must live as long

    def __get__(self, owner, kind=None):
        if owner is None:
            return self
        programs = owner.__dict__.setdefault("_programs", {})
        if self._function.__name__ not in programs:
            programs[self._function.__name__] = Program(self._function.__get__(owner, kind))
        return programs[self._function.__name__]

    def __call__(self, *args, **kwargs):
        if _trace.current() is not None:
            return self._function(*args, **kwargs)
        given = _Structure((args, kwargs))
        types = tuple((one.shape, one.dtype) for one in given.tensors)
        key = signature(given._made), types, context.parallel_state()
        variants = self._compiled.setdefault(key, [])
        captured = Captured(self._function)
        for i, compiled in enumerate(variants):
            if compiled.is_current(captured):
                if i > 0:
                    variants.insert(0, variants.pop(i))
                break
        else:
            variants.insert(0, _Compiled(self._function, args, kwargs, self._rows))
            self._given.append(given._made)
            self._limit(variants)
        return variants[0](list(given.tensors))

    def _limit(self, variants):
        """Programs of values that come no more are given up."""
        if len(variants) > _MANY_VARIANTS:
            variants.pop()
        counts = [len(one) for one in self._compiled.values()]
        if max(len(variants) + 1, len(counts)) in (_MANY_VARIANTS + 1, _MOST_COMPILED + 1):
            warn(
                f"[jit] '{self.__name__}' is compiled again and again, got {sum(counts)} programs of it, expected few: "
                "give numbers that change as tensors"
            )
        if len(counts) > _MOST_COMPILED:
            del self._compiled[next(iter(self._compiled))]


def jit(function=None, *, capture_mode="ast", jit_level="O0", dynamic=0, fullgraph=False, backend="", **others):
    """A function, or a method of a cell, as one program: traced, compiled for each signature, run as a whole."""
    return Program(function) if function is not None else Program


ms_function = jit


def lazy_inline(fn=None, attrs=None, policy=None):
    """The function itself: layers that are alike are compiled once in any case."""
    return fn if fn is not None else lambda function: function


class StepFunction:
    """One step of a training of a network whose result is its loss."""

    def __init__(self, network, optimizer):
        from partita.ops.composite import value_and_grad

        def step(*inputs):
            loss, gradients = value_and_grad(network, None, optimizer.parameters)(*inputs)
            optimizer(gradients)
            return loss

        self._program = Program(step)

    def __call__(self, *inputs):
        return self._program(*inputs)
