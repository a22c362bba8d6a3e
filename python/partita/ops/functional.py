"""Ops as functions of tensors. In a network that is being built they are nodes; elsewhere they run at once."""
import builtins
import math
import numbers

import numpy as np

from partita import _core, _trace
from partita.common import dtype as mstype
from partita.common.tensor import Tensor

F = _core.functions
_run = _trace.run


def is_number(value):
    """Whether this is a number of Python or NumPy, not a tensor."""
    return isinstance(value, (numbers.Number, np.bool_, np.generic)) and not isinstance(value, complex)


def as_tensor(value, where="op"):
    """The tensor that `value` is or holds; TypeError for what is none."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (np.ndarray, list, tuple)) or is_number(value):
        return Tensor(value)
    raise TypeError(f"[{where}] operand is no tensor, got {type(value).__name__}, expected a Tensor or a number")


def _number_dtype(tensor, number):
    """The element type in which a number meets a tensor."""
    whole = isinstance(number, (numbers.Integral, np.bool_))
    if mstype.is_float(tensor.dtype) or (whole and tensor.dtype != mstype.bool_):
        return tensor.dtype
    if isinstance(number, (bool, np.bool_)):
        return tensor.dtype
    return mstype.int32 if whole else mstype.float32


def attributes(**values):
    """Attributes of an op as the library reads them."""
    return [(name, _text(value)) for name, value in values.items()]


def _text(value):
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, mstype.DType):
        return value.core
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_text(one) for one in value) + "]"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, numbers.Integral):
        return str(int(value))
    return repr(float(value))


def _unary(name, float_only=True):
    function = getattr(F, name)

    def call(x):
        x = as_tensor(x, name)
        if float_only and not mstype.is_float(x.dtype):
            x = cast(x, mstype.float32)
        return _run(lambda trace, a: function(a), x)
    call.__name__ = name
    return call


for _name in ("exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "silu", "softplus", "erf"):
    globals()[_name] = _unary(_name)
for _name in ("neg", "square", "abs", "relu", "logical_not"):
    globals()[_name] = _unary(_name, float_only=False)


def _binary(name):
    function = getattr(F, name)

    def call(input, other):
        if is_number(input) and is_number(other):
            input = Tensor(input)
        if is_number(other):
            dtype = _number_dtype(input, other)
            return _run(lambda trace, a: function(a, trace.constant(float(other), dtype.core, [])), as_tensor(input, name))
        if is_number(input):
            dtype = _number_dtype(other, input)
            return _run(lambda trace, b: function(trace.constant(float(input), dtype.core, []), b), as_tensor(other, name))
        return _run(lambda trace, a, b: function(a, b), as_tensor(input, name), as_tensor(other, name))
    call.__name__ = name
    return call


for _name in ("maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
              "logical_and", "logical_or"):
    globals()[_name] = _binary(_name)
_add, _sub, _mul, _div = _binary("add"), _binary("sub"), _binary("mul"), _binary("div")


def _scaled(x, factor, offset):
    return _run(lambda trace, a: F.scale(a, factor, offset), x)


def _scales(x, number):
    return is_number(number) and isinstance(x, Tensor) and mstype.is_float(x.dtype)


def add(input, other):
    """Sum, broadcast."""
    if _scales(input, other):
        return _scaled(input, 1.0, float(other))
    if _scales(other, input):
        return _scaled(other, 1.0, float(input))
    return _add(input, other)


def sub(input, other):
    """Difference, broadcast."""
    if _scales(input, other):
        return _scaled(input, 1.0, -float(other))
    if _scales(other, input):
        return _scaled(other, -1.0, float(input))
    return _sub(input, other)


def mul(input, other):
    """Product, broadcast."""
    if _scales(input, other):
        return _scaled(input, float(other), 0.0)
    if _scales(other, input):
        return _scaled(other, float(input), 0.0)
    return _mul(input, other)


def div(input, other):
    """Quotient, broadcast; of integers as float32."""
    input = input if is_number(input) else as_float(as_tensor(input, "div"))
    other = other if is_number(other) else as_float(as_tensor(other, "div"))
    if is_number(input) and is_number(other):
        input = Tensor(float(input))
    return _div(input, other)


def as_float(x):
    """The tensor itself, or as float32 when it holds integers."""
    return x if mstype.is_float(x.dtype) else cast(x, mstype.float32)


def pow(input, exponent):
    """A power. Of a tensor to a number, or of a positive tensor to a tensor."""
    if is_number(exponent):
        return _run(lambda trace, a: F.pow(a, float(exponent)), as_float(as_tensor(input, "pow")))
    base = math.log(input) if is_number(input) and input > 0 else log(input)
    return exp(mul(as_tensor(exponent, "pow"), base))


def bias_add(input_x, bias):
    """x[n, c, ..] + bias[c]."""
    return _run(lambda trace, x, b: F.apply(trace, "bias_add", [x, b], attributes(axis=1))[0],
                as_tensor(input_x, "bias_add"), as_tensor(bias, "bias_add"))


def cast(input, dtype):
    """The same values in another element type."""
    dtype = mstype.to_dtype(dtype)
    return _run(lambda trace, x: F.cast(x, dtype.core), as_tensor(input, "cast"))


def matmul(input, other, transpose_a=False, transpose_b=False):
    """Products of matrices, the last two dimensions; the dimensions before them are broadcast."""
    a, b = as_tensor(input, "matmul"), as_tensor(other, "matmul")
    return _run(lambda trace, x, y: F.matmul(x, y, transpose_a, transpose_b), a, b)


def shape(input_x):
    """The sizes, as a tuple."""
    return as_tensor(input_x, "shape").shape


def rank(input_x):
    return len(shape(input_x))


def size(input_x):
    return as_tensor(input_x, "size").size


def reshape(input, shape):
    """The same elements in another shape; one size may be -1."""
    x = as_tensor(input, "reshape")
    wanted = [int(one) for one in ((shape,) if isinstance(shape, numbers.Integral) else shape)]
    if wanted.count(-1) == 1:
        rest = 1
        for one in wanted:
            rest *= one if one != -1 else 1
        if rest > 0 and x.size % rest == 0:
            wanted[wanted.index(-1)] = x.size // rest
    return _run(lambda trace, a: F.reshape(a, wanted), x)


def _axis(where, axis, rank):
    axis = int(axis)
    if -rank <= axis < rank:
        return axis + rank if axis < 0 else axis
    raise ValueError(f"[{where}] axis is outside the tensor, got {axis}, expected {-rank} to {rank - 1}")


def _axes(where, axis, rank):
    if axis is None or axis == ():
        return []
    axes = [axis] if isinstance(axis, numbers.Integral) else list(axis)
    return [_axis(where, one, rank) for one in axes]


def squeeze(input, axis=None):
    """Without dimensions of size 1: those named, or all."""
    x = as_tensor(input, "squeeze")
    if axis is None:
        return reshape(x, [one for one in x.shape if one != 1])
    axes = _axes("squeeze", axis, x.ndim)
    for one in axes:
        if x.shape[one] != 1:
            raise ValueError(f"[squeeze] a dimension of more than one element, got size {x.shape[one]} of axis {one}, "
                             "expected 1")
    return reshape(x, [size for i, size in enumerate(x.shape) if i not in axes])


def expand_dims(input_x, axis):
    """With a dimension of size 1 more."""
    x = as_tensor(input_x, "expand_dims")
    axis = _axis("expand_dims", axis, x.ndim + 1)
    return reshape(x, [*x.shape[:axis], 1, *x.shape[axis:]])


unsqueeze = expand_dims


def flatten(input, order="C", *, start_dim=1, end_dim=-1):
    """The dimensions from `start_dim` to `end_dim` as one."""
    x = as_tensor(input, "flatten")
    if order != "C":
        raise ValueError(f"[flatten] unknown order, got '{order}', expected 'C'")
    if x.ndim == 0:
        return reshape(x, [1])
    if x.ndim == 1:
        return x
    first, last = _axis("flatten", start_dim, x.ndim), _axis("flatten", end_dim, x.ndim)
    if first > last:
        raise ValueError(f"[flatten] dimensions in the wrong order, got {start_dim} to {end_dim}, expected first to last")
    count = 1
    for one in x.shape[first:last + 1]:
        count *= one
    return reshape(x, [*x.shape[:first], count, *x.shape[last + 1:]])


def transpose(input, input_perm):
    """Dimensions in another order."""
    x = as_tensor(input, "transpose")
    perm = [_axis("transpose", one, x.ndim) for one in input_perm]
    return _run(lambda trace, a: F.transpose(a, perm), x)


permute = transpose


def swapaxes(input, axis0, axis1):
    x = as_tensor(input, "swapaxes")
    perm = list(range(x.ndim))
    first, second = _axis("swapaxes", axis0, x.ndim), _axis("swapaxes", axis1, x.ndim)
    perm[first], perm[second] = perm[second], perm[first]
    return transpose(x, perm)


def broadcast_to(input, shape):
    x = as_tensor(input, "broadcast_to")
    lead = len(shape) - x.ndim
    sizes = [x.shape[i - lead] if one == -1 else int(one) for i, one in enumerate(shape)]
    return _run(lambda trace, a: F.apply(trace, "broadcast_to", [a], attributes(shape=sizes))[0], x)


def concat(tensors, axis=0):
    """Tensors one after the other along an axis."""
    if not isinstance(tensors, (list, tuple)) or not tensors:
        raise TypeError(f"[concat] no tensors, got {type(tensors).__name__}, expected a tuple or list of tensors")
    parts = [as_tensor(one, "concat") for one in tensors]
    axis = _axis("concat", axis, parts[0].ndim)
    return _run(lambda trace, *xs: F.apply(trace, "concat", list(xs), attributes(axis=axis))[0], *parts)


cat = concat


def stack(tensors, axis=0):
    return concat([expand_dims(one, axis) for one in tensors], axis)


def split(tensor, split_size_or_sections, axis=0):
    """Parts along an axis: of a size, or of the sizes given."""
    x = as_tensor(tensor, "split")
    axis = _axis("split", axis, x.ndim)
    if isinstance(split_size_or_sections, numbers.Integral):
        step = int(split_size_or_sections)
        if step < 1:
            raise ValueError(f"[split] bad size, got {step}, expected at least 1")
        ends = [builtins.min(begin + step, x.shape[axis]) for begin in range(0, x.shape[axis], step)]
    else:
        ends, end = [], 0
        for one in split_size_or_sections:
            end += int(one)
            ends.append(end)
        if end != x.shape[axis]:
            raise ValueError(f"[split] sizes do not add up, got {end}, expected {x.shape[axis]} of axis {axis}")
    begins = [0, *ends[:-1]]
    return tuple(_slice(x, [(b, e) if i == axis else (0, n) for i, n in enumerate(x.shape)])
                 for b, e in zip(begins, ends))


def chunk(input, chunks, axis=0):
    x = as_tensor(input, "chunk")
    return split(x, -(-x.shape[_axis("chunk", axis, x.ndim)] // int(chunks)), axis)


def _slice(x, ranges):
    if builtins.all(begin == 0 and end == n for (begin, end), n in zip(ranges, x.shape)):
        return x
    attrs = attributes(begin=[begin for begin, _ in ranges], end=[end for _, end in ranges])
    return _run(lambda trace, a: F.apply(trace, "slice", [a], attrs)[0], x)


def tensor_index(x, index):
    """x[index] with integers, slices of step 1, None and ... ; a tensor of indices takes rows."""
    items = list(index) if isinstance(index, tuple) else [index]
    if len(items) == 1 and isinstance(items[0], (Tensor, np.ndarray, list)):
        return gather(x, as_tensor(items[0], "index"), 0)
    given = builtins.sum(one is not None and one is not Ellipsis for one in items)
    if given > x.ndim:
        raise IndexError(f"[index] too many indices, got {given}, expected at most {x.ndim} for shape {x.shape}")
    if Ellipsis in [one for one in items if not isinstance(one, Tensor)]:
        at = items.index(Ellipsis)
        items[at:at + 1] = [slice(None)] * (x.ndim - given)
    items += [slice(None)] * (x.ndim - builtins.sum(one is not None for one in items))
    ranges, sizes, dim = [], [], 0
    for one in items:
        if one is None:
            sizes.append(1)
            continue
        size = x.shape[dim]
        if isinstance(one, slice):
            begin, end, step = one.indices(size)
            if step != 1:
                raise ValueError(f"[index] a step other than 1, got {one.step}, expected 1")
            end = builtins.max(begin, end)
            sizes.append(end - begin)
            ranges.append((begin, end))
        else:
            begin = int(one)
            if not -size <= begin < size:
                raise IndexError(f"[index] outside the tensor, got {begin} of axis {dim}, expected {-size} to {size - 1}")
            begin += size if begin < 0 else 0
            ranges.append((begin, begin + 1))
        dim += 1
    part = _slice(x, ranges)
    return part if tuple(sizes) == part.shape else reshape(part, sizes)


def _reduction(name):
    function = getattr(F, name)

    def call(input, axis=None, keep_dims=False):
        x = as_tensor(input, name)
        if name in ("reduce_mean",):
            x = as_float(x)
        elif x.dtype == mstype.bool_:
            x = cast(x, mstype.int32)
        axes = _axes(name, axis, x.ndim)
        return x if x.ndim == 0 else _run(lambda trace, a: function(a, axes, bool(keep_dims)), x)
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


def var(input, axis=None, ddof=0, keepdims=False):
    x = as_float(as_tensor(input, "var"))
    centred = sub(x, reduce_mean(x, axis, True))
    count = 1
    for one in _axes("var", axis, x.ndim) or range(x.ndim):
        count *= x.shape[one]
    return mul(reduce_sum(square(centred), axis, keepdims), 1.0 / (count - ddof))


def std(input, axis=None, ddof=0, keepdims=False):
    return sqrt(var(input, axis, ddof, keepdims))


def all(input, axis=None, keep_dims=False):
    return cast(reduce_min(cast(cast(input, mstype.bool_), mstype.int32), axis, keep_dims), mstype.bool_)


def any(input, axis=None, keep_dims=False):
    return cast(reduce_max(cast(cast(input, mstype.bool_), mstype.int32), axis, keep_dims), mstype.bool_)


def _last(x, axis, function):
    """A function over the last dimension, over another one."""
    axis = _axis("axis", axis, x.ndim)
    if axis == x.ndim - 1:
        return function(x)
    return swapaxes(function(swapaxes(x, axis, -1)), axis, -1)


def argmax(input, dim=None, keepdim=False):
    """Where the largest element is; the first of equal ones."""
    x = as_tensor(input, "argmax")
    if dim is None:
        return argmax(reshape(x, [-1]), 0, keepdim)
    axis = _axis("argmax", dim, x.ndim)
    last = x if axis == x.ndim - 1 else transpose(x, [i for i in range(x.ndim) if i != axis] + [axis])
    found = _run(lambda trace, a: F.apply(trace, "argmax", [a], [])[0], last)
    return expand_dims(found, axis) if keepdim else found


def softmax(input, axis=-1, *, dtype=None):
    """exp(x) over its sum along an axis."""
    x = as_float(as_tensor(input, "softmax"))
    x = x if dtype is None else cast(x, dtype)
    return _last(x, axis, lambda y: _run(lambda trace, a: F.softmax(a), y))


def log_softmax(logits, axis=-1):
    """log(softmax(x)), without underflow."""
    x = as_float(as_tensor(logits, "log_softmax"))
    return _last(x, axis, lambda y: _run(lambda trace, a: F.log_softmax(a), y))


def gelu(input, approximate="none"):
    """x times the normal distribution function of x, or ("tanh") GPT-2's form of it."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"[gelu] unknown form, got '{approximate}', expected none or tanh")
    return _run(lambda trace, a: F.gelu(a, approximate == "tanh"), as_tensor(input, "gelu"))


