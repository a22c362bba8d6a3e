"""How a call of an op becomes nodes of a network that is being built, a part of a step that is recorded, or runs at
once."""

import collections
import contextlib

from partita import _core
from partita._captured import Same
from partita._current import current, set_current, user_line
from partita._own_gradient import OwnGradient
from partita._sliced.functions import functions
from partita._sliced.symbols import Sliced
from partita.common.tensor import NeedsSteps, Tensor

# Where in a network the next node stands. The path is the scope without names that `name_of` made; the precision is
# that of products in the scope.
Here = collections.namedtuple("Here", "scope path stage recompute precision")


_NO_SLICES = contextlib.nullcontext()


class Scopes:
    """The scopes in which cells stand, and their precisions."""

    def __init__(self, names=None):
        self.precisions = {}  # by scopes: where they change
        self.used = {}  # precisions of the scopes in which cells stand
        self.names = {} if names is None else names  # that `name_of` made, by their cells


class Building:
    """The network that a thread builds, or the step that it records, as cells and ops see it."""

    def __init__(self, training, groups, precision, scopes):
        self.training = training
        self.scopes = scopes
        self.groups = groups  # of rows that one rank has in one micro-batch
        self.here = Here("net", "net", -1, "", precision)
        self.phase = "forward"
        self.rates = {}  # inputs that are learning rates, by name: the optimizers
        self.constants = []  # tensors whose values stand in the program
        self._outer = []  # what was built before each entry

    is_recorded = False  # whether its Python runs in every step
    is_detached = False  # whether results of calls get no gradients now
    divides_batches = False  # whether its program is called with parts of batches
    is_mapping = False  # whether tensors stand for slices, see _mapping.py
    kept_call = None  # the last call of a cell that is to be differentiated: the cell, its arguments, its result

    def __enter__(self):
        self._outer.append(current())
        set_current(self)
        return self

    def __exit__(self, *_):
        set_current(self._outer.pop())

    def run(self, body, operands):
        """Adds `body(trace, *symbols)`, which gives symbols, alone or in a list or tuple. Returns tensors in their
        places."""
        raise NotImplementedError

    def do(self, key, action, *operands):
        """Adds `action(build, *symbols)`, as `run` does. Actions with equal keys do the same to the same operands."""
        raise NotImplementedError

    def inner(self, cell, end, stage, recompute):
        """Where the nodes of a cell, or of an op if it is None, stand within the present place."""
        here = self.here
        scope, path, precision = here.scope + end, here.path + end, here.precision
        if cell is not None:
            precision = cell._precision_within(here.precision)
            if not cell._keeps_digits or precision == here.precision:
                scope = self._scope_of(cell, end, precision)
            elif not scope.startswith("loss"):
                scope = f"loss{end}"
        stage = here.stage if stage is None else stage
        return Here(scope, path, stage, here.recompute or (scope if recompute else ""), precision)

    def name_of(self, cell):
        """A name for a cell that has none, or that of another cell. No attribute has the same one."""
        kind = type(cell).__name__
        return self.scopes.names.setdefault(
            cell, f"{kind if kind.isascii() else 'cell'}-{len(self.scopes.names) + 1}"
        )

    def _scope_of(self, cell, end, precision):
        """The scope of a cell that computes in this precision. Cells of one name but different precisions get scopes of
        their own, as does a cell without a name in another precision than what is around it."""
        scope, outer = self.here.scope + end, self.here.precision
        if self.scopes.used.setdefault(scope, precision if end else outer) != precision:
            scope = f"{scope}/{self.name_of(cell)}"
            self.scopes.precisions[scope] = precision
        elif precision != outer:
            self.scopes.precisions[scope] = precision
        return scope

    def array_of_updated(self, parameter):
        """Makes a parameter have the value that an update in this step gives it, and returns the array that an
        assignment gives it, if there is one."""

    def detach(self, tensor):
        """Keeps the value that a tensor has had so far, before it becomes another one."""

    def assign(self, parameter, value):
        """Makes a tensor the value of a parameter. Raises NeedsSteps in a network that is built once."""
        raise NeedsSteps(
            f"[assign] a parameter cannot be changed within a program, got '{parameter.name}', expected a call outside "
            "of it, or PYNATIVE_MODE"
        )

    def take_call(self, cell, args):
        """Returns the result of the last call of a cell that is to be differentiated, if it had these arguments, else
        None. It is given up in any case."""
        found, self.kept_call = self.kept_call, None
        if found is None or self.is_mapping or found[0] is not cell or not cell.training or len(found[1]) != len(args):
            return None
        result = found[2]
        if not isinstance(result, Tensor) or any(a is not b for a, b in zip(found[1], args)):
            return None
        return result if self.is_of_now(result) else None

    def begin_update(self):
        """Prepares for an update of parameters, which is one call."""

    def moved(self, *statistics):
        """Notes that a call moves running statistics."""

    def count_call(self, parameter):
        """Adds 1 to an integer, a parameter, in each step."""

    def is_of_now(self, tensor):
        """Whether a tensor is of what is being built."""
        return tensor._symbol is not None and tensor._init is None

    def annotate(self, tensor, text):
        """Annotates the node that made a tensor; nothing happens if none did."""
        if tensor._symbol is not None:
            self.do(("annotate", text), lambda build, symbol: symbol.annotate(text), tensor)

    def rate(self, optimizer):
        """Returns the learning rate of an optimizer in this step. Raises NotImplementedError if it was asked for."""
        if optimizer in self.rates.values():
            where = type(optimizer).__name__
            raise NotImplementedError(
                f"[{where}] an optimizer is called twice in one program, got it again, expected one call"
            )
        self.rates[f"learning_rate{len(self.rates)}"] = optimizer
        return self.do(("rate", Same(optimizer)), lambda build: build.add_rate(optimizer))

    def with_gradient(self, where, function, gradient, args):
        """Calls the function with a gradient of its own and returns its results. `gradient(*args, out, dout)` replaces
        the gradients of its ops. It returns the gradients of the arguments that are tensors: a tensor, or a tuple of
        tensors with None where there is no gradient."""
        inputs = [i for i, one in enumerate(args) if isinstance(one, Tensor)]
        begun = [args[i] for i in inputs]
        self.do(("begin",), lambda build, *symbols: build.begin_own_gradient(), *begun)
        out = function(*args)
        several = isinstance(out, (tuple, list))
        results = list(out) if several else [out]
        for one in results:
            if not isinstance(one, Tensor):
                raise TypeError(
                    f"[{where}] the result is not a tensor, got {type(one).__name__}, expected a Tensor or a tuple of "
                    "them"
                )
        others = [None if isinstance(one, Tensor) else one for one in args]
        own = OwnGradient(where, gradient, others, inputs, several)
        made = self.own_gradient(own, [*begun, *results])
        return type(out)(made) if several else made[0]

    def own_gradient(self, own, operands):
        """Adds a gradient that a user wrote. Returns the results of what it is the gradient of."""
        return self.do(own.key(), own.add, *operands)

    def own_input(self, tensor):
        """The value as an input that nothing but the function that is differentiated reads: it may stand elsewhere in
        the program, too."""
        shape = list(tensor.shape)
        return self.run(lambda trace, x: functions.reshape(x, shape), [tensor])

    def own_parameters(self, parameters):
        """A context in which gradients by parameters are those of each slice, if there are slices."""
        return _NO_SLICES


