"""The cells and the parameters that a cell has."""

from collections import OrderedDict
from collections.abc import Iterator

from partita.common.parameter import Parameter


class CellContents:
    """Lists the cells and parameters of a cell: a part of `Cell`."""

    def cells(self) -> list:
        """The cells that are attributes of this one, as a list in their order; those within them are left out."""
        return [cell for cell in self._cells.values() if cell is not None]

    def name_cells(self) -> dict:
        """The cells that are attributes of this one, by their names."""
        return OrderedDict((name, cell) for name, cell in self._cells.items() if cell is not None)

    def cells_and_names(self, cells: set | None = None, name_prefix: str = "") -> Iterator[tuple]:
        """(path, cell) of this cell, whose path is `name_prefix`, and of all within it, each once; names in paths have
        dots between them."""
        seen = set() if cells is None else cells
        if self in seen:
            return
        seen.add(self)
        yield name_prefix, self
        for name, cell in self._cells.items():
            if cell is not None:
                yield from cell.cells_and_names(seen, f"{name_prefix}.{name}" if name_prefix else name)

    def parameters_and_names(self, name_prefix: str = "", expand: bool = True) -> Iterator[tuple[str, Parameter]]:
        """(path, parameter) of this cell, and with `expand` of all within it, each parameter once; names in paths have
        dots between them."""
        seen = set()
        cells = self.cells_and_names(name_prefix=name_prefix) if expand else [(name_prefix, self)]
        for path, cell in cells:
            for name, param in cell._params.items():
                if param is not None and id(param) not in seen:
                    seen.add(id(param))
                    yield (f"{path}.{name}" if path else name), param

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """The parameters of this cell, and with `expand` of all within it, in their order, each once: an iterator."""
        return (param for _, param in self.parameters_and_names(expand=expand))

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The parameters that require a gradient, as a list: what an optimizer takes. With `recurse` also those of the
        cells within."""
        return [param for param in self.get_parameters(recurse) if param.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The parameters that optimizers do not update, as a list. With `recurse` also those of the cells within."""
        return [param for param in self.get_parameters(recurse) if not param.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> dict[str, Parameter]:
        """The parameters by their names."""
        return OrderedDict((param.name, param) for param in self.get_parameters(recurse))

    def parameters_broadcast_dict(self, recurse: bool = True) -> dict[str, Parameter]:
        """The parameters by their names: all of them are the same on every rank."""
        return self.parameters_dict(recurse)

    @property
    def cls_name(self) -> str:
        return type(self).__name__

    @property
    def param_prefix(self) -> str:
        return self._scope_name
