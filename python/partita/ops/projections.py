"""Attention of several heads with its projections, and the parts of it that client libraries import by their names."""

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.creation import zeros
from partita.ops.elementwise import add, cast, div, logical_or, masked_fill
from partita.ops.layers import dropout, matmul
from partita.ops.pads import pad
from partita.ops.reductions import mean, softmax
from partita.ops.shapes import broadcast_to, concat, expand_dims, reshape, split, squeeze, swapaxes, transpose

__all__ = (
    "_check_attn_mask_shape _check_kpm_shape _check_qkv_shape _in_projection _in_projection_packed _inner_dropout"
    " _inner_pad linear multi_head_attention_forward"
).split()

_WHERE = "multi_head_attention_forward"


def _bad(what, got, expected):
    return ValueError(f"[{_WHERE}] {what}, got {got}, expected {expected}")


def linear(x, w, b):
    """x[.., n] w[m, n]^T + b[m], without b where it is None."""
    made = matmul(x, swapaxes(w, -1, -2))
    return made if b is None else add(made, b)


def _inner_dropout(x, p, training):
    """Elements that are zero with probability p, the others over 1 - p; x itself unless it is trained."""
    if not training or not 0 < p <= 1:
        return x
    return dropout(x, p) if p < 1 else zeros(x.shape, x.dtype)


def _inner_pad(x, padding, value=None):
    """More elements around the last dimensions, as `pad` has them; bools stay bools."""
    if x.dtype != mstype.bool_:
        return pad(x, padding, value=value)
    return cast(pad(cast(x, mstype.int32), padding, value=value), mstype.bool_)


def _check_qkv_shape(query_ndim, key_ndim, value_ndim):
    """Whether the operands have a batch: three dimensions each, and not two. Raises ValueError for others."""
    if query_ndim not in (2, 3):
        raise _bad("wrong number of dimensions of the query", query_ndim, "2, or 3 with a batch")
    if key_ndim != query_ndim or value_ndim != query_ndim:
        raise _bad("wrong numbers of dimensions of key and value", f"{key_ndim} and {value_ndim}", query_ndim)
    return query_ndim == 3


def _check_kpm_shape(query_ndim, kmp_ndim):
    """Raises ValueError unless the mask of keys has a dimension less than the query."""
    if query_ndim in (2, 3) and kmp_ndim != query_ndim - 1:
        raise _bad("wrong number of dimensions of key_padding_mask", kmp_ndim, query_ndim - 1)


def _check_attn_mask_shape(query_ndim, query_shape, key_shape, attn_mask_ndim, attn_mask_shape, num_heads):
    """Raises ValueError unless the mask has two dimensions, or three with a batch, and its shape fits."""
    if query_ndim in (2, 3) and attn_mask_ndim not in (2, 3):
        raise _bad("wrong number of dimensions of attn_mask", attn_mask_ndim, "2 or 3")
    if query_ndim == 2 and attn_mask_ndim == 3:
        wanted = (num_heads, query_shape[0], key_shape[0])
        if tuple(attn_mask_shape) != wanted:
            raise _bad("attn_mask has another shape", tuple(attn_mask_shape), wanted)


