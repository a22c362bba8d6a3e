"""Initial values of parameters: distributions of the library, drawn when the values are first needed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from partita import _core
from partita._described import Described
from partita._names import refuse_missing
from partita.common import dtype as mstype
from partita.common import seed as _seed
from partita.common.dtype import DTypeLike
from partita.common.tensor import Tensor

_registry = {}
_NOTHING_BEYOND = 6  # standard deviations, of which a network does not draw such numbers


def _assignment(arr, num):
    """Writes a number, or an array of NumPy, into an array of NumPy, and returns it."""
    arr[...] = num
    return arr


def _calculate_fan_in_and_fan_out(shape):
    """Returns how many elements each output of such a weight sums, and into how many each input goes. Raises ValueError
    for fewer than two dimensions."""
    if len(shape) < 2:
        raise ValueError(f"[initializer] a weight has no such counts, got {len(shape)} dimensions, expected 2 or more")
    return _core.fans(list(shape))


def _named(*names):
    def register(cls):
        for name in names:
            _registry[name] = cls
        return cls

    return register


class Initializer(Described):
    """A distribution: `rule(shape)` gives its kind in the library and the arguments of that. A class of a script's own
    has a method `_initialize(array)` instead, which fills an array of NumPy."""

    def __init__(self, **kwargs):
        self._kwargs = kwargs

    def __call__(self, arr):
        return self._initialize(arr)

    def rule(self, shape):
        raise NotImplementedError

    def _initialize(self, arr):
        kind, args = self.rule(arr.shape)
        drawn = _core.initial(kind, args, "f32", arr.shape, _seed.seed_or_default(), _seed.next_name("tensor"))
        _assignment(arr, np.asarray(drawn))

    def values_of(self, shape, dtype, stream):
        """The values as an array of the library; `stream` names the numbers that are drawn."""
        if type(self)._initialize is Initializer._initialize:
            kind, args = self.rule(shape)
            return _core.initial(kind, args, dtype.core, shape, _seed.seed_or_default(), stream)
        values = np.zeros(shape, np.float32 if dtype.numpy is None else dtype.numpy)
        self._initialize(values)
        return _core.Array(values).cast(dtype.core)


class _Fixed(Initializer):
    def __init__(self, kind, *args):
        self.kind, self.args = kind, [float(arg) for arg in args]

    def rule(self, shape):
        return self.kind, self.args


@_named("zeros", "zero")
class Zero(_Fixed):
    """Sets all numbers to 0."""

    def __init__(self):
        super().__init__("zeros")


@_named("ones", "one")
class One(_Fixed):
    """Sets all numbers to 1."""

    def __init__(self):
        super().__init__("ones")


class Constant(_Fixed):
    """Sets all numbers to `value`, a number."""

    def __init__(self, value: float):
        super().__init__("constant", value)


@_named("normal")
class Normal(_Fixed):
    """Draws normal numbers of mean `mean` and standard deviation `sigma`.

    >>> from partita.common.initializer import Normal, initializer
    >>> weight = initializer(Normal(sigma=0.02), [100, 50], ms.float32).init_data()
    >>> bool(abs(weight.std() - 0.02) < 0.001)
    True
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0):
        super().__init__("normal", mean, sigma)


