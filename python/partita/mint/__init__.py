"""Functions of tensors under the names that PyTorch has."""
from partita._names import refuse_missing
from partita.mint import nn  # noqa: F401
from partita.ops.functional import (  # noqa: F401
    abs, add, all, any, arange, argmax, broadcast_to, cat, clamp, concat, cumsum, div, equal, erf, exp, flatten, full,
    gather, greater, greater_equal, isfinite, less, less_equal, log, logical_and, logical_not, logical_or, matmul, max,
    maximum, mean, min, minimum, mul, neg, not_equal, ones, ones_like, permute, pow, reshape, rsqrt, select, sigmoid,
    softmax, split, sqrt, square, squeeze, stack, sub, sum, tanh, topk, transpose, unsqueeze, where, zeros, zeros_like)

__getattr__ = refuse_missing(globals())
