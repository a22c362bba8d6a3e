"""Random numbers, and tensors whose elements are not given. The numbers are functions of the seed and of the number of
the draw: see `ops.rand`."""

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.mint.functions import _sizes
from partita.ops import functional as F

__all__ = (
    "bernoulli empty empty_like linspace multinomial normal rand rand_like randint randint_like randn randn_like"
    " randperm"
).split()


def _require_seed(where, generator):
    if generator is not None:
        raise NotImplementedError(
            f"[{where}] numbers are drawn by the common seed, got a generator, expected None: see set_seed"
        )


def empty(*size, dtype=None, device=None, pin_memory=False):
    """A tensor whose elements are not given: zeros. Its sizes are given one by one, or as one."""
    return F.zeros(_sizes(size), dtype or mstype.float32)


def empty_like(input, *, dtype=None, device=None, pin_memory=False):
    """A tensor of the shape of another, whose elements are not given: zeros."""
    return F.zeros_like(input, dtype=dtype)


def linspace(start, end, steps, *, dtype=None):
    """`steps` numbers from `start` to `end`, both included."""
    return F.cast(F.linspace(start, end, steps), dtype or mstype.float32)


def rand(*size, generator=None, dtype=None, device=None):
    """Numbers from 0 to 1."""
    _require_seed("rand", generator)
    return F.rand(*size, dtype=dtype)


def randn(*size, generator=None, dtype=None, device=None):
    """Numbers of the standard normal distribution."""
    _require_seed("randn", generator)
    return F.randn(*size, dtype=dtype)


def rand_like(input, *, dtype=None, device=None):
    """Numbers from 0 to 1, of the shape of a tensor."""
    return F.rand_like(input, dtype=dtype)


def randn_like(input, *, dtype=None, device=None):
    """Numbers of the standard normal distribution, of the shape of a tensor."""
    return F.randn_like(input, dtype=dtype)


def randint(*args, generator=None, dtype=None, device=None, **named):
    """(high, size) or (low, high, size): integers from `low`, or 0, to below `high`, as int64."""
    _require_seed("randint", generator)
    low, high, size = _range("randint", args, named, "size")
    return F.randint(low, high, tuple(size), dtype=dtype)


def randint_like(*args, dtype=None, device=None, **named):
    """(input, high) or (input, low, high): integers from `low`, or 0, to below `high`, of the shape and the element
    type of a tensor."""
    input = named.pop("input") if "input" in named else args[0]
    args = args[1:] if len(args) and args[0] is input else args
    low, high, _ = _range("randint_like", (*args, None), named, None)
    return F.randint(low, high, tuple(input.shape), dtype=dtype or input.dtype)


def _range(where, given, named, last):
    """(low, high, last) of two or three arguments by place, and others by name."""
    found = dict(named)
    names = ("low", "high", last) if len(given) + len(named) == 3 else ("high", last)
    found.update(zip([one for one in names if one not in named], given))
    if set(found) not in ({"low", "high", last}, {"high", last}):
        names = ", ".join(one for one in ("high", last) if one)
        raise TypeError(f"[{where}] bad arguments, got {sorted(map(str, found))}, expected {names}, or low before them")
    return found.get("low", 0), found["high"], found[last]


def randperm(n, *, generator=None, dtype=mstype.int64):
    """The integers below `n` in an order that is drawn."""
    _require_seed("randperm", generator)
    return F.cast(F.randperm(n), dtype)


def normal(mean=0.0, std=1.0, size=None, generator=None):
    """Numbers of normal distributions: of two numbers `size` of them, of tensors one for each element."""
    _require_seed("normal", generator)
    tensors = [one for one in (mean, std) if isinstance(one, Tensor)]
    if tensors and size is not None:
        raise ValueError(f"[normal] the shape is that of the tensors, got size={size!r}, expected None")
    if not tensors and size is None:
        raise ValueError("[normal] no shape, got two numbers and size=None, expected a size")
    if not tensors:
        return F.normal(tuple(size), mean, std)
    shape = F.add(mean, std).shape
    return F.add(F.mul(F.randn(*shape) if shape else F.reshape(F.randn(1), []), std), mean)


def bernoulli(input, *, generator=None):
    """1 with the probability that each element is, else 0."""
    _require_seed("bernoulli", generator)
    return F.cast(F.less(F.rand_like(input, dtype=mstype.float32), input), input.dtype)


def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Places, drawn in proportion to the weights along the last dimension, as int64; without `replacement` each at most
    once."""
    _require_seed("multinomial", generator)
    return F.cast(F.multinomial(input, num_samples, replacement), mstype.int64)