def _in_projection(q, k, v, w_q, w_k, w_v, b_q=None, b_k=None, b_v=None):
    """Query, key and value times weights of their own [E, ..], each with a bias [E]. Raises ValueError for others."""
    size = q.shape[-1]
    for name, x, w, b in (("query", q, w_q, b_q), ("key", k, w_k, b_k), ("value", v, w_v, b_v)):
        if tuple(w.shape) != (size, x.shape[-1]):
            raise _bad(f"the weight of the {name} has another shape", tuple(w.shape), (size, x.shape[-1]))
        if b is not None and tuple(b.shape) != (size,):
            raise _bad(f"the bias of the {name} has another shape", tuple(b.shape), (size,))
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _in_projection_packed(q, k, v, w, b, k_is_v, q_is_k):
    """Query, key and value times the thirds of one weight [3 E, E] with a bias [3 E]; operands that are the same are
    multiplied at once."""
    size = q.shape[-1]
    if k_is_v and q_is_k:
        return tuple(split(linear(q, w, b), w.shape[0] // 3, -1))
    weights = split(w, size, 0)
    biases = (None,) * 3 if b is None else split(b, size, 0)
    return tuple(linear(*one) for one in zip((q, k, v), weights, biases))


def _projected(query, key, value, packed, apart, bias, same):
    """Query, key and value times their weights: thirds of one, or, where there is none, those of their own."""
    if apart is None:
        if packed is None:
            raise _bad("no weight", "in_proj_weight=None", "one, or use_separate_proj_weight=True")
        return _in_projection_packed(query, key, value, packed, bias, *same)
    for name, one in zip("qkv", apart):
        if one is None:
            raise _bad("no weight", f"{name}_proj_weight=None", "one, or use_separate_proj_weight=False")
    biases = (None,) * 3 if bias is None else split(bias, query.shape[-1], 0)
    return _in_projection(query, key, value, *apart, *biases)


def _require_mask(name, mask, shapes):
    """The mask of bools or of numbers; bytes become bools. Raises ValueError for other types and shapes."""
    if mask is None:
        return None
    mask = cast(mask, mstype.bool_) if mask.dtype == mstype.uint8 and name == "attn_mask" else mask
    if mask.dtype != mstype.bool_ and not mstype.is_float(mask.dtype):
        raise _bad(f"{name} has another type", mask.dtype, "bools or numbers that are added")
    if tuple(mask.shape) not in shapes:
        raise _bad(f"{name} has another shape", tuple(mask.shape), " or ".join(map(str, shapes)))
    return mask


def _of_heads(x, static, batch, heads, width):
    """[s, b, heads * width] as [b, heads, s, width], or a given tensor [b * heads, s, width] in its place."""
    if static is None:
        x = reshape(x, (x.shape[0], batch * heads, width))
        x = transpose(x, (1, 0, 2))
    elif static.shape[0] != batch * heads or static.shape[2] != width:
        raise _bad("static_k or static_v has another shape", tuple(static.shape), f"({batch * heads}, .., {width})")
    else:
        x = static
    return reshape(x, (batch, heads, x.shape[1], width))


def _added(attn_mask, padding, causal, shape, dtype):
    """The numbers that masks add to scores [b, heads, queries, keys], or None: minus infinity where a bool hides."""
    batch, heads, queries, keys = shape
    if padding is not None:
        padding = reshape(padding, (batch, 1, 1, keys))
    if attn_mask is not None:
        rows = 1 if attn_mask.ndim == 2 or attn_mask.shape[0] == 1 else batch
        attn_mask = reshape(attn_mask, (rows, 1 if rows == 1 and attn_mask.ndim == 2 else -1, queries, keys))
    masks = [one for one in (attn_mask, padding) if one is not None]
    if causal:
        masks.append(Tensor(np.arange(keys)[None] > np.arange(queries)[:, None]))
    if not masks:
        return None
    total = masks[0]
    for one in masks[1:]:
        both = total.dtype == mstype.bool_ and one.dtype == mstype.bool_
        total = logical_or(total, one) if both else add(_numbers(total, dtype), _numbers(one, dtype))
    return _numbers(total, dtype)


def _numbers(mask, dtype):
    """A mask as what is added to scores."""
    return mask if mask.dtype != mstype.bool_ else masked_fill(zeros(mask.shape, dtype), mask, float("-inf"))


class _Longer:
    """Keys and values with more rows at their end, and masks that show these to all queries."""

    def __init__(self, k, v, *masks):
        self.k, self.v, self.masks = k, v, list(masks)

    def append(self, k, v, axis):
        self.k, self.v = concat((self.k, k), axis), concat((self.v, v), axis)
        self.masks = [one if one is None else _inner_pad(one, (0, 1)) for one in self.masks]

    def attended(self, q, causal, dropout_p, training, dtype):
        """(result, weights) of queries [b, heads, l, width]."""
        (batch, heads, queries, width), keys = q.shape, self.k.shape[2]
        attn_mask, padding = self.masks
        padding = _require_mask("key_padding_mask", padding, [(batch, keys)])
        scale = Tensor(width**0.25, dtype)
        scores = matmul(div(q, scale), swapaxes(div(self.k, scale), -1, -2))
        added = _added(attn_mask, padding, causal, (batch, heads, queries, keys), q.dtype)
        weights = _inner_dropout(softmax(scores if added is None else add(scores, added), -1), dropout_p, training)
        return matmul(weights, self.v), weights


def _appended_biases(longer, bias_k, bias_v, static_k, static_v):
    if bias_k is None and bias_v is None:
        return
    if bias_k is None or bias_v is None:
        raise _bad("one bias alone", "bias_k or bias_v", "both or none")
    if static_k is not None or static_v is not None:
        raise _bad("biases of given tensors", "bias_k with static_k or static_v", "one of them")
    batch = longer.k.shape[1]
    rows = [broadcast_to(one, (1, batch, one.shape[-1])) for one in (bias_k, bias_v)]
    longer.append(*rows, 0)


def _check_operands(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether the operands have a batch. Raises ValueError for numbers of dimensions that do not fit."""
    batched = _check_qkv_shape(query.ndim, key.ndim, value.ndim)
    if key_padding_mask is not None:
        _check_kpm_shape(query.ndim, key_padding_mask.ndim)
    if attn_mask is not None:
        _check_attn_mask_shape(query.ndim, query.shape, key.shape, attn_mask.ndim, attn_mask.shape, num_heads)
    return batched


def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
    k_is_v=False,
    q_is_k=False,
    dtype=mstype.float32,
):
    """Attention of several heads (Vaswani et al., 2017): (the result [l, b, E], the weights [b, l, s], or of each head
    [b, heads, l, s] unless they are averaged).

    query [l, b, E], key and value [s, b, ..], or all without b. The projections are thirds of `in_proj_weight`
    [3 E, E], or with `use_separate_proj_weight` weights of their own; `in_proj_bias` has [3 E]. bias_k, bias_v: a row
    more of keys and values, `add_zero_attn` one of zeros. attn_mask [l, s] or [b heads, l, s], key_padding_mask [b, s]:
    True hides, numbers are added to scores; `is_causal` hides the keys after a query's place. Raises ValueError for
    other shapes."""
    batched = _check_operands(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (expand_dims(one, 1) for one in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else expand_dims(key_padding_mask, 0)
    (count, batch, size), width, same = query.shape, query.shape[-1] // num_heads, 2 if use_separate_proj_weight else 3
    if size != embed_dim_to_check or width * num_heads != size:
        raise _bad("the query has another size", size, f"{embed_dim_to_check}, a multiple of {num_heads}")
    if key.shape[:same] != value.shape[:same]:
        raise _bad("key and value differ in shape", f"{key.shape} and {value.shape}", "equal ones")
    apart = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected(query, key, value, in_proj_weight, apart, in_proj_bias, (k_is_v, q_is_k))
    shapes = [(count, key.shape[0]), (batch * num_heads, count, key.shape[0])]
    longer = _Longer(k, v, _require_mask("attn_mask", attn_mask, shapes), key_padding_mask)
    _appended_biases(longer, bias_k, bias_v, static_k, static_v)
    heads = batch, num_heads, width
    longer.k, longer.v = _of_heads(longer.k, static_k, *heads), _of_heads(longer.v, static_v, *heads)
    if add_zero_attn:
        row = zeros((batch, num_heads, 1, width), longer.k.dtype)
        longer.append(row, row, 2)
    made, weights = longer.attended(_of_heads(q, None, *heads), is_causal, dropout_p, training, dtype)
    rows = reshape(transpose(made, (2, 0, 1, 3)), (count, batch, size))
    made, weights = linear(rows, out_proj_weight, out_proj_bias), mean(weights, 1) if average_attn_weights else weights
    return (made, weights) if batched else (squeeze(made, 1), squeeze(weights, 0))
