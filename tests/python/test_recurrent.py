"""Recurrent layers and cells against their formulas in NumPy, on random inputs. What they give in the documented system
is in surface/general.results."""

import unittest.mock

import numpy as np
from support import Case, rng

import partita as ms
from partita import Tensor, nn, ops
from partita.ops.recurrent import flat_weights

STEPS, ROWS, WIDTH, SIZE = 5, 3, 4, 6


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def after(kind, x, state, weights):
    """The state after a step, as a tuple."""
    w_ih, w_hh, b_ih, b_hh = weights
    of_input, of_state = x @ w_ih.T + b_ih, state[0] @ w_hh.T + b_hh
    if kind == "RNN":
        return (np.tanh(of_input + of_state),)
    if kind == "GRU":
        (r, z, n), (hr, hz, hn) = np.split(of_input, 3, -1), np.split(of_state, 3, -1)
        update = sigmoid(z + hz)
        return ((1 - update) * np.tanh(n + sigmoid(r + hr) * hn) + update * state[0],)
    i, f, g, o = np.split(of_input + of_state, 4, -1)
    cell = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(cell), cell


def layers(kind, x, first, parameters, count, ways, lengths=None):
    """(states of the last layer, last states) by loops."""
    last = []
    for layer in range(count):
        made = []
        for way in range(ways):
            suffix = f"l{layer}{'_reverse' if way else ''}"
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            weights = [parameters.get(f"{name}_{suffix}", 0.0) for name in names]
            out = np.zeros((*x.shape[:2], weights[1].shape[1]))
            rows = []
            for row in range(x.shape[1]):
                length = len(x) if lengths is None else lengths[row]
                state = tuple(one[layer * ways + way, row] for one in first)
                for t in reversed(range(length)) if way else range(length):
                    state = after(kind, x[t, row], state, weights)
                    out[t, row] = state[0]
                rows.append(state)
            made.append(out)
            last.append([np.stack(one) for one in zip(*rows)])
        x = np.concatenate(made, -1)
    return x, [np.stack(one) for one in zip(*last)]


def values_of(cell):
    return {one.name: one.asnumpy().astype("f8") for one in cell.get_parameters()}


