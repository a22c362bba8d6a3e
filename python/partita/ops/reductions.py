"""Ops over dimensions."""

from partita.common import dtype as mstype
from partita.ops.elementwise import as_float, cast, mul, neg, sqrt, square, sub
from partita.ops.shapes import expand_dims, reshape, swapaxes, transpose
from partita.ops.support import F, as_tensor, axes_of, axis_of, run


def _reduction(name):
    function = getattr(F, name)

    def call(input, axis=None, keep_dims=False):
        x = as_tensor(input, name)
        if name in ("reduce_mean",):
            x = as_float(x)
        elif x.dtype == mstype.bool_:
            x = cast(x, mstype.int32)
        axes = axes_of(name, axis, x.ndim)
        return x if x.ndim == 0 else run(lambda trace, a: function(a, axes, bool(keep_dims)), x)

    return call


reduce_sum, reduce_mean = _reduction("reduce_sum"), _reduction("reduce_mean")


reduce_max, reduce_min = _reduction("reduce_max"), _reduction("reduce_min")


def sum(input, dim=None, keepdim=False, *, axis=None, keepdims=None, dtype=None):
    """The sum over dimensions, or of all elements."""
    x = reduce_sum(input, dim if axis is None else axis, keepdim if keepdims is None else keepdims)
    return x if dtype is None else cast(x, dtype)


def mean(x, axis=None, keep_dims=False):
    """The mean over dimensions, or of all elements."""
    return reduce_mean(x, axis, keep_dims)


def max(input, axis=None, keepdims=False):
    """(largest, where) along an axis; of all elements, the largest alone."""
    if axis is None:
        return reduce_max(input)
    return reduce_max(input, axis, keepdims), argmax(input, axis, keepdims)


def min(input, axis=None, keepdims=False):
    """(smallest, where) along an axis; of all elements, the smallest alone."""
    if axis is None:
        return reduce_min(input)
    return reduce_min(input, axis, keepdims), argmax(neg(input), axis, keepdims)


def largest(input, axis=None, keepdims=False, *, initial=None, where=True, return_indices=False):
    """The largest along an axis, or of all elements: the method of tensors; with `return_indices` (it, where)."""
    return _method_of("max", max, reduce_max, input, axis, keepdims, initial, where, return_indices)


def smallest(input, axis=None, keepdims=False, *, initial=None, where=True, return_indices=False):
    """The smallest along an axis, or of all elements: the method of tensors; with `return_indices` (it, where)."""
    return _method_of("min", min, reduce_min, input, axis, keepdims, initial, where, return_indices)


def _method_of(name, with_indices, alone, input, axis, keepdims, initial, where, return_indices):
    if initial is not None or where is not True:
        raise NotImplementedError(f"[Tensor.{name}] some elements alone, got initial or where, expected neither")
    if return_indices:
        return with_indices(input, 0 if axis is None else axis, keepdims)
    return alone(input, axis, keepdims)


def var(input, axis=None, ddof=0, keepdims=False):
    x = as_float(as_tensor(input, "var"))
    centred = sub(x, reduce_mean(x, axis, True))
    count = 1
    for one in axes_of("var", axis, x.ndim) or range(x.ndim):
        count *= x.shape[one]
    return mul(reduce_sum(square(centred), axis, keepdims), 1.0 / (count - ddof))


def std(input, axis=None, ddof=0, keepdims=False):
    return sqrt(var(input, axis, ddof, keepdims))


def all(input, axis=None, keep_dims=False):
    return cast(reduce_min(cast(cast(input, mstype.bool_), mstype.int32), axis, keep_dims), mstype.bool_)


def any(input, axis=None, keep_dims=False):
    return cast(reduce_max(cast(cast(input, mstype.bool_), mstype.int32), axis, keep_dims), mstype.bool_)


def over_last(x, axis, function):
    """A function over the last dimension, over another one."""
    axis = axis_of("axis", axis, x.ndim)
    if axis == x.ndim - 1:
        return function(x)
    return swapaxes(function(swapaxes(x, axis, -1)), axis, -1)


def argmax(input, dim=None, keepdim=False):
    """Where the largest element is; the first of equal ones."""
    x = as_tensor(input, "argmax")
    if dim is None:
        return argmax(reshape(x, [-1]), 0, keepdim)
    axis = axis_of("argmax", dim, x.ndim)
    last = x if axis == x.ndim - 1 else transpose(x, [i for i in range(x.ndim) if i != axis] + [axis])
    found = run(lambda trace, a: F.apply(trace, "argmax", [a], [])[0], last)
    return expand_dims(found, axis) if keepdim else found


def softmax(input, axis=-1, *, dtype=None):
    """exp(x) over its sum along an axis."""
    x = as_float(as_tensor(input, "softmax"))
    x = x if dtype is None else cast(x, dtype)
    return over_last(x, axis, lambda y: run(lambda trace, a: F.softmax(a), y))


def log_softmax(logits, axis=-1):
    """log(softmax(x)), without underflow."""
    x = as_float(as_tensor(logits, "log_softmax"))
    return over_last(x, axis, lambda y: run(lambda trace, a: F.log_softmax(a), y))


def cumsum(x, axis, exclusive=False, reverse=False):
    return run(lambda trace, a: F.cumsum(a, int(axis), exclusive, reverse), as_tensor(x, "cumsum"))


def topk(input, k, dim=-1, largest=True, sorted=True):
    """(values, indices) of the k largest over the last dimension, falling."""
    x = as_tensor(input, "topk")
    if axis_of("topk", dim, x.ndim) != x.ndim - 1 or not largest:
        raise ValueError(
            f"[topk] another dimension than the last, or the smallest, got dim={dim}, largest={largest}, "
            "expected the largest over the last"
        )
    return run(lambda trace, a: F.top_k(a, int(k)), x)


top_k = topk
