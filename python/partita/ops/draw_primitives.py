"""Ops that are objects and draw random numbers. Seeds that they are made with have no effect, as in functions."""

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.absent import refusing_class
from partita.ops.op_classes import with_options
from partita.ops.primitive import Primitive


def _integers(shape, minval, maxval):
    """Integers (int32) from `minval` to below `maxval`, in a shape."""
    return F.uniform(shape, minval, maxval, dtype=mstype.int32)


_SEEDED = {  # what is called with the operands
    "Gamma": F.gamma,
    "Poisson": F.poisson,
    "RandomGamma": F.random_gamma,
    "RandomShuffle": F.shuffle,
    "StandardLaplace": F.standard_laplace,
    "UniformInt": _integers,
}
_REFUSED = {
    "NPUAllocFloatStatus": "ops.FloatStatus or amp.all_finite of the gradients: there is no status of the device",
    "NPUClearFloatStatus": "ops.FloatStatus or amp.all_finite of the gradients: there is no status of the device",
    "NPUGetFloatStatus": "ops.FloatStatus or amp.all_finite of the gradients: there is no status of the device",
    "ComplexAbs": "ops.hypot of the real and the imaginary part: there are no complex types",
    "Polar": "two tensors, abs * ops.cos(angle) and abs * ops.sin(angle): there are no complex types",
}
__all__ = [
    *_SEEDED,
    *_REFUSED,
    "Bernoulli",
    "Cauchy",
    "LogNormalReverse",
    "Multinomial",
    "NonDeterministicInts",
    "MultinomialWithReplacement",
    "RandomCategorical",
    "RandomChoiceWithMask",
    "RandomPoisson",
    "Randperm",
    "RandpermV2",
    "TruncatedNormal",
]


def _seeded(name, function):
    return with_options(name, lambda op, *args: function(*args), function.__doc__, __name__, {"seed": 0, "seed2": 0})


for _name, _function in _SEEDED.items():
    globals()[_name] = _seeded(_name, _function)
for _name, _instead in _REFUSED.items():
    globals()[_name] = refusing_class(_name, _instead)


class Bernoulli(Primitive):
    """(x, p): 1 with probability p, else 0, in the shape and the element type of x."""

    def __init__(self, seed=-1, offset=0):
        super().__init__()

    def compute(self, x, p):
        return F.bernoulli(x, p)


class Cauchy(Primitive):
    """(): numbers of the distribution of Cauchy, of a size."""

    def __init__(self, size, median=0.0, sigma=1.0):
        super().__init__()
        self.size, self.median, self.sigma = size, median, sigma

    def compute(self):
        return F.cauchy(tuple(self.size), self.median, self.sigma)


class LogNormalReverse(Primitive):
    """(x): powers of e whose exponents are normal, in the shape and the element type of x."""

    def __init__(self, mean=1.0, std=2.0):
        super().__init__()
        self.mean, self.std = mean, std

    def compute(self, input):
        return input.log_normal(self.mean, self.std)


class NonDeterministicInts(Primitive):
    """(shape): integers of 31 bits, and a sign."""

    def __init__(self, dtype=mstype.int64):
        super().__init__()
        self.dtype = dtype

    def compute(self, shape):
        sizes = shape.asnumpy().tolist() if isinstance(shape, Tensor) else shape
        return F.randint(-(2**31), 2**31 - 1, tuple(sizes), dtype=self.dtype)


class Multinomial(Primitive):
    """(weights, count): places, drawn in proportion to the weights along the last dimension."""

    def __init__(self, seed=0, seed2=0, dtype=mstype.int32):
        super().__init__()
        self.dtype = dtype

    def compute(self, x, num_samples):
        return F.cast(F.multinomial(x, int(num_samples)), self.dtype)


class MultinomialWithReplacement(Primitive):
    """(weights, seed, offset): places, drawn in proportion to the weights along the last dimension, as int64."""

    def __init__(self, numsamples, replacement=False):
        super().__init__()
        self.numsamples, self.replacement = numsamples, replacement

    def compute(self, x, seed, offset):
        return F.multinomial_with_replacement(x, seed, offset, self.numsamples, self.replacement)


class RandomCategorical(Primitive):
    """(logits, count, seed): classes, drawn by the logits of each row."""

    def __init__(self, dtype=mstype.int64):
        super().__init__()
        self.dtype = dtype

    def compute(self, logits, num_sample, seed=0):
        return F.random_categorical(logits, num_sample, seed, self.dtype)


class RandomChoiceWithMask(Primitive):
    """RandomChoiceWithMask(count)(mask): (places [count, dimensions] of `count` elements that are True, drawn; whether
    each of these is one). Raises TypeError for a mask of numbers."""

    def __init__(self, count=256, seed=0, seed2=0):
        super().__init__()
        self.count = count

    def compute(self, input_x):
        return F.choice_with_mask(input_x, self.count)


class RandomPoisson(Primitive):
    """(shape, rates): numbers of the distribution of Poisson, of the shape for each of the rates."""

    def __init__(self, seed=0, seed2=0, dtype=mstype.int64):
        super().__init__()
        self.dtype = dtype

    def compute(self, shape, rate):
        return F.random_poisson(shape, rate, dtype=self.dtype)


class Randperm(Primitive):
    """Randperm(max_length, pad)(n): the integers below n in an order that is drawn, then `pad` up to `max_length`
    elements, in one dimension. Raises ValueError for an n below 1 or above `max_length`."""

    def __init__(self, max_length=1, pad=-1, dtype=mstype.int32):
        super().__init__()
        self.max_length, self.pad, self.dtype = max_length, pad, dtype

    def compute(self, n):
        count = int(n.reshape(())) if isinstance(n, Tensor) else int(n)
        if count > self.max_length:
            raise ValueError(f"[Randperm] too many integers, got {count}, expected at most {self.max_length}")
        rest = [self.pad] * (self.max_length - count)
        return Tensor([*F.randperm(count).asnumpy().tolist(), *rest], self.dtype)


class RandpermV2(Primitive):
    """RandpermV2(seed, offset, dtype)(n): the integers below n in an order that is drawn, in one dimension. Raises
    ValueError for an n below 1."""

    def __init__(self, seed=0, offset=0, dtype=mstype.int64):
        super().__init__()
        self.dtype = dtype

    def compute(self, n):
        return F.randperm(n, dtype=self.dtype)


class TruncatedNormal(Primitive):
    """(shape): numbers of the standard normal distribution within two deviations."""

    def __init__(self, dtype=mstype.float32, seed=0, seed2=0):
        super().__init__()
        self.dtype = dtype

    def compute(self, shape):
        return F.truncated_normal(shape, self.dtype)
