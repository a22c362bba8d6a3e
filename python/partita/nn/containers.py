"""Cells by their names, and cells that call others."""

from collections.abc import Callable

from partita._names import absent_all
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.nn.cell import Cell, _Cells, _require_cell
from partita.ops import functional as F
from partita.ops.composite import GradOperation

__all__ = "CellDict GetNextSingleOp GraphCell Jvp ParameterUpdate TimeDistributed Vjp WithGradCell".split()
globals().update(
    absent_all(
        __name__,
        {
            "GetNextSingleOp": "rows of dataset.create_tuple_iterator()",
            "GraphCell": "the network in Python with load_checkpoint: MINDIR files are graphs of another compiler",
        },
    )
)


class CellDict(_Cells):
    """Cells by names, as a dict has them, from pairs or from a mapping. Raises TypeError for what is no cell, KeyError
    for names of attributes and names with dots; a call raises NotImplementedError."""

    def __init__(self, *args, **kwargs):
        super().__init__(auto_prefix=kwargs.get("auto_prefix", True))
        if len(args) > 1:
            raise TypeError(f"[CellDict] more than a mapping, got {len(args)} arguments, expected one")
        if args:
            self.update(args[0])

    def __getitem__(self, key):
        return self._cells[key]

    def __setitem__(self, key, cell):
        self.update({key: cell})

    def __delitem__(self, key):
        if key not in self._cells:
            raise KeyError(f"[CellDict] no such cell, got {key!r}, expected one of {list(self._cells)}")
        self._count_change()
        del self._cells[key]

    def __len__(self):
        return len(self._cells)

    def __iter__(self):
        return iter(self._cells)

    def __contains__(self, key):
        return key in self._cells

    def keys(self):
        """The names."""
        return self._cells.keys()

    def values(self):
        """The cells."""
        return self._cells.values()

    def items(self):
        """The names with their cells."""
        return self._cells.items()

    def clear(self):
        """Removes all cells."""
        self._count_change()
        self._cells.clear()

    def pop(self, key: str):
        """Removes a cell, and returns it."""
        found = self[key]
        del self[key]
        return found

    def update(self, cells):
        """Takes cells by their names, from pairs or from a mapping. Raises TypeError for names that are no strings, for
        what is no cell and for containers, ValueError for empty names, KeyError for those with dots, or of
        attributes."""
        pairs = cells.items() if hasattr(cells, "items") else [tuple(one) for one in cells]
        for key, cell in pairs:
            if not isinstance(key, str):
                raise TypeError(f"[CellDict] a name is not a string, got {key!r}, expected one")
            _require_cell("CellDict", cell)
            if isinstance(cell, _Cells):
                raise TypeError(f"[CellDict] a container, got {type(cell).__name__} of '{key}', expected another cell")
            if not key:
                raise ValueError("[CellDict] an empty name, got '', expected characters")
            if "." in key or (hasattr(self, key) and key not in self._cells):
                raise KeyError(f"[CellDict] bad name, got '{key}', expected none of an attribute, and no dots")
            self.insert_child_to_cell(key, cell)

    def construct(self, *inputs: Tensor) -> Tensor:
        raise NotImplementedError(
            "[CellDict] a dict of cells cannot be called, got a call, expected calls of its cells"
        )


class TimeDistributed(Cell):
    """A layer over each slice along an axis of time. With `reshape_with_axis` this axis, of samples, and that of time
    are one for the layer, which is called once; then they stand next to each other."""

    def __init__(self, layer: Callable, time_axis: int, reshape_with_axis: int | None = None):
        super().__init__()
        if not callable(layer):
            raise TypeError(f"[TimeDistributed] not a layer, got {type(layer).__name__}, expected a Cell")
        self.layer, self.time_axis, self.reshape_with_axis = layer, time_axis, reshape_with_axis

    def construct(self, inputs: Tensor) -> Tensor:
        time = self.time_axis % inputs.ndim
        if self.reshape_with_axis is None:
            return F.stack([self.layer(one) for one in F.unbind(inputs, time)], time)
        first, second = sorted((time, self.reshape_with_axis % inputs.ndim))
        x = F.moveaxis(inputs, second, first + 1)
        made = self.layer(F.reshape(x, [*x.shape[:first], -1, *x.shape[first + 2 :]]))
        return F.reshape(made, [*x.shape[: first + 2], *made.shape[first + 1 :]])


