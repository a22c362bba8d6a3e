"""Attention of several heads, and transformers made of it (Vaswani et al., 2017)."""

import copy
import math
from collections.abc import Callable

from partita.common import dtype as mstype
from partita.common._types import DType
from partita.common.initializer import HeUniform, Uniform, XavierNormal, XavierUniform, initializer
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.nn.cell import Cell, CellList
from partita.nn.layer import GELU, Dense, Dropout, LayerNorm, ReLU
from partita.ops import functional as F

__all__ = (
    "MultiheadAttention Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder"
    " TransformerEncoderLayer"
).split()


def _dense(width, outputs, has_bias=True, dtype=mstype.float32):
    bias = Uniform(1 / math.sqrt(width))
    return Dense(width, outputs, HeUniform(math.sqrt(5)), bias, has_bias, dtype=dtype)


def _shift(where, what, mask, shapes, dtype):
    """A mask as numbers that are added to scores: minus infinity where a bool hides a place."""
    if mask.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise ValueError(f"[{where}] {what} has another shape, got {mask.shape}, expected {expected}")
    if mstype.is_float(mask.dtype):
        return F.cast(mask, dtype)
    if mask.dtype not in (mstype.bool_, mstype.uint8):
        raise ValueError(f"[{where}] {what} has another type, got {mask.dtype}, expected bools or floats")
    zeros = F.zeros(mask.shape, dtype)
    return F.masked_fill(zeros, F.cast(mask, mstype.bool_), float("-inf"))


