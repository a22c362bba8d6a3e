"""More ops that are objects: of functions that are made of others."""

from partita.ops import functional as F
from partita.ops.primitive import Primitive
from partita.ops.primitives import plain

_PLAIN = {
    "Assign": F.assign,
    "Ceil": F.ceil,
    "Cos": F.cos,
    "Expm1": F.expm1,
    "FastGeLU": F.fast_gelu,
    "Floor": F.floor,
    "FloorDiv": F.floor_div,
    "FloorMod": F.floor_mod,
    "GatherD": F.gather_elements,
    "GatherNd": F.gather_nd,
    "HSigmoid": F.hardsigmoid,
    "HSwish": F.hardswish,
    "Log1p": F.log1p,
    "LogicalXor": F.logical_xor,
    "MaskedFill": F.masked_fill,
    "Mish": F.mish,
    "Mod": F.truncated_mod,
    "ReLU6": F.relu6,
    "Reciprocal": F.reciprocal,
    "Round": F.round,
    "SeLU": F.selu,
    "Sign": F.sign,
    "Sin": F.sin,
    "Softsign": F.softsign,
    "StandardNormal": None,
    "Tan": F.tan,
    "Trunc": F.trunc,
}
__all__ = [
    *_PLAIN,
    "DType",
    "Einsum",
    "Elu",
    "Eye",
    "L2Normalize",
    "Meshgrid",
    "Pad",
    "ResizeNearestNeighbor",
    "Sort",
    "SplitWithSize",
]
for _name, _function in _PLAIN.items():
    if _function is not None:
        globals()[_name] = plain(_name, _function, _name in ("FloorDiv", "FloorMod", "Mod"), __name__)


class Einsum(Primitive):
    """Sums of products of the tensors in a tuple, whose dimensions an equation names."""

    def __init__(self, equation):
        super().__init__()
        self.equation = equation

    def compute(self, inputs):
        return F.einsum(self.equation, *inputs)


class Elu(Primitive):
    """x above 0, else exp(x) - 1."""

    def __init__(self, alpha=1.0):
        super().__init__()
        self.alpha = alpha

    def compute(self, x):
        return F.elu(x, self.alpha)


class Eye(Primitive):
    """(rows, columns, element type): a matrix with 1 on its diagonal."""

    def __init__(self):
        super().__init__()

    def compute(self, n, m, t):
        return F.eye(n, m, t)


class DType(Primitive):
    """The element type of a tensor."""

    def __init__(self):
        super().__init__()

    def compute(self, x):
        return x.dtype


class L2Normalize(Primitive):
    """x over the root of the sum of squares along an axis, which is at least that of epsilon."""

    def __init__(self, axis=0, epsilon=1e-4):
        super().__init__()
        self.axis = axis[0] if isinstance(axis, (tuple, list)) else axis
        self.epsilon = epsilon

    def compute(self, x):
        squares = F.reduce_sum(F.square(x), self.axis, True)
        return F.mul(x, F.rsqrt(F.maximum(squares, self.epsilon)))


class Meshgrid(Primitive):
    """The coordinates of the points of a grid, from a tuple of those along each of its dimensions."""

    def __init__(self, indexing="xy"):
        super().__init__()
        self.indexing = indexing

    def compute(self, inputs):
        return F.meshgrid(*inputs, indexing=self.indexing)


class Pad(Primitive):
    """Zeros around a tensor: (elements before, elements after) for each dimension, the first one first."""

    def __init__(self, paddings):
        super().__init__()
        self.paddings = tuple(tuple(one) for one in paddings)

    def compute(self, x):
        if len(self.paddings) != x.ndim:
            raise ValueError(f"[Pad] wrong number of pairs, got {len(self.paddings)}, expected {x.ndim}")
        return F.pad(x, [one for pair in reversed(self.paddings) for one in pair])


class ResizeNearestNeighbor(Primitive):
    """Images x[n, c, h, w] of another size, of the nearest elements."""

    def __init__(self, size, align_corners=False, half_pixel_centers=False):
        super().__init__()
        if align_corners or half_pixel_centers:
            raise NotImplementedError(
                "[ResizeNearestNeighbor] other places are not supported, got align_corners or half_pixel_centers, "
                "expected False"
            )
        self.size = tuple(size)

    def compute(self, x):
        return F.interpolate(x, self.size)


class Sort(Primitive):
    """(elements in rising order along an axis, where they were, as int32)."""

    def __init__(self, axis=-1, descending=False):
        super().__init__()
        self.axis, self.descending = axis, descending

    def compute(self, x):
        values, places = F.sort(x, self.axis, self.descending)
        return values, places


class SplitWithSize(Primitive):
    """(x, sizes, dimension): parts of the sizes along a dimension."""

    def __init__(self):
        super().__init__()

    def compute(self, input, split_size, dim=0):
        return F.split(input, list(split_size), dim)


class StandardNormal(Primitive):
    """Numbers of the standard normal distribution, of a shape."""

    def __init__(self, seed=0, seed2=0):
        super().__init__()

    def compute(self, shape):
        return F.standard_normal(shape)
