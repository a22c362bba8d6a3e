"""Products of two inputs with a tensor."""

from __future__ import annotations

from partita.common.tensor import Tensor
from partita.ops.elementwise import add, mul
from partita.ops.layers import matmul
from partita.ops.reductions import reduce_sum
from partita.ops.shapes import expand_dims, reshape, transpose
from partita.ops.support import as_tensor

__all__ = ("bidense",)


def bidense(
    input1: Tensor | float, input2: Tensor | float, weight: Tensor | float, bias: Tensor | None = None
) -> Tensor:
    """x^T weight[out] y + bias[out] of the last dimensions of x and y: [.., a], [.., b] and weight[out, a, b] give
    [.., out]."""
    x, y, w = (as_tensor(one, "bidense") for one in (input1, input2, weight))
    if w.ndim != 3 or x.shape[:-1] != y.shape[:-1] or w.shape[1:] != (x.shape[-1], y.shape[-1]):
        raise ValueError(
            f"[bidense] the shapes do not fit, got {x.shape}, {y.shape} and weight {w.shape}, expected [.., a], [.., b]"
            " and [out, a, b]"
        )
    out, a, b = w.shape
    rows = matmul(reshape(x, [-1, a]), reshape(transpose(w, (1, 0, 2)), [a, out * b]))
    rows = mul(reshape(rows, [-1, out, b]), expand_dims(reshape(y, [-1, b]), 1))
    made = reshape(reduce_sum(rows, -1), [*x.shape[:-1], out])
    return made if bias is None else add(made, bias)
