"""Cells: what a network is made of."""

import itertools
from collections import OrderedDict
from collections.abc import Iterable

import numpy as np

from partita import _trace, context
from partita._captured import is_fixed, reached, Same, signature
from partita._layout import annotation_text
from partita._precision import is_half, note_cell
from partita._program import Program
from partita._sliced.functions import functions
from partita._structure import rebuilt
from partita.common import dtype as mstype
from partita.common.parameter import DEFAULT_NAME, Parameter, ParameterTuple
from partita.common.tensor import Tensor
from partita.nn.cell_contents import CellContents
from partita.nn.cell_gradients import CellGradients
from partita.nn.cell_hooks import CellHooks
from partita.nn.cell_errors import PLAIN, no_attribute, refuse_construct, require_plain_allowed, require_tensors
from partita.nn.cell_settings import CellSettings
from partita.nn.cell_state import CellState
from partita.nn.layer_texts import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


class Cell(CellContents, CellSettings, CellHooks, CellGradients, CellState):
    """A layer or a network: parameters and cells as attributes, and `construct`, which says what a call computes. A
    method `bprop(self, *inputs, out, dout)` gives the gradients of the inputs in place of those of its ops.

    >>> class Affine(nn.Cell):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = ms.Parameter(ms.Tensor([2.0, 3.0]), name="weight")
    ...
    ...     def construct(self, x):
    ...         return x * self.weight + 1
    ...
    >>> net = Affine()
    >>> net(ms.Tensor([1.0, 1.0])).asnumpy().tolist()
    [3.0, 4.0]
    >>> [one.name for one in net.trainable_params()]
    ['weight']
    """

    def __init__(self, auto_prefix: bool = True, flags: dict | None = None):
        values = self.__dict__
        values["_params"] = OrderedDict()
        values["_cells"] = OrderedDict()
        values["_auto_prefix"] = auto_prefix
        values["_scope_name"] = ""
        values["_recompute"] = False
        values["_stage"] = None
        values["_precision"] = None  # of its products; None: that of what it is called in
        values["_hooks"] = ([], [], [], [])  # before and after calls; of gradients of outputs, and of inputs
        values["training"] = False
        values["requires_grad"] = False
        values["_flags"] = dict(flags or {})
        values["_changes"] = 0  # how often attributes were set

    # Attributes.

    def _count_change(self):
        self.__dict__["_changes"] = self.__dict__.get("_changes", 0) + 1

    # Methods that calls begin with, and attributes that are no part of a program, or known in other ways.
    _entries = frozenset({"construct", "bprop"})
    _internals = frozenset(
        "_params _cells _auto_prefix _scope_name _hooks _flags _programs _kept _changes training".split()
    )

    def program_reach(self):
        """(methods, names of attributes) that calls can reach."""
        return reached(type(self), self._entries)

    def _used(self):
        names = self.program_reach()[1] - self._internals
        return [(name, one) for name, one in self.__dict__.items() if name in names]

    def program_state(self):
        """Equal as long as calls become the same part of a program: parameters and cells by identity, other attributes
        that methods use by value."""
        inner = [(name, Same(one)) for kind in (self._params, self._cells) for name, one in kind.items()]
        hooks = [Same(one) for kind in self._hooks for one in kind]
        others = [(name, signature(one)) for name, one in self._used()]
        return self.training, self._stage, self._recompute, self._precision, inner, hooks, others

    def program_open(self):
        """Objects that methods use and that can change without an attribute being set."""
        hooks = [one for kind in self._hooks for one in kind]
        return hooks + [one for _, one in self._used() if not is_fixed(one)]

    def __setattr__(self, name, value):
        self._count_change()
        if isinstance(value, (Parameter, ParameterTuple, Cell)) and "_params" not in self.__dict__:
            raise AttributeError(
                f"[Cell] {type(self).__name__} has no parameters and cells yet, got '{name}' before "
                "super().__init__(), expected it after"
            )
        if isinstance(value, Parameter):
            self.insert_param_to_cell(name, value)
        elif isinstance(value, ParameterTuple):
            self._insert_tuple(name, value)
        elif isinstance(value, Cell):
            self.insert_child_to_cell(name, value)
        elif name in self.__dict__.get("_cells", ()) and value is None:
            self._cells[name] = None
        elif name in self.__dict__.get("_params", ()):
            if isinstance(value, (int, float)) and _trace.current() is not None:
                value = _number_like(self._params[name], value)
            if not isinstance(value, Tensor):
                raise TypeError(f"[Cell] '{name}' is a parameter, got {type(value).__name__}, expected a Tensor")
            self._params[name].set_data(value)
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name):
        values = self.__dict__
        if "_cells" in values:
            kind = values["_params"]
            if name in kind:
                return kind[name]
            kind = values["_cells"]
            if name in kind:
                return kind[name]
        raise no_attribute(self, name)

    _hinted = "Cell"  # the name of the hints for attributes that are not there

    def __delattr__(self, name):
        self._count_change()
        for kind in (self._params, self._cells):
            if name in kind:
                del kind[name]
                return
        object.__delattr__(self, name)

    def insert_param_to_cell(self, param_name: str, param: Parameter, check_name_contain_dot: bool = True) -> None:
        """Makes a parameter one of this cell; without a name of its own it has that of the attribute. Raises KeyError
        for a name with a dot."""
        if check_name_contain_dot and "." in param_name:
            raise KeyError(f"[Cell] the name contains a dot, got '{param_name}', expected none")
        if param.name == DEFAULT_NAME:
            param.name = param_name
        self._count_change()
        self.__dict__.pop(param_name, None)
        self._params[param_name] = param

    def _insert_tuple(self, name, parameters):
        """Makes the parameters of a tuple those of this cell, by their own names."""
        for one in parameters:
            if one.name == DEFAULT_NAME:
                one.name = next(free for i in itertools.count(1) if (free := f"Parameter${i}") not in self._params)
            if one.name in self._cells or one.name in self.__dict__:
                raise KeyError(
                    f"[Cell] a parameter of '{name}' has the name of an attribute, got '{one.name}', expected another"
                )
            self.insert_param_to_cell(one.name, one, check_name_contain_dot=False)
        object.__setattr__(self, name, parameters)

    def insert_child_to_cell(self, child_name: str, child_cell: "Cell") -> None:
        """Makes a cell one of this cell; its parameters get the name as a prefix."""
        _require_cell(type(self).__name__, child_cell)
        self._count_change()
        self.__dict__.pop(child_name, None)
        self._cells[child_name] = child_cell
        child_cell.__dict__["_scope_name"] = child_name
        if self._auto_prefix:
            child_cell.update_parameters_name(child_name + ".")

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Parameters get the names that they have by their attributes, after a prefix."""
        for name, param in self.parameters_and_names(expand=recurse):
            param.name = prefix + name

    # How it is computed; more is in CellSettings.

    def shard(
        self,
        in_strategy: tuple,
        out_strategy: tuple | None = None,
        parameter_plan: dict | None = None,
        device: str = "Ascend",
        level: int = 0,
    ) -> "Cell":
        """How the inputs of the cell are cut; see parallel.shard."""
        return Sharded(self, in_strategy, out_strategy, parameter_plan)

    def infer_param_pipeline_stage(self) -> list[Parameter]:
        """The trainable parameters of all stages: every process makes the program of all of them, and keeps what its
        own stage has."""
        return self.trainable_params()

    def construct(self, *args, **kwargs):
        """Computes what a call gives: subclasses define it. Raises AttributeError in a cell that does not."""
        refuse_construct(self)

    def __call__(self, *args, **kwargs):
        if "_params" not in self.__dict__:
            raise AttributeError(
                f"[Cell] {type(self).__name__}.__init__ did not call super().__init__(), got a call, expected it first"
            )
        build = _trace.current()
        if build is None:
            if self._is_program(args, kwargs):
                return self._as_program(*args, **kwargs)
            if self._keeps_gradients(kwargs):
                return self._called_with_gradients(args)
            return self._called(args, kwargs)
        values, before = self.__dict__, build.here
        name = values["_scope_name"]
        build.here = build.inner(self, f"/{name}" if name else "", values["_stage"], values["_recompute"])
        try:
            result = self._called(args, kwargs)
        finally:
            build.here = before
        if values["requires_grad"] and values["training"] and not kwargs:
            build.kept_call = self, args, result
        return result

    def _is_program(self, args, kwargs):
        """Whether a call from outside of a program is one: in graph mode, or to round to 16 bits."""
        if is_half(self._precision):
            return _has_tensor((args, kwargs))
        return context.get_context("mode") == context.GRAPH_MODE and _all_tensors(args)

    def _program(self, name, make):
        """A program of this cell, made when it is first asked for."""
        programs = self.__dict__.setdefault("_programs", {})
        if name not in programs:
            programs[name] = make()
        return programs[name]

    def _as_program(self, *args, **kwargs):
        return self._program("call", lambda: Program(self._called_in_program))(*args, **kwargs)

    def _called_in_program(self, *args, **kwargs):
        with _trace.place(_trace.current(), "", None, False, self):
            return self._called(args, kwargs)

    def _called(self, args, kwargs):
        build, values = _trace.current(), self.__dict__
        if args and (args[0].__class__ in PLAIN or (len(args) > 1 and args[1].__class__ in PLAIN)):
            require_plain_allowed(self, args)
        if build is not None:
            build.note(self)
        if values["_precision"] == "f32" or values["_precision"] and values["_params"]:
            args, kwargs = _widened(args), _widened(kwargs)
        before, after, of_outputs, of_inputs = values["_hooks"]
        has_gradient = build is not None and (hasattr(type(self), "bprop") or "bprop" in values)
        if not (has_gradient or before or after or of_outputs or of_inputs):
            try:
                return self.construct(*args, **kwargs)
            except AttributeError as error:
                require_tensors(self, args, error)
                raise
        for hook in list(before) if before else ():
            changed = hook(self, args)
            args = args if changed is None else changed if isinstance(changed, tuple) else (changed,)
        arrived = []
        if of_inputs:
            args = self._hooked_inputs(list(of_inputs), args, arrived)
        output = self._constructed(build, args, kwargs) if has_gradient else self.construct(*args, **kwargs)
        if of_outputs or of_inputs:
            output = self._hooked_outputs(list(of_outputs), output, arrived)
        for hook in list(after) if after else ():
            changed = hook(self, args, output)
            output = output if changed is None else changed
        return output

    def _constructed(self, build, args, kwargs):
        """Calls `construct` with the gradient that `bprop` computes."""
        if kwargs:
            raise TypeError(
                f"[{type(self).__name__}.bprop] inputs cannot be passed by name, got {sorted(kwargs)}, expected "
                "positions"
            )
        return build.with_gradient(type(self).__name__, self.construct, self.bprop, args)

    # Of Python.

    def __getstate__(self):
        """For copies: programs stay with the cell that they were made of."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_programs", "_kept")}

    def __setstate__(self, values):
        self.__dict__.update(values)
        note_cell(values.get("_precision"))

    def extend_repr(self) -> str:
        """The text that `repr` has between the brackets: subclasses define it."""
        return text_of(self)

    def __repr__(self):
        inner = [f"({name}): {cell!r}".replace("\n", "\n  ") for name, cell in self._cells.items() if cell is not None]
        own = self.extend_repr()
        lines = [own, *inner] if own and inner else inner
        text = "\n  " + "\n  ".join(lines) + "\n" if lines else own
        return f"{type(self).__name__}({text})"