def leaky_relu(input, alpha=0.2):
    return _run(lambda trace, a: F.apply(trace, "leaky_relu", [a], attributes(slope=alpha))[0],
                as_tensor(input, "leaky_relu"))


def cumsum(x, axis, exclusive=False, reverse=False):
    return _run(lambda trace, a: F.cumsum(a, int(axis), exclusive, reverse), as_tensor(x, "cumsum"))


def repeat_interleave(input, repeats, axis=None):
    x = as_tensor(input, "repeat_interleave")
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    return _run(lambda trace, a: F.repeat(a, int(axis), int(repeats)), x)


def topk(input, k, dim=-1, largest=True, sorted=True):
    """(values, indices) of the k largest over the last dimension, falling."""
    x = as_tensor(input, "topk")
    if _axis("topk", dim, x.ndim) != x.ndim - 1 or not largest:
        raise ValueError(f"[topk] another dimension than the last, or the smallest, got dim={dim}, largest={largest}, "
                         "expected the largest over the last")
    return _run(lambda trace, a: F.top_k(a, int(k)), x)


top_k = topk


def select(condition, input, other):
    """`input` where the condition holds, else `other`."""
    a, b = [one if isinstance(one, Tensor) else as_tensor(one, "select") for one in (input, other)]
    return _run(lambda trace, c, x, y: F.select(c, x, y), as_tensor(condition, "select"), a, b)


