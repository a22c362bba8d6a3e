"""Maps of values that can be undone, and how much they stretch."""

from partita._names import refuse_missing
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.probability.base import Distribution
from partita.nn.probability.transformed import TransformedDistribution
from partita.ops import functional as F


class Bijector(Cell):
    """The base of maps. A subclass defines `_forward`, `_inverse`, `_forward_log_jacobian` and, unless it follows,
    `_inverse_log_jacobian`: the logarithms of the derivatives of both."""

    def __init__(self, is_constant_jacobian=False, is_injective=True, name=None, dtype=None, param=None):
        super().__init__()
        self._is_constant, self._is_injective, self._name = bool(is_constant_jacobian), bool(is_injective), name
        self._dtype, self._parameters = dtype, dict(param or {})

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)
    parameters = property(lambda self: self._parameters)
    is_constant_jacobian = property(lambda self: self._is_constant)
    is_injective = property(lambda self: self._is_injective)

    def _number(self, value, like):
        return value if isinstance(value, Tensor) else Tensor(value, like.dtype)

    def _checked(self, value):
        if not isinstance(value, Tensor):
            raise TypeError(f"[{self._name}] the value is not a tensor, got {type(value).__name__}, expected a Tensor")
        return value if mstype.is_float(value.dtype) else F.cast(value, mstype.float32)

    def forward(self, value, *args, **kwargs):
        """The values of the map."""
        return self._forward(self._checked(value), *args, **kwargs)

    def inverse(self, value, *args, **kwargs):
        """The values from which the map makes these."""
        return self._inverse(self._checked(value), *args, **kwargs)

    def forward_log_jacobian(self, value, *args, **kwargs):
        """The logarithm of the derivative of the map."""
        return self._forward_log_jacobian(self._checked(value), *args, **kwargs)

    def inverse_log_jacobian(self, value, *args, **kwargs):
        """The logarithm of the derivative of the inverse of the map."""
        return self._inverse_log_jacobian(self._checked(value), *args, **kwargs)

    def _inverse_log_jacobian(self, value, *args, **kwargs):
        return F.neg(self._forward_log_jacobian(self._inverse(value, *args, **kwargs), *args, **kwargs))

    def construct(self, name, *args, **kwargs):
        """Calls the function of a name, or the map for a distribution: bijector("forward", value)."""
        if isinstance(name, Distribution):
            return TransformedDistribution(self, name)
        if name not in ("forward", "inverse", "forward_log_jacobian", "inverse_log_jacobian"):
            raise ValueError(f"[{self._name}] unknown function, got {name!r}, expected forward, inverse or a jacobian")
        return getattr(self, name)(*args, **kwargs)


class PowerTransform(Bijector):
    """(1 + c x)^(1 / c), for c = 0 the exponential."""

    def __init__(self, power=0.0, name="PowerTransform"):
        super().__init__(name=name, param={"power": power})
        self._power = float(power)
        if self._power < 0:
            raise ValueError(f"[PowerTransform] bad power, got {power}, expected a number from 0")

    power = property(lambda self: self._power)

    def _forward(self, x):
        return F.exp(F.div(F.log1p(F.mul(x, self._power)), self._power)) if self._power else F.exp(x)

    def _inverse(self, y):
        return F.div(F.expm1(F.mul(F.log(y), self._power)), self._power) if self._power else F.log(y)

    def _forward_log_jacobian(self, x):
        return F.mul(F.log1p(F.mul(x, self._power)), 1 / self._power - 1) if self._power else x

    def _inverse_log_jacobian(self, y):
        return F.mul(F.log(y), self._power - 1)


class Exp(PowerTransform):
    """exp(x)."""

    def __init__(self, name="Exp"):
        super().__init__(0.0, name)


class ScalarAffine(Bijector):
    """scale x + shift."""

    def __init__(self, scale=1.0, shift=0.0, name="ScalarAffine"):
        super().__init__(True, True, name, None, {"scale": scale, "shift": shift})
        self._scale, self._shift = scale, shift

    scale = property(lambda self: self._scale)
    shift = property(lambda self: self._shift)

    def _forward(self, x):
        return F.add(F.mul(x, self._number(self._scale, x)), self._number(self._shift, x))

    def _inverse(self, y):
        return F.div(F.sub(y, self._number(self._shift, y)), self._number(self._scale, y))

    def _forward_log_jacobian(self, x):
        return F.log(F.abs(self._number(self._scale, x)))

    def _inverse_log_jacobian(self, y):
        return F.neg(self._forward_log_jacobian(y))


def _rest_log(x):
    """log(1 - exp(-x)), for x above 0."""
    return F.log(F.neg(F.expm1(F.neg(x))))


class Softplus(Bijector):
    """log(1 + exp(k x)) / k."""

    def __init__(self, sharpness=1.0, name="Softplus"):
        super().__init__(name=name, param={"sharpness": sharpness})
        self._sharpness = sharpness

    sharpness = property(lambda self: self._sharpness)

    def _forward(self, x):
        k = self._number(self._sharpness, x)
        return F.div(F.neg(F.logsigmoid(F.neg(F.mul(x, k)))), k)

    def _inverse(self, y):
        k = self._number(self._sharpness, y)
        scaled = F.mul(y, k)
        return F.div(F.add(scaled, _rest_log(scaled)), k)

    def _forward_log_jacobian(self, x):
        return F.logsigmoid(F.mul(x, self._number(self._sharpness, x)))

    def _inverse_log_jacobian(self, y):
        return F.neg(_rest_log(F.mul(y, self._number(self._sharpness, y))))


class GumbelCDF(Bijector):
    """exp(-exp(-(x - loc) / scale))."""

    def __init__(self, loc=0.0, scale=1.0, name="GumbelCDF"):
        super().__init__(name=name, param={"loc": loc, "scale": scale})
        self._loc, self._scale = loc, scale

    loc = property(lambda self: self._loc)
    scale = property(lambda self: self._scale)

    def _standard(self, x):
        return F.div(F.sub(x, self._number(self._loc, x)), self._number(self._scale, x))

    def _forward(self, x):
        return F.exp(F.neg(F.exp(F.neg(self._standard(x)))))

    def _inverse(self, y):
        turned = F.neg(F.log(F.neg(F.log(y))))
        return F.add(F.mul(turned, self._number(self._scale, y)), self._number(self._loc, y))

    def _forward_log_jacobian(self, x):
        z = self._standard(x)
        return F.neg(F.add(F.add(z, F.exp(F.neg(z))), F.log(self._number(self._scale, x))))

    def _inverse_log_jacobian(self, y):
        return F.sub(F.log(self._number(self._scale, y)), F.log(F.mul(F.neg(F.log(y)), y)))


class Invert(Bijector):
    """The inverse of a map."""

    def __init__(self, bijector, name=""):
        super().__init__(bijector.is_constant_jacobian, bijector.is_injective, name or f"Invert{bijector.name}")
        self._inner = bijector

    bijector = property(lambda self: self._inner)

    def _forward(self, x):
        return self._inner.inverse(x)

    def _inverse(self, y):
        return self._inner.forward(y)

    def _forward_log_jacobian(self, x):
        return self._inner.inverse_log_jacobian(x)

    def _inverse_log_jacobian(self, y):
        return self._inner.forward_log_jacobian(y)


__getattr__ = refuse_missing(globals())
