"""Random trainings, as texts that both systems run: a network, a loss and a loop of steps whose Python does what users
write in steps: random numbers, counters, branches on data, item assignment, hooks, gradients of its own."""

import random

HEADER = """
import copy

class Own(nn.Cell):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.calls = 0

    def construct(self, x):
        return x * x * 0.5

    def bprop(self, x, out, dout):
        self.calls += 1
        return (dout * x * self.factor + 0.01 * self.calls,)


def noise():
    while True:
        yield random.random()


def scaled(factor):
    def call(a):
        return a * factor
    return call


def checked(a, limit):
    if float(a.abs().max()) > limit:
        raise ValueError("large")
    return a * 1.5
"""

# Lines of `construct`, which change y of shape (n, 4). $u is a number of the seed, $i and $j small integers, $k a name
# that no other statement has.
STATEMENTS = {
    "dense": "y = self.dense1(y)",
    "dense again": "y = ops.tanh(self.dense2(y))",
    "layer norm": "y = self.norm(y)",
    "batch norm": "y = self.batch_norm(y)",
    "convolution": "y = self.conv(y.reshape((-1, 1, 2, 2))).reshape((-1, 4)) * 0.5",
    "cells": "y = self.pair[self.count % 2](y)",
    "activation": "y = random.choice([ops.tanh, ops.sigmoid, ops.relu])(y)",
    "random factor": "y = y * random.uniform(-1, 1)",
    "random offset": "y = y + random.gauss(0, 1)",
    "noise": "y = y + ms.Tensor(np.random.randn(*y.shape).astype('f4')) * 0.1",
    "array": "y = y * ms.Tensor(np.random.rand(4).astype('f4'))",
    "double": "y = (y * ms.Tensor(np.random.rand(4))).astype(ms.float32)",
    "numpy number": "y = y * np.random.rand()",
    "numpy float32": "y = y + float(np.float32(np.random.rand()))",
    "integer": "y = y * random.randint(1, 3)",
    "zeros": "y = y * random.choice([0.0, -0.0, 1.0]) + y",
    "count": "self.count += 1\ny = y * (1.0 / self.count)",
    "parity": "self.count += 1\nif self.count % 2:\n    y = y * y * 0.5\nelse:\n    y = y + 1.0",
    "loop of a count": "self.count += 1\nfor i$k in range(self.count % 3):\n    y = ops.tanh(y) + 0.1 * i$k",
    "branch": "if y.sum() > $u:\n    y = ops.tanh(y) + 0.25\nelse:\n    y = y * 0.75 - ops.sigmoid(y)",
    "while": "n$k = 0\nwhile y.abs().max() > 1.0 and n$k < 5:\n    y = y * 0.5\n    n$k += 1",
    "float": "s$k = float(y.mean())\ny = y * (1.0 / (1.0 + s$k * s$k))",
    "item": "s$k = y.abs().max().item()\ny = y / (1.0 + s$k)",
    "asnumpy": "a$k = y.asnumpy()\ny = y * ms.Tensor((a$k > a$k.mean()).astype('f4'))",
    "int": "y = y + int(y.sum() * 10) % 3",
    "bool": "y = y * 2.0 if bool((y > 0.5).any()) else y * 0.5",
    "argmax": "i$k = int(y.sum(axis=0).argmax())\ny = y + y[:, i$k:i$k + 1]",
    "assign item": "y = y * 1.0\ny[$i] = y[0] * random.uniform(-1, 1)",
    "assign number": "y = y + 0.0\ny[$i, $j] = random.uniform(-1, 1)",
    "assign slice": "y = y * 1.0\ny[1:, ::2] = $u",
    "assign column": "y = y * 1.0\ny[:, $j] = y[:, 0] * y[:, 1]",
    "assign mask": "y = y * 1.0\ny[y > 0.25] = random.uniform(-1, 1)",
    "assign constant": "c$k = ms.Tensor(np.ones((4,), 'f4'))\nc$k[$j] = self.count\ny = y * c$k",
    "assign value to constant": "c$k = ops.zeros((4,), ms.float32)\nc$k[$j] = y.mean()\ny = y + c$k",
    "in place": "z$k = y * 1.0\nz$k += 0.5\nz$k *= random.uniform(0.5, 1)\ny = z$k - 0.25",
    "slice": "y = ops.concat([y[random.randint(0, 1):], y]).sum(axis=0) * 0.2 + y",
    "index": "y = y[:, ms.Tensor([1, 0, 3, 2])]",
    "mask": "y = ops.select(y > $u, y, y * 0.1)",
    "where": "y = ops.where(y > 0, y, ms.Tensor(0.1, ms.float32))",
    "masked fill": "y = y.masked_fill(y < $u, random.uniform(-1, 1))",
    "split": "p$k = list(ops.split(y, 2, axis=1))\nrandom.shuffle(p$k)\ny = ops.concat(p$k, axis=1)",
    "list": "l$k = [y, y * 2.0]\nl$k.append(l$k[0] + l$k[1])\nl$k[0] = l$k[2] * 0.5\ny = sum(l$k) * 0.25",
    "dict": "d$k = {'a': y, 'b': None}\nd$k['b'] = d$k['a'] * self.table['k']\n"
    "self.table['k'] *= 0.9\ny = d$k['b']",
    "stack": "y = ops.stack([y, y * random.random()]).mean(axis=0)",
    "transpose": "p$k = [0, 1]\nz$k = ops.transpose(y, tuple(p$k))\ny = z$k * 1.0",
    "cumulative": "y = ops.cumsum(y, 1) * 0.5",
    "softmax": "y = ops.softmax(y, axis=random.choice([0, 1])) * 2.0",
    "half": "y = y.astype(ms.float16).astype(ms.float32)",
    "double precision": "y = (y.astype(ms.float64) * 1.5).astype(ms.float32)",
    "integers": "y = y + ops.stop_gradient((y * 3).astype(ms.int32).astype(ms.float32)) * 0.1",
    "stop gradient": "y = y + ops.stop_gradient(y) * $u",
    "detach by a read": "y = y * ms.Tensor(y.asnumpy().copy())",
    "own gradient": "y = self.own(y)",
    "own gradients": "y = self.own(y) + self.other(y)",
    "tensor hook": "y = y * 1.0\ny.register_hook(lambda g: g * $u)\ny = y * 2.0",
    "insert gradient": "y = ops.InsertGradientOf(lambda g: g * 0.5 + 0.01)(y)",
    "kept": "y = y if self.kept is None else y + self.kept\nself.kept = float(y.mean()) * 0.1",
    "kept tensor": "z$k = ops.stop_gradient(y).mean()\n"
    "y = y + (0.0 if self.last is None else self.last)\nself.last = z$k",
    "history": "self.__dict__.setdefault('log', []).append(ops.stop_gradient(y).sum())\n"
    "if len(self.log) > 2:\n    y = y + self.log[-2] * 0.05",
    "buffer": "ops.assign(self.buffer, self.buffer * 0.9 + ops.stop_gradient(y).mean(axis=0) * 0.1)\n"
    "y = y - self.buffer",
    "buffer of the values": "ops.assign(self.buffer, self.buffer * 0.9 + y.mean(axis=0) * 0.1)\ny = y - self.buffer",
    "hooks": "y = y * 1.0\ny.register_hook(lambda g: g * 2.0 + 0.01)\ny.register_hook(lambda g: g * random.random())\n"
    "y = y * 0.5",
    "hook of a count": "self.count += 1\nf$k = self.count * 0.2\n"
    "y = y * 1.0\ny.register_hook(lambda g: g * f$k)\ny = y * 2.0",
    "new cell": "y = Own(self.count + random.random())(y)",
    "constructed": "y = y + ms.Tensor(y * 1.0) * 0.1",
    "copied deep": "y = y + copy.deepcopy(y * 1.0) * 0.1",
    "memory": "m$k = self.constant.asnumpy()\ny = y * self.constant\nm$k += 0.05",
    "set data": "self.buffer.set_data(ms.Tensor(np.full((4,), 0.1 * self.count, 'f4')))\ny = y + self.buffer",
    "assign add": "self.buffer += ops.ones((4,), ms.float32) * 0.1\ny = y * (1.0 + self.buffer)",
    "weight": "y = y @ self.weight * 0.5",
    "weights": "y = y * self.weight[$i] + self.weight.sum() * 0.1",
    "tied": "y = ops.matmul(y, self.dense1.weight) * 0.5",
    "caught": "try:\n    y = checked(y, $u + 1.0)\nexcept ValueError:\n    y = y * 0.5",
    "generator": "y = y * next(self.noise)",
    "closure": "y = scaled(random.random())(y)",
    "comprehension": "y = sum(y * (j$k + self.count) for j$k in range(3)) * 0.1",
    "inner gradient": "y = y + ms.grad(lambda a: (a * a * a).sum())(y) * 0.1",
    "inner gradient with a number": "y = y + ops.stop_gradient(ms.grad(lambda a: (a * self.count).sum())(y)) * 0.1",
    "broadcast": "y = y + ops.broadcast_to(y[:1], y.shape) * 0.5",
    "norm": "y = y / (ops.sqrt((y * y).sum(axis=1, keepdims=True)) + 1.0)",
    "clip": "y = ops.clip_by_value(y, -random.uniform(0.5, 1), random.uniform(0.5, 1))",
    "max": "y = ops.maximum(y, ms.Tensor(random.uniform(-1, 0), ms.float32))",
    "power": "y = (y * y + 1.0) ** random.choice([1, 2, 0.5])",
    "training": "y = y * 2.0 if self.training else y",
    "print": "t$k = str(y.shape)\ny = y * len(t$k)  * 0.1",
    "iteration": "y = ops.stack([row for row in y]) * 0.5",
    "tensor attribute": "y = y * self.constant\nself.constant = self.constant * 1.1",
    "array changed": "self.array += 0.1\ny = y * ms.Tensor(self.array)",
    "shape": "y = y * (1.0 / y.shape[0])",
    "full": "y = y + ops.full((4,), random.random(), dtype=ms.float32)",
    "full of kinds": "y = y + ops.full((4,), random.choice([0, 0.0, -0.0, 1, 1.0])).astype(ms.float32)",
    "one hot": "y = y + ops.one_hot(ms.Tensor([self.count % 4], ms.int32), 4, ms.Tensor(1.0, ms.float32), "
    "ms.Tensor(0.0, ms.float32))",
    "top": "y = y + ops.topk(y, 1)[0]",
    "copied": "z$k = y.copy()\ny = y + z$k",
}