@_named("truncatednormal", "truncated_normal")
class TruncatedNormal(_Fixed):
    """Draws normal numbers of mean `mean` and deviation `sigma` from `a` to `b`; those beyond are drawn again. These
    limits are values, not counts of deviations.

    >>> from partita.common.initializer import TruncatedNormal, initializer
    >>> weight = initializer(TruncatedNormal(0.02, 0.0, -0.04, 0.04), [100, 50], ms.float32).init_data()
    >>> bool(abs(weight).max() <= 0.04)
    True
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0):
        below, above = ((mean - a) / sigma, (b - mean) / sigma) if sigma > 0 else (0, 0)
        self._limits = None  # where the library has no such distribution
        if min(below, above) >= _NOTHING_BEYOND:
            super().__init__("normal", mean, sigma)
            return
        super().__init__("truncated_normal", mean, sigma)
        if abs(below - 2) < 1e-6 and abs(above - 2) < 1e-6:
            return
        if below + above <= 0:
            raise ValueError(f"[TruncatedNormal] no numbers within the limits, got a={a}, b={b}, expected a below b")
        self._limits = -below, above

    def values_of(self, shape, dtype, stream):
        if self._limits is None:
            return _core.initial(self.kind, self.args, dtype.core, shape, _seed.seed_or_default(), stream)
        return super().values_of(shape, dtype, stream)

    def _initialize(self, arr):
        if self._limits is None:
            super()._initialize(arr)
            return
        mean, sigma = self.args
        _assignment(arr, mean + sigma * _within(*self._limits, arr.shape))


def _within(low, high, shape):
    """Standard normal numbers from `low` to `high`: those that are drawn beyond are drawn again."""
    made, missing = np.empty(math.prod(shape)), np.arange(math.prod(shape))
    share = (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2))) / 2
    likeliest = min(max(0.0, low), high)
    bottom, top = max(low, likeliest - _NOTHING_BEYOND), min(high, likeliest + _NOTHING_BEYOND)
    while missing.size:
        if share > 0.2:
            drawn = _normals(missing.shape)
            fits = (drawn >= low) & (drawn <= high)
        else:  # evenly, and kept by their density
            drawn = _init_random_uniform(bottom, top, missing.shape)
            fits = _init_random_uniform(0, 1, missing.shape) <= np.exp((likeliest**2 - drawn**2) / 2)
        made[missing[fits]], missing = drawn[fits], missing[~fits]
    return np.clip(made, low, high).reshape(shape)


@_named("uniform")
class Uniform(_Fixed):
    """Draws numbers evenly from -scale to scale."""

    def __init__(self, scale: float = 0.07):
        super().__init__("uniform", -scale, scale)


@_named("xavier_uniform", "xavieruniform", "glorot_uniform")
class XavierUniform(Initializer):
    """Draws evenly from -bound to bound, with the variance 2 gain^2 / (fan_in + fan_out) (Glorot and Bengio, 2010)."""

    def __init__(self, gain: float = 1):
        self.gain = gain

    def rule(self, shape):
        fan_in, fan_out = _calculate_fan_in_and_fan_out(shape)
        bound = self.gain * math.sqrt(6.0 / (fan_in + fan_out))
        return "uniform", [-bound, bound]


@_named("xavier_normal", "xaviernormal")
class XavierNormal(Initializer):
    """Draws normal numbers with the variance 2 gain^2 / (fan_in + fan_out) (Glorot and Bengio, 2010)."""

    def __init__(self, gain: float = 1):
        self.gain = gain

    def rule(self, shape):
        fan_in, fan_out = _calculate_fan_in_and_fan_out(shape)
        return "normal", [0.0, self.gain * math.sqrt(2.0 / (fan_in + fan_out))]


def _gain(nonlinearity, slope):
    if nonlinearity in ("linear", "sigmoid"):
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + slope * slope))
    raise ValueError(
        f"[initializer] unknown nonlinearity, got '{nonlinearity}', expected linear, sigmoid, tanh, relu or leaky_relu"
    )


class _He(Initializer):
    """He et al., 2015."""

    def __init__(self, negative_slope: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"):
        if mode not in ("fan_in", "fan_out"):
            raise ValueError(f"[initializer] unknown mode, got '{mode}', expected fan_in or fan_out")
        self.gain, self.mode = _gain(nonlinearity, negative_slope), mode

    def deviation(self, shape):
        fan_in, fan_out = _calculate_fan_in_and_fan_out(shape)
        return self.gain / math.sqrt(fan_in if self.mode == "fan_in" else fan_out)


@_named("he_uniform", "heuniform")
class HeUniform(_He):
    """Draws evenly from -bound to bound, with the variance gain^2 / fan (He et al., 2015). `mode`: whether fan is the
    number of inputs ("fan_in") or of outputs ("fan_out") of the weight. `nonlinearity` gives the gain: "relu" sqrt(2),
    "leaky_relu" sqrt(2 / (1 + negative_slope^2)), "tanh" 5 / 3, "linear" or "sigmoid" 1. Raises ValueError for others.

    >>> from partita.common.initializer import HeUniform, initializer
    >>> weight = initializer(HeUniform(), [100, 50], ms.float32).init_data()
    >>> bool(abs(weight).max() <= (3 * 2 / 50) ** 0.5)
    True
    """

    def rule(self, shape):
        bound = math.sqrt(3.0) * self.deviation(shape)
        return "uniform", [-bound, bound]


@_named("he_normal", "henormal")
class HeNormal(_He):
    """Draws normal numbers with the variance gain^2 / fan (He et al., 2015). `mode`: whether fan is the number of
    inputs ("fan_in") or of outputs ("fan_out") of the weight. `nonlinearity` gives the gain: "relu" sqrt(2),
    "leaky_relu" sqrt(2 / (1 + negative_slope^2)), "tanh" 5 / 3, "linear" or "sigmoid" 1. Raises ValueError for others.

    >>> from partita.common.initializer import HeNormal, initializer
    >>> weight = initializer(HeNormal(), [100, 50], ms.float32).init_data()
    >>> bool(abs(weight.std() - (2 / 50) ** 0.5) < 0.01)
    True
    """

    def rule(self, shape):
        return "normal", [0.0, self.deviation(shape)]


def _normals(shape, sigma=1.0):
    """An array of normal numbers."""
    made = np.zeros(shape, np.float32)
    Normal(sigma)._initialize(made)
    return made


def _require_dimensions(where, shape, least, most=None):
    if len(shape) < least or (most is not None and len(shape) > most):
        wanted = f"{least}" if most == least else f"{least} or more" if most is None else f"{least} to {most}"
        raise ValueError(f"[{where}] bad number of dimensions, got {len(shape)}, expected {wanted}")


@_named("identity")
class Identity(Initializer):
    """Ones on the diagonal of a matrix."""

    def _initialize(self, arr):
        _require_dimensions("Identity", arr.shape, 2, 2)
        _assignment(arr, np.eye(*arr.shape))


@_named("sparse")
class Sparse(Initializer):
    """Normal numbers of deviation `sigma` in a matrix, of which each column has the share `sparsity` of zeros (Martens,
    2010). Raises ValueError for other than two dimensions."""

    def __init__(self, sparsity: float, sigma: float = 0.01):
        super().__init__()
        self.sparsity, self.sigma = sparsity, sigma

    def _initialize(self, arr):
        _require_dimensions("Sparse", arr.shape, 2, 2)
        rows, columns = arr.shape
        values, zeros = _normals(arr.shape, self.sigma), math.ceil(self.sparsity * rows)
        order = _normals(arr.shape).argsort(axis=0)  # an order of the rows of each column
        for column in range(columns):
            values[order[:zeros, column], column] = 0
        _assignment(arr, values)


@_named("dirac")
class Dirac(Initializer):
    """A kernel of a convolution, [out,in,..] of 3 to 5 dimensions, that keeps as many channels as it can, in each of
    `groups` groups. Raises ValueError for other dimensions, or groups that do not divide the output channels."""

    def __init__(self, groups: int = 1):
        super().__init__()
        self.groups = groups

    def _initialize(self, arr):
        _require_dimensions("Dirac", arr.shape, 3, 5)
        if arr.shape[0] % self.groups:
            raise ValueError(f"[Dirac] groups do not divide the channels, got {self.groups} of {arr.shape[0]}")
        values, channels = np.zeros(arr.shape), arr.shape[0] // self.groups
        middle = tuple(size // 2 for size in arr.shape[2:])
        for group in range(self.groups):
            for i in range(min(channels, arr.shape[1])):
                values[(group * channels + i, i, *middle)] = 1
        _assignment(arr, values)


@_named("orthogonal")
class Orthogonal(Initializer):
    """A matrix with orthogonal rows or columns times `gain` (Saxe et al., 2013); of several dimensions the later ones
    are one. Raises ValueError for fewer than two dimensions."""

    def __init__(self, gain: float = 1.0):
        super().__init__(gain=gain)
        self.gain = gain

    def _initialize(self, arr):
        _require_dimensions("Orthogonal", arr.shape, 2)
        rows = arr.shape[0]
        drawn = _normals((rows, arr.size // rows))
        flat = drawn.shape[0] < drawn.shape[1]
        q, r = np.linalg.qr(drawn.T if flat else drawn)
        q = q * np.sign(np.diag(r))  # so that each such matrix is as likely
        _assignment(arr, ((q.T if flat else q) * self.gain).reshape(arr.shape))


@_named("variancescaling")
class VarianceScaling(Initializer):
    """Numbers whose variance is `scale` over the number of inputs ("fan_in"), of outputs ("fan_out") or their mean
    ("fan_avg"). `distribution`: "uniform", "truncated_normal" (cut off at two deviations) or "untruncated_normal".
    Raises ValueError for another mode or distribution, or a scale that is not above 0."""

    def __init__(self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal"):
        super().__init__(scale=scale, mode=mode, distribution=distribution)
        if scale <= 0:
            raise ValueError(f"[VarianceScaling] bad scale, got {scale}, expected a number above 0")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"[VarianceScaling] unknown mode, got {mode!r}, expected fan_in, fan_out or fan_avg")
        if distribution not in ("uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(
                f"[VarianceScaling] unknown distribution, got {distribution!r}, expected uniform, truncated_normal or "
                "untruncated_normal"
            )
        self.scale, self.mode, self.distribution = scale, mode, distribution

    def rule(self, shape):
        fan_in, fan_out = _calculate_fan_in_and_fan_out(shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        deviation = math.sqrt(self.scale / max(1.0, fan))
        if self.distribution == "uniform":
            return "uniform", [-math.sqrt(3) * deviation, math.sqrt(3) * deviation]
        if self.distribution == "untruncated_normal":
            return "normal", [0.0, deviation]
        return "truncated_normal", [0.0, deviation / _OF_TRUNCATED]


_OF_TRUNCATED = 0.87962566103423978  # the deviation of standard normal numbers that are cut off at 2


def _calculate_correct_fan(shape, mode):
    """The number of inputs ("fan_in") or outputs ("fan_out") of a weight. Raises ValueError for other modes."""
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"[initializer] unknown mode, got {mode!r}, expected fan_in or fan_out")
    return int(_calculate_fan_in_and_fan_out(shape)[mode.lower() == "fan_out"])


def _calculate_gain(nonlinearity, param=None):
    """The factor of initial values before a function, such as "relu"."""
    linear = ("linear", *(f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)))
    return _gain("linear" if nonlinearity in linear else nonlinearity, 0.01 if param is None else param)


def _init_random_normal(mean, sigma, shape):
    """An array of normal numbers."""
    return _normals(shape, sigma) + np.float32(mean)


def _init_random_uniform(a, b, shape):
    """An array of numbers from a to b."""
    made = np.zeros(shape, np.float32)
    Uniform((b - a) / 2)._initialize(made)
    return made + np.float32((a + b) / 2)


_INITIALIZER_ALIAS = _registry  # its name in the documented module


def _initializer_of(init):
    if isinstance(init, Initializer):
        return init
    if isinstance(init, bool):
        raise TypeError(
            f"[initializer] a bool is not an initializer, got {init}, expected a number, a name or an Initializer"
        )
    if isinstance(init, (int, float)):
        return Constant(init)
    if not isinstance(init, str):
        raise TypeError(
            f"[initializer] neither a name nor an Initializer, got {type(init).__name__}, expected one like 'normal'"
        )
    found = _registry.get(init.lower())
    if found is None:
        near = _core.nearest(init.lower(), list(_registry))
        hint = f", did you mean '{near}'?" if near else ""
        raise ValueError(
            f"[initializer] unknown name, got '{init}', expected one of {' '.join(sorted(_registry))}{hint}"
        )
    return found()


def initializer(
    init: Initializer | str | float | Tensor,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = mstype.float32,
) -> Tensor:
    """A tensor of a shape whose values are drawn from `init`, a name ("normal", "xavier_uniform", ..), a number or an
    Initializer, when they are needed: `init_data()` draws them, a Parameter does so by itself. `set_seed` makes them
    reproducible. A Tensor in place of `init` is cast to `dtype`. Raises ValueError for an unknown name, no shape or
    sizes below 1, TypeError for what is none of these.

    >>> from partita.common.initializer import initializer
    >>> initializer("ones", [2, 2], ms.float32).init_data()
    Tensor(shape=[2, 2], dtype=Float32, value=[[1., 1.],
     [1., 1.]])
    >>> initializer(0.5, [3]).shape
    (3,)
    """
    if isinstance(init, Tensor):
        if shape is not None and init.shape != ((shape,) if isinstance(shape, int) else tuple(shape)):
            raise ValueError(f"[initializer] the tensor has another shape, got {init.shape}, expected {tuple(shape)}")
        return init.astype(dtype)
    if shape is None:
        raise ValueError("[initializer] no shape, got None, expected one")
    shape = (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)
    if any(size < 1 for size in shape):
        raise ValueError(f"[initializer] bad shape, got {shape}, expected sizes from 1")
    return Tensor(shape=shape, dtype=dtype, init=_initializer_of(init))


__getattr__ = refuse_missing(globals())
