"""The base of distributions: functions of values that follow from one another."""

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.ops import functional as F

_SMALLEST = 2.0**-126  # normal number of float32


def special(name):
    """A function of `ops` that NumPy does not have. Raises NotImplementedError if this version lacks it."""
    found = getattr(F, name, None)
    if found is None:
        raise NotImplementedError(f"[distribution] this needs ops.{name}, got a call, expected a version that has it")
    return found


def uniform(shape):
    """Numbers above 0 and below 1, of a shape: their logarithms are finite."""
    return F.reshape(F.maximum(F.rand(*(shape or (1,))), _SMALLEST), list(shape))


def normal(shape):
    """Numbers of the standard normal distribution, of a shape."""
    return F.reshape(F.randn(*(shape or (1,))), list(shape))


class Distribution(Cell):
    """The base of distributions. `param` has the parameters by their names: numbers, lists, tensors, or None for those
    that calls give. A subclass defines some of `_prob`, `_log_prob`, `_cdf`, `_log_cdf`, `_survival_function`,
    `_log_survival`, `_mean`, `_sd`, `_var`, `_mode`, `_entropy`, `_cross_entropy`, `_kl_loss`, `_sample`; the others
    follow from these where they can. Draws follow the seed of the program: `seed` has no effect."""

    def __init__(self, seed, dtype, name, param):
        super().__init__()
        self._name, self._seed, self._dtype = name, seed, mstype.to_dtype(dtype)
        given = dict(param or {})
        given = given.get("param_dict", given)
        self._parameters = {}
        for key, value in given.items():
            if key not in _NO_PARAMETERS:
                self._add_parameter(value, key)

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)
    seed = property(lambda self: self._seed)
    parameters = property(lambda self: self._parameters)

    def _add_parameter(self, value, name):
        """Keeps a parameter as a tensor, or None for one that calls give, and returns it: subclasses call it."""
        kind = self._dtype if mstype.is_float(self._dtype) else mstype.float32
        self._parameters[name] = None if value is None else _tensor(value, kind)
        return self._parameters[name]

    def _check_value(self, value, name):
        """Returns a tensor as it is. Raises TypeError for another value: subclasses call it."""
        if not isinstance(value, Tensor):
            raise TypeError(f"[{self._name}] {name} is not a tensor, got {type(value).__name__}, expected a Tensor")
        return value

    def _check_param_type(self, *args):
        """The parameters of a call, else those given before; one alone, or a tuple of several: subclasses call it."""
        found = self.get_dist_args(*args)
        return found[0] if len(found) == 1 else found

    @property
    def batch_shape(self):
        """The shape of the parameters, None if calls give them."""
        made = None
        for one in self._parameters.values():
            if one is None:
                return None
            made = one if made is None else F.add(made, one)
        return None if made is None else made.shape

    broadcast_shape = batch_shape

    @property
    def is_scalar_batch(self):
        """Whether all parameters are numbers."""
        return self.batch_shape == ()

    def __getattr__(self, name):
        parameters = self.__dict__.get("_parameters", {})
        return parameters[name] if name in parameters else super().__getattr__(name)

    def get_dist_args(self, *args, **kwargs):
        """The parameters as a tuple of tensors: those of the call, else those that were given before."""
        given = dict(zip(self._parameters, args)) | kwargs
        found = []
        for name, own in self._parameters.items():
            one = given.get(name)
            one = own if one is None else _tensor(one, mstype.float32)
            if one is None:
                raise TypeError(f"[{self._name}] a parameter is missing, got no {name}, expected it, as a Tensor")
            found.append(one)
        return tuple(found)

    def get_dist_type(self):
        """The name of the kind of distribution."""
        return type(self).__name__

    def _value(self, value):
        """The value as numbers with a fraction, of the type of the distribution."""
        self._check_value(value, "the value")
        if mstype.is_float(value.dtype):
            return value
        return F.cast(value, self._dtype if mstype.is_float(self._dtype) else mstype.float32)

    def _find(self, what, ways, args, kwargs):
        """The result of the first function that the class defines; `ways` are its name and what is done after it."""
        for name, after in ways:
            function = getattr(self, name) if hasattr(type(self), name) else None
            if function is not None:
                return after(function(*args, **kwargs))
        raise NotImplementedError(
            f"[{self._name}] {what} of this distribution is not supported, got a call, expected another function of it"
        )

    def prob(self, value, *args, **kwargs):
        """The density or the probability of values."""
        return self._find("prob", (("_prob", _same), ("_log_prob", F.exp)), (value, *args), kwargs)

    def log_prob(self, value, *args, **kwargs):
        """The logarithm of the density or the probability of values."""
        return self._find("log_prob", (("_log_prob", _same), ("_prob", F.log)), (value, *args), kwargs)

    def cdf(self, value, *args, **kwargs):
        """The probability of at most a value."""
        ways = ("_cdf", _same), ("_log_cdf", F.exp), ("_survival_function", _rest), ("_log_survival", _rest_of_log)
        return self._find("cdf", ways, (value, *args), kwargs)

    def log_cdf(self, value, *args, **kwargs):
        """The logarithm of the probability of at most a value."""
        ways = ("_log_cdf", _same), ("_cdf", F.log)
        return self._find("log_cdf", ways, (value, *args), kwargs)

    def survival_function(self, value, *args, **kwargs):
        """The probability of more than a value."""
        ways = ("_survival_function", _same), ("_log_survival", F.exp), ("_cdf", _rest), ("_log_cdf", _rest_of_log)
        return self._find("survival_function", ways, (value, *args), kwargs)

    def log_survival(self, value, *args, **kwargs):
        """The logarithm of the probability of more than a value."""
        ways = ("_log_survival", _same), ("_survival_function", F.log), ("_cdf", lambda x: F.log(_rest(x)))
        return self._find("log_survival", ways, (value, *args), kwargs)

    def mean(self, *args, **kwargs):
        """The mean."""
        return self._find("mean", (("_mean", _same),), args, kwargs)

    def mode(self, *args, **kwargs):
        """The most probable value."""
        return self._find("mode", (("_mode", _same),), args, kwargs)

    def sd(self, *args, **kwargs):
        """The standard deviation."""
        return self._find("sd", (("_sd", _same), ("_var", F.sqrt)), args, kwargs)

    def var(self, *args, **kwargs):
        """The variance."""
        return self._find("var", (("_var", _same), ("_sd", F.square)), args, kwargs)

    def entropy(self, *args, **kwargs):
        """The entropy, in nats."""
        return self._find("entropy", (("_entropy", _same),), args, kwargs)

    def _other(self, dist, args):
        """(parameters of the other distribution of the same kind, those of this one), in the order of `args`."""
        if dist != self.get_dist_type():
            raise ValueError(
                f"[{self._name}] another kind of distribution, got {dist!r}, expected {self.get_dist_type()!r}"
            )
        count = len(self._parameters)
        others = tuple(_tensor(one, mstype.float32) for one in args[:count])
        if len(others) < count:
            raise TypeError(f"[{self._name}] parameters are missing, got {len(others)} of the other, expected {count}")
        return others, self.get_dist_args(*args[count:])

    def kl_loss(self, dist, *args, **kwargs):
        """The divergence of a distribution of the same kind, whose parameters follow, from this one, in nats."""
        return self._find("kl_loss", (("_kl_loss", _same),), (dist, *args), kwargs)

    def cross_entropy(self, dist, *args, **kwargs):
        """The entropy and the divergence of a distribution of the same kind, whose parameters follow."""
        if hasattr(type(self), "_cross_entropy"):
            return self._cross_entropy(dist, *args, **kwargs)
        _, own = self._other(dist, args)
        return F.add(self.entropy(*own), self.kl_loss(dist, *args, **kwargs))

    def sample(self, *args, **kwargs):
        """Draws: (shape, parameters ..). The shape of the parameters follows that which is given."""
        return self._find("sample", (("_sample", _same),), args, kwargs)

    def construct(self, name, *args, **kwargs):
        """Calls the function of a name: distribution("prob", value)."""
        if name.startswith("_") or name not in _NAMES:
            raise ValueError(f"[{self._name}] unknown function, got {name!r}, expected one of {sorted(_NAMES)}")
        return getattr(self, name)(*args, **kwargs)

    def _drawn_shape(self, shape, *parameters):
        total = parameters[0]
        for one in parameters[1:]:
            total = F.add(total, one)
        return tuple(shape) + tuple(total.shape)

    def _of_type(self, x):
        return F.cast(x, self._dtype)


# What a dictionary of the arguments of `__init__` has besides parameters.
_NO_PARAMETERS = ("self", "__class__", "param", "seed", "dtype", "name")
_NAMES = (
    "prob log_prob cdf log_cdf survival_function log_survival mean mode sd var entropy kl_loss cross_entropy sample "
    "get_dist_args get_dist_type"
).split()


def _same(x):
    return x


def _rest(x):
    return F.sub(1.0, x)


def _rest_of_log(x):
    return F.sub(1.0, F.exp(x))


def _tensor(value, dtype):
    if isinstance(value, Tensor):
        return value if mstype.is_float(value.dtype) else F.cast(value, dtype)
    return Tensor(value, dtype)


def require_positive(where, name, value, at_most=None):
    """Raises ValueError unless the numbers of a parameter are above 0, and below `at_most`. Those of tensors in
    programs are not known."""
    if value is None or (isinstance(value, Tensor) and value._symbol is not None):
        return
    values = Tensor(value).asnumpy()
    if (values <= 0).any() or (at_most is not None and (values >= at_most).any()):
        limit = "" if at_most is None else f", and below {at_most}"
        raise ValueError(f"[{where}] bad {name}, got {value}, expected numbers above 0{limit}")
