"""Ops that layers call."""

from __future__ import annotations

import builtins
import numbers
from collections.abc import Sequence

import numpy as np

from partita import _core, _trace
from partita._precision import is_half
from partita.common import dtype as mstype
from partita.common import seed as seeds
from partita.common.tensor import Tensor
from partita.ops.elementwise import (
    add,
    bias_add,
    cast,
    duplicate,
    floor_div,
    greater_equal,
    mul,
    remainder,
    sub,
)
from partita.ops.shapes import broadcast_to, flatten, reshape
from partita.ops.support import F, as_tensor, attributes, broadcast_shape, run
from partita.ops.pool_windows import window_maxima


def _rounds_operands():
    """Whether products are computed from operands of 16 bits here."""
    build = _trace.current()
    return build is not None and is_half(build.here.precision)


def matmul(
    input: Tensor | float, other: Tensor | float, transpose_a: bool = False, transpose_b: bool = False
) -> Tensor:
    """Products of matrices, the last two dimensions: [.., m, k] and [.., k, n] give [.., m, n], and the dimensions
    before them are broadcast. A tensor of one dimension is a row before a matrix, and a column after one. `transpose_a`
    and `transpose_b` exchange these two dimensions first. Raises ValueError for shapes that do not fit, TypeError for
    operands of different types, or of bools.

    >>> ops.matmul(ms.Tensor([[1.0, 2.0]]), ms.Tensor([[3.0], [4.0]])).asnumpy().tolist()
    [[11.0]]
    """
    a, b = as_tensor(input, "matmul"), as_tensor(other, "matmul")
    if a.ndim == 1 or b.ndim == 1:
        row, column = a.ndim == 1, b.ndim == 1
        a, b = reshape(a, [1, -1]) if row else a, reshape(b, [-1, 1]) if column else b
        y = matmul(a, b, transpose_a and not row, transpose_b and not column)
        shape = list(y.shape[:-2]) + ([] if row else [y.shape[-2]]) + ([] if column else [y.shape[-1]])
        return reshape(y, shape)
    if a.dtype != b.dtype and _rounds_operands() and mstype.is_float(a.dtype) and mstype.is_float(b.dtype):
        a, b = cast(a, mstype.float32), cast(b, mstype.float32)  # products round them
    if a.dtype != b.dtype:
        raise TypeError(
            f"[matmul] operands differ in element type, got {a.dtype} and {b.dtype}, expected one: see ops.cast"
        )
    if not mstype.is_float(a.dtype):
        return _matmul_of_integers(a, b, transpose_a, transpose_b)
    if a.ndim > 2 and b.ndim > 2 and a.shape[:-2] != b.shape[:-2]:
        around = list(broadcast_shape("matmul", a.shape[:-2], b.shape[:-2]))
        a, b = (broadcast_to(one, around + list(one.shape[-2:])) for one in (a, b))
    return run(lambda trace, x, y: F.matmul(x, y, transpose_a, transpose_b), a, b)


