"""How a call of an op becomes nodes of a network that is being built, or runs at once."""

from partita import _core
from partita._current import current, set_current, user_line
from partita.common import dtype as mstype
from partita.common.tensor import Tensor


class Build:
    """One build of a network: what its symbols belong to, and where in the network the next node stands."""

    def __init__(self, trace, training, trained=None, groups=1, precision="f32", names=None):
        self.trace, self.training = trace, training
        self.groups = groups  # of rows that one rank has in one micro-batch
        self.trained = trained  # names of the parameters that the optimizer has; None: all that require a gradient
        self.parameters = {}  # by name
        self.rates = {}  # inputs that are learning rates, by name: the optimizers
        self.cells = {}  # that were called, or made updates, as keys
        self.constants = []  # tensors whose values stand in the program
        self.scope, self.stage, self.recompute = "net", -1, ""
        self.path = "net"  # the scope without names that `name_of` made
        self.precision = precision  # of products in the scope
        self.precisions = {}  # by scopes: where they change
        self._used = {}  # precisions of the scopes in which cells stand
        self._names = {} if names is None else names  # that `name_of` made, by their cells
        self._outer = []  # what was built before each entry
        self._symbols = {}  # of parameters and constant tensors, by their identity
        self._kept = []  # so that identities stay theirs

    def __enter__(self):
        self._outer.append(current())
        set_current(self)
        return self

    def __exit__(self, *_):
        set_current(self._outer.pop())

    def note(self, cell):
        """The program is made of what a cell is now."""
        self.cells[cell] = None

    def name_of(self, cell):
        """A name for a cell that has none, or that of another cell. No attribute has the same one."""
        kind = type(cell).__name__
        return self._names.setdefault(cell, f"{kind if kind.isascii() else 'cell'}-{len(self._names) + 1}")

    def scope_of(self, cell, end, precision):
        """The scope of a cell that computes in this precision. Cells of one name but different precisions get scopes of
        their own, as does a cell without a name in another precision than what is around it."""
        scope = self.scope + end
        if self._used.setdefault(scope, precision if end else self.precision) != precision:
            scope = f"{scope}/{self.name_of(cell)}"
            self.precisions[scope] = precision
        elif precision != self.precision:
            self.precisions[scope] = precision
        return scope

    def set_place(self):
        """Before nodes are made: where they stand."""
        file, line = user_line()
        self.trace.set_place(self.scope, file, line, self.stage, self.recompute)

    def symbol(self, tensor):
        """The symbol of a tensor, a parameter or a constant."""
        if tensor._symbol is not None:
            return tensor._symbol
        found = self._symbols.get(id(tensor))
        if found is None:
            found = self._parameter(tensor) if tensor.is_parameter else self._constant(tensor)
            self._symbols[id(tensor)] = found
            self._kept.append(tensor)
        return found

    def _parameter(self, parameter):
        other = self.parameters.setdefault(parameter.name, parameter)
        if other is not parameter:
            raise ValueError(
                f"[parameter] two parameters have the same name, got '{parameter.name}' again, expected different names"
            )
        trained = parameter.requires_grad and (self.trained is None or parameter.name in self.trained)
        split = 0 if parameter.layerwise_parallel else -1
        return self.trace.state(parameter.name, parameter.dtype.core, parameter.shape, trained, split)

    def with_gradient(self, where, function, gradient, args):
        """Calls the function with a gradient of its own and returns its results. `gradient(*args, out, dout)` replaces
        the gradients of its ops. It returns the gradients of the arguments that are tensors: a tensor, or a tuple of
        tensors with None where there is no gradient."""
        inputs = [i for i, one in enumerate(args) if isinstance(one, Tensor)]
        begun = [self.symbol(args[i]) for i in inputs]
        begin, place = self.trace.nodes, (self.scope, self.path, self.precision)
        out = function(*args)
        several = isinstance(out, (tuple, list))
        results = []
        for one in out if several else [out]:
            if not isinstance(one, Tensor):
                raise TypeError(
                    f"[{where}] the result is not a tensor, got {type(one).__name__}, expected a Tensor or a tuple of "
                    "them"
                )
            results.append(self._computed(one, begin, results))

        def of_inputs(trace, inputs_then, outputs_then, arrived):
            with _Later(self, trace, f"{where}.bprop", place):
                given = list(args)
                for i, symbol in zip(inputs, inputs_then):
                    given[i] = Tensor._from_symbol(symbol)
                made = [Tensor._from_symbol(one) for one in outputs_then]
                wanted = [
                    Tensor._from_symbol(one) if one is not None else self._no_gradient(trace, result)
                    for one, result in zip(arrived, made)
                ]
                found = gradient(*given, *((tuple(made), tuple(wanted)) if several else (made[0], wanted[0])))
                if found is None:
                    raise TypeError(f"[{where}.bprop] no gradients, got None, expected a Tensor, or a tuple of them")
                found = list(found) if isinstance(found, (tuple, list)) else [found]
                if len(found) not in (len(inputs), len(args)):
                    raise ValueError(
                        f"[{where}.bprop] wrong number of gradients, got {len(found)}, expected {len(inputs)}, one "
                        "for each input"
                    )
                if len(found) == len(args):
                    found = [found[i] for i in inputs]
                return [None if one is None else self._gradient(where, one) for one in found]

        self.trace.own_gradient(begin, begun, results, of_inputs)
        tensors = [Tensor._from_symbol(one) for one in results]
        return type(out)(tensors) if several else tensors[0]

    @staticmethod
    def _no_gradient(trace, result):
        """Zero gradient of a result that nothing uses."""
        dtype = result.dtype if mstype.is_float(result.dtype) else mstype.float32
        return Tensor._from_symbol(trace.constant(0.0, dtype.core, list(result.shape)))

    @staticmethod
    def _gradient(where, found):
        """The symbol of a gradient."""
        if not isinstance(found, Tensor):
            raise TypeError(
                f"[{where}.bprop] a gradient is not a tensor, got {type(found).__name__}, expected a Tensor or None"
            )
        return current().symbol(found)

    def _computed(self, tensor, begin, others):
        """The symbol of a result, of a node from `begin` on, and none of the others."""
        symbol = self.symbol(tensor)
        if symbol.node >= begin and symbol.name not in [one.name for one in others]:
            return symbol
        return _core.functions.reshape(symbol, list(symbol.shape))

    def replace(self, parameter, symbol):
        """Makes the symbol the value of a parameter from here on: an update."""
        self._symbols[id(parameter)] = symbol

    def statistic(self, parameter):
        """Symbol of a running statistic, as the last call of its layer in this build left it."""
        self.parameters.setdefault(parameter.name, parameter)
        return self.trace.statistic(parameter.name, parameter.shape)

    def _constant(self, tensor):
        array = tensor._array
        if tensor.size == 1:
            self.constants.append(tensor)
            return self.trace.constant(array.at(0), array.dtype, array.shape)
        name = f"given.tensor{len(self._kept)}"  # the library names constants of its own
        self.parameters[name] = tensor
        return self.trace.state(name, array.dtype, array.shape, False, -1)