class Build(Building):
    """One build of a network: what its symbols belong to."""

    has_stages = True  # whether nodes stand on the stages of their cells

    def __init__(self, trace, training, trained=None, groups=1, precision="f32", names=None):
        super().__init__(training, groups, precision, Scopes(names))
        self.trace = trace
        self.trained = trained  # names of the parameters that the optimizer has; None: all that require a gradient
        self.parameters = {}  # by their names in the program
        self.cells = {}  # that were called, or made updates, as keys
        self._symbols = {}  # of parameters and constant tensors, by their identity
        self._kept = []  # so that identities stay theirs
        self.cuts = []  # of the primitives with strategies that are being called, the innermost last
        self.repeats = {}  # how many ranks have the same part of a result of a primitive with a strategy, by its name
        self._begins = []  # of gradients of their own
        self._counted = {}  # (parameter, its symbol when a step begins) of numbers of calls, by their identity
        self.replay = None  # what adds the calls of a step, if they are not new

    @property
    def builds_network(self):
        return self.trace.builds_network

    def note(self, cell):
        """The program is made of what a cell is now."""
        self.cells[cell] = None

    def set_place(self):
        """Before nodes are made: where they stand."""
        here = self.here
        file, line = user_line()
        self.trace.set_place(here.scope, file, line, here.stage if self.has_stages else -1, here.recompute)

    def run(self, body, operands):
        return self.do(None, lambda build, *symbols: body(build.trace, *symbols), *operands)

    def do(self, key, action, *operands):
        self.set_place()
        symbols = [self.symbol(one) if isinstance(one, Tensor) else one for one in operands]
        with InPhase(self.trace, self.phase):
            made = action(self, *symbols)
        return None if made is None else as_tensors(made, Tensor._from_symbol)

    def differentiate(self, total, tensors):
        """d total / d each of the tensors."""
        return self.do(None, differentiate, total, *tensors)

    def symbol(self, tensor):
        """The symbol of a tensor, a parameter or a constant."""
        if tensor._symbol is not None and tensor._init is None:
            return tensor._symbol
        found = self._symbols.get(id(tensor))
        if found is None:
            found = self._parameter(tensor) if tensor.is_parameter else self._constant(tensor)
            self._symbols[id(tensor)] = found
            self._kept.append(tensor)
        return found

    def name_in_program(self, parameter):
        """The name of the state of a parameter: its own, with a number if another parameter has it."""
        name, count = parameter.name, 1
        while self.parameters.setdefault(name, parameter) is not parameter:
            count += 1
            name = f"{parameter.name}~{count}"
        return name

    def _parameter(self, parameter):
        name = self.name_in_program(parameter)
        trained = parameter.requires_grad and (self.trained is None or parameter.name in self.trained)
        split = 0 if parameter.layerwise_parallel else -1
        return self.trace.state(name, parameter.dtype.core, parameter.shape, trained, split)

    def identity(self, tensor):
        """Equal for tensors that stand for the same value of the network."""
        return self.symbol(tensor).name

    def knows(self, tensor):
        """Whether the network uses a tensor."""
        return id(tensor) in self._symbols

    def replace(self, parameter, value):
        """Makes a tensor the value of a parameter from here on: an update."""
        self._symbols[id(parameter)] = value._symbol

    def statistic(self, parameter):
        """Symbol of a running statistic, as the last call of its layer in this build left it."""
        return self.trace.statistic(self.name_in_program(parameter), parameter.shape)

    def update_statistic(self, parameter, value):
        """Makes a symbol the value of a running statistic after the step. Raises NotImplementedError if slices have one
        each."""
        if isinstance(value, Sliced):
            raise NotImplementedError(
                "[vmap] slices share moving statistics, got a batch norm in training within a function of vmap, "
                "expected set_train(False)"
            )
        self.trace.update_statistic(self.name_in_program(parameter), value)

    def count_call(self, parameter):
        if self.training:
            self._counted.setdefault(id(parameter), (parameter, self.symbol(parameter)))
            with self._updating():
                self.replace(parameter, self.do(("count",), _one_more, parameter))

    def store_counts(self):
        """Makes numbers of calls what the calls so far have counted, when the step has ended."""
        with self._updating():
            for parameter, first in self._counted.values():
                self.trace.store(first, self.symbol(parameter))

    @contextlib.contextmanager
    def _updating(self):
        """Within it nodes run once in a step, of however many parts its batch is."""
        before, self.phase = self.phase, "update"
        try:
            yield
        finally:
            self.phase = before

    def add_rate(self, optimizer):
        """Adds the input that is the learning rate of an optimizer."""
        names = [name for name, one in self.rates.items() if one is optimizer]
        name = names[0] if names else f"learning_rate{len(self.rates)}"
        self.rates[name] = optimizer
        return self.trace.network_input(name, "f32", [], False)

    def begin_own_gradient(self):
        self._begins.append(self.trace.nodes)

    def end_own_gradient(self):
        return self._begins.pop()

    def later(self, trace, where, here):
        """A build of nodes that are added when the network is differentiated."""
        return _Later(self, trace, where, here)

    def _constant(self, tensor):
        array = tensor.settle()._array
        if tensor.size == 1:
            self.constants.append(tensor)
            return self.trace.constant(array.at(0), array.dtype, array.shape)
        name = f"given.tensor{len(self._kept)}"  # the library names constants of its own
        self.parameters[name] = tensor
        return self.trace.state(name, array.dtype, array.shape, False, -1)


