"""More activations, with the defaults of the documented system."""

from collections.abc import Sequence

from partita.common import dtype as mstype
from partita.common.initializer import initializer
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.layer_primitives import LayerPrimitive, call_in
from partita.ops import derived_primitives as P
from partita.ops import functional as F

__all__ = (
    "CELU ELU FastGelu GLU HSigmoid HSwish Hardtanh LogSigmoid Mish PReLU ReLU6 SeLU Softmin Softsign Tanhshrink"
).split()


class ReLU6(Cell):
    """min(max(x, 0), 6), in the shape and the element type of x."""

    relu6 = LayerPrimitive(lambda self: P.ReLU6())

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return call_in(self, "relu6", F.relu6, x)


class HSwish(Cell):
    """x min(max(x + 3, 0), 6) / 6, in the shape and the element type of x."""

    hswish = LayerPrimitive(lambda self: P.HSwish())

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return call_in(self, "hswish", F.hardswish, x)


class HSigmoid(Cell):
    """min(max(x + 3, 0), 6) / 6, in the shape and the element type of x."""

    hsigmoid = LayerPrimitive(lambda self: P.HSigmoid())

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return call_in(self, "hsigmoid", F.hardsigmoid, x)


class ELU(Cell):
    """x above 0, else alpha (exp(x) - 1), in the shape of x; of integers as float32."""

    elu = LayerPrimitive(lambda self: P.Elu(self.alpha))

    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        return call_in(self, "elu", F.elu, x, self.alpha)


class SeLU(Cell):
    """scale elu(x, alpha), with numbers that keep mean and variance."""

    selu = LayerPrimitive(lambda self: P.SeLU())

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return call_in(self, "selu", F.selu, x)


class CELU(Cell):
    """x above 0, else alpha (exp(x / alpha) - 1)."""

    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        return F.celu(x, self.alpha)


class Mish(Cell):
    """x tanh(log(1 + exp(x)))."""

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return F.mish(x)


class GLU(Cell):
    """The first half along an axis times the sigmoid of the second one: a size of 2 n becomes n. A call raises
    ValueError for an odd size."""

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        return F.glu(x, self.axis)


class LogSigmoid(Cell):
    """log(sigmoid(x))."""

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return F.logsigmoid(x)


class Softmin(Cell):
    """softmax(-x)."""

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        return F.softmin(x, self.axis)


class Softsign(Cell):
    """x / (1 + |x|)."""

    softsign = LayerPrimitive(lambda self: P.Softsign())

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return call_in(self, "softsign", F.softsign, x)


class Tanhshrink(Cell):
    """x - tanh(x)."""

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return F.tanhshrink(x)


class Hardtanh(Cell):
    """min(max(x, min_val), max_val)."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0):
        super().__init__()
        self.min_val, self.max_val = min_val, max_val

    def construct(self, x: Tensor) -> Tensor:
        return F.hardtanh(x, self.min_val, self.max_val)


class FastGelu(Cell):
    """An approximation of x times the normal distribution function, in the shape of x."""

    fast_gelu = LayerPrimitive(lambda self: P.FastGeLU())

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return call_in(self, "fast_gelu", F.fast_gelu, x)


class PReLU(Cell):
    """x above 0, else w x. Gives the shape of x, which is (n, channel, ..) unless `channel` is 1. Parameter: w
    (channel), which begins as `w`. Raises ValueError for a channel below 1; a call does for other channels."""

    def __init__(self, channel: int = 1, w: float | Sequence[float] | Tensor = 0.25):
        super().__init__()
        if isinstance(channel, bool) or not isinstance(channel, int) or channel < 1:
            raise ValueError(f"[PReLU] bad channel, got {channel!r}, expected an integer from 1")
        init = (
            w
            if isinstance(w, Tensor)
            else initializer(float(w) if not isinstance(w, (list, tuple)) else Tensor(w), (channel,), mstype.float32)
        )
        self.w = Parameter(init, name="a")

    def construct(self, x: Tensor) -> Tensor:
        return F.prelu(x, self.w)


# What `get_activation` knows besides the usual activations.
BY_NAME = {
    "elu": ELU,
    "fast_gelu": FastGelu,
    "hardtanh": Hardtanh,
    "hsigmoid": HSigmoid,
    "hswish": HSwish,
    "logsigmoid": LogSigmoid,
    "mish": Mish,
    "prelu": PReLU,
    "relu6": ReLU6,
    "softmin": Softmin,
    "softsign": Softsign,
    "tanhshrink": Tanhshrink,
}