class MultiheadAttention(Cell):
    """Attention of `num_heads` heads, each of embed_dim / num_heads elements. (query[t, n, embed_dim], key[s, n, kdim],
    value[s, n, vdim]) gives (results[t, n, embed_dim], weights[n, t, s]), or the results alone in a tuple without
    `need_weights`; with `batch_first` n is first, and without it all may lack n. `attn_mask` [t, s] or [n * num_heads,
    t, s] and `key_padding_mask` [n, s] hide what is True, or are added to scores. The weights are the mean of all
    heads, or [n, num_heads, t, s] without `average_attn_weights`."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        has_bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        dtype: DType = mstype.float32,
    ):
        super().__init__()
        if num_heads < 1 or embed_dim % num_heads:
            raise ValueError(
                f"[MultiheadAttention] the heads do not divide embed_dim, got {num_heads} of {embed_dim}, expected a "
                "divisor"
            )
        self.dtype = dtype = mstype.float32 if dtype is None else dtype
        own = self._with_masters(dtype)
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.batch_first, self.add_zero_attn, self.dropout = bool(batch_first), bool(add_zero_attn), float(dropout)
        self.in_proj_weight = self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        self.in_proj_bias = self.bias_k = self.bias_v = None
        if self.kdim == self.vdim == embed_dim:
            self.in_proj_weight = self._drawn("in_proj_weight", XavierUniform(), (3 * embed_dim, embed_dim), own)
        else:
            for name, width in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
                name = f"{name}_proj_weight"
                setattr(self, name, self._drawn(name, XavierUniform(), (embed_dim, width), own))
        if has_bias:
            self.in_proj_bias = self._drawn("in_proj_bias", "zeros", (3 * embed_dim,), own)
        self.out_proj = _dense(embed_dim, embed_dim, has_bias, dtype)
        for name in ("bias_k", "bias_v") if add_bias_kv else ():
            setattr(self, name, self._drawn(name, XavierNormal(), (1, 1, embed_dim), own))

    @staticmethod
    def _drawn(name, how, shape, dtype):
        return Parameter(initializer(how, shape, dtype), name=name)

    def _projected(self, query, key, value):
        """The three operands as [.., n, embed_dim]."""
        if self.in_proj_weight is None:
            weights = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
        else:
            weights = F.split(self.in_proj_weight, self.embed_dim, 0)
        biases = (None,) * 3 if self.in_proj_bias is None else F.split(self.in_proj_bias, self.embed_dim, 0)
        widths, made = (self.embed_dim, self.kdim, self.vdim), []
        for one, weight, bias, width in zip((query, key, value), weights, biases, widths):
            if one.shape[-1] != width:
                raise ValueError(
                    f"[MultiheadAttention] an operand has another last size, got {one.shape}, expected {width}"
                )
            made.append(F.dense(one, weight, bias))
        return made

    def _masked(self, sizes, attn_mask, key_padding_mask, dtype):
        """The numbers that are added to scores[n, heads, t, s], or None."""
        (count, t, s), parts = sizes, []
        if attn_mask is not None:
            shapes = (t, s), (count * self.num_heads, t, s)
            one = _shift("MultiheadAttention", "attn_mask", attn_mask, shapes, dtype)
            parts.append(F.reshape(one, (1, 1, t, s) if one.ndim == 2 else (count, self.num_heads, t, s)))
        if key_padding_mask is not None:
            one = _shift("MultiheadAttention", "key_padding_mask", key_padding_mask, [(count, s)], dtype)
            parts.append(F.reshape(one, (count, 1, 1, s)))
        return None if not parts else parts[0] if len(parts) == 1 else F.add(*parts)

    def _with_more(self, k, v, shift):
        """Keys and values with those of the biases, and with zeros, which no mask hides."""
        more = []
        if self.bias_k is not None:
            more.append([F.tile(one, (1, k.shape[1], 1)) for one in (self.bias_k, self.bias_v)])
        if self.add_zero_attn:
            more.append([F.zeros((1, *k.shape[1:]), k.dtype) for _ in range(2)])
        for of_key, of_value in more:
            k, v = F.concat((k, F.cast(of_key, k.dtype)), 0), F.concat((v, F.cast(of_value, v.dtype)), 0)
            if shift is not None:
                shift = F.concat((shift, F.zeros((*shift.shape[:-1], 1), shift.dtype)), -1)
        return k, v, shift

    def _heads(self, x):
        return F.transpose(F.reshape(x, (*x.shape[:2], self.num_heads, self.head_dim)), (1, 2, 0, 3))

    def construct(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
    ) -> tuple[Tensor, ...]:
        is_batched = query.ndim == 3
        operands = [query, key, value]
        if not is_batched:
            operands = [F.expand_dims(one, 1) for one in operands]
            key_padding_mask = None if key_padding_mask is None else F.expand_dims(key_padding_mask, 0)
        elif self.batch_first:
            operands = [F.swapaxes(one, 0, 1) for one in operands]
        q, k, v = self._projected(*operands)
        sizes = q.shape[1], q.shape[0], k.shape[0]
        k, v, shift = self._with_more(k, v, self._masked(sizes, attn_mask, key_padding_mask, q.dtype))
        q, k, v = self._heads(F.mul(q, self.head_dim**-0.5)), self._heads(k), self._heads(v)
        scores = F.matmul(q, F.swapaxes(k, -1, -2))
        weights = F.softmax(scores if shift is None else F.add(scores, shift), -1)
        weights = F.dropout(weights, self.dropout, self.training)
        made = F.reshape(F.transpose(F.matmul(weights, v), (2, 0, 1, 3)), (sizes[1], sizes[0], self.embed_dim))
        made = self.out_proj(made)
        weights = F.mean(weights, 1) if average_attn_weights else weights
        if not is_batched:
            made, weights = F.squeeze(made, 1), F.squeeze(weights, 0)
        elif self.batch_first:
            made = F.swapaxes(made, 0, 1)
        return (made, weights) if need_weights else (made,)


_KNOWN = {"relu": F.relu, "gelu": F.gelu}


def _activation(where, given):
    """The function of a text, or the function or the layer itself. Raises ValueError for others than relu and gelu."""
    if isinstance(given, str) and given in _KNOWN:
        return _KNOWN[given]
    if isinstance(given, (ReLU, GELU)) or any(given is one for one in _KNOWN.values()):
        return given
    raise ValueError(f"[{where}] unknown activation, got {given!r}, expected relu or gelu")


class _TransformerLayer(Cell):
    """The parts that layers of encoders and of decoders have: `norms` norms, as many dropouts, and the two dense layers
    with the activation between them."""

    def _make(self, norms, options):
        d_model, width, dropout, dtype = (options[name] for name in ("d_model", "dim_feedforward", "dropout", "dtype"))
        self._options = options
        self.d_model, self.nhead, self.dim_feedforward = d_model, options["nhead"], width
        self.norm_first, self.batch_first, self.dtype = options["norm_first"], options["batch_first"], dtype
        self.activation = _activation(type(self).__name__, options["activation"])
        self.dense1, self.dropout = _dense(d_model, width, dtype=dtype), Dropout(p=dropout)
        self.dense2 = _dense(width, d_model, dtype=dtype)
        for i in range(1, norms + 1):
            setattr(self, f"norm{i}", LayerNorm((d_model,), epsilon=options["layer_norm_eps"], dtype=dtype))
        for i in range(1, norms + 1):
            setattr(self, f"dropout{i}", Dropout(p=dropout))

    def _attention(self, options):
        return MultiheadAttention(
            options["d_model"],
            options["nhead"],
            options["dropout"],
            batch_first=options["batch_first"],
            dtype=options["dtype"],
        )

    def _around(self, x, norm, block):
        """x + block(x), with the norm before the block or after the sum."""
        return F.add(x, block(norm(x))) if self.norm_first else norm(F.add(x, block(x)))

    def _self_attended(self, x, mask, padding):
        return self.dropout1(self.self_attn(x, x, x, padding, False, mask)[0])

    def _fed(self, x):
        return self.dense2(self.dropout(self.activation(self.dense1(x))))


class TransformerEncoderLayer(_TransformerLayer):
    """Attention of x[t, n, d_model] to itself, then two dense layers, each with a sum and a norm. A call takes x, a
    mask [t, t] and a mask [n, t] of padding: see MultiheadAttention."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: DType = mstype.float32,
    ):
        options = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__()
        self.self_attn = self._attention(options)
        self._make(2, options)

    def construct(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None
    ) -> Tensor:
        x = self._around(src, self.norm1, lambda x: self._self_attended(x, src_mask, src_key_padding_mask))
        return self._around(x, self.norm2, lambda x: self.dropout2(self._fed(x)))


