"""Attention as an op that is an object."""

from partita.ops.attention import LIMIT, attended, check
from partita.ops.creation import ones_like, zeros_like
from partita.ops.primitive import Primitive
from partita.ops.shapes import broadcast_to, expand_dims
from partita.ops.support import as_tensor

__all__ = ("FlashAttentionScore",)


class FlashAttentionScore(Primitive):
    """Attention of `head_num` heads: see `ops.flash_attention_score`. A call takes query, key and value, and the shift,
    the masks and the lengths by place. It gives four results: the largest score and the sum of exponentials of each
    query, [b, heads, queries, 8], a tensor of no meaning, and the attention. The logarithm of the sum is within the
    largest score here, and the sum 1."""

    def __init__(
        self,
        head_num,
        keep_prob=1.0,
        scale_value=1.0,
        pre_tokens=LIMIT,
        next_tokens=LIMIT,
        inner_precise=0,
        input_layout="BSH",
        sparse_mode=0,
    ):
        super().__init__()
        self.head_num, self.keep_prob, self.scale_value = head_num, keep_prob, scale_value
        self.pre_tokens, self.next_tokens, self.inner_precise = pre_tokens, next_tokens, inner_precise
        self.input_layout, self.sparse_mode = input_layout, sparse_mode

    def compute(
        self,
        query,
        key,
        value,
        real_shift=None,
        drop_mask=None,
        padding_mask=None,
        attn_mask=None,
        prefix=None,
        actual_seq_qlen=None,
        actual_seq_kvlen=None,
    ):
        refused = {"padding_mask": padding_mask, "prefix": prefix}
        refused.update(actual_seq_qlen=actual_seq_qlen, actual_seq_kvlen=actual_seq_kvlen)
        check(self.name, self.input_layout, self.sparse_mode, self.keep_prob, drop_mask, refused)
        q, k, v = (as_tensor(x, self.name) for x in (query, key, value))
        options = real_shift, drop_mask, attn_mask, self.keep_prob, self.scale_value
        tokens = self.pre_tokens, self.next_tokens
        options += tokens, self.input_layout, self.sparse_mode
        made, lse = attended(self.name, q, k, v, self.head_num, *options)
        largest = broadcast_to(expand_dims(lse, -1), (*lse.shape, 8))
        return largest, ones_like(largest), zeros_like(made), made
