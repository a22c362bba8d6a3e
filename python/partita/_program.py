"""Functions as programs. In graph mode a function is traced once for each signature, compiled, and run with its states
in place. Otherwise its Python runs in every step (`_steps`)."""

import functools

from partita import _core, _trace, context
from partita._captured import Captured, signature, version_of
from partita._executable import Executable, feeders, is_alone, require_rows, statistics_groups
from partita._fresh import Kept
from partita._steps import step
from partita._structure import Structure
from partita._warnings import warn
from partita.common import seed as _seed
from partita.common.tensor import NeedsValue, Tensor

_MANY_VARIANTS = 8  # of a function for arguments of the same kinds
_MOST_COMPILED = 64  # of a function


class _Compiled(Executable):
    """A function for one signature, and for the values that it had captured then."""

    def __init__(self, function, args, kwargs, rows):
        self.structure = None
        given = Structure((args, kwargs))
        ways, groups = (feeders(), statistics_groups()) if rows else (1, 1)

        def fill(trace):
            build = _trace.StepBuild(trace, training=True, groups=groups)
            with build:
                symbols = []
                require_rows(given.tensors, ways)
                for i, tensor in enumerate(given.tensors):
                    shape = list(tensor.shape)
                    if ways > 1 and shape:
                        shape[0] *= ways
                    symbol = trace.network_input(f"input{i}", tensor.dtype.core, shape, rows and bool(shape))
                    symbols.append(Tensor._from_symbol(symbol))
                own_args, own_kwargs = given.filled(symbols)
                self.structure = Structure(function(*own_args, **own_kwargs))
                build.set_place()
                for i, tensor in enumerate(self.structure.tensors):
                    trace.output(f"output{i}", _core.functions.reshape(build.symbol(tensor), list(tensor.shape)))
                build.store_counts()
                if not self.structure.tensors:  # it is called for the states that it sets
                    trace.output("done", trace.constant(1.0, "f32", []))
            for scope, precision in build.scopes.precisions.items():
                trace.set_precision(scope, precision)
            return build

        super().__init__(fill, groups)
        self._remember(function, given.others)

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

    def __call__(self, tensors):
        arrays = self.run([(f"input{i}", tensor.array) for i, tensor in enumerate(tensors)])
        count = len(self.structure.tensors)
        return self.structure.filled([Tensor._from_array(array) for array in arrays[:count]])


class Program:
    """A function that runs as one program. The first dimension of its tensors is the samples, and every process passes
    its own rows, unless `rows` is False. In a network that is being built it acts like any other function. With
    `is_graph` it is traced once in any mode, unless its Python reads values or sets parameters: such a function is
    recorded in every step, which a warning says. Threads that call it take turns. `kept` has what it shares with
    other functions."""

    is_program = True

    def __init__(self, function, rows=True, is_graph=False, kept=None):
        functools.update_wrapper(self, function, updated=())
        self._function, self._rows, self._is_graph = function, rows, is_graph
        self._kept = Kept() if kept is None else kept
        self._kept.belong_to(self)
        self._compiled, self._trees, self._turn = self._kept.compiled, self._kept.trees, self._kept.turn
        self._of_owners = {}  # of a method: programs of objects without attributes of their own

    def __reduce__(self):
        return Program, (self._function, self._rows, self._is_graph)  # a copy makes programs of its own

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
            found = programs[self] = Program(self._function.__get__(owner, kind), self._rows, self._is_graph)
        return found

    def __call__(self, *args, **kwargs):
        if _trace.current() is not None:
            return self._function(*args, **kwargs)
        with self._turn:
            return self._called(args, kwargs)

    def _called(self, args, kwargs):
        if self._kept.needs_values or (not self._is_graph and context.is_eager()):
            return step.take(self._function, args, kwargs, self._trees, self._rows)
        try:
            return self._traced(args, kwargs)
        except NeedsValue as error:
            warn(f"[jit] '{self._name()}' runs in parts, because its Python reads values, or sets parameters: {error}")
            self._kept.needs_values = True
            return step.take(self._function, args, kwargs, self._trees, self._rows)

    def _name(self):
        owner = getattr(self._function, "__self__", None)
        if hasattr(type(owner), "construct"):  # a cell, called as a program
            return type(owner).__name__
        return getattr(self, "__name__", type(self._function).__name__)

    def _traced(self, args, kwargs):
        given = Structure((args, kwargs))
        types = tuple((one.shape, one.dtype) for one in given.tensors)
        key = signature(given.made), types, context.program_state(), _seed.seed_or_default(), is_alone()
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
                f"[jit] '{self._name()}' is compiled again and again, got {sum(counts)} programs of it, expected few: "
                "pass numbers that change as tensors"
            )
        if len(counts) > _MOST_COMPILED:
            del self._compiled[next(iter(self._compiled))]