class TransformerDecoderLayer(_TransformerLayer):
    """Attention of x[t, n, d_model] to itself and to a memory [s, n, d_model], then two dense layers, each with a sum
    and a norm. A call takes x, the memory, their masks [t, t] and [t, s], and masks [n, t] and [n, s] of padding."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: DType = mstype.float32,
    ):
        options = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__()
        self.self_attn, self.multihead_attn = self._attention(options), self._attention(options)
        self._make(3, options)

    def construct(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        def attended(x):
            made = self.multihead_attn(x, memory, memory, memory_key_padding_mask, False, memory_mask)
            return self.dropout2(made[0])

        x = self._around(tgt, self.norm1, lambda x: self._self_attended(x, tgt_mask, tgt_key_padding_mask))
        x = self._around(x, self.norm2, attended)
        return self._around(x, self.norm3, lambda x: self.dropout3(self._fed(x)))


class _Stack(Cell):
    """Layers like a given one, which begin with the same numbers, and a norm after them. Those of a class of the script
    are copies of the given one."""

    _kind = _TransformerLayer

    def __init__(self, like, num_layers, norm=None):
        super().__init__()
        where, library = type(self).__name__, (TransformerEncoderLayer, TransformerDecoderLayer)
        if not isinstance(like, Cell):
            raise TypeError(f"[{where}] the layer is not a cell, got {type(like).__name__}, expected one to copy")
        if isinstance(like, library) and not isinstance(like, self._kind):
            raise TypeError(
                f"[{where}] not a layer of this kind, got {type(like).__name__}, expected a {self._kind.__name__}"
            )
        if not isinstance(num_layers, int) or num_layers < 1:
            raise ValueError(f"[{where}] bad num_layers, got {num_layers!r}, expected an integer from 1")
        first = type(like)(**like._options) if type(like) in library else like
        self.layers = CellList([copy.deepcopy(first) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def construct(self, *args, **kwargs):
        x, *others = args
        for one in self.layers:
            x = one(x, *others, **kwargs)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """Layers like `encoder_layer`, one after the other, and a norm. A call takes what each layer takes. Raises
    TypeError for other layers than a TransformerEncoderLayer."""

    _kind = TransformerEncoderLayer

    def __init__(self, encoder_layer: Cell, num_layers: int, norm: Cell | None = None):
        super().__init__(encoder_layer, num_layers, norm)

    def construct(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None
    ) -> Tensor:
        return super().construct(src, src_mask, src_key_padding_mask)


class TransformerDecoder(_Stack):
    """Layers like `decoder_layer`, one after the other, and a norm. A call takes what each layer takes. Raises
    TypeError for other layers than a TransformerDecoderLayer."""

    _kind = TransformerDecoderLayer

    def __init__(self, decoder_layer: Cell, num_layers: int, norm: Cell | None = None):
        super().__init__(decoder_layer, num_layers, norm)

    def construct(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        return super().construct(tgt, memory, *masks)


class Transformer(Cell):
    """An encoder of a source [s, n, d_model] and a decoder of a target [t, n, d_model] that attends to its results. A
    call takes both, and masks of the source, the target and the memory, then those of their padding."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable = "relu",
        custom_encoder: Cell | None = None,
        custom_decoder: Cell | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: DType = mstype.float32,
    ):
        super().__init__()
        given = d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype

        def stacked(stack, layer, count):
            return stack(layer(*given), count, LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype))

        self.encoder, self.decoder = custom_encoder, custom_decoder
        if custom_encoder is None:
            self.encoder = stacked(TransformerEncoder, TransformerEncoderLayer, num_encoder_layers)
        if custom_decoder is None:
            self.decoder = stacked(TransformerDecoder, TransformerDecoderLayer, num_decoder_layers)
        for one in self.get_parameters():
            if one.ndim > 1:
                one.set_data(initializer("xavier_uniform", one.shape, one.dtype))
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def construct(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise ValueError(
                f"[Transformer] another number of features, got {src.shape[-1]} and {tgt.shape[-1]}, expected "
                f"{self.d_model}"
            )
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        return self.decoder(tgt, memory, *masks)