class ParameterUpdate(Cell):
    """Gives a parameter the values of a tensor of its shape."""

    def __init__(self, param: Parameter):
        super().__init__(auto_prefix=False)
        if not isinstance(param, Parameter):
            raise TypeError(f"[ParameterUpdate] not a parameter, got {type(param).__name__}, expected a Parameter")
        self.param = param

    def construct(self, x: Tensor) -> Tensor:
        self.param.set_data(x)
        return self.param.value()


class Jvp(Cell):
    """(*inputs, directions) gives (what `fn` gives, its derivatives along them): see `ops.jvp`."""

    def __init__(self, fn: Callable):
        super().__init__()
        self.fn = fn

    def construct(self, *args) -> Tensor:
        return F.jvp(self.fn, args[:-1], args[-1])


class Vjp(Jvp):
    """(*inputs, directions of the results) gives (what `fn` gives, gradients of the inputs): see `ops.vjp`."""

    def construct(self, *args) -> Tensor:
        value, along = F.vjp(self.fn, *args[:-1])
        v = args[-1]
        found = along(*v) if isinstance(v, (tuple, list)) else along(v)
        return value, found[0] if len(found) == 1 else found


class _Loss(Cell):
    def __init__(self, network, loss_fn):
        super().__init__(auto_prefix=False)
        self.network, self.loss_fn = network, loss_fn

    def construct(self, *inputs):
        return self.loss_fn(self.network(*inputs[:-1]), inputs[-1])


class WithGradCell(Cell):
    """The gradients of the trainable parameters of a network, whose last input is what `loss_fn` compares its result
    with; without one the network gives the loss. They are those of the loss times `sens`."""

    def __init__(self, network: Cell, loss_fn: Callable | None = None, sens: Tensor | float | None = None):
        super().__init__(auto_prefix=False)
        self.network, self.sens = network, sens
        self._measured = network if loss_fn is None else _Loss(network, loss_fn)
        self._gradient = GradOperation(get_by_list=True, sens_param=sens is not None)
        self.weights = tuple(network.trainable_params())

    def construct(self, *inputs: Tensor) -> Tensor:
        gradients = self._gradient(self._measured, list(self.weights))
        return gradients(*inputs) if self.sens is None else gradients(*inputs, self.sens)


def _valid_index(cell_num, index, op_name=None):
    """A place in a list of `cell_num` cells, from 0. Raises TypeError for what is no integer, IndexError for others."""
    if not isinstance(index, int):
        raise TypeError(f"[{op_name or 'index'}] bad index, got {type(index).__name__}, expected an integer")
    if not -cell_num <= index < cell_num:
        raise IndexError(f"[{op_name or 'index'}] no such cell, got {index}, expected {-cell_num} to {cell_num - 1}")
    return index % cell_num


def _valid_cell(cell, op_name=None):
    """True for a cell. Raises TypeError for others."""
    if not isinstance(cell, Cell):
        raise TypeError(f"[{op_name or 'cell'}] not a cell, got {type(cell).__name__}, expected an nn.Cell")
    return True


def _get_prefix_and_index(cells):
    """(what precedes the names of cells in those of their parameters, the number of words in it), of a dict of cells:
    as the first parameters of the first two cells that have any say."""
    named = []
    for key, cell in cells.items():
        first = next(iter(cell.parameters_and_names()), None)
        if first is not None:
            named.append((key, first[1].name.split(".")))
    if not named:
        return "", 0
    (key, words), *others = named
    places = [i for i, word in enumerate(words) if word == key]
    if not places:
        return "", 0
    agreed = [i for i in places if others and others[0][1][i : i + 1] == [others[0][0]]]
    index = agreed[0] if agreed else places[-1]
    return "".join(f"{word}." for word in words[:index]), index
