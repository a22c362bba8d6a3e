"""Recurrent layers and cells. The steps of a sequence are parts of one program, however long it is."""

import math
from collections.abc import Sequence

from partita import _later
from partita.common import dtype as mstype
from partita.common._types import DType
from partita.common.initializer import Uniform, initializer
from partita.common.parameter import Parameter, ParameterTuple
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.layer import Dropout
from partita.ops import functional as F
from partita.ops.recurrent import GATES, STEPS, over_steps

__all__ = "GRU GRUCell LSTM LSTMCell RNN RNNCell".split()


def _size(where, what, value):
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"[{where}] bad {what}, got {value!r}, expected an integer from 1")
    return value


def _flag(where, what, value):
    if not isinstance(value, bool):
        raise TypeError(f"[{where}] {what} is not a bool, got {type(value).__name__}, expected one")
    return value


def _kind(where, nonlinearity):
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"[{where}] unknown nonlinearity, got {nonlinearity!r}, expected tanh or relu")
    return "RNN" if nonlinearity == "tanh" else "RNN_RELU"


def _drawn(shape, size, name, dtype):
    return Parameter(initializer(Uniform(1 / math.sqrt(size)), shape, dtype), name=name)


class _StepCell(Cell):
    """A cell of one step: (x[n, input_size], state) gives the state after it."""

    def __init__(self, kind, input_size: int, hidden_size: int, has_bias: bool, dtype: DType):
        super().__init__()
        dtype, where = self._with_masters(dtype), type(self).__name__
        self.input_size = _size(where, "input_size", input_size)
        self.hidden_size = _size(where, "hidden_size", hidden_size)
        self.has_bias, self._kind = _flag(where, "has_bias", has_bias), kind
        rows = GATES[kind] * hidden_size
        self.weight_ih = _drawn([rows, input_size], hidden_size, "weight_ih", dtype)
        self.weight_hh = _drawn([rows, hidden_size], hidden_size, "weight_hh", dtype)
        self.bias_ih = self.bias_hh = None
        if has_bias:
            self.bias_ih = _drawn([rows], hidden_size, "bias_ih", dtype)
            self.bias_hh = _drawn([rows], hidden_size, "bias_hh", dtype)

    def _after(self, x, state):
        for what, one, width in [("x", x, self.input_size), *[("a state", one, self.hidden_size) for one in state]]:
            if one.ndim not in (1, 2) or one.shape[-1] != width:
                raise ValueError(
                    f"[{type(self).__name__}] {what} has another shape, got {one.shape}, expected (.., {width})"
                )
        return STEPS[self._kind](F.dense(x, self.weight_ih, self.bias_ih), state, self.weight_hh, self.bias_hh)


