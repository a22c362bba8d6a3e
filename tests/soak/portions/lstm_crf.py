"""Tags of sequences: an LSTM of own cells in both directions, a CRF by Python loops up to the longest length."""

import mindspore as ms
import numpy as np
from common import STEPS, batches, finish, give_weights, reducer_of, report, start
from mindspore import Parameter, Tensor, nn, ops

WORDS, TAGS, LONGEST = 20, 4, 7
rank, ranks = start()


def make_data(count):
    random = np.random.default_rng(17)
    lengths = np.array([random.integers(2, LONGEST + 1 - (i // 8) % 3) for i in range(count)], np.int32)
    words = random.integers(1, WORDS, (count, LONGEST)).astype(np.int32)
    tags = (words + np.roll(words, 1, axis=1)) % TAGS
    inside = np.arange(LONGEST)[None] < lengths[:, None]
    return (words * inside).astype(np.int32), (tags * inside).astype(np.int32), lengths


class Cell(nn.Cell):
    """One step of an LSTM, all gates by two products."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.hidden = hidden
        self.of_input, self.of_state = nn.Dense(inputs, 4 * hidden), nn.Dense(hidden, 4 * hidden, has_bias=False)

    def construct(self, x, state):
        h, c = state
        gates = self.of_input(x) + self.of_state(h)
        i, f, g, o = ops.split(gates, self.hidden, axis=1)
        c = ops.sigmoid(f + 1.0) * c + ops.sigmoid(i) * ops.tanh(g)
        return ops.sigmoid(o) * ops.tanh(c), c


class Direction(nn.Cell):
    def __init__(self, inputs, hidden, backward):
        super().__init__()
        self.cell, self.backward = Cell(inputs, hidden), backward

    def construct(self, x, mask):
        zero = ops.zeros((x.shape[0], self.cell.hidden), ms.float32)
        state, outputs = (zero, zero), [None] * x.shape[1]
        steps = range(x.shape[1])
        for t in reversed(steps) if self.backward else steps:
            h, c = self.cell(x[:, t], state)
            inside = mask[:, t : t + 1]
            state = (inside * h + (1 - inside) * state[0], inside * c + (1 - inside) * state[1])
            outputs[t] = state[0]
        return ops.stack(outputs, axis=1)


class CRF(nn.Cell):
    def __init__(self, tags):
        super().__init__()
        self.start = Parameter(Tensor(np.zeros(tags), ms.float32), name="start")
        self.end = Parameter(Tensor(np.zeros(tags), ms.float32), name="end")
        self.transitions = Parameter(Tensor(np.zeros((tags, tags)), ms.float32), name="transitions")

    def score(self, emissions, tags, mask, lengths):
        rows = ops.arange(tags.shape[0])
        total = self.start[tags[:, 0]] + emissions[rows, 0, tags[:, 0]]
        for t in range(1, emissions.shape[1]):
            step = self.transitions[tags[:, t - 1], tags[:, t]] + emissions[rows, t, tags[:, t]]
            total = total + step * mask[:, t]
        last = ops.gather_elements(tags, 1, ops.expand_dims(lengths - 1, 1))
        return total + self.end[last.squeeze(1)]

    def normalizer(self, emissions, mask):
        alpha = self.start + emissions[:, 0]
        for t in range(1, emissions.shape[1]):
            scores = alpha.expand_dims(2) + self.transitions + emissions[:, t].expand_dims(1)
            alpha = ops.where(mask[:, t].expand_dims(1).bool(), ops.logsumexp(scores, 1), alpha)
        return ops.logsumexp(alpha + self.end, 1)

    def construct(self, emissions, tags, mask, lengths):
        return self.normalizer(emissions, mask) - self.score(emissions, tags, mask, lengths)

    def decode(self, emissions, lengths):
        """The best tags of each sequence, by Viterbi in NumPy."""
        emissions, transitions = emissions.asnumpy(), self.transitions.asnumpy()
        paths = []
        for row, length in zip(emissions, lengths.asnumpy().tolist()):
            best, back = self.start.asnumpy() + row[0], []
            for t in range(1, length):
                scores = best[:, None] + transitions + row[t][None]
                back.append(scores.argmax(0))
                best = scores.max(0)
            path = [int((best + self.end.asnumpy()).argmax())]
            for one in reversed(back):
                path.append(int(one[path[-1]]))
            paths.append(path[::-1])
        return paths


class Tagger(nn.Cell):
    def __init__(self, hidden=8):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 6)
        self.forward_lstm, self.backward_lstm = Direction(6, hidden, False), Direction(6, hidden, True)
        self.dense, self.crf = nn.Dense(2 * hidden, TAGS), CRF(TAGS)

    def emissions(self, words, mask):
        x = self.embedding(words)
        both = ops.cat((self.forward_lstm(x, mask), self.backward_lstm(x, mask)), axis=-1)
        return self.dense(both)

    def construct(self, words, tags, lengths):
        longest = int(lengths.max())
        words, tags = words[:, :longest], tags[:, :longest]
        mask = (ops.arange(longest).expand_dims(0) < lengths.expand_dims(1)).astype(ms.float32)
        return self.crf(self.emissions(words, mask), tags, mask, lengths).mean()


net = Tagger()
give_weights(net, scale=1.5)
optimizer = nn.SGD(net.trainable_params(), learning_rate=0.2, momentum=0.5, weight_decay=1e-4)
reduce = reducer_of(optimizer, ranks)
grad_fn = ops.value_and_grad(net, None, weights=net.trainable_params())
net.set_train()
columns = dict(zip(("words", "tags", "length"), make_data(32)))
for i, (words, tags, lengths) in enumerate(batches(columns, 8, rank, ranks, epochs=2), 1):
    if i > STEPS:
        break
    loss, gradients = grad_fn(words, tags, lengths)
    norm = ops.sqrt(sum(ops.reduce_sum(one**2) for one in reduce(gradients)))
    factor = ops.minimum(Tensor(1.0, ms.float32), 2.0 / (norm + 1e-6))
    optimizer(tuple(one * factor for one in reduce(gradients)))
    report(i, loss)
words, tags, lengths = (Tensor(one[:4]) for one in columns.values())
mask = (ops.arange(LONGEST).expand_dims(0) < lengths.expand_dims(1)).astype(ms.float32)
paths = net.crf.decode(net.emissions(words, mask), lengths)
print("value paths", *("".join(str(tag) for tag in path) for path in paths))
finish(net.embedding.embedding_table, net.crf.transitions, net.crf.end, net.backward_lstm.cell.of_state.weight)