class StepBuild(Build):
    """A build of a program outside of trainings. All ranks compute all of it: stages are those of trainings."""

    has_stages = False


class _Later(Build):
    """Nodes that are added to a network when it is built: those of a gradient."""

    def __init__(self, build, trace, where, here):
        super().__init__(trace, build.training, build.trained, build.groups)
        self._where = where
        self.here, self.replay = here, build.replay
        self.scopes = build.scopes
        self.parameters, self.cells, self.constants = build.parameters, build.cells, build.constants

    def _parameter(self, parameter):
        if not any(one is parameter for one in self.parameters.values()):
            raise ValueError(
                f"[{self._where}] construct does not use this parameter, got '{parameter.name}', expected it as an "
                "input"
            )
        return super()._parameter(parameter)

    def _constant(self, tensor):
        if tensor.size == 1:
            return super()._constant(tensor)
        # States have their values by now.
        array = tensor._array.copy()
        self.constants.append(tensor)
        name = f"{self._where}.constant{len(self.constants)}"
        operands, types = [self.trace.constant(0.0, "f32", [1])], [array.dtype]
        give = lambda _: [array]  # noqa: E731
        return _core.functions.host_function(self.trace, name, give, operands, types, [list(tensor.shape)], "")[0]


class InPhase:
    """Within it nodes are of a phase. That of a gradient, which the library adds, stays as it is."""

    __slots__ = ("_trace", "_phase")

    def __init__(self, trace, phase):
        self._trace, self._phase = trace, phase

    def __enter__(self):
        if self._phase != "forward":
            self._trace.set_phase(self._phase)

    def __exit__(self, *_):
        if self._phase != "forward":
            self._trace.set_phase("forward")


