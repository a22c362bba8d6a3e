"""Layers of recurrent cells in one direction, whose weights are operands: client libraries import them."""

from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.ops import functional as F
from partita.ops.recurrent import over_steps


class _Dynamic(Cell):
    """(x[steps, n, width], the first state, lengths or None, weights of inputs and of states, and their biases or None)
    gives (the states of all steps, the last one). Weights are in the type of x. Beyond their lengths sequences keep
    their state, and their outputs are 0."""

    _kind, _has_layer = "", False  # whether last states without lengths have a dimension for the one layer

    def construct(self, x, h, seq_length, w_ih, w_hh, b_ih, b_hh):
        weights = tuple(None if one is None else one.astype(x.dtype) for one in (w_ih, w_hh, b_ih, b_hh))
        if seq_length is not None and not isinstance(seq_length, Tensor):
            seq_length = Tensor(seq_length)
        state = tuple(h) if isinstance(h, (tuple, list)) else (h,)
        made, last = over_steps(self._kind, x, state, weights, seq_length)
        if self._has_layer and seq_length is None:
            last = [F.expand_dims(one, 0) for one in last]
        return made, tuple(last) if len(last) > 1 else last[0]


class _DynamicRNNTanh(_Dynamic):
    """tanh of weighted inputs and states."""

    _kind = "RNN"


class _DynamicRNNRelu(_Dynamic):
    """Weighted inputs and states where they are positive, else 0."""

    _kind = "RNN_RELU"


class _DynamicGRUCPUGPU(_Dynamic):
    """Gated recurrent units."""

    _kind = "GRU"


class _DynamicLSTMCPUGPU(_Dynamic):
    """Long short-term memory; its state is (h, c). Without lengths the last one is [1, n, size] of each."""

    _kind, _has_layer = "LSTM", True


class _DynamicGRUAscend(_DynamicGRUCPUGPU):
    """Gated recurrent units, by another name of the documented system."""


class _DynamicLSTMAscend(_DynamicLSTMCPUGPU):
    """Long short-term memory; its last state is [n, size] of each, also without lengths."""

    _has_layer = False
