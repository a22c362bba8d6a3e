"""Functions within those of the documented system, which client libraries import by their names, and questions about
values of Python that its programs ask."""

import math

from partita.common import dtype as mstype
from partita.common.seed import _get_graph_seed
from partita.common.tensor import Tensor
from partita.ops import pads
from partita.ops.elementwise import cast, div, mul, square
from partita.ops.layers import avg_pool2d
from partita.ops.program_tools import MultitypeFuncGraph
from partita.ops.reductions import reduce_sum
from partita.ops.shapes import expand_dims, reshape, squeeze

__all__ = (
    "_check_same_type _expand _get_seed _interploate_ext_make_tuple _interpolate_ext_scale_factor_convert_size"
    " _set_prim_op_user_data apply_global_norm avg_pool2d_ext get_square_sum pad_ext"
).split()


def _expand(x, ndim):
    """A tensor with dimensions of one element before its own, until it has `ndim`."""
    return x if x.ndim >= ndim else reshape(x, [1] * (ndim - x.ndim) + list(x.shape))


def _check_same_type(dtype1, dtype2):
    """Whether two element types are the same."""
    return dtype1 == dtype2


def _get_seed(op_seed, kernel_name):
    """Two seeds of an op: that of the script, or 0, and that of the op; what is drawn follows from `set_seed` alone."""
    return _get_graph_seed(0 if op_seed is None else op_seed, kernel_name)


def _set_prim_op_user_data(prim, key, value):
    """The op, which keeps a value by a name."""
    return prim.add_prim_attr(key, value)


def _interploate_ext_make_tuple(input, value):
    """A tuple with a value for each dimension of a tensor but the first two; a tuple or list as it is."""
    return value if isinstance(value, (tuple, list)) else (value,) * (input.ndim - 2)


def _interpolate_ext_scale_factor_convert_size(input, scale_factor):
    """The sizes of images x[n, c, ..] times factors, rounded down."""
    return tuple(math.floor(size * factor) for size, factor in zip(input.shape[2:], scale_factor))


def avg_pool2d_ext(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each window of x[n, c, h, w] or x[c, h, w], or its sum over `divisor_override`."""
    x = expand_dims(input, 0) if input.ndim == 3 else input
    step = kernel_size if stride is None else stride
    made = avg_pool2d(x, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override or 0)
    return squeeze(made, 0) if input.ndim == 3 else made


def pad_ext(input, pad, mode="constant", value=None):
    """More elements around the last dimensions: `pad` has the numbers before and after each of them, the last one
    first. They are `value`, else 0, or ("reflect", "replicate", "circular") those that mirror, repeat or go round.
    Raises TypeError for what is no tensor, ValueError for a value with another mode."""
    if not isinstance(input, Tensor):
        raise TypeError(f"[pad_ext] not a tensor, got {type(input).__name__}, expected a Tensor")
    if mode != "constant" and value:
        raise ValueError(f"[pad_ext] a value where none is used, got {value!r} with mode '{mode}', expected None")
    return input if isinstance(pad, tuple) and not pad else pads.pad(input, pad, mode, value)


def _square_sum(x):
    """The sum of the squares of a tensor's elements, as a tensor of one float32."""
    return expand_dims(cast(reduce_sum(square(x)), mstype.float32), 0)


def _scaled(clip_norm, global_norm, x):
    """A gradient times the largest norm over the norm of all."""
    return cast(div(mul(x, clip_norm), global_norm), x.dtype)


get_square_sum, apply_global_norm = MultitypeFuncGraph("get_square_sum"), MultitypeFuncGraph("apply_global_norm")
get_square_sum.register("Tensor")(_square_sum)
apply_global_norm.register("Tensor", "Tensor", "Tensor")(_scaled)