class Sharded(Cell):
    """A function whose inputs pass through nodes that are annotated."""

    def __init__(self, function, in_strategy, out_strategy, parameter_plan):
        super().__init__(auto_prefix=False)
        if parameter_plan:
            raise NotImplementedError(
                "[shard] parameters cannot be cut by themselves, got parameter_plan, expected None: they follow from "
                "the cuts of ops"
            )
        if not isinstance(in_strategy, tuple):
            raise TypeError(
                f"[shard] in_strategy is not a tuple, got {type(in_strategy).__name__}, expected one entry for each "
                "input"
            )
        if isinstance(function, Cell):
            self.network = function
        else:
            self.__dict__["network"] = function
        self.in_strategy, self.out_strategy = in_strategy, out_strategy

    def construct(self, *args):
        if len(args) != len(self.in_strategy):
            raise ValueError(f"[shard] wrong number of strategies, got {len(self.in_strategy)}, expected {len(args)}")
        cut = [_cut(one, strategy) for one, strategy in zip(args, self.in_strategy)]
        result = self.network(*cut)
        if self.out_strategy is None:
            return result
        several = isinstance(result, tuple)
        results = result if several else (result,)
        outs = self.out_strategy if several else self.out_strategy[:1]
        made = tuple(_cut(one, strategy) for one, strategy in zip(results, outs))
        return made if several else made[0]


