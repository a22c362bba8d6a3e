"""Sequences reversed by an encoder and a decoder with attention; `random.random()` decides what the decoder gets."""

import random

import mindspore as ms
import numpy as np
from common import STEPS, batches, finish, give_weights, reducer_of, report, start
from mindspore import Tensor, nn, ops

WORDS, LENGTH, BEGIN, PADDING = 12, 5, 1, 0
rank, ranks = start()
random.seed(5)


def make_data(count):
    numbers = np.random.default_rng(18)
    sources = numbers.integers(2, WORDS, (count, LENGTH)).astype(np.int32)
    lengths = numbers.integers(3, LENGTH + 1, count)
    sources[np.arange(LENGTH)[None] >= lengths[:, None]] = PADDING
    targets = np.array([np.pad(row[:n][::-1], (0, LENGTH - n)) for row, n in zip(sources, lengths)], np.int32)
    return sources, targets


class GRUCell(nn.Cell):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.x, self.h = nn.Dense(inputs, 3 * hidden), nn.Dense(hidden, 3 * hidden)

    def construct(self, x, h):
        x_r, x_z, x_n = ops.chunk(self.x(x), 3, axis=1)
        h_r, h_z, h_n = ops.chunk(self.h(h), 3, axis=1)
        reset, update = ops.sigmoid(x_r + h_r), ops.sigmoid(x_z + h_z)
        new = ops.tanh(x_n + reset * h_n)
        return (1 - update) * new + update * h


class Encoder(nn.Cell):
    def __init__(self, width, hidden):
        super().__init__()
        self.embedding, self.gru, self.hidden = nn.Embedding(WORDS, width), GRUCell(width, hidden), hidden

    def construct(self, source):
        rows, length = source.shape
        h = ops.zeros((rows, self.hidden), ms.float32)
        states = ops.zeros((rows, length, self.hidden), ms.float32)
        embedded = self.embedding(source)
        for t in range(length):
            inside = (source[:, t] != PADDING).astype(ms.float32).expand_dims(1)
            h = inside * self.gru(embedded[:, t, :], h) + (1 - inside) * h
            states[:, t] = h
        return states, h


class Attention(nn.Cell):
    def __init__(self, hidden):
        super().__init__()
        self.query, self.key, self.score = nn.Dense(hidden, hidden), nn.Dense(hidden, hidden), nn.Dense(hidden, 1)

    def construct(self, h, states, mask):
        energy = self.score(ops.tanh(self.query(h).expand_dims(1) + self.key(states))).squeeze(-1)
        energy = energy.masked_fill(mask, -1e9)
        weights = ops.softmax(energy, axis=-1)
        return ops.bmm(weights.expand_dims(1), states).squeeze(1), weights


class Decoder(nn.Cell):
    def __init__(self, width, hidden):
        super().__init__()
        self.embedding, self.attention = nn.Embedding(WORDS, width), Attention(hidden)
        self.gru, self.out = GRUCell(width + hidden, hidden), nn.Dense(2 * hidden, WORDS)

    def construct(self, word, h, states, mask):
        context, _ = self.attention(h, states, mask)
        h = self.gru(ops.cat([self.embedding(word), context], 1), h)
        return self.out(ops.cat([h, context], 1)), h


class Seq2Seq(nn.Cell):
    def __init__(self, width=6, hidden=8):
        super().__init__()
        self.encoder, self.decoder = Encoder(width, hidden), Decoder(width, hidden)
        self.forced = 0

    def construct(self, source, target, ratio=0.5):
        states, h = self.encoder(source)
        mask = ops.equal(source, PADDING)
        rows, length = target.shape
        outputs = ops.zeros((rows, length, WORDS), ms.float32)
        word = ops.full((rows,), BEGIN, dtype=ms.int32)
        for t in range(length):
            logits, h = self.decoder(word, h, states, mask)
            outputs[:, t, :] = logits
            if random.random() < ratio:
                self.forced += 1
                word = target[:, t]
            else:
                word = logits.argmax(axis=-1).astype(ms.int32)
        return outputs


net = Seq2Seq()
give_weights(net, scale=1.4)
criterion = nn.CrossEntropyLoss(ignore_index=PADDING, label_smoothing=0.1)
rate = nn.ExponentialDecayLR(0.02, 0.8, 2, is_stair=True)
optimizer = nn.RMSProp(net.trainable_params(), rate, decay=0.9, epsilon=1e-4)
reduce = reducer_of(optimizer, ranks)


def forward(source, target, ratio):
    logits = net(source, target, ratio)
    return criterion(logits.view(-1, WORDS), target.view(-1)), logits


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)
net.set_train()
sources, targets = make_data(32)
right = []
for i, (source, target) in enumerate(batches({"source": sources, "target": targets}, 8, rank, ranks, epochs=2), 1):
    if i > STEPS:
        break
    (loss, logits), gradients = grad_fn(source, target, max(0.3, 1.0 - 0.1 * i))
    gradients = reduce(gradients)
    gradients = [ops.clip_by_norm(one, 0.3) for one in gradients]
    optimizer(tuple(gradients))
    counted = (target != PADDING).astype(ms.float32)
    hits = (logits.argmax(-1).astype(ms.int32) == target).astype(ms.float32) * counted
    right.append(float(hits.sum() / counted.sum()))
    report(i, loss)
print("own rows that are right", *(f"{one:.4f}" for one in right))
print("value forced", net.forced)
net.set_train(False)
found = net(Tensor(sources[:3]), Tensor(targets[:3]), 0.0).argmax(axis=-1).asnumpy()
print("value found", *(" ".join(str(one) for one in row) for row in found))
finish(net.encoder.embedding.embedding_table, net.decoder.attention.key.weight, net.decoder.out.bias)
