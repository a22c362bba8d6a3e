"""Rows of tables by ids."""

from partita.ops.creation import zeros_like
from partita.ops.derived import stop_gradient
from partita.ops.elementwise import equal, greater_equal, less, logical_and, select, sub
from partita.ops.shapes import broadcast_to, expand_dims, gather, reshape, slices_at
from partita.ops.support import as_tensor

__all__ = ("embedding",)


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


def looked_up(table, ids, offset=0):
    """The slices of a table at ids less an offset, zeros for ids outside of it."""
    rows, ids = as_tensor(table, "embedding_lookup"), as_tensor(ids, "embedding_lookup")
    places = ids if offset == 0 else sub(ids, int(offset))
    inner = logical_and(greater_equal(places, 0), less(places, rows.shape[0]))
    found = slices_at(rows, select(inner, places, zeros_like(places)), 0)
    mask = broadcast_to(reshape(inner, [*ids.shape, *[1] * (rows.ndim - 1)]), found.shape)
    return select(mask, found, zeros_like(found))
