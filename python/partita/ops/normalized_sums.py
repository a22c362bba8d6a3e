"""Rows of tables, and sums that are normalized."""

from partita.common import dtype as mstype
from partita.ops.channels import normalized_rows
from partita.ops.creation import ones_like
from partita.ops.derived import stop_gradient
from partita.ops.elementwise import (
    add,
    cast,
    equal,
    mul,
    rsqrt,
    select,
    square,
    sub,
)
from partita.ops.reductions import reduce_mean
from partita.ops.shapes import broadcast_to, expand_dims, gather
from partita.ops.support import as_tensor

__all__ = ("add_layer_norm", "add_rms_norm", "embedding")


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False):
    """The rows of a table at ids; that of `padding_idx` has no gradient. Raises NotImplementedError for tables that
    change (`max_norm`), and for gradients that are divided by counts."""
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError(
            f"[embedding] this form is not supported, got max_norm={max_norm} and scale_grad_by_freq="
            f"{scale_grad_by_freq}, expected None and False"
        )
    ids, table = as_tensor(input, "embedding"), as_tensor(weight, "embedding")
    rows = gather(table, ids, 0)
    if padding_idx is None:
        return rows
    wanted = padding_idx + table.shape[0] if padding_idx < 0 else padding_idx
    is_none = broadcast_to(expand_dims(equal(ids, int(wanted)), -1), rows.shape)
    return select(is_none, stop_gradient(rows), rows)


embedding_op = embedding  # its name in the documented module of ops


def add_layer_norm(x1, x2, gamma, beta, epsilon=1e-5, additional_output=False):
    """(the normalized sum of two tensors over its last dimension, times gamma, plus beta; its mean; 1 over its standard
    deviation; the sum, or zeros without `additional_output`)."""
    total = add(as_tensor(x1, "add_layer_norm"), x2)
    wide = cast(total, mstype.float32)
    mean = reduce_mean(wide, -1, True)
    scale = rsqrt(add(reduce_mean(square(sub(wide, mean)), -1, True), float(epsilon)))
    made = add(mul(normalized_rows(wide, epsilon), gamma), beta)
    return cast(made, total.dtype), mean, scale, total if additional_output else mul(ones_like(total), 0.0)


def add_rms_norm(x1, x2, gamma, epsilon=1e-6):
    """(the sum of two tensors over the root of the mean of its squares over the last dimension, times gamma; 1 over
    that root; the sum)."""
    total = add(as_tensor(x1, "add_rms_norm"), x2)
    wide = cast(total, mstype.float32)
    scale = rsqrt(add(reduce_mean(square(wide), -1, True), float(epsilon)))
    return cast(mul(mul(wide, scale), gamma), total.dtype), scale, total