class RNNCell(_StepCell):
    """tanh, or relu, of the weighted input and the weighted state: (x[n, input_size], h[n, hidden_size]) gives the new
    h. Parameters: weight_ih (hidden_size, input_size), weight_hh (hidden_size, hidden_size), and with `has_bias`
    bias_ih and bias_hh (hidden_size). Raises ValueError for sizes below 1, another nonlinearity than "tanh" and "relu",
    and inputs of other sizes."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        has_bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: DType = mstype.float32,
    ):
        super().__init__(_kind("RNNCell", nonlinearity), input_size, hidden_size, has_bias, dtype)

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        return self._after(x, (hx,))[0]


class GRUCell(_StepCell):
    """A gated recurrent unit: (x[n, input_size], h[n, hidden_size]) gives the new h. Parameters: weight_ih (3
    hidden_size, input_size), weight_hh (3 hidden_size, hidden_size), and with `has_bias` bias_ih and bias_hh (3
    hidden_size). Raises ValueError for sizes below 1 and inputs of other sizes."""

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: DType = mstype.float32):
        super().__init__("GRU", input_size, hidden_size, has_bias, dtype)

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        return self._after(x, (hx,))[0]


class LSTMCell(_StepCell):
    """Long short-term memory: (x[n, input_size], (h, c)) gives the new (h, c), each [n, hidden_size]. Parameters:
    weight_ih (4 hidden_size, input_size), weight_hh (4 hidden_size, hidden_size), and with `has_bias` bias_ih and
    bias_hh (4 hidden_size). Raises ValueError for sizes below 1 and inputs of other sizes."""

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: DType = mstype.float32):
        super().__init__("LSTM", input_size, hidden_size, has_bias, dtype)

    def construct(self, x: Tensor, hx: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        if not isinstance(hx, (tuple, list)) or len(hx) != 2:
            raise TypeError(
                f"[LSTMCell] no states, got {type(hx).__name__}, expected a tuple (hidden state, cell state)"
            )
        return self._after(x, tuple(hx))


class _Layers(Cell):
    """Layers of cells, one above the other, over the steps of sequences, in one or both directions."""

    def __init__(
        self,
        kind,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: DType = mstype.float32,
    ):
        super().__init__()
        dtype, where = self._with_masters(dtype), type(self).__name__
        self.input_size = _size(where, "input_size", input_size)
        self.hidden_size = _size(where, "hidden_size", hidden_size)
        self.num_layers = _size(where, "num_layers", num_layers)
        self.has_bias, self.batch_first = _flag(where, "has_bias", has_bias), _flag(where, "batch_first", batch_first)
        self.bidirectional, self._kind = _flag(where, "bidirectional", bidirectional), kind
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout < 1:
            raise ValueError(f"[{where}] dropout out of range, got {dropout!r}, expected 0 <= dropout < 1")
        self.is_lstm, self.dropout = kind == "LSTM", float(dropout)
        self.dropout_op = Dropout(p=self.dropout)
        lists = self._weights(GATES[kind] * hidden_size, dtype)
        self.w_ih_list, self.w_hh_list, self.b_ih_list, self.b_hh_list = map(ParameterTuple, lists)

    def _weights(self, rows, dtype):
        """The weights of inputs and of states, and the biases of both, of each layer and direction."""
        size, lists = self.hidden_size, ([], [], [], [])
        for layer in range(self.num_layers):
            width = self.input_size if layer == 0 else size * (1 + self.bidirectional)
            for way in ("", "_reverse")[: 1 + self.bidirectional]:
                shapes = {"weight_ih": [rows, width], "weight_hh": [rows, size]}
                if self.has_bias:
                    shapes.update(bias_ih=[rows], bias_hh=[rows])
                for found, (name, shape) in zip(lists, shapes.items()):
                    found.append(_drawn(shape, size, f"{name}_l{layer}{way}", dtype))
        return lists

    def _first_state(self, x, hx):
        """The states of all layers and directions before the first step: zeros, where none are given."""
        shape = (self.num_layers * (1 + self.bidirectional), x.shape[1], self.hidden_size)
        if hx is None:
            return tuple(F.zeros(shape, x.dtype) for _ in range(1 + self.is_lstm))
        state = tuple(hx) if self.is_lstm else (hx,)
        for one in state:
            if one.shape != shape:
                raise ValueError(
                    f"[{type(self).__name__}] a state has another shape, got {one.shape}, expected {shape}"
                )
        return state

    def construct(
        self,
        x: Tensor,
        hx: Tensor | tuple[Tensor, Tensor] | None = None,
        seq_length: Tensor | Sequence[int] | None = None,
    ) -> tuple[Tensor, Tensor | tuple[Tensor, Tensor]]:
        if x.ndim != 3 or x.shape[-1] != self.input_size:
            raise ValueError(
                f"[{type(self).__name__}] x has another shape, got {x.shape}, expected (.., .., {self.input_size})"
            )
        x = F.swapaxes(x, 0, 1) if self.batch_first else x
        first, last = self._first_state(x, hx), []
        if seq_length is not None and not isinstance(seq_length, Tensor):
            seq_length = Tensor(seq_length, mstype.int32)
        ways = 1 + self.bidirectional
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = self.dropout_op(x)
            made = []
            for k in range(layer * ways, (layer + 1) * ways):
                biases = (self.b_ih_list[k], self.b_hh_list[k]) if self.has_bias else (None, None)
                weights = self.w_ih_list[k], self.w_hh_list[k], *biases
                state = tuple(one[k] for one in first)
                y, state = over_steps(self._kind, x, state, weights, seq_length, backwards=k % ways == 1)
                made.append(y)
                last.append(state)
            x = F.concat(made, -1) if ways == 2 else made[0]
        states = tuple(F.stack(one, 0) for one in zip(*last))
        return F.swapaxes(x, 0, 1) if self.batch_first else x, states if self.is_lstm else states[0]

    def extend_repr(self):
        ways = f"num_layers={self.num_layers}, bidirectional={self.bidirectional}"
        return f"{self.input_size}, {self.hidden_size}, {ways}"


class RNN(_Layers):
    """tanh, or relu, of weighted inputs and states: (input_size, hidden_size, num_layers=1, nonlinearity="tanh",
    has_bias=True, batch_first=False, dropout=0.0, bidirectional=False). A call with (x[steps, n, input_size], h,
    lengths) gives (the states of the last layer, [steps, n, directions hidden_size], the last states h[layers
    directions, n, hidden_size]); with `batch_first` n stands before steps in x and in the result. Without h states
    begin as zeros. Raises ValueError for sizes below 1, a dropout outside of 0 <= dropout < 1, and inputs of other
    shapes, TypeError for flags that are no bools."""

    def __init__(self, *args, **kwargs):
        nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if len(args) > 3 and isinstance(args[3], str):
            nonlinearity, args = args[3], (*args[:3], *args[4:])
        super().__init__(_kind("RNN", nonlinearity), *args, **kwargs)


class GRU(_Layers):
    """Gated recurrent units: (input_size, hidden_size, num_layers=1, has_bias=True, batch_first=False, dropout=0.0,
    bidirectional=False). A call with (x[steps, n, input_size], h, lengths) gives (the states of the last layer, [steps,
    n, directions hidden_size], the last states h[layers directions, n, hidden_size]); see `RNN`. Parameters of layer i:
    weight_ih_li (3 hidden_size, its inputs), weight_hh_li (3 hidden_size, hidden_size), bias_ih_li and bias_hh_li."""

    def __init__(self, *args, **kwargs):
        super().__init__("GRU", *args, **kwargs)


class LSTM(_Layers):
    """Long short-term memory: (input_size, hidden_size, num_layers=1, has_bias=True, batch_first=False, dropout=0.0,
    bidirectional=False). A call with (x[steps, n, input_size], (h, c), lengths) gives (the states of the last layer,
    [steps, n, directions hidden_size], the last (h, c), each [layers directions, n, hidden_size]); see `RNN`.
    Parameters of layer i: weight_ih_li (4 hidden_size, its inputs), weight_hh_li (4 hidden_size, hidden_size),
    bias_ih_li and bias_hh_li."""

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)


_INNER = (
    "_DynamicGRUAscend _DynamicGRUCPUGPU _DynamicLSTMAscend _DynamicLSTMCPUGPU _DynamicRNNRelu _DynamicRNNTanh"
)
__getattr__, __dir__ = _later.names_later(globals(), dict.fromkeys(_INNER.split(), "partita.nn.dynamic_recurrent"))
