"""Attention as ops that are objects."""

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.attention import LIMIT, attended, check
from partita.ops.creation import ones_like, zeros_like
from partita.ops.elementwise import greater_equal, logical_or, not_equal
from partita.ops.primitive import Primitive
from partita.ops.shapes import broadcast_to, expand_dims, reshape
from partita.ops.support import as_tensor

__all__ = ("FlashAttentionScore", "PromptFlashAttention")


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


class PromptFlashAttention(Primitive):
    """Attention of `num_heads` heads to `num_key_value_heads` ones, or as many: see `ops.flash_attention_score`. A call
    takes query, key and value, and by place the mask [queries, keys], [b, queries, keys] or [b, 1, queries, keys], the
    lengths of queries, beyond which results have no meaning, those of keys, and the shift of scores. Raises ValueError
    for scales of quantized numbers."""

    def __init__(
        self,
        num_heads=1,
        scale_value=1.0,
        pre_tokens=LIMIT,
        next_tokens=0,
        input_layout="BSH",
        num_key_value_heads=0,
        sparse_mode=0,
        inner_precise=1,
    ):
        super().__init__()
        self.num_heads, self.scale_value, self.num_key_value_heads = num_heads, scale_value, num_key_value_heads
        self.pre_tokens, self.next_tokens, self.inner_precise = pre_tokens, next_tokens, inner_precise
        self.input_layout, self.sparse_mode = input_layout, sparse_mode

    def _mask(self, attn_mask, lengths, keys):
        """Where keys are hidden, [b, 1, queries or 1, keys], or None."""
        hidden = None
        if attn_mask is not None:
            hidden = not_equal(as_tensor(attn_mask, self.name), 0)
            hidden = expand_dims(hidden, 1) if hidden.ndim == 3 else hidden
        if lengths is not None:
            lengths = lengths if isinstance(lengths, Tensor) else Tensor(list(lengths), mstype.int64)
            beyond = greater_equal(Tensor(list(range(keys)), mstype.int64), reshape(lengths, (-1, 1, 1, 1)))
            hidden = beyond if hidden is None else logical_or(hidden, beyond)
        return hidden

    def compute(
        self,
        query,
        key,
        value,
        attn_mask=None,
        actual_seq_lengths=None,
        actual_seq_lengths_kv=None,
        pse_shift=None,
        deq_scale1=None,
        quant_scale1=None,
        deq_scale2=None,
        quant_scale2=None,
        quant_offset2=None,
    ):
        refused = dict(deq_scale1=deq_scale1, quant_scale1=quant_scale1, deq_scale2=deq_scale2)
        refused.update(quant_scale2=quant_scale2, quant_offset2=quant_offset2)
        check(self.name, self.input_layout, self.sparse_mode, 1.0, None, refused)
        q, k, v = (as_tensor(x, self.name) for x in (query, key, value))
        mode, lengths = self.sparse_mode, actual_seq_lengths_kv
        if mode in (2, 3, 4) and lengths is not None:
            raise ValueError(
                f"[{self.name}] lengths of keys are not supported with sparse_mode {mode}, got some, expected a mask"
            )
        if mode == 0 and attn_mask is None:
            mode = 1  # without a mask the band has no effect
        mask = self._mask(attn_mask, lengths, k.shape[2 if self.input_layout == "BNSD" else 1])
        options = pse_shift, None, mask, 1.0, self.scale_value, (self.pre_tokens, self.next_tokens)
        return attended(self.name, q, k, v, self.num_heads, *options, self.input_layout, mode)[0]
