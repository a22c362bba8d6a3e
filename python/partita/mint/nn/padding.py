"""Layers that pad lines, images and volumes."""

import numbers

from partita.common._types import Ints, Number
from partita.common.tensor import Tensor
from partita.mint.images import pad
from partita.nn.cell import Cell


class _Pad(Cell):
    """More elements around the last dimensions: as many on all sides, or (left, right, top, bottom, front, back). A
    size of n becomes before + n + after. Raises ValueError for another number of sizes than two for each dimension."""

    count, mode, value = 1, "constant", 0.0

    def __init__(self, padding: Ints):
        super().__init__()
        given = (padding,) * (2 * self.count) if isinstance(padding, numbers.Integral) else tuple(padding)
        if len(given) != 2 * self.count:
            raise ValueError(
                f"[{type(self).__name__}] wrong number of sizes, got {padding!r}, expected an integer or "
                f"{2 * self.count}"
            )
        self.padding = given

    def construct(self, input: Tensor) -> Tensor:
        return pad(input, self.padding, self.mode, self.value)

    def extend_repr(self) -> str:
        return f"padding={self.padding}"


class _ConstantPad(_Pad):
    """Elements of one value around the last dimensions: as many on all sides, or (left, right, top, bottom, ..). A size
    of n becomes before + n + after. Raises ValueError for another number of sizes than two for each dimension."""

    def __init__(self, padding: Ints, value: Number):
        super().__init__(padding)
        self.value = value


def _of(base, kind, mode):
    """{name: class} of the layers of one, two and three dimensions."""
    made = {}
    for count in (1, 2, 3):
        name = f"{kind}Pad{count}d"
        members = {"count": count, "mode": mode, "__module__": "partita.mint.nn", "__doc__": base.__doc__}
        made[name] = type(name, (base,), members)
    return made


LAYERS = {
    **_of(_ConstantPad, "Constant", "constant"),
    **_of(_Pad, "Zero", "constant"),
    **_of(_Pad, "Reflection", "reflect"),
    **_of(_Pad, "Replication", "replicate"),
}