def _cut(value, strategy):
    """The value through a node that does nothing, and is cut so."""
    if not isinstance(value, Tensor) or strategy is None:
        return value
    shape = list(value.shape)
    same = _trace.run(lambda trace, x: functions.reshape(x, shape), value)
    if _trace.current() is not None:
        _trace.current().annotate(same, annotation_text("shard", (strategy,)))
    return same


def _prefix_of(cells):
    """Prefix of the names of parameters, before the number of a cell in a list. It is found as the documented system
    finds it, so that the files of both have the same names. It ends before the last part that is the number of the
    first cell, or before the first such part at which the name of a second cell has that cell's number."""
    firsts = []
    for key, cell in cells.name_cells().items():
        firsts += [(key, param.name.split(".")) for param in list(cell.get_parameters())[:1]]
    if not firsts:
        return ""
    (key, parts), prefix = firsts[0], ""
    for place, part in enumerate(parts):
        if part == key:
            prefix = "".join(one + "." for one in parts[:place])
            if len(firsts) > 1 and firsts[1][1][place : place + 1] == [firsts[1][0]]:
                break
    return prefix


def _append(cells, cell, prefix):
    name = str(len(cells._cells))
    cells.insert_child_to_cell(name, cell)
    if prefix and cells._auto_prefix:
        cell.update_parameters_name(f"{prefix}{name}.")


