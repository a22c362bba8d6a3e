"""Rows of tables by ids of which some may be outside."""

from partita.ops.creation import zeros_like
from partita.ops.elementwise import greater_equal, less, logical_and, select, sub
from partita.ops.shapes import broadcast_to, reshape, slices_at
from partita.ops.support import as_tensor


def looked_up(table, ids, offset=0):
    """The slices of a table at ids less an offset, zeros where there is none."""
    rows, ids = as_tensor(table, "embedding_lookup"), as_tensor(ids, "embedding_lookup")
    places = ids if offset == 0 else sub(ids, int(offset))
    inner = logical_and(greater_equal(places, 0), less(places, rows.shape[0]))
    found = slices_at(rows, select(inner, places, zeros_like(places)), 0)
    mask = broadcast_to(reshape(inner, [*ids.shape, *[1] * (rows.ndim - 1)]), found.shape)
    return select(mask, found, zeros_like(found))
