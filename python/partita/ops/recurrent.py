"""Cells of recurrent layers over the steps of sequences: what they compute, as functions of their weights."""

from partita.context import get_context
from partita.ops.creation import zeros_like
from partita.ops.derived import dense, unstack
from partita.ops.elementwise import add, cast, greater, mul, relu, select, sigmoid, sub, tanh
from partita.ops.shapes import concat, expand_dims, reshape, split, stack
from partita.ops.support import apply_op, as_tensor


def rnn_step(activation):
    """The step of a plain cell: activation(weighted input + weighted state)."""

    def step(part, state, w_hh, b_hh):
        return (activation(add(part, dense(state[0], w_hh, b_hh))),)

    return step


def gru_step(part, state, w_hh, b_hh):
    """The step of a gated recurrent unit (Cho et al., 2014): gates of reset, update, and the new state."""
    (h,), size = state, state[0].shape[-1]
    reset, update, new = split(part, size, -1)
    h_reset, h_update, h_new = split(dense(h, w_hh, b_hh), size, -1)
    new = tanh(add(new, mul(sigmoid(add(reset, h_reset)), h_new)))
    return (add(new, mul(sigmoid(add(update, h_update)), sub(h, new))),)


def lstm_step(part, state, w_hh, b_hh):
    """The step of long short-term memory (Hochreiter and Schmidhuber, 1997): gates of input, forgetting, the new cell,
    and output."""
    h, c = state
    of_input, forget, cell, output = split(add(part, dense(h, w_hh, b_hh)), h.shape[-1], -1)
    c = add(mul(sigmoid(forget), c), mul(sigmoid(of_input), tanh(cell)))
    return mul(sigmoid(output), tanh(c)), c


STEPS = {"RNN": rnn_step(tanh), "RNN_RELU": rnn_step(relu), "GRU": gru_step, "LSTM": lstm_step}
GATES = {"RNN": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


def _as_one_op(kind, x, state, weights, backwards):
    """All steps of a layer as one op of the library."""
    w_ih, w_hh, b_ih, b_hh = weights
    steps, rows, size, gates = *x.shape[:2], w_hh.shape[1], GATES[kind]
    bias, own = b_ih, []
    if kind == "GRU":  # whose new state has its second bias within the reset gate
        of_new = zeros_like(w_hh[0]) if b_hh is None else b_hh[2 * size :]
        bias = b_ih if b_hh is None else concat((add(b_ih, b_hh)[: 2 * size], b_ih[2 * size :]))
        own = [of_new]
    elif b_hh is not None:
        bias = add(b_ih, b_hh)
    parts = reshape(dense(x, w_ih, bias), (steps, rows, gates, size))
    operands = [parts, reshape(w_hh, (gates, size, size)), *own, *(as_tensor(one, kind) for one in state)]
    made = apply_op(
        "rnn" if kind == "RNN_RELU" else kind.lower(),
        *(cast(one, parts.dtype) for one in operands),
        reversed=backwards,
        **({"relu": kind == "RNN_RELU"} if kind.startswith("RNN") else {}),
    )
    outputs, last = made if kind.startswith("RNN") else made[0], 0 if backwards else steps - 1
    return outputs, (outputs[last], made[1][last]) if kind == "LSTM" else (outputs[last],)


def over_steps(kind, x, state, weights, lengths=None, backwards=False):
    """(states of all steps, last state) of x[steps, n, width]. `weights` are those of inputs and of states, and their
    biases or None; `state` is a tuple of tensors [n, size]. Beyond their lengths sequences keep their state, and their
    outputs are 0."""
    w_ih, w_hh, b_ih, b_hh = weights
    if lengths is None:
        return _as_one_op(kind, x, state, weights, backwards)
    parts = unstack(dense(x, w_ih, b_ih), 0)
    outputs = [None] * len(parts)
    for t in reversed(range(len(parts))) if backwards else range(len(parts)):
        made = STEPS[kind](parts[t], state, w_hh, b_hh)
        outputs[t] = made[0]
        if lengths is not None:
            goes_on = expand_dims(greater(lengths, t), -1)
            outputs[t] = select(goes_on, made[0], zeros_like(made[0]))
            made = tuple(select(goes_on, new, old) for new, old in zip(made, state))
        state = made
    return stack(outputs, 0), state


def flat_weights(weights, kind, width, size, directions, has_bias):
    """The weights of each direction, as `over_steps` takes them, out of all in one row. In the row of a CPU those of
    inputs come first, then those of states, then the sums of biases; in that of a GPU the directions come one after
    the other, and then all biases."""
    row, rows = reshape(as_tensor(weights, kind), [-1]), GATES[kind] * size
    matrices, place, taken = rows * (width + size), 0, []
    counts = {1: directions * (matrices + rows * has_bias), 2: directions * (matrices + 2 * rows * has_bias)}
    if row.size not in counts.values():
        raise ValueError(
            f"[{kind}] wrong number of weights, got {row.size}, expected {counts[1]}, or {counts[2]} with two biases"
        )
    on_gpu = get_context("device_target") == "GPU"  # tells the orders apart where there are no biases
    biases = 2 if row.size != counts[1] or (on_gpu and not has_bias) else 1
    inputs_first = directions * [width] + directions * [size]
    for count in inputs_first if biases == 1 else directions * [width, size]:
        taken.append(reshape(row[place : place + rows * count], [rows, count]))
        place += rows * count
    own = [row[at : at + rows] for at in range(place, row.size, rows)]  # biases
    found = []
    for k in range(directions):
        pair = (taken[k], taken[k + directions]) if biases == 1 else tuple(taken[2 * k : 2 * k + 2])
        of_inputs, of_states = (own[k], None) if biases == 1 and has_bias else own[2 * k : 2 * k + 2] or (None, None)
        found.append((*pair, of_inputs, of_states))
    return found
