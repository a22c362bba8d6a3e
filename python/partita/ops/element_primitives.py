"""Ops that are objects: of functions of elements, and of tensors that are made of numbers."""

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.op_classes import MUST, options_last
from partita.ops.picked import require_known
from partita.ops.primitive import Primitive
from partita.ops.primitives import plain

_BESSEL = "i0 i0e i1 i1e j0 j1 k0 k0e k1 k1e y0 y1".split()
_OF_TENSORS = {
    "AccumulateNV2": F.addn,
    **{f"Bessel{name.capitalize()}": getattr(F, f"bessel_{name}") for name in _BESSEL},
    "Eps": F.eps,
    "FastGelu": F.fast_gelu,
    "FillV2": None,
    "Fills": F.fills,
    "Gelu": None,
    "Imag": F.imag,
    "Inv": F.inv,
    "Invert": F.invert,
    "IsInf": F.isinf,
    "IsNan": F.isnan,
    "PReLU": F.prelu,
    "PopulationCount": F.population_count,
    "Real": F.real,
    "Rint": F.rint,
    "Sinc": F.sinc,
    "SquareSumAll": F.square_sum_all,
}

def _updated(x, indices, v):
    """x with rows in place of those of these numbers."""
    return F.inplace_update(x, v, indices)


_OF_NUMBERS = {
    "AssignAdd": F.assign_add,
    "AssignSub": F.assign_sub,
    "BitwiseAnd": F.bitwise_and,
    "BitwiseOr": F.bitwise_or,
    "BitwiseXor": F.bitwise_xor,
    "DivNoNan": F.div_no_nan,
    "Fmax": F.fmax,
    "Fmin": F.fmin,
    "Gcd": F.gcd,
    "Heaviside": F.heaviside,
    "Hypot": F.hypot,
    "Igamma": F.igamma,
    "Igammac": F.igammac,
    "InplaceUpdateV2": _updated,
    "Lcm": F.lcm,
    "LeftShift": F.bitwise_left_shift,
    "Lerp": F.lerp,
    "LerpScalar": F.lerp,
    "LinSpace": None,
    "MulNoNan": F.mul_no_nan,
    "NextAfter": F.nextafter,
    "RightShift": F.bitwise_right_shift,
    "ScalarCast": F.scalar_cast,
    "SquaredDifference": F.squared_difference,
    "TruncateDiv": F.truncate_div,
    "TruncateMod": F.truncate_mod,
    "Xdivy": F.xdivy,
    "Xlogy": F.xlogy,
    "Zeta": F.zeta,
}
__all__ = [
    *_OF_TENSORS,
    *_OF_NUMBERS,
    "Addcdiv",
    "CheckNumerics",
    "FloatStatus",
    "L2Loss",
]
for _functions in (_OF_TENSORS, _OF_NUMBERS):
    for _name, _function in _functions.items():
        if _function is not None:
            globals()[_name] = plain(_name, _function, _functions is _OF_NUMBERS, __name__)


_DTYPE = {"dtype": mstype.float32}
def _hamming(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None):
    """The window in the given element type, also of one element."""
    return F.cast(F.hamming_window(window_length, periodic, alpha, beta, dtype=dtype), dtype or mstype.float32)


_OPTIONS_LAST = {  # (function, parameters of the class, which follow the operands; a dtype is given by its name)
    "ApproximateEqual": (F.approximate_equal, {"tolerance": 1e-05}),
    "BartlettWindow": (F.bartlett_window, {"periodic": True} | _DTYPE),
    "BlackmanWindow": (F.blackman_window, {"periodic": True} | _DTYPE),
    "CeLU": (F.celu, {"alpha": 1.0}),
    "GLU": (F.glu, {"axis": -1}),
    "HShrink": (F.hardshrink, {"lambd": 0.5}),
    "HammingWindow": (_hamming, {"periodic": True, "alpha": 0.54, "beta": 0.46} | _DTYPE),
    "InplaceAdd": (F.inplace_add, {"indices": MUST}),
    "InplaceSub": (F.inplace_sub, {"indices": MUST}),
    "InplaceUpdate": (F.inplace_update, {"indices": MUST}),
    "IsClose": (F.isclose, {"rtol": 1e-05, "atol": 1e-08, "equal_nan": False}),
    "LogSpace": (F.logspace, {"steps": 10, "base": 10} | _DTYPE),
    "Logit": (F.logit, {"eps": -1.0}),
    "Mvlgamma": (F.mvlgamma, {"p": MUST}),
    "NanToNum": (F.nan_to_num, {"nan": None, "posinf": None, "neginf": None}),
    "Range": (F.range, {"maxlen": 1000000}),
    "SoftShrink": (F.softshrink, {"lambd": 0.5}),
    "TrilIndices": (F.tril_indices, {"row": MUST, "col": MUST, "offset": 0, "dtype": mstype.int32}),
    "TriuIndices": (F.triu_indices, {"row": MUST, "col": MUST, "offset": 0, "dtype": mstype.int32}),
}
__all__ += _OPTIONS_LAST
for _name, (_function, _defaults) in _OPTIONS_LAST.items():
    globals()[_name] = options_last(_name, _function, __name__, _defaults, [one for one in _defaults if one == "dtype"])


class Addcdiv(Primitive):
    """input + value * x1 / x2."""

    def __init__(self):
        super().__init__()

    def compute(self, input_data, x1, x2, value):
        return F.addcdiv(input_data, x1, x2, value)


class Gelu(Primitive):
    """x times the normal distribution function, in the form with tanh."""

    def __init__(self):
        super().__init__()

    def compute(self, x):
        return F.gelu(x, "tanh")


class FillV2(Primitive):
    """(shape, number): a tensor of the number, in its element type."""

    def __init__(self):
        super().__init__()

    def compute(self, shape, value):
        sizes = shape.asnumpy().tolist() if isinstance(shape, Tensor) else shape
        return F.broadcast_to(F.reshape(value, [1] * len(sizes)), tuple(sizes))


class LinSpace(Primitive):
    """LinSpace()(start, end, count): numbers at equal distances, both ends included, in one dimension, in the type of
    the start. Raises ValueError for a count below 1."""

    def __init__(self):
        super().__init__()

    def compute(self, start, stop, num):
        if num < 1:
            raise ValueError(f"[LinSpace] bad count, got {num}, expected an integer from 1")
        if num == 1:
            return F.reshape(start, [1])
        shares = Tensor([k / (num - 1) for k in range(num)], start.dtype)
        return F.add(F.mul(F.sub(1.0, shares), start), F.mul(shares, stop))


class FloatStatus(Primitive):
    """FloatStatus()(x): 1 if an element is no number or infinite, else 0, as a vector of one float32; x has any shape.
    """

    def __init__(self):
        super().__init__()

    def compute(self, x):
        wrong = F.logical_not(F.all(F.isfinite(x)))
        return F.reshape(F.cast(wrong, mstype.float32), [1])


class CheckNumerics(Primitive):
    """The tensor itself. Raises RuntimeError for NaN and infinite elements."""

    def __init__(self):
        super().__init__()

    def compute(self, x):
        require_known("CheckNumerics", x)
        if not bool(F.all(F.isfinite(x))):
            raise RuntimeError("[CheckNumerics] not all elements are numbers, got NaN or infinite ones, expected none")
        return F.identity(x)


class L2Loss(Primitive):
    """L2Loss()(x): half of the sum of squares of all elements, without dimensions. Raises TypeError for what holds no
    numbers."""

    def __init__(self):
        super().__init__()

    def compute(self, input_x):
        return F.mul(F.reduce_sum(F.square(input_x)), 0.5)