where = select


def masked_fill(input_x, mask, value):
    x = as_tensor(input_x, "masked_fill")
    return select(mask, Tensor(value, x.dtype) if is_number(value) else value, x)


def clip(input, min=None, max=None):
    """Elements below `min` become it, those above `max` that."""
    x = input
    if min is not None:
        x = maximum(x, min)
    return x if max is None else minimum(x, max)


clamp = clip_by_value = clip


def isfinite(input):
    x = as_tensor(input, "isfinite")
    return equal(sub(x, x), 0.0)


def gather(input_params, input_indices, axis, batch_dims=0):
    """Slices of a tensor along an axis, by their numbers."""
    if batch_dims != 0:
        raise ValueError(f"[gather] dimensions of batches, got {batch_dims}, expected 0")
    table, ids = as_tensor(input_params, "gather"), as_tensor(input_indices, "gather")
    axis = _axis("gather", axis, table.ndim)
    rows = transpose(table, [axis] + [i for i in range(table.ndim) if i != axis]) if axis else table
    matrix = rows if rows.ndim == 2 else reshape(rows, [rows.shape[0], rows.size // rows.shape[0]])
    taken = _run(lambda trace, t, i: F.apply(trace, "embedding", [t, i], [])[0], matrix, ids)
    shaped = taken if rows.ndim == 2 else reshape(taken, [*ids.shape, *rows.shape[1:]])
    if not axis:
        return shaped
    order = list(range(ids.ndim, ids.ndim + axis)) + list(range(ids.ndim)) + list(range(ids.ndim + axis, shaped.ndim))
    return transpose(shaped, order)


def one_hot(indices, depth, on_value=1, off_value=0, axis=-1):
    """`on_value` at each index along a dimension that is added last, else `off_value`."""
    ids = as_tensor(indices, "one_hot")
    if axis not in (-1, ids.ndim):
        raise ValueError(f"[one_hot] another place for the dimension, got axis {axis}, expected -1")
    dtype = on_value.dtype if isinstance(on_value, Tensor) else mstype.float32
    attrs = attributes(depth=int(depth), on_value=float(on_value), off_value=float(off_value), dtype=dtype)
    return _run(lambda trace, x: F.apply(trace, "one_hot", [x], attrs)[0], ids)


def zeros(size, dtype=mstype.float32):
    return full(size, 0, dtype=dtype)


def ones(shape, dtype=mstype.float32):
    return full(shape, 1, dtype=dtype)


def full(size, fill_value, *, dtype=None):
    dtype = mstype.to_dtype(dtype or (mstype.int64 if isinstance(fill_value, numbers.Integral) else mstype.float32))
    sizes = [size] if isinstance(size, numbers.Integral) else list(size)
    return _run(lambda trace: trace.constant(float(fill_value), dtype.core, sizes))


def fill(type, shape, value):
    return full(shape, value, dtype=type)


def zeros_like(input, *, dtype=None):
    return full(as_tensor(input).shape, 0, dtype=dtype or input.dtype)


def ones_like(input, *, dtype=None):
    return full(as_tensor(input).shape, 1, dtype=dtype or input.dtype)


def arange(start=0, end=None, step=1, *, dtype=None):
    values = np.arange(start, step=step) if end is None else np.arange(start, end, step)
    return Tensor(values, dtype)


def scalar_to_tensor(input_x, dtype=mstype.float32):
    return Tensor(input_x, dtype)


scalar_to_array = scalar_to_tensor


def floor_div(input, other):
    raise _not_there("//")


def floor_mod(input, other):
    raise _not_there("%")


def _not_there(operator):
    return TypeError(f"[ops] no such op of tensors, got '{operator}', expected it on shapes, which are integers")


def cross_entropy(input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """Softmax cross entropy of logits with classes or probabilities; see nn.CrossEntropyLoss."""
    from partita.nn.loss import CrossEntropyLoss
    return CrossEntropyLoss(weight, ignore_index, reduction, label_smoothing).construct(input, target)


def mse_loss(input, target, reduction="mean"):
    from partita.nn.loss import MSELoss
    return MSELoss(reduction).construct(input, target)


def l1_loss(input, target, reduction="mean"):
    from partita.nn.loss import MAELoss
    return MAELoss(reduction).construct(input, target)


def conv2d(input, weight, bias=None, stride=1, pad_mode="valid", padding=0, dilation=1, groups=1):
    """Convolution of x[n, c, h, w] with weight[out, c / groups, kh, kw]."""
    x, w = as_tensor(input, "conv2d"), as_tensor(weight, "conv2d")
    strides, dilations = pair("conv2d", "stride", stride), pair("conv2d", "dilation", dilation)

    def body(trace, a, b):
        pads = pads_of("conv2d", pad_mode, padding, a, list(w.shape[2:]), strides, dilations)
        attrs = attributes(stride=strides, dilation=dilations, pads=pads, groups=int(groups))
        return F.apply(trace, "conv2d", [a, b], attrs)[0]
    y = _run(body, x, w)
    return y if bias is None else bias_add(y, bias)


def pair(where, what, value):
    """Two integers: (height, width)."""
    values = [value, value] if isinstance(value, numbers.Integral) else list(value)
    if len(values) == 4:
        values = values[2:]
    if len(values) != 2 or not builtins.all(isinstance(one, numbers.Integral) for one in values):
        raise TypeError(f"[{where}] bad {what}, got {value!r}, expected an integer or two")
    return [int(one) for one in values]


def pads_of(where, pad_mode, padding, symbol, kernel, stride, dilation):
    """Rows and columns around images: top, left, bottom, right."""
    mode = str(pad_mode).lower()
    if mode == "same":
        return _core.same_pads(symbol, kernel, stride, dilation)
    if mode == "valid":
        return [0, 0, 0, 0]
    if mode != "pad":
        raise ValueError(f"[{where}] unknown pad_mode, got '{pad_mode}', expected same, valid or pad")
    if isinstance(padding, numbers.Integral):
        return [int(padding)] * 4
    if len(padding) == 2:
        return [int(padding[0]), int(padding[1])] * 2
    top, bottom, left, right = (int(one) for one in padding)
    return [top, left, bottom, right]


def _pool(op, x, kernel_size, stride, pad_mode, padding, **others):
    kernel = pair(op, "kernel_size", kernel_size)
    strides = pair(op, "stride", stride)

    def body(trace, a):
        pads = pads_of(op, pad_mode, padding, a, kernel, strides, [1, 1])
        return F.apply(trace, op, [a], attributes(kernel=kernel, stride=strides, pads=pads, **others))[0]
    return _run(body, as_tensor(x, op))


def max_pool2d(x, kernel_size, stride=None, padding=0, pad_mode=None):
    """The largest element of each window of x[n, c, h, w]."""
    return _pool("max_pool", x, kernel_size, kernel_size if stride is None else stride,
                 pad_mode or ("pad" if padding else "valid"), padding)


def avg_pool2d(x, kernel_size=1, stride=1, padding=0, count_include_pad=True, pad_mode=None):
    """The mean of each window of x[n, c, h, w]."""
    return _pool("avg_pool", x, kernel_size, stride, pad_mode or ("pad" if padding else "valid"), padding,
                 count_include_pad=bool(count_include_pad))


def dropout(input, p=0.5, training=True, seed=None):
    """Zeros with probability p, the others divided by 1 - p; the same bits on any number of ranks."""
    x = as_tensor(input, "dropout")
    if not 0 <= p < 1:
        raise ValueError(f"[dropout] out of range, got {p}, expected 0 <= p < 1")
    build = _trace.current()
    if not training or p == 0 or (build is not None and build.trace.builds_network and not build.training):
        return x
    if build is None:
        from partita.common import seed as seeds
        mask = Tensor(_core.initial("uniform", [0.0, 1.0], "f32", x.shape, seeds.seed_or_default(),
                                    seeds.next_name("dropout")))
        return mul(x, mul(cast(greater_equal(mask, p), x.dtype), 1.0 / (1.0 - p)))
    name = build.scope.replace("/", ".")
    return _run(lambda trace, a: F.apply(trace, "dropout", [a, trace.step()], attributes(
        rate=float(p), key=_signed(trace.random_key(name))))[0], x)


def _signed(key):
    return key - 2**64 if key >= 2**63 else key


def layer_norm(input_x, normalized_shape, gamma, beta, eps=1e-5):
    """(x - mean) / sqrt(variance + eps) * gamma + beta over the last dimensions."""
    x = as_tensor(input_x, "layer_norm")
    count = len(normalized_shape)
    if tuple(normalized_shape) != x.shape[x.ndim - count:]:
        raise ValueError(f"[layer_norm] another shape, got {tuple(normalized_shape)} for x of shape {x.shape}, expected "
                         "its last sizes")
    if count == 1:
        rows, scale, shift = x, gamma, beta
    else:
        rows = flatten(x, start_dim=x.ndim - count)
        scale, shift = reshape(gamma, [-1]), reshape(beta, [-1])
    y = _run(lambda trace, a, b, c: F.apply(trace, "layer_norm", [a, b, c], attributes(epsilon=float(eps)))[0],
             rows, as_tensor(scale), as_tensor(shift))
    return y if count == 1 else reshape(y, x.shape)


def rms_norm(x, gamma, epsilon=1e-6):
    return _run(lambda trace, a, b: F.apply(trace, "rms_norm", [a, b], attributes(epsilon=float(epsilon)))[0],
                as_tensor(x), as_tensor(gamma))


def apply_op(op, *operands, **attrs):
    """Any op of the library by name; see ops.registry. A tensor, or a tuple of several."""
    tensors = [as_tensor(one, op) for one in operands]
    made = _run(lambda trace, *xs: tuple(F.apply(trace, op, list(xs), attributes(**attrs))), *tensors)
    return made[0] if len(made) == 1 else made