def _matmul_of_integers(a, b, transpose_a, transpose_b):
    """The product, which wraps around as sums do: that of parts of 16 bits in float64, which holds sums of 2^21 of them
    exactly."""
    if a.dtype == mstype.bool_:
        raise TypeError("[matmul] bools have no products of matrices, got Bool, expected numbers")
    bits = a.dtype.numpy.itemsize * 8
    parts = [_parts_of_16_bits(one, max(1, bits // 16)) for one in (a, b)]
    total = None
    for i, left in enumerate(parts[0]):
        for j, right in enumerate(parts[1][: len(parts[1]) - i]):
            product = cast(matmul(left, right, transpose_a, transpose_b), mstype.int64)
            product = mul(product, 1 << 16 * (i + j)) if i + j else product
            total = product if total is None else add(total, product)
    if bits == 64:
        return total
    least = int(np.iinfo(a.dtype.numpy).min)
    return cast(add(remainder(sub(total, least), 1 << bits), least), a.dtype)


def _parts_of_16_bits(x, count):
    """Digits of integers to the base 2^16 in float64, the lowest first; the highest has the sign."""
    parts, rest = [], cast(x, mstype.int64)
    for _ in range(count - 1):
        parts.append(cast(remainder(rest, 1 << 16), mstype.float64))
        rest = floor_div(rest, 1 << 16)
    return [*parts, cast(rest, mstype.float64)]


def conv2d(
    input: Tensor | float,
    weight: Tensor | float,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    pad_mode: str = "valid",
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of x[n, c, h, w] with weight[out, c / groups, kh, kw], as [n, out, rows, columns]; `bias` has `out`
    elements. Stride and dilation are pixels, or (rows, columns). `padding` is that of the mode "pad": pixels around,
    (rows, columns), or those at the top, bottom, left and right. Raises ValueError for shapes that do not fit and
    another mode, TypeError for integers, operands of two types, and sizes that are no integers."""
    x, w = as_tensor(input, "conv2d"), as_tensor(weight, "conv2d")
    strides, dilations = pair("conv2d", "stride", stride), pair("conv2d", "dilation", dilation)
    kernel, groups = list(w.shape[2:]), int(groups)

    def body(trace, a, b):
        pads = pads_of("conv2d", pad_mode, padding, a, kernel, strides, dilations)
        attrs = attributes(stride=strides, dilation=dilations, pads=pads, groups=groups)
        return F.apply(trace, "conv2d", [a, b], attrs)[0]

    y = run(body, x, w)
    return y if bias is None else bias_add(y, bias)


def require_nchw(where, data_format):
    """ValueError for images whose dimensions are in another order."""
    if data_format != "NCHW":
        raise ValueError(f"[{where}] this order of dimensions is not supported, got {data_format!r}, expected 'NCHW'")


def pair(where, what, value):
    """Two integers: (height, width)."""
    values = [value, value] if isinstance(value, numbers.Integral) else list(value)
    if len(values) == 4:
        values = values[2:]
    if len(values) != 2 or not builtins.all(isinstance(one, numbers.Integral) for one in values):
        raise TypeError(f"[{where}] bad {what}, got {value!r}, expected an integer or two")
    return [int(one) for one in values]


def same_pads(shape, kernel, stride, dilation):
    """Rows and columns around images [.., h, w] with which a window gives one result for each stride, as evenly as they
    divide: top, left, bottom, right."""
    before, after = [], []
    for size, window, step, reach in zip(shape[-2:], kernel, stride, dilation):
        missing = max(0, (-(-size // step) - 1) * step + (window - 1) * reach + 1 - size)
        before.append(missing // 2)
        after.append(missing - missing // 2)
    return [*before, *after]


def pads_of(where, pad_mode, padding, symbol, kernel, stride, dilation):
    """Rows and columns around images: top, left, bottom, right."""
    mode = str(pad_mode).lower()
    if mode == "same":
        return same_pads(symbol.shape, kernel, stride, dilation)
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

    return run(body, as_tensor(x, op))


def _last_windows(where, x, kernel_size, stride, padding):
    """Returns (top, bottom, left, right) of padding that has room for the last windows, which `ceil_mode` adds where
    the stride does not divide. They begin within the image or before it."""
    kernel, strides = pair(where, "kernel_size", kernel_size), pair(where, "stride", stride)
    made = []
    for size, k, step, pad in zip(x.shape[-2:], kernel, strides, pair(where, "padding", padding)):
        steps = -((k - size - 2 * pad) // step)
        if steps * step >= size + pad:
            steps -= 1
        made += [pad, pad + builtins.max(0, steps * step + k - size - 2 * pad)]
    return tuple(made)


def _counts(where, x, kernel_size, stride, padding, pads, count_include_pad):
    """The number of elements of each window, [rows, columns]: those of the image, or of the padding as well, but not
    those of the room for the last windows."""
    kernel, strides = pair(where, "kernel_size", kernel_size), pair(where, "stride", stride)
    lines = []
    for i, pad in enumerate(pair(where, "padding", padding)):
        size, k = x.shape[-2:][i], kernel[i]
        first, end = (-pad, size + pad) if count_include_pad else (0, size)
        begins = np.arange((size + pads[2 * i] + pads[2 * i + 1] - k) // strides[i] + 1) * strides[i] - pads[2 * i]
        lines.append(np.minimum(begins + k, end) - np.maximum(begins, first))
    return np.outer(*lines)


def max_pool2d(
    x: Tensor | float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
    *,
    pad_mode: str | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of each window of x[n, c, h, w], as [n, c, rows, columns]. With `return_indices` also its
    place in the image, as int64. Sizes are pixels, or (rows, columns); the stride is the size of the window without
    one. Raises ValueError for other shapes, a window larger than the padded image, or padding that is not below its
    size, TypeError for integers, and sizes that are no integers."""
    stride = kernel_size if stride is None else stride
    if return_indices or pair("max_pool2d", "dilation", dilation) != [1, 1]:
        windows = [pair("max_pool2d", *one) for one in (("kernel_size", kernel_size), ("stride", stride))]
        around = [pair("max_pool2d", *one) for one in (("padding", padding), ("dilation", dilation))]
        found = window_maxima("max_pool2d", as_tensor(x, "max_pool2d"), *windows, *around, ceil_mode)
        return found if return_indices else found[0]
    if ceil_mode and pad_mode in (None, "pad", "valid"):
        padding, pad_mode = _last_windows("max_pool2d", as_tensor(x), kernel_size, stride, padding), "pad"
    return _pool("max_pool", x, kernel_size, stride, pad_mode or ("pad" if padding else "valid"), padding)


def avg_pool2d(
    x: Tensor | float,
    kernel_size: int | Sequence[int] = 1,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
    *,
    pad_mode: str | None = None,
) -> Tensor:
    """The mean of each window of x[n, c, h, w], or its sum over `divisor_override`, as [n, c, rows, columns]. Sizes are
    pixels, or (rows, columns); zeros around the image count unless `count_include_pad` is False. Raises ValueError for
    other shapes, or a window larger than the padded image, TypeError for integers, and sizes that are no integers."""
    if ceil_mode and pad_mode in (None, "pad", "valid"):
        return _mean_of_last_windows(x, kernel_size, stride, padding, count_include_pad, divisor_override)
    mode = pad_mode or ("pad" if padding else "valid")
    counts = bool(count_include_pad) or bool(divisor_override)
    y = _pool("avg_pool", x, kernel_size, stride, mode, padding, count_include_pad=counts)
    if not divisor_override:
        return y
    height, width = pair("avg_pool2d", "kernel_size", kernel_size)
    return mul(y, height * width / divisor_override)


def _mean_of_last_windows(x, kernel_size, stride, padding, count_include_pad, divisor):
    """The means of all windows that `ceil_mode` gives, each over the number of its elements."""
    where, x = "avg_pool2d", as_tensor(x)
    pads = _last_windows(where, x, kernel_size, stride, padding)
    height, width = pair(where, "kernel_size", kernel_size)
    means = _pool("avg_pool", x, kernel_size, stride, "pad", pads, count_include_pad=True)
    if divisor:
        return mul(means, height * width / divisor)
    counts = _counts(where, x, kernel_size, stride, padding, pads, count_include_pad)
    return mul(means, Tensor((height * width / counts).astype(np.float32), x.dtype))


def dropout(input: Tensor | float, p: float = 0.5, training: bool = True, seed: int | None = None) -> Tensor:
    """Zeros with probability p, the others divided by 1 - p; the same bits on any number of ranks. `input` has any
    shape, which the result has; integers become float32, unless nothing is dropped, as without `training`. `seed` has
    no effect: draws follow from `set_seed`. Raises ValueError unless 0 <= p < 1.

    >>> ops.dropout(ms.Tensor([1.0, 2.0]), p=0.5, training=False).asnumpy().tolist()
    [1.0, 2.0]
    >>> kept = ops.dropout(ops.ones((100,)), p=0.5)
    >>> sorted({*kept.asnumpy().tolist()})
    [0.0, 2.0]
    """
    x = as_tensor(input, "dropout")
    if not 0 <= p < 1:
        raise ValueError(f"[dropout] out of range, got {p}, expected 0 <= p < 1")
    build = _trace.current()
    if not training or (build is not None and build.builds_network and not build.training):
        return x
    if p == 0:
        return duplicate(x)
    if build is None:
        mask = Tensor(
            _core.initial("uniform", [0.0, 1.0], "f32", x.shape, seeds.seed_or_default(), seeds.next_name("dropout"))
        )
        return mul(x, mul(cast(greater_equal(mask, p), x.dtype), 1.0 / (1.0 - p)))
    name, rate = build.here.path.replace("/", "."), float(p)
    return run(
        lambda trace, a: F.apply(
            trace, "dropout", [a, trace.step()], attributes(rate=rate, key=_signed(trace.random_key(name)))
        )[0],
        x,
    )


def _signed(key):
    return key - 2**64 if key >= 2**63 else key


def layer_norm(
    input_x: Tensor | float,
    normalized_shape: Sequence[int],
    gamma: Tensor | float,
    beta: Tensor | float,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * gamma + beta over the last dimensions, whose sizes `normalized_shape`,
    `gamma` and `beta` have; in the shape and the type of `input_x`. Raises ValueError for other sizes, TypeError for
    integers."""
    x = as_tensor(input_x, "layer_norm")
    require_floats("layer_norm", x)
    count = len(normalized_shape)
    if tuple(normalized_shape) != x.shape[x.ndim - count :]:
        raise ValueError(
            f"[layer_norm] wrong shape, got {tuple(normalized_shape)} for x of shape {x.shape}, expected "
            "its last sizes"
        )
    if count == 1:
        rows, scale, shift = x, gamma, beta
    else:
        rows = flatten(x, start_dim=x.ndim - count)
        scale, shift = reshape(gamma, [-1]), reshape(beta, [-1])
    y = run(
        lambda trace, a, b, c: F.apply(trace, "layer_norm", [a, b, c], attributes(epsilon=float(eps)))[0],
        *of_one_type(rows, scale, shift),
    )
    return cast(y if count == 1 else reshape(y, x.shape), x.dtype)


def of_one_type(*operands):
    """The operands of a norm: where their element types differ, those of 16 bits as float32."""
    tensors = [as_tensor(one) for one in operands]
    if len({one.dtype for one in tensors}) == 1:
        return tensors
    wide = mstype.float64 if any(one.dtype == mstype.float64 for one in tensors) else mstype.float32
    return [cast(one, wide) for one in tensors]


def require_floats(where, x):
    """Raises TypeError for integers and bools."""
    if not mstype.is_float(x.dtype):
        raise TypeError(f"[{where}] operand 0 is not a float, got {x.dtype}, expected floating-point numbers")


def over_rms(x, gamma, epsilon):
    """x / sqrt(mean(x^2) + epsilon) gamma over the last dimension (Zhang and Sennrich, 2019), in the type of x."""
    y = run(
        lambda trace, a, b: F.apply(trace, "rms_norm", [a, b], attributes(epsilon=float(epsilon)))[0],
        *of_one_type(x, gamma),
    )
    return cast(y, as_tensor(x).dtype)