_NET = """
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense1, self.dense2 = nn.Dense(4, 4), nn.Dense(4, 4, has_bias=False)
        self.norm, self.batch_norm = nn.LayerNorm((4,)), nn.BatchNorm1d(4)
        self.conv = nn.Conv2d(1, 1, 2, pad_mode="same")
        self.pair = nn.CellList([nn.Dense(4, 4), nn.Dense(4, 4)])
        self.own, self.other = Own(0.5), Own(1.5)
        self.weight = ms.Parameter(ms.Tensor(np.zeros((4, 4), "f4")), name="weight")
        self.buffer = ms.Parameter(ms.Tensor(np.zeros(4, "f4")), name="buffer", requires_grad=False)
        self.count, self.table = 0, {"k": 1.0}
        self.kept, self.last, self.noise = None, None, noise()
        self.__dict__["array"] = np.ones(4, "f4")
        self.__dict__["constant"] = ms.Tensor(np.ones(4, "f4"))

    def construct(self, x):
        y = x
"""

_OPTIMIZERS = [
    "nn.SGD(weights, 0.05)",
    "nn.Momentum(weights, 0.05, 0.9)",
    "nn.Adam(weights, 0.01, eps=1e-2)",
    "nn.AdamWeightDecay(weights, 0.01, eps=1e-2)",
    "nn.RMSProp(weights, 0.01, epsilon=1e-2)",
    "nn.Momentum(weights, [0.05, 0.04, 0.03, 0.02, 0.01, 0.005, 0.002], 0.9)",
]

