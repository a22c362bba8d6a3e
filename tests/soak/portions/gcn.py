"""Graphs of nodes: dense adjacencies, messages along edges, attention of a GAT, nodes without labels, a flat rate."""

import mindspore as ms
import numpy as np
from common import STEPS, batches, finish, give_weights, report, start
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import XavierUniform, initializer

NODES, FEATURES, CLASSES = 10, 6, 3
rank, ranks = start()


def make_data(count):
    """Graphs whose nodes have the class of most of their neighbours; every fourth label is not known."""
    random = np.random.default_rng(19)
    labels = random.integers(0, CLASSES, (count, NODES)).astype(np.int32)
    same = labels[:, :, None] == labels[:, None, :]
    edges = random.random(same.shape) < np.where(same, 0.6, 0.1)
    edges = np.triu(edges, 1)
    edges = edges | edges.transpose(0, 2, 1) | np.eye(NODES, dtype=bool)
    degrees = edges.sum(-1)
    adjacency = edges / np.sqrt(degrees[:, :, None] * degrees[:, None, :])
    features = np.eye(FEATURES)[labels] * 0.8 + random.normal(0, 0.6, (count, NODES, FEATURES))
    known = (random.random(labels.shape) < 0.75).astype(np.float32)
    return features.astype(np.float32), adjacency.astype(np.float32), labels, known


RING = np.array([[i, (i + 1) % NODES] for i in range(NODES)] + [[(i + 3) % NODES, i] for i in range(NODES)], np.int32)


class GraphConv(nn.Cell):
    def __init__(self, inputs, outputs, activation=None):
        super().__init__()
        self.weight = Parameter(initializer(XavierUniform(), [inputs, outputs], ms.float32), name="weight")
        self.bias = Parameter(initializer("zeros", outputs), name="bias")
        self.activation = activation() if activation is not None else None

    def construct(self, x, adjacency):
        x = ops.matmul(adjacency, ops.matmul(x, self.weight)) + self.bias
        return x if self.activation is None else self.activation(x)

    def extend_repr(self):
        return f"shape={self.weight.shape}"


class EdgeConv(nn.Cell):
    """Messages along a given ring of edges: gathered at their sources, added up at their targets."""

    def __init__(self, width, edges):
        super().__init__()
        self.source, self.target = Tensor(edges[:, 0]), Tensor(edges[:, 1])
        self.message = nn.Dense(2 * width, width, activation="relu")

    def construct(self, x):
        first = ops.gather(x, self.source, 1)
        second = x[:, self.target]
        messages = self.message(ops.concat([first, second], -1))
        sums = ops.zeros_like(x)
        where = ops.broadcast_to(self.target.reshape(1, -1, 1), messages.shape)
        return x + ops.tensor_scatter_elements(sums, where, messages, axis=1, reduction="add")


class Attention(nn.Cell):
    """One head of a GAT: softmax over the neighbours of the sum of two scores."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.dense = nn.Dense(inputs, outputs, has_bias=False)
        self.of_source, self.of_target = nn.Dense(outputs, 1), nn.Dense(outputs, 1)
        self.act = nn.LeakyReLU(alpha=0.2)

    def construct(self, x, adjacency):
        x = self.dense(x)
        scores = self.act(self.of_source(x) + self.of_target(x).swapaxes(1, 2))
        scores = ops.where(adjacency > 0, scores, ops.full_like(scores, -9e15))
        return ops.bmm(nn.Softmax(axis=-1)(scores), x)


class GCN(nn.Cell):
    def __init__(self, hidden=12):
        super().__init__()
        self.layers = nn.CellList([GraphConv(FEATURES, hidden, nn.ReLU), GraphConv(hidden, hidden, nn.ELU)])
        self.edges, self.attention = EdgeConv(hidden, RING), Attention(hidden, hidden)
        self.out = GraphConv(hidden, CLASSES)
        self.norm = nn.LayerNorm((hidden,), epsilon=1e-5)

    def construct(self, x, adjacency):
        for layer in self.layers:
            x = layer(x, adjacency)
        x = self.norm(self.edges(x)) + ops.tanh(self.attention(x, adjacency))
        return self.out(x, adjacency)


class MaskedLoss(nn.LossBase):
    """Cross entropy of the nodes that are known, and the squares of the weights of the first layer."""

    def __init__(self, net, decay=5e-3):
        super().__init__()
        self.decay, self.weights = decay, [net.layers[0].weight]

    def construct(self, logits, labels, known):
        logits = logits - ops.amax(logits, axis=-1, keepdims=True)
        logs = logits - ops.log(ops.exp(logits).sum(-1, keepdims=True))
        picked = ops.gather_elements(logs, 2, labels.expand_dims(-1)).squeeze(-1)
        loss = ops.neg(picked * known).sum() / known.sum()
        return loss + self.decay * sum([(one**2).sum() for one in self.weights]) / 2


class NetWithLoss(nn.Cell):
    def __init__(self, net):
        super().__init__(auto_prefix=False)
        self.net, self.loss = net, MaskedLoss(net)

    def construct(self, x, adjacency, labels, known):
        return self.loss(self.net(x, adjacency), labels, known)


net = GCN()
give_weights(net)
optimizer = nn.Adam(net.trainable_params(), learning_rate=0.01, eps=1e-5)
step = nn.TrainOneStepCell(NetWithLoss(net), optimizer)
step.set_train()
features, adjacency, labels, known = make_data(32)
columns = {"x": features, "adjacency": adjacency, "labels": labels, "known": known}
losses = []
for i, given in enumerate(batches(columns, 8, rank, ranks, epochs=2), 1):
    if i > STEPS:
        break
    loss = step(*given)
    losses.append(float(loss))
    if len(losses) > 2 and losses[-1] > losses[-2]:  # a flat rate: by half
        ops.assign(optimizer.learning_rate, optimizer.learning_rate * 0.5)
    report(i, loss)
found = net(Tensor(features[:8]), Tensor(adjacency[:8])).argmax(-1).asnumpy()
print(f"value right {float((found == labels[:8]).mean()):.5f} rate {float(optimizer.learning_rate.asnumpy()):.6f}")
finish(net.layers[0].weight, net.edges.message.bias, net.attention.of_target.weight, net.norm.gamma)
