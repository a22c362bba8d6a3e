"""Classes of cells from functions of their options."""

import inspect

from partita.nn.cell import Cell
from partita.nn.cell_errors import require_few
from partita.ops.made import made_class


def cell(maker, base=Cell, most=None):
    """The Cell whose options are those of `maker`, which returns the function of its inputs, of `most` at most."""

    def construct(self, *inputs, **kwargs):
        require_few(self, inputs, most)
        return self._maker(**self._options)(*inputs, **kwargs)

    def extend_repr(self):
        return ", ".join(f"{name}={value}" for name, value in self._options.items())

    return made_class(maker, base, {"construct": construct, "extend_repr": extend_repr})


def cell_of(name, function, inputs=1, base=Cell):
    """The Cell of a function, whose parameters after the first ones, its inputs, are the options."""
    options = list(inspect.signature(function, eval_str=True).parameters.values())[inputs:]

    def maker(**given):
        return lambda *args, **kwargs: function(*args, **kwargs, **given)

    maker.__name__, maker.__doc__, maker.__module__ = name, function.__doc__, __name__
    maker.__signature__ = inspect.Signature(options)
    return cell(maker, base, inputs)