_LOSSES = [
    "((y - t) ** 2).mean()",
    "nn.MSELoss()(y, t)",
    "nn.L1Loss()(y, t)",
    "ops.abs(y - t).mean() * random.uniform(0.5, 1)",
    "(ops.tanh(y) * t).sum()",
]


def _loop(g):
    """The way a step is made, and its body: `got` is a list of what is compared."""
    kind = g.choice(["value_and_grad"] * 4 + ["inputs", "aux", "operation", "operation of inputs", "cell"])
    update = "optimizer(grads)"
    if g.random() < 0.2:
        update = "optimizer(tuple(ops.clip_by_value(one, -0.5, 0.5) for one in grads))"
    if kind == "value_and_grad":
        return "step = ms.value_and_grad(forward, None, optimizer.parameters)", f"loss, grads = step(x, t)\n{update}"
    if kind == "inputs":
        return (
            "step = ms.value_and_grad(forward, (0, 1), optimizer.parameters)",
            f"loss, (inputs, grads) = step(x, t)\ngot += list(inputs)\n{update}",
        )
    if kind == "aux":
        return (
            "step = ms.value_and_grad(lambda x, t: (forward(x, t), x * 2.0, net.count), 0, optimizer.parameters, "
            "has_aux=True)"
            if g.random() < 0.3
            else "step = ms.value_and_grad(lambda x, t: (forward(x, t), x * random.random()), 0, "
            "optimizer.parameters, has_aux=True)",
            f"values, (of_x, grads) = step(x, t)\nloss = values[0]\ngot += [of_x, values[1]]\n{update}",
        )
    if kind == "operation":
        return (
            "step = ops.GradOperation(get_by_list=True)(forward, optimizer.parameters)",
            f"grads = step(x, t)\nloss = grads[0].sum()\n{update}",
        )
    if kind == "operation of inputs":
        return (
            "step = ops.GradOperation(get_all=True, get_by_list=True)(forward, optimizer.parameters)",
            f"inputs, grads = step(x, t)\ngot += list(inputs)\nloss = grads[0].sum()\n{update}",
        )
    return "step = nn.TrainOneStepCell(WithLoss(), optimizer)", "loss = step(x, t)\ngrads = ()"


