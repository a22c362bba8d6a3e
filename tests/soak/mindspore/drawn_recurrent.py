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
]  # fmt: skip
