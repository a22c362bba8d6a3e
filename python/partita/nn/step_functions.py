"""Steps of recurrent cells as functions, and their base, which client libraries import."""

import math

from partita._names import refuse_missing
from partita.common import dtype as mstype
from partita.common.initializer import Uniform, initializer
from partita.common.parameter import Parameter
from partita.nn.cell import Cell
from partita.nn.recurrent import GRUCell, LSTMCell, RNNCell  # noqa: F401
from partita.ops import functional as F
from partita.ops.recurrent import STEPS


def _step(kind):
    def call(inputs, hidden, w_ih, w_hh, b_ih, b_hh):
        state = tuple(hidden) if isinstance(hidden, (tuple, list)) else (hidden,)
        made = STEPS[kind](F.dense(inputs, w_ih, b_ih), state, w_hh, b_hh)
        return made if len(made) > 1 else made[0]

    call.__doc__ = f"The new state of a cell of kind {kind}, from inputs, the state, and weights of both with biases."
    return call


_rnn_tanh_cell, _rnn_relu_cell = _step("RNN"), _step("RNN_RELU")
_gru_cell, _lstm_cell = _step("GRU"), _step("LSTM")


class RNNCellBase(Cell):
    """The parameters of a recurrent cell with a number of gates: weight_ih [gates * hidden, input], weight_hh [gates *
    hidden, hidden], bias_ih and bias_hh. Subclasses compute it."""

    def __init__(self, input_size, hidden_size, has_bias, num_chunks, dtype=mstype.float32):
        super().__init__()
        dtype, rows = self._with_masters(dtype), num_chunks * hidden_size
        self.input_size, self.hidden_size, self.has_bias = input_size, hidden_size, bool(has_bias)
        for name, shape in (("weight_ih", [rows, input_size]), ("weight_hh", [rows, hidden_size])):
            setattr(self, name, Parameter(initializer(Uniform(1 / math.sqrt(hidden_size)), shape, dtype)))
        for name in ("bias_ih", "bias_hh") if self.has_bias else ():
            setattr(self, name, Parameter(initializer(Uniform(1 / math.sqrt(hidden_size)), [rows], dtype)))


__getattr__ = refuse_missing(globals())
