"""Functions as programs: traced once for each signature, compiled, and run with their states in place."""

import functools

import numpy as np

from partita import _core, _trace, context
from partita.common import seed as _seed
from partita.common.tensor import Tensor
from partita.communication import management as ranks


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
    """A function for one signature."""

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
        optimizers = list(self.build.rates.values())
        for name in self._core.states():
            if name in self.build.parameters:
                self._parameters[name] = self.build.parameters[name]
                self._known[name] = _version(self._parameters[name])
            elif optimizers:
                self._share(name, optimizers[0])
        self._written = [name for name in self._core.written() if name in self._parameters]

    def _share(self, name, optimizer):
        """A state of the optimizer: that of an earlier program, or the one that begins here."""
        if name in optimizer.states:
            self._known[name] = -1
        else:
            optimizer.state(name, self._core.state(name))
            self._known[name] = _version(optimizer.states[name])
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
            if self._known[name] != _version(parameter):
                self._core.set_state(name, parameter.array)
                self._known[name] = _version(parameter)
        inputs = [(f"input{i}", tensor.array) for i, tensor in enumerate(tensors)]
        for name, optimizer in self.build.rates.items():
            inputs.append((name, Tensor(optimizer.rate_of(optimizer.global_step)).array))
        arrays = self._core.run(inputs)
        for name in self._written:
            parameter = self._parameters[name]
            parameter._belong_to(self)
            self._known[name] = _version(parameter)
        for optimizer in self.build.rates.values():
            optimizer.__dict__["global_step"] += 1
        return self.structure.filled([_trace.from_array(array) for array in arrays])

    def value_of(self, parameter):
        """What calls have made of a parameter."""
        return self._core.state(parameter.name)


def _version(parameter):
    return getattr(parameter, "_updates", 0)


def _signature(value):
    """Equal for arguments that make the same program: arrays and scalars by value, other objects by identity."""
    if isinstance(value, (tuple, list)):
        return type(value), tuple(_signature(one) for one in value)
    if isinstance(value, dict):
        return dict, tuple((key, _signature(one)) for key, one in value.items())
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        return type(value), repr(value)
    return type(value), id(value)


class Program:
    """A function that runs as one program. Tensors that it is given begin with samples, of which every process has rows
    of its own, unless `rows` is False. In a network that is being built it is a function as others are."""

    def __init__(self, function, rows=True):
        functools.update_wrapper(self, function, updated=())
        self._function, self._compiled, self._rows, self._known = function, {}, rows, []

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
        key = (_signature(given._made), tuple((one.shape, one.dtype) for one in given.tensors), self._modes())
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = self._compiled[key] = _Compiled(self._function, args, kwargs, self._rows)
            self._known.append(given._made)  # what is known by its identity must live as long
        return compiled([one for one in given.tensors])

    def _modes(self):
        """Cells that the function may call: whether they are in a training."""
        cells = [value.cell_contents for value in getattr(self._function, "__closure__", None) or () if _is_set(value)]
        cells += [self._function, getattr(self._function, "__self__", None)]
        cells += list(getattr(self._function, "__globals__", {}).values()) if cells else []
        from partita.nn.cell import Cell

        return tuple(one.training for one in cells if isinstance(one, Cell))


def _is_set(cell):
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


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