class _Cells(Cell):
    """A cell whose cells are also called by others: they have its precision unless they have their own."""

    def insert_child_to_cell(self, child_name: str, child_cell):
        super().insert_child_to_cell(child_name, child_cell)
        if child_cell._precision is None and self._precision is not None:
            child_cell._set_precision(self._precision)

    def _set_precision(self, precision):
        before = self._precision
        super()._set_precision(precision)
        for cell in self.cells():
            if cell._precision in (None, before) and cell._precision != precision:
                cell._set_precision(precision)


class SequentialCell(_Cells):
    """Cells one after the other: given one by one, in a list, or by name in an OrderedDict. A call gives what the last
    one makes of the result of the one before. Raises TypeError for what is no cell.

    >>> net = nn.SequentialCell(nn.Dense(2, 3, weight_init="ones", bias_init="zeros"), nn.ReLU())
    >>> net(ms.Tensor([[1.0, 2.0]])).asnumpy().tolist()
    [[3.0, 3.0, 3.0]]
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = list(args[0].items())
        else:
            cells = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
            named = [(str(i), cell) for i, cell in enumerate(cells)]
        for name, cell in named:
            _require_cell("SequentialCell", cell)
            self.insert_child_to_cell(name, cell)

    def construct(self, x: object):
        for cell in self._cells.values():
            x = cell(x)
        return x

    def append(self, cell: Cell) -> "Self":
        """Adds a cell at the end, and returns this one. Raises TypeError for what is no cell."""
        _require_cell("SequentialCell", cell)
        _append(self, cell, _prefix_of(self))
        return self

    def __len__(self):
        return len(self._cells)

    def __iter__(self):
        return iter(self._cells.values())

    def __getitem__(self, index):
        cells = list(self._cells.values())
        return type(self)(OrderedDict(list(self._cells.items())[index])) if isinstance(index, slice) else cells[index]


class CellList(_Cells):
    """A list of cells, which a construct goes through as it likes; their parameters have the numbers of the cells in
    their names. Raises TypeError for what is no cell; a call raises NotImplementedError.

    >>> cells = nn.CellList([nn.Dense(2, 3), nn.ReLU()])
    >>> len(cells), cells[1]
    (2, ReLU())
    """

    is_list_of_cells = True  # so `vmap` calls one cell for each slice

    def __init__(self, *args, **kwargs):
        super().__init__(auto_prefix=kwargs.get("auto_prefix", True))
        cells = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple, CellList)) else args
        self.extend(cells)

    def append(self, cell: Cell) -> "Self":
        """Adds a cell at the end, and returns the list. Raises TypeError for what is no cell."""
        _require_cell("CellList", cell)
        _append(self, cell, _prefix_of(self))
        return self

    def extend(self, cells: Iterable[Cell]) -> "Self":
        """Adds cells at the end, and returns the list. Raises TypeError for what is no cell."""
        for cell in cells:
            self.append(cell)
        return self

    def insert(self, index: int, cell: Cell) -> None:
        """Adds a cell before that of an index. Raises TypeError for what is no cell."""
        _require_cell("CellList", cell)
        cells, prefix = list(self._cells.values()), _prefix_of(self)
        cells.insert(index, cell)
        self._cells.clear()
        for one in cells:
            _append(self, one, prefix)

    def __len__(self):
        return len(self._cells)

    def __iter__(self):
        return iter(self._cells.values())

    def __getitem__(self, index):
        cells = list(self._cells.values())
        return CellList(cells[index]) if isinstance(index, slice) else cells[index]

    def __setitem__(self, index, cell):
        _require_cell("CellList", cell)
        self.insert_child_to_cell(list(self._cells)[index], cell)

    def construct(self, *inputs: Tensor):
        raise NotImplementedError(
            "[CellList] a list of cells cannot be called, got a call, expected calls of its cells"
        )


def _number_like(parameter, value):
    """A number as a tensor of the shape and element type of a parameter, as programs assign it."""
    return Tensor(np.full(parameter.shape, value, parameter.dtype.numpy))


def _widened(value):
    """A tensor of 16 bits as float32, also in tuples, lists and dicts; other values as they are."""
    if isinstance(value, Tensor):
        return value.astype(mstype.float32) if is_half(value.dtype.core) else value
    return rebuilt(value, _widened) if _has_tensor(value) else value


def _has_tensor(value):
    """Whether it is a tensor, or a tuple, list or dict that has one."""
    if isinstance(value, (tuple, list, dict)):
        return any(map(_has_tensor, value.values() if isinstance(value, dict) else value))
    return isinstance(value, Tensor)


def _all_tensors(args):
    return bool(args) and all(isinstance(one, Tensor) for one in args)


def _require_cell(where, cell):
    if not isinstance(cell, Cell):
        raise TypeError(f"[{where}] not a cell, got {type(cell).__name__}, expected an nn.Cell")
