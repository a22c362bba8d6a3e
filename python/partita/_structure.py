"""Arguments and results of functions: tensors within tuples, lists and dicts."""

from collections import OrderedDict

from partita.common.tensor import Tensor

_TENSOR = object()  # with its number, in place of a tensor


def rebuilt(value, change):
    """A tuple, list or dict with other elements."""
    kind = type(value)
    if isinstance(value, dict):
        made = [(key, change(one)) for key, one in value.items()]
        return kind(made) if kind in (dict, OrderedDict) else dict(made)
    made = [change(one) for one in value]
    if hasattr(kind, "_make"):  # a named tuple
        return kind._make(made)
    return kind(made) if kind in (list, tuple) else list(made) if isinstance(value, list) else tuple(made)


class Structure:
    """A result with its tensors numbered, so that others can be put in their places."""

    def __init__(self, value):
        self.tensors, self.others = [], []
        self.made = self._number(value)

    def _number(self, value):
        if isinstance(value, Tensor):
            self.tensors.append(value)
            return _TENSOR, len(self.tensors) - 1
        if isinstance(value, (tuple, list, dict)):
            return rebuilt(value, self._number)
        self.others.append(value)
        return value

    def filled(self, tensors):
        """The result with these tensors."""

        def fill(made):
            if isinstance(made, tuple) and len(made) == 2 and made[0] is _TENSOR:
                return tensors[made[1]]
            return rebuilt(made, fill) if isinstance(made, (tuple, list, dict)) else made

        return fill(self.made)