def _one_more(build, number):
    return functions.add(number, build.trace.constant(1.0, number.dtype, []))


def differentiate(build, total, *values):
    """The action of `Building.differentiate`."""
    return tuple(build.trace.differentiate(total, list(values)))


class place:
    """Within it nodes stand in a scope, on a stage, and are recomputed, as a cell or an op says. A cell in another
    precision than what is around it has a scope of its own; losses, which keep their digits, stand in scope "loss"."""

    __slots__ = ("build", "new", "saved")

    def __init__(self, build, name, stage, recompute, cell=None):
        self.build = build
        self.new = build.inner(cell, f"/{name}" if name else "", stage, recompute)

    def __enter__(self):
        build = self.build
        self.saved, build.here = build.here, self.new

    def __exit__(self, *_):
        self.build.here = self.saved


def count(parameter):
    """Adds 1 to an integer, a parameter: at once where Python runs in every step, else in each step of the program."""
    build = current()
    if build is None:
        parameter.set_data(Tensor(parameter.asnumpy() + 1))
    else:
        build.count_call(parameter)


def _input(trace, tensor):
    held = tensor._array if type(tensor) is Tensor else None  # parameters may wait for a step that sets them
    return trace.input(tensor.array if held is None else held)


def run(body, *operands):
    """`body(trace, *symbols)` gives symbols, alone or in a list or tuple; the result has tensors in their places.
    Operands are tensors, and floats, which may become inputs of a program: see `number`. All else that the body uses it
    must know by value; no tensors."""
    build = current()
    if build is not None:
        made = build.run(body, operands)
        return without_gradient(build, made) if build.is_detached else made
    trace = _core.Trace()
    trace.set_place("", *user_line(), -1, "")
    made = body(trace, *[one if type(one) is float else _input(trace, one) for one in operands])
    if isinstance(made, _core.Symbol):
        return Tensor._from_array(trace.run([made])[0])
    return type(made)([Tensor._from_array(array) for array in trace.run(list(made))])


def without_gradient(build, made):
    """Results of a call as tensors that have no gradient."""
    if isinstance(made, (list, tuple)):
        return type(made)(without_gradient(build, one) for one in made)
    if not isinstance(made, Tensor) or made.dtype.core[0] not in "fb" or made.dtype.core == "bool":
        return made
    return build.with_gradient("stop_gradient", lambda a: a, lambda a, out, dout: (None,), [made])


def number(trace, value, dtype):
    """The symbol of an operand of `run` that is a float or, in a program that gets it anew in each step, an input."""
    if type(value) is float:
        return trace.constant(value, dtype, [])
    return value if value.dtype == dtype else functions.cast(value, dtype)


def as_tensors(made, wrap):
    """A symbol, or a list or tuple of them, with `wrap` of each."""
    if isinstance(made, (list, tuple)):
        return type(made)(wrap(one) for one in made)
    return wrap(made)
