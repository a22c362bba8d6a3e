"""Ops that are objects: of functions of elements, and of tensors that are made of numbers."""

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops import functional as F
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
    "Inv": F.inv,
    "Invert": F.invert,
    "IsInf": F.isinf,
    "IsNan": F.isnan,
    "PReLU": F.prelu,
    "PopulationCount": F.population_count,
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
    "ApproximateEqual",
    "BartlettWindow",
    "BlackmanWindow",
    "CeLU",
    "CheckNumerics",
    "FloatStatus",
    "GLU",
    "HShrink",
    "HammingWindow",
    "InplaceAdd",
    "InplaceSub",
    "InplaceUpdate",
    "IsClose",
    "L2Loss",
    "LogSpace",
    "Logit",
    "Mvlgamma",
    "NanToNum",
    "Range",
    "SoftShrink",
    "TrilIndices",
    "TriuIndices",
]
for _functions in (_OF_TENSORS, _OF_NUMBERS):
    for _name, _function in _functions.items():
        if _function is not None:
            globals()[_name] = plain(_name, _function, _functions is _OF_NUMBERS, __name__)


class _WithOptions(Primitive):
    """An op that calls `function` with its operands, then with what it was made with."""

    function, options = None, ()

    def _keep(self, *options):
        Primitive.__init__(self)
        self.options = options

    def compute(self, *args):
        return type(self).function(*args, *self.options)


def _op(function, text):
    """The members of a class of `_WithOptions` besides its parameters."""
    return {"function": staticmethod(function), "__doc__": text or function.__doc__, "__module__": __name__}


def _with(name, function, init, text=None):
    globals()[name] = type(name, (_WithOptions,), _op(function, text) | {"__init__": init})


def _nan_to_num(self, nan=None, posinf=None, neginf=None):
    self._keep(nan, posinf, neginf)


def _close(self, rtol=1e-05, atol=1e-08, equal_nan=False):
    self._keep(rtol, atol, equal_nan)


def _window(self, periodic=True, dtype=mstype.float32):
    self._keep(periodic, dtype)


def _hamming(self, periodic=True, alpha=0.54, beta=0.46, dtype=mstype.float32):
    self._keep(periodic, alpha, beta, dtype)


def _space(self, steps=10, base=10, dtype=mstype.float32):
    self._keep(steps, base, dtype)


def _indices(self, row, col, offset=0, dtype=mstype.int32):
    self._keep(row, col, offset, dtype)


def _range(self, maxlen=1000000):
    self._keep(maxlen)


def _alpha(self, alpha=1.0):
    self._keep(alpha)


def _lambd(self, lambd=0.5):
    self._keep(lambd)


def _axis(self, axis=-1):
    self._keep(axis)


def _tolerance(self, tolerance=1e-05):
    self._keep(tolerance)


def _limit(self, eps=-1.0):
    self._keep(eps)


def _dimensions(self, p):
    self._keep(p)


def _numbers(self, indices):
    self._keep(indices)


_with("ApproximateEqual", F.approximate_equal, _tolerance)
_with("CeLU", F.celu, _alpha)
_with("GLU", F.glu, _axis)
_with("HShrink", F.hardshrink, _lambd)
_with("InplaceAdd", F.inplace_add, _numbers)
_with("InplaceSub", F.inplace_sub, _numbers)
_with("InplaceUpdate", F.inplace_update, _numbers)
_with("IsClose", F.isclose, _close)
_with(
    "LogSpace",
    lambda start, end, steps, base, dtype: F.logspace(start, end, steps, base, dtype=dtype),
    _space,
    F.logspace.__doc__,
)
_with("Logit", F.logit, _limit)
_with("Mvlgamma", F.mvlgamma, _dimensions)
_with("NanToNum", F.nan_to_num, _nan_to_num)
_with("Range", F.range, _range)
_with("SoftShrink", F.softshrink, _lambd)
for _kind in ("tril", "triu"):
    _made = getattr(F, f"{_kind}_indices")
    _with(
        f"{_kind.capitalize()}Indices",
        lambda row, col, offset, dtype, made=_made: made(row, col, offset, dtype=dtype),
        _indices,
        _made.__doc__,
    )
for _kind in ("bartlett", "blackman"):
    _made = getattr(F, f"{_kind}_window")
    _with(
        f"{_kind.capitalize()}Window",
        lambda size, periodic, dtype, made=_made: made(size, periodic, dtype=dtype),
        _window,
        _made.__doc__,
    )
_with(
    "HammingWindow",
    lambda size, periodic, alpha, beta, dtype: F.hamming_window(size, periodic, alpha, beta, dtype=dtype),
    _hamming,
    F.hamming_window.__doc__,
)


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
    """(start, end, count): numbers at equal distances, both ends included, in the type of the start."""

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
    """1 if an element is no number or infinite, else 0, as a vector of one float32."""

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
    """Half of the sum of squares."""

    def __init__(self):
        super().__init__()

    def compute(self, input_x):
        return F.mul(F.reduce_sum(F.square(input_x)), 0.5)