def _between(g):
    """Lines between steps, at random."""
    lines = []
    if g.random() < 0.15:
        lines.append("if i == 2:\n    net.set_train(False)\nif i == 4:\n    net.set_train(True)")
    if g.random() < 0.15:
        lines.append("if i == 3:\n    net.weight.set_data(net.weight * 0.5)")
    if g.random() < 0.1:
        lines.append("net.constant = ms.Tensor(np.full(4, 0.5 + i, 'f4'))")
    if g.random() < 0.1:
        lines.append("net.buffer[1] = 0.5 * i")
    if g.random() < 0.1:
        lines.append("if i == 2:\n    net.own.factor = 2.0")
    return lines


def _indented(text, spaces):
    return "".join(" " * spaces + line + "\n" for line in text.split("\n"))


def program(seed):
    """The text of a program of this seed, and the names of its statements. It defines `run(numbers)`, which gives a
    list of lists of arrays, one for each step; `numbers` is a generator of NumPy."""
    g = random.Random(seed)
    names = [g.choice(list(STATEMENTS)) for _ in range(g.randrange(1, 7))]
    if g.random() < 0.6:
        names.insert(g.randrange(len(names) + 1), "dense")
    text = HEADER + _NET
    for place, name in enumerate(names):
        line = STATEMENTS[name].replace("$k", str(place)).replace("$u", f"{g.uniform(-1, 1):.3f}")
        line = line.replace("$i", str(g.randrange(3))).replace("$j", str(g.randrange(4)))
        if g.random() < 0.1:
            line = f"if random.random() < 0.5:\n{_indented(line, 4)}".rstrip("\n")
        text += _indented(line, 8)
    text += "        return y\n\n\n"
    make, body = _loop(g)
    sizes = "[3, 3, 3, 3, 3, 3]" if g.random() < 0.7 else "[3, 5, 3, 4, 5, 3]"
    text += (
        "class WithLoss(nn.Cell):\n    def __init__(self):\n        super().__init__()\n        self.net = net\n\n"
        "    def construct(self, x, t):\n        return forward(x, t)\n\n\n"
        f"net = Net()\ngive_parameters(ms, net)\nnet.set_train()\nweights = net.trainable_params()\n"
    )
    if g.random() < 0.15:
        text += "net.dense1.weight.requires_grad = False\nweights = net.trainable_params()\n"
    text += f"optimizer = {g.choice(_OPTIMIZERS)}\n\n\n"
    text += f"def forward(x, t):\n    y = net(x)\n    return {g.choice(_LOSSES)}\n\n\n{make}\n\n\n"
    text += f"def one(i, x, t):\n    got = []\n{_indented(body, 4)}"
    text += "    return [loss, *got, *grads, *net.get_parameters()]\n\n\n"
    text += f"def run(numbers):\n    found = []\n    random.seed({seed})\n"
    text += f"    np.random.seed({seed})\n    for i, size in enumerate({sizes}):\n"
    for line in _between(g):
        text += _indented(line, 8)
    text += (
        "        x, t = (ms.Tensor(numbers.normal(size=(size, 4)).astype('f4')) for _ in range(2))\n"
        "        found.append([np.array(one.asnumpy()) for one in one(i, x, t)])\n    return found\n"
    )
    return text, names
