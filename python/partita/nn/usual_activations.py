"""The activations that most networks use, and activations by their names."""

from collections.abc import Callable

from partita import _core
from partita.common.tensor import Tensor
from partita.nn import activations
from partita.nn.cell import Cell
from partita.nn.layer_primitives import LayerPrimitive, call_in
from partita.ops import functional as F
from partita.ops import primitives as P

__all__ = "GELU LeakyReLU LogSoftmax ReLU SiLU Sigmoid Softmax Tanh get_activation".split()


class ReLU(Cell):
    """max(x, 0), in the shape and the element type of x, which may be one of integers.

    >>> nn.ReLU()(ms.Tensor([-1.0, 2.0])).asnumpy().tolist()
    [0.0, 2.0]
    """

    relu = LayerPrimitive(lambda self: P.ReLU())

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return call_in(self, "relu", F.relu, x)


class Tanh(Cell):
    """The hyperbolic tangent of each element, in the shape of x; of integers as float32.

    >>> nn.Tanh()(ms.Tensor([0.0, 1.0])).asnumpy().round(4)
    array([0.    , 0.7616], dtype=float32)
    """

    tanh = LayerPrimitive(lambda self: P.Tanh())

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return call_in(self, "tanh", F.tanh, x)


class Sigmoid(Cell):
    """1 / (1 + exp(-x)), in the shape of x; of integers as float32."""

    sigmoid = LayerPrimitive(lambda self: P.Sigmoid())

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return call_in(self, "sigmoid", F.sigmoid, x)


class SiLU(Cell):
    """x / (1 + exp(-x)), in the shape of x; of integers as float32."""

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return F.silu(x)


class GELU(Cell):
    """x times the normal distribution function, or GPT-2's form of it with tanh where `approximate` holds. Gives the
    shape of x. A call raises TypeError for integers.

    >>> nn.GELU(approximate=False)(ms.Tensor([-1.0, 0.0, 1.0])).asnumpy().round(4)
    array([-0.1587,  0.    ,  0.8413], dtype=float32)
    """

    def __init__(self, approximate: bool = True):
        super().__init__()
        self.form = "tanh" if approximate else "none"

    def construct(self, x: Tensor) -> Tensor:
        return F.gelu(x, self.form)


class LeakyReLU(Cell):
    """x where it is above 0, else alpha x, in the shape of x."""

    def __init__(self, alpha: float = 0.2):
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        return F.leaky_relu(x, self.alpha)


class Softmax(Cell):
    """exp(x) over its sum along an axis, the last one by default: numbers from 0 to 1 in the shape of x, of integers as
    float32. A call raises ValueError for an axis that x has not.

    >>> nn.Softmax()(ms.Tensor([0.0, 0.0])).asnumpy().tolist()
    [0.5, 0.5]
    """

    softmax = LayerPrimitive(lambda self: P.Softmax(self.axis))

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        return call_in(self, "softmax", F.softmax, x, self.axis)


class LogSoftmax(Cell):
    """log(softmax(x)) along an axis, without underflow: numbers up to 0 in the shape of x, of integers as float32. A
    call raises ValueError for an axis that x has not."""

    log_softmax = LayerPrimitive(lambda self: P.LogSoftmax(self.axis))

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        return call_in(self, "log_softmax", F.log_softmax, x, self.axis)


_ACTIVATIONS = {
    "relu": ReLU,
    "tanh": Tanh,
    "sigmoid": Sigmoid,
    "silu": SiLU,
    "gelu": GELU,
    "softmax": Softmax,
    "logsoftmax": LogSoftmax,
    "leakyrelu": LeakyReLU,
}


def get_activation(name: str | Cell | Callable, prim_name: str | None = None) -> Cell | Callable | None:
    """Returns the activation with a name, such as "relu", an activation unchanged, None for None. Raises KeyError for
    an unknown name, and says which is near."""
    if name is None or isinstance(name, Cell) or callable(name) and not isinstance(name, str):
        return name
    found = _ACTIVATIONS.get(name) or activations.BY_NAME.get(name)
    if found is None:
        near = _core.nearest(str(name), names := [*_ACTIVATIONS, *activations.BY_NAME])
        raise KeyError(
            f"[activation] unknown name, got '{name}', expected one of {names}"
            + (f", did you mean '{near}'?" if near else "")
        )
    return found()
