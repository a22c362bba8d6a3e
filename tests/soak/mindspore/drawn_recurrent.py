"""Templates of calls of recurrent layers, of their cells, and of layers around attention: see drawn_templates."""

_SETTINGS = "[?, has_bias=False][?, batch_first={True|False}][?, bidirectional={True|False}]"
_RELU = "[?, nonlinearity='relu']"
ROWS = [
    ("nn", "RNN", ["{k}, {m}" + _RELU + _SETTINGS + "; {g:n,q,k}", "{k}, {m}, {1|2}; {g:n,q,k}, {g:1,q,m}"]),
    ("nn", "GRU LSTM", ["{k}, {m}" + _SETTINGS + "; {g:n,q,k}", "{k}, {m}, 2[?, bidirectional=True]; {g:n,q,k}"]),
    ("text", "nn.RNN nn.GRU", [
        "given(nn.{RNN|GRU}({k}, {m}))({g:n,q,k}, {g:1,q,m})",
        "given(nn.{RNN|GRU}({k}, {m}, 2, bidirectional=True))({g:n,q,k}, {g:4,q,m})",
        "given(nn.{RNN|GRU}({k}, {m}, 2, {True|False}))({g:3,2,k}, {g:2,2,m}, t([{1..3}, {1..3}]))",
        "given(nn.{RNN|GRU}({k}, {m}, bidirectional=True))({g:3,2,k}, {g:2,2,m}, t([{1..3}, {1..3}]))",
    ]),
    ("text", "nn.LSTM", [
        "given(nn.LSTM({k}, {m}))({g:n,q,k}, ({g:1,q,m}, {g:1,q,m}))",
        "given(nn.LSTM({k}, {m}, 2, {True|False}, {True|False}))({g:q,q,k}, ({g:2,q,m}, {g:2,q,m}))",
        "given(nn.LSTM({k}, {m}, bidirectional=True))({g:n,q,k}, ({g:2,q,m}, {g:2,q,m}))",
        "given(nn.LSTM({k}, {m}))({g:3,2,k}, ({g:1,2,m}, {g:1,2,m}), t([{1..3}, {1..3}]))",
        "gradient(lambda a, h, c: given(nn.LSTM({k}, {m}))(a, (h, c)), {g:n,q,k}, {g:1,q,m}, {g:1,q,m})",
    ]),
    ("nn", "RNNCell", ["{k}, {m}[?, {True|False}][?, nonlinearity={'relu'|'tanh'}]; {g:n,k}, {g:n,m}"]),
    ("nn", "GRUCell", ["{k}, {m}[?, {True|False}]; {g:n,k}, {g:n,m}"]),
    ("text", "nn.LSTMCell", [
        "given(nn.LSTMCell({k}, {m}[?, {True|False}]))({g:n,k}, ({g:n,m}, {g:n,m}))",
        "gradient(lambda a, h, c: given(nn.LSTMCell({k}, {m}))(a, (h, c)), {g:n,k}, {g:n,m}, {g:n,m})",
    ]),
    ("text", "rnn_cells._rnn_tanh_cell rnn_cells._rnn_relu_cell", [
        "nn.layer.rnn_cells.{_rnn_tanh_cell|_rnn_relu_cell}({u:n,k}, {u:n,m}, {u:m,k} / 4, {u:m,m} / 4, "
        "{{u:m}, {u:m}|None, None})",
    ]),
    ("text", "rnn_cells._gru_cell", [
        "nn.layer.rnn_cells._gru_cell({u:n,2}, {u:n,3}, {u:9,2}, {u:9,3}, {{u:9}, {u:9}|None, None})",
    ]),
    ("text", "rnn_cells._lstm_cell", [
        "nn.layer.rnn_cells._lstm_cell({u:n,2}, ({u:n,3}, {u:n,3}), {u:12,2}, {u:12,3}, {u:12}, {u:12})",
        "nn.layer.rnn_cells._lstm_cell({u:n,2}, ({u:n,3}, {u:n,3}), {u:12,2}, {u:12,3}, None, None)",
    ]),
    ("text", "ops.LSTM", [
        "ops.LSTM({k}, 2, 1, False, False, 0.0)({g:n,q,k}, {g:1,q,2}, {g:1,q,2}, "
        "t({0..9}, 'f4', 'unit', (8 * {k} + 16, 1, 1)))[:3]",
        "ops.LSTM({k}, 2, 1, True, False, 0.0)({g:n,q,k}, {g:1,q,2}, {g:1,q,2}, "
        "t({0..9}, 'f4', 'unit', (8 * {k} + 24, 1, 1)))[:3]",
        "ops.LSTM({k}, 2, 1, False, True, 0.0)({g:n,q,k}, {g:2,q,2}, {g:2,q,2}, "
        "t({0..9}, 'f4', 'unit', (16 * {k} + 32, 1, 1)))[:3]",
    ]),
    ("text", "nn.MultiheadAttention", [
        "given(nn.MultiheadAttention(4, {1|2|4}[?, has_bias=False][?, add_bias_kv=True][?, add_zero_attn=True]))"
        "({g:n,q,4}, {g:k,q,4}, {g:k,q,4}[?, need_weights=False])",
        "given(nn.MultiheadAttention(4, {1|2|4}[?, batch_first=True]))({g:n,n,4}, {g:n,n,4}, {g:n,n,4}"
        "[?, average_attn_weights=False])",
        "given(nn.MultiheadAttention(4, 2, kdim={m}, vdim={h}))({g:n,q,4}, {g:k,q,m}, {g:k,q,h})",
        "given(nn.MultiheadAttention(4, 2[?, add_bias_kv=True]))({g:n,q,4}, {g:k,q,4}, {g:k,q,4}, "
        "attn_mask={t(3, 'f4', 'any', ({n}, {k}))|ms.Tensor(np.eye({n}, {k}, 1).astype('?'))})",
        "given(nn.MultiheadAttention(4, 2[?, add_zero_attn=True]))({g:n,2,4}, {g:3,2,4}, {g:3,2,4}, "
        "ms.Tensor([[False, False, True], [False, True, False]]))",
        "given(nn.MultiheadAttention(4, 2))({g:n,4}, {g:k,4}, {g:k,4}[?, average_attn_weights=False])",
    ]),
    ("text", "nn.TransformerEncoderLayer", [
        "given(nn.TransformerEncoderLayer(4, 2, {m}, 0.0[?, {'relu'|'gelu'}][?, norm_first=True]))({g:n,q,4})",
        "given(nn.TransformerEncoderLayer(4, 2, {m}, 0.0, batch_first=True))({g:q,n,4}, "
        "ms.Tensor(np.eye({n}, {n}, 1).astype('?')))",
    ]),
    ("text", "nn.TransformerDecoderLayer", [
        "given(nn.TransformerDecoderLayer(4, 2, {m}, 0.0[?, {'relu'|'gelu'}][?, norm_first=True]))"
        "({g:n,q,4}, {g:k,q,4})",
        "given(nn.TransformerDecoderLayer(4, 2, {m}, 0.0))({g:n,q,4}, {g:k,q,4}, "
        "ms.Tensor(np.eye({n}, {n}, 1).astype('?')), t(3, 'f4', 'any', ({n}, {k})))",
    ]),
    ("text", "nn.TransformerEncoder", [
        "given(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, {1|2}, {m}, 0.0), {1|2}"
        "[?, norm=nn.LayerNorm((4,))]))({g:n,q,4})",
    ]),
    ("text", "nn.TransformerDecoder", [
        "given(nn.TransformerDecoder(nn.TransformerDecoderLayer(4, {1|2}, {m}, 0.0), {1|2}"
        "[?, norm=nn.LayerNorm((4,))]))({g:n,q,4}, {g:k,q,4})",
    ]),
    ("text", "nn.Transformer", [
        "given(nn.Transformer(4, {1|2}, {1|2}, {1|2}, {m}, 0.0[?, 'gelu'][?, batch_first=False][?, norm_first=True]))"
        "({g:n,q,4}, {g:k,q,4})",
        "given(nn.Transformer(4, 2, 1, 1, {m}, 0.0, batch_first=True))({g:q,n,4}, {g:q,k,4})",
    ]),
]  # fmt: skip
