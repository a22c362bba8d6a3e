"""Errors of cells that say what to use."""

from partita._hints import of_name
from partita.common.tensor import Tensor


def no_attribute(cell, name):
    """The error for an attribute that is not there."""
    instead = of_name(cell._hinted, name)
    here = f": here it is {instead}" if instead else ""
    return AttributeError(f"'{type(cell).__name__}' object has no attribute '{name}'{here}")


def refuse_construct(cell):
    """Raises AttributeError for a cell that says nothing about what it computes."""
    forward = " and a method forward" if hasattr(type(cell), "forward") else ""
    raise AttributeError(
        f"[Cell] {type(cell).__name__} has no construct, got a call{forward}, expected a method construct(self, ..) "
        "that says what is computed"
    )


def require_tensors(cell, args, error):
    """Raises TypeError if an attribute that was not there is one of an input that is no tensor: such as a list."""
    for i, one in enumerate(args):
        if one is error.obj and not isinstance(one, Tensor) and not hasattr(one, "construct"):
            raise TypeError(
                f"[{type(cell).__name__}] input {i} is not a tensor, got {type(one).__name__} without '{error.name}', "
                "expected a Tensor, such as Tensor(x)"
            ) from error