class _Later(Build):
    """Nodes that are added to a network when it is built: those of a gradient."""

    def __init__(self, build, trace, where, place):
        super().__init__(trace, build.training, build.trained, build.groups)
        self._where = where
        self.scope, self.path, self.precision = place
        self.precisions, self._names, self._used = build.precisions, build._names, build._used
        self.parameters, self.cells, self.constants = build.parameters, build.cells, build.constants

    def _parameter(self, parameter):
        if parameter.name not in self.parameters:
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


class place:
    """Within it nodes stand in a scope, on a stage, and are recomputed, as a cell or an op says. A cell in another
    precision than what is around it has a scope of its own; losses, which keep their digits, stand in scope "loss"."""

    __slots__ = ("build", "new", "saved")

    def __init__(self, build, name, stage, recompute, cell=None):
        self.build = build
        end, precision = f"/{name}" if name else "", build.precision
        scope, path = build.scope + end, build.path + end
        if cell is not None:
            precision = cell._precision_within(build.precision)
            if not cell._keeps_digits or precision == build.precision:
                scope = build.scope_of(cell, end, precision)
            elif not scope.startswith("loss"):
                scope = f"loss{end}"
        stage = build.stage if stage is None else stage
        self.new = scope, path, stage, build.recompute or (scope if recompute else ""), precision

    def __enter__(self):
        build = self.build
        self.saved = build.scope, build.path, build.stage, build.recompute, build.precision
        build.scope, build.path, build.stage, build.recompute, build.precision = self.new

    def __exit__(self, *_):
        build = self.build
        build.scope, build.path, build.stage, build.recompute, build.precision = self.saved


def run(body, *tensors):
    """`body(trace, *symbols)` gives symbols, alone or in a list or tuple; the result has tensors in their places."""
    build = current()
    if build is not None:
        build.set_place()
        return _tensors(body(build.trace, *[build.symbol(tensor) for tensor in tensors]), Tensor._from_symbol)
    trace = _core.Trace()
    trace.set_place("", *user_line(), -1, "")
    made = body(trace, *[trace.input(tensor.array) for tensor in tensors])
    several = isinstance(made, (list, tuple))
    arrays = [Tensor._from_array(array) for array in trace.run(list(made) if several else [made])]
    return type(made)(arrays) if several else arrays[0]


def _tensors(made, wrap):
    if isinstance(made, (list, tuple)):
        return type(made)(wrap(one) for one in made)
    return wrap(made)
