"""Attention and rotations of positions, under the names of the documented system's kernels for accelerators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.arithmetic import logsumexp
from partita.ops.creation import ones_like, zeros_like
from partita.ops.elementwise import add, cast, floor_div, floor_mod, logical_or, masked_fill, mul, neg, not_equal
from partita.ops.layers import matmul
from partita.ops.reductions import softmax
from partita.ops.shapes import broadcast_to, concat, expand_dims, repeat_interleave, reshape, split, stack, transpose
from partita.ops.support import apply_op, as_tensor

__all__ = ("flash_attention_score", "rotary_position_embedding", "speed_fusion_attention")

LIMIT = 2147483647  # of tokens: none
_LAYOUTS = ("BSH", "SBH", "BNSD", "BSND")
_CAUSAL = (2, 3)  # sparse modes: a query sees keys up to its own place, counted from the first key or from the last


def _heads_of(where, x, count, layout):
    """[b, s, heads, d] of a tensor in a layout; `count`: its heads, where the layout does not tell them."""
    if layout == "BSND":
        return x
    if layout == "BNSD":
        return transpose(x, (0, 2, 1, 3))
    x = transpose(x, (1, 0, 2)) if layout == "SBH" else x
    if x.shape[-1] % count:
        raise ValueError(f"[{where}] the heads do not divide the last dimension, got {count} of {x.shape[-1]}")
    return reshape(x, (*x.shape[:2], count, x.shape[-1] // count))


def _given_layout(x, layout):
    """A tensor [b, s, heads, d] in a layout."""
    if layout == "BSND":
        return x
    if layout == "BNSD":
        return transpose(x, (0, 2, 1, 3))
    flat = reshape(x, (*x.shape[:2], x.shape[2] * x.shape[3]))
    return transpose(flat, (1, 0, 2)) if layout == "SBH" else flat


def _hidden(queries, keys, mode, pre_tokens, next_tokens):
    """Whether a query does not see a key by their positions, [queries, keys], or None where all are seen."""
    if mode in _CAUSAL:
        pre_tokens, next_tokens = LIMIT, 0
    if pre_tokens >= keys + queries and next_tokens >= keys:
        return None
    begin = keys - queries if mode in (3, 4) else 0
    distance = np.arange(keys)[None] - np.arange(queries)[:, None] - begin
    return Tensor((distance > next_tokens) | (distance < -pre_tokens))


def _mask(queries, keys, attn_mask, mode, pre_tokens, next_tokens):
    """The mask of a call, or None; a given one of another size stands for the positions alone."""
    hidden = None
    if attn_mask is None or mode in (2, 3, 4):
        given = None
    else:
        given = not_equal(as_tensor(attn_mask, "flash_attention_score"), 0)
    if mode in (2, 3, 4) or (mode == 0 and given is not None):
        hidden = _hidden(queries, keys, mode, pre_tokens, next_tokens)
    if given is None or hidden is None:
        return hidden if given is None else given
    return logical_or(given, hidden)


def _kept(drop_mask, keys):
    """1 where a score is kept, from bytes of eight bits each, the lowest first."""
    bits = [floor_mod(floor_div(cast(drop_mask, mstype.int32), 2**k), 2) for k in range(8)]
    return reshape(stack(bits, -1), (*drop_mask.shape[:-1], keys))


def check(where, layout, mode, keep_prob, drop_mask, refused):
    """Raises ValueError for other layouts and modes, a bad share that is kept, and what is refused and not None."""
    if layout not in _LAYOUTS:
        raise ValueError(f"[{where}] unsupported layout, got {layout!r}, expected one of {', '.join(_LAYOUTS)}")
    if mode not in (0, 1, 2, 3, 4):
        raise ValueError(f"[{where}] unsupported sparse_mode, got {mode}, expected 0 to 4, or a mask of your own")
    if not 0 < keep_prob <= 1 or (keep_prob < 1 and drop_mask is None):
        raise ValueError(f"[{where}] bad keep_prob, got {keep_prob}, expected 1.0, or a drop_mask and a number below 1")
    for name, value in refused.items():
        if value is not None:
            raise ValueError(f"[{where}] {name} is not supported, got {type(value).__name__}, expected None")


def attended(where, q, k, v, head_num, shift, drop_mask, attn_mask, keep_prob, scale, tokens, layout, mode):
    """(attention in the layout of the call, log of the sum of exponentials [b, heads, queries])."""
    if layout in ("BSH", "SBH"):
        width = q.shape[-1] // head_num
        groups = k.shape[-1] // width if width else 0
        if not groups or k.shape[-1] % width:
            raise ValueError(f"[{where}] keys have another width, got {k.shape[-1]}, expected heads of {width}")
    else:
        groups = k.shape[1 if layout == "BNSD" else 2]
    q, k, v = (_heads_of(where, x, n, layout) for x, n in ((q, head_num), (k, groups), (v, groups)))
    queries, keys = q.shape[1], k.shape[1]
    is_causal = mode in _CAUSAL and (mode == 2 or keys >= queries)
    mask = None if is_causal else _mask(queries, keys, attn_mask, mode, *tokens)
    if mask is None and shift is None and drop_mask is None and scale != 0:
        flat = [reshape(x, (*x.shape[:2], x.shape[2] * x.shape[3])) for x in (q, k, v)]
        begin = keys - queries if mode == 3 else 0
        made, lse = apply_op(
            "attention", *flat, heads=head_num, kv_heads=groups, causal=is_causal, scale=float(scale), begin=begin
        )
        return _given_layout(reshape(made, (*made.shape[:2], head_num, v.shape[-1])), layout), lse
    if is_causal:
        mask = _hidden(queries, keys, mode, *tokens)
    made, lse = _composed(q, k, v, head_num, shift, drop_mask, mask, keep_prob, scale)
    return _given_layout(made, layout), lse


def _composed(q, k, v, heads, shift, drop_mask, mask, keep_prob, scale):
    """Attention of several ops: with a mask, numbers that are added to the scores, or a mask of what is dropped."""
    q, k, v = (transpose(x, (0, 2, 1, 3)) for x in (q, k, v))
    if k.shape[1] != heads:
        k, v = (repeat_interleave(x, heads // x.shape[1], 1) for x in (k, v))
    scores = mul(matmul(q, transpose(k, (0, 1, 3, 2))), float(scale))
    scores = scores if shift is None else add(scores, shift)
    if mask is not None:
        lowest = -65504.0 if scores.dtype == mstype.float16 else -3e38
        scores = masked_fill(scores, mask, lowest)
    shares = softmax(scores, -1)
    if drop_mask is not None:
        shares = mul(shares, mul(cast(_kept(drop_mask, k.shape[2]), shares.dtype), 1 / keep_prob))
    return transpose(matmul(shares, v), (0, 2, 1, 3)), logsumexp(scores, -1)


def flash_attention_score(
    query: Tensor | float,
    key: Tensor | float,
    value: Tensor | float,
    head_num: int,
    real_shift: Tensor | None = None,
    drop_mask: Tensor | None = None,
    padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    prefix: Sequence[int] | None = None,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
    keep_prob: float = 1.0,
    scalar_value: float = 1.0,
    pre_tokens: int = LIMIT,
    next_tokens: int = LIMIT,
    inner_precise: int = 0,
    input_layout: str = "BSH",
    sparse_mode: int = 0,
) -> Tensor:
    """dropout(softmax(scalar_value q k^T + real_shift)) v for each of `head_num` heads (Vaswani et al., 2017), in the
    shape of `query`.

    query, key, value: in the layout "BSH" [b, s, heads d], "SBH", "BNSD" or "BSND"; keys may have fewer heads, each of
    which serves a group. attn_mask: True, or 1, where a key is hidden, broadcast to [b, heads, queries, keys].
    sparse_mode: 0 the mask and the band of `pre_tokens` and `next_tokens`, 1 the mask, 2 causal from the first key, 3
    causal up to the last key, 4 the band up to the last key. drop_mask: bytes [b, heads, queries, keys / 8]. Without a
    mask and a shift, or causal, it is one op. Raises ValueError for other layouts and modes, sequences that are joined
    ("TND"), and a prefix."""
    where = "flash_attention_score"
    refused = {"padding_mask": padding_mask, "prefix": prefix}
    refused.update(actual_seq_qlen=actual_seq_qlen, actual_seq_kvlen=actual_seq_kvlen)
    check(where, input_layout, sparse_mode, keep_prob, drop_mask, refused)
    q, k, v = (as_tensor(x, where) for x in (query, key, value))
    tokens = pre_tokens, next_tokens
    options = real_shift, drop_mask, attn_mask, keep_prob, scalar_value, tokens, input_layout, sparse_mode
    return attended(where, q, k, v, head_num, *options)[0]


def rotary_position_embedding(x: Tensor | float, cos: Tensor | float, sin: Tensor | float, mode: int = 0) -> Tensor:
    """x cos + rotated(x) sin (Su et al., 2021), where pairs are the halves of the last dimension (mode 0) or its
    neighbours (mode 1). cos, sin: broadcast to the shape of x. Raises ValueError for another mode or an odd last
    dimension."""
    x = as_tensor(x, "rotary_position_embedding")
    if mode not in (0, 1) or x.shape[-1] % 2:
        raise ValueError(
            f"[rotary_position_embedding] bad arguments, got mode {mode} and {x.shape[-1]} columns, expected mode 0 or "
            "1 and an even number"
        )
    if mode == 0:
        first, second = split(x, x.shape[-1] // 2, -1)
        turned = concat((neg(second), first), -1)
    else:
        pairs = reshape(x, (*x.shape[:-1], x.shape[-1] // 2, 2))
        turned = reshape(stack((neg(pairs[..., 1]), pairs[..., 0]), -1), x.shape)
    return add(mul(x, cos), mul(turned, sin))


def speed_fusion_attention(
    query,
    key,
    value,
    head_num,
    input_layout,
    *,
    pse=None,
    padding_mask=None,
    atten_mask=None,
    scale=1.0,
    keep_prob=1.0,
    pre_tokens=LIMIT,
    next_tokens=LIMIT,
    inner_precise=0,
    prefix=None,
    actual_seq_qlen=None,
    actual_seq_kvlen=None,
    sparse_mode=0,
    gen_mask_parallel=True,
    sync=False,
    pse_type=1,
    q_start_idx=None,
    kv_start_idx=None,
):
    """Attention as `flash_attention_score`: (the result, the largest score and the sum of exponentials of each query,
    [b, heads, queries, 8], a tensor of no meaning, and three zeros for what is drawn). `pse` is added to the scores
    before they are scaled (`pse_type` 1) or after (0). The logarithm of the sum is within the largest score here, and
    the sum 1. Raises ValueError for dropout, and for what `flash_attention_score` refuses."""
    where = "speed_fusion_attention"
    refused = {"padding_mask": padding_mask, "prefix": prefix, "q_start_idx": q_start_idx, "kv_start_idx": kv_start_idx}
    refused.update(actual_seq_qlen=actual_seq_qlen, actual_seq_kvlen=actual_seq_kvlen)
    check(where, input_layout, sparse_mode, keep_prob, None, refused)
    if pse_type not in (0, 1):
        raise ValueError(f"[{where}] positions that are made are not there, got pse_type={pse_type}, expected 0 or 1")
    shift = pse if pse is None or pse_type == 0 else mul(pse, scale)
    tokens = pre_tokens, next_tokens
    options = shift, None, atten_mask, keep_prob, scale, tokens, input_layout, sparse_mode
    q, k, v = (as_tensor(x, where) for x in (query, key, value))
    made, lse = attended(where, q, k, v, head_num, *options)
    largest = broadcast_to(expand_dims(lse, -1), (*lse.shape, 8))
    return made, largest, ones_like(largest), zeros_like(made), 0, 0, 0