class Recurrent(Case):
    def both(self, kind, count, ways, bias, lengths, mode):
        """The results of a layer and of the loops."""
        ms.set_context(mode=mode)
        net = getattr(nn, kind)(WIDTH, SIZE, count, has_bias=bias, bidirectional=ways == 2)
        own = rng(count * 10 + ways)
        x = own.standard_normal((STEPS, ROWS, WIDTH))
        first = [own.standard_normal((count * ways, ROWS, SIZE)) for _ in range(1 + (kind == "LSTM"))]
        tensors = [Tensor(one.astype("f4")) for one in first]
        state = tuple(tensors) if kind == "LSTM" else tensors[0]
        given = [] if lengths is None else [Tensor(lengths, ms.int32)]
        y, found = net(Tensor(x.astype("f4")), state, *given)
        expected = layers(kind, x, first, values_of(net), count, ways, lengths)
        self.close(y, expected[0], 2e-5)
        for one, other in zip(found if kind == "LSTM" else [found], expected[1]):
            self.close(one, other, 2e-5)

    def test_layers_give_what_loops_give(self):
        for kind in ("RNN", "GRU", "LSTM"):
            for count, ways, bias, lengths in ((1, 1, True, None), (2, 2, True, [5, 2, 3]), (2, 1, False, [1, 5, 4])):
                for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
                    self.both(kind, count, ways, bias, lengths, mode)

    def test_cells_are_steps_of_layers(self):
        x = Tensor(rng(4).standard_normal((STEPS, ROWS, WIDTH)).astype("f4"))
        for kind in ("RNN", "GRU", "LSTM"):
            net, cell = getattr(nn, kind)(WIDTH, SIZE), getattr(nn, f"{kind}Cell")(WIDTH, SIZE)
            for own, other in zip(cell.get_parameters(), net.get_parameters()):
                self.assertEqual(own.shape, other.shape)
                own.set_data(other)
            zeros = ops.zeros((ROWS, SIZE))
            state = (zeros, zeros) if kind == "LSTM" else zeros
            for t in range(STEPS):
                state = cell(x[t], state)
            y, _ = net(x)
            self.close(state[0] if kind == "LSTM" else state, y.asnumpy()[-1], 1e-6)

    def test_batches_come_first(self):
        x = Tensor(rng(5).standard_normal((STEPS, ROWS, WIDTH)).astype("f4"))
        ms.set_seed(3)
        net = nn.GRU(WIDTH, SIZE, bidirectional=True)
        other = nn.GRU(WIDTH, SIZE, bidirectional=True, batch_first=True)
        for one, value in zip(other.get_parameters(), net.get_parameters()):
            one.set_data(value)
        y, h = net(x)
        turned, last = other(x.swapaxes(0, 1))
        self.close(turned.swapaxes(0, 1), y.asnumpy())
        self.close(last, h.asnumpy())

    def test_gradients_agree_with_differences(self):
        x = rng(6).standard_normal((3, 2, WIDTH)).astype("f4")
        for kind in ("RNN", "GRU", "LSTM"):
            net = getattr(nn, kind)(WIDTH, 3, 2, bidirectional=True)
            weights = rng(7).standard_normal((3, 2, 6)).astype("f4")
            loss = lambda x: (net(x)[0] * Tensor(weights)).sum()  # noqa: E731
            (_, found) = ms.value_and_grad(loss, None, net.trainable_params())(Tensor(x))
            for one, gradient in list(zip(net.trainable_params(), found))[::3]:
                before, step = one.asnumpy().copy(), 1e-2
                sides = []
                for sign in (1, -1):
                    moved = before.copy()
                    moved.reshape(-1)[1] += sign * step
                    one.set_data(Tensor(moved))
                    sides.append(float(loss(Tensor(x))))
                one.set_data(Tensor(before))
                expected = (sides[0] - sides[1]) / (2 * step)
                self.assertAlmostEqual(float(gradient.asnumpy().reshape(-1)[1]), expected, delta=2e-3, msg=one.name)

    def test_train(self):
        ms.set_seed(1)
        net, out = nn.LSTM(WIDTH, SIZE, 2, dropout=0.1, bidirectional=True), nn.Dense(2 * SIZE, 1)
        cells = nn.CellList([net, out])
        x = Tensor(rng(8).standard_normal((STEPS, 8, WIDTH)).astype("f4"))
        y = Tensor((x.asnumpy()[:, :, :1].sum(0) > 0).astype("f4"))
        optimizer = nn.Adam(cells.trainable_params(), 0.02)
        step = ms.value_and_grad(lambda: ((out(net(x)[0].mean(0)) - y) ** 2).mean(), None, optimizer.parameters)
        losses = []
        for _ in range(30):
            loss, gradients = step()
            optimizer(gradients)
            losses.append(float(loss))
        self.assertLess(losses[-1], losses[0] / 4)

    def test_weights_in_a_row_as_other_devices_have_them(self):
        own = rng(9)
        for ways, bias in ((1, True), (2, True), (2, False)):
            each = [
                [own.standard_normal((4 * SIZE, n)) for n in (WIDTH, SIZE)]
                + [own.standard_normal(4 * SIZE) for _ in range(2)]
                for _ in range(ways)
            ]
            matrices = [one.reshape(-1) for weights in each for one in weights[:2]]
            biases = [one for weights in each for one in weights[2:]] if bias else []
            row = Tensor(np.concatenate([*matrices, *biases]).astype("f4"))
            found = flat_weights(row, "LSTM", WIDTH, SIZE, ways, bias)
            if not bias:  # one order cannot be told from the other: that of the device is taken
                self.close(found[0][1], row.asnumpy()[2 * 4 * SIZE * WIDTH :][: 4 * SIZE * SIZE].reshape(-1, SIZE))
                with unittest.mock.patch("partita.ops.recurrent.get_context", lambda name: "GPU"):
                    found = flat_weights(row, "LSTM", WIDTH, SIZE, ways, bias)
                for weights, expected in zip(found, each):
                    self.close(weights[1], expected[1], 1e-6)
                continue
            for weights, expected in zip(found, each):
                for one, other in zip(weights, expected):
                    self.close(one, other, 1e-6)

    def test_refuse_what_does_not_fit(self):
        x = ops.ones((STEPS, ROWS, WIDTH))
        for call, kind, text in (
            (lambda: nn.LSTM(0, 2), ValueError, "[LSTM] bad input_size, got 0, expected an integer from 1"),
            (lambda: nn.GRU(2, 2, 0), ValueError, "[GRU] bad num_layers, got 0"),
            (lambda: nn.GRU(2, 2, bidirectional=1), TypeError, "[GRU] bidirectional is not a bool, got int"),
            (lambda: nn.LSTM(2, 2, dropout=1), ValueError, "[LSTM] dropout out of range, got 1"),
            (lambda: nn.RNN(2, 2, nonlinearity="x"), ValueError, "[RNN] unknown nonlinearity, got 'x'"),
            (lambda: nn.LSTM(WIDTH + 1, 2)(x), ValueError, "[LSTM] x has another shape, got (5, 3, 4)"),
            (lambda: nn.LSTM(WIDTH, 2)(x[0]), ValueError, "[LSTM] x has another shape, got (3, 4)"),
            (lambda: nn.GRU(WIDTH, 2)(x, ops.ones((2, 3, 2))), ValueError, "a state has another shape, got (2, 3, 2)"),
            (lambda: nn.GRUCell(3, 2)(x[0], x[0]), ValueError, "[GRUCell] x has another shape, got (3, 4)"),
            (lambda: nn.GRUCell(4, 2)(x[0], x[0]), ValueError, "[GRUCell] a state has another shape, got (3, 4)"),
            (lambda: ops.LSTM(4, 2, 2, True, False, 0.0), ValueError, "[LSTM] more than a layer, got num_layers=2"),
            (
                lambda: ops.LSTM(4, 2, 1, True, False, 0.0)(x, x[:1, :, :2], x[:1, :, :2], ops.ones((9, 1, 1))),
                ValueError,
                "[LSTM] wrong number of weights, got 9, expected 56, or 64 with two biases",
            ),
        ):
            with self.refuses(kind, text):
                call()
