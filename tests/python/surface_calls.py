"""Calls of documented functions, and texts of their results and parameters, that both systems make: the kept ones are
written by tests/soak/mindspore/make_surface.py."""

import inspect

import numpy as np


def operands(system):
    """The names that calls use."""

    def tensor(*rows, dtype="f4"):
        return system.Tensor(np.array(rows[0] if len(rows) == 1 else rows, dtype))

    return {
        "__name__": "surface_calls",
        "ms": system,
        "np": np,
        "ops": system.ops,
        "nn": system.nn,
        "Tensor": system.Tensor,
        "x": tensor([1.5, -2.0, 0.5], [-0.5, 2.0, 2.0]),
        "y": tensor([2.0, -1.0, 3.0], [1.0, 2.0, -2.0]),
        "p": tensor([0.5, 2.0, 1.0], [1.5, 0.25, 3.0]),
        "d": tensor([0.5, 2.0, 1.0], [1.5, 0.25, 3.0], dtype="f8"),
        "h": tensor([1.5, -2.0, 0.5], [-0.5, 2.0, 2.0], dtype="f2"),
        "i": tensor([3, -2, 5], [-7, 2, 5], dtype="i4"),
        "j": tensor([2, 3, 1], [4, 2, 3], dtype="i4"),
        "l": tensor([3, -2, 5], [-7, 2, 5], dtype="i8"),
        "u": tensor([3, 200, 5], [7, 2, 100], dtype="u1"),
        "b": tensor([True, False, True], [False, False, True], dtype="?"),
        "v": tensor(1.0, 2.0, 3.0),
        "s": system.Tensor(np.float32(2.5)),
        "n": system.Tensor(np.int32(3)),
        "ids": tensor(2, 0, 1, dtype="i4"),
        "logits": tensor([1.0, 2.0, 0.5], [0.1, -1.0, 2.0], [0.3, 0.3, -0.5], [2.0, 1.0, 1.0]),
        "labels": tensor(2, 0, 1, 1, dtype="i4"),
        "hot": tensor([0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]),
        "images": system.Tensor(np.arange(2 * 3 * 6 * 6, dtype="f4").reshape(2, 3, 6, 6) % 17 - 8),
        "cube": system.Tensor(np.arange(24, dtype="f4").reshape(2, 3, 4) % 7 - 3),
        "gradient": lambda function, *args: system.grad(function, tuple(range(len(args))))(*args),
    }


# Groups of calls; one a line.
CALLS = """
Tensor(1)
Tensor(1.5)
Tensor(True)
Tensor([1, 2])
Tensor([1.5, 2])
Tensor([True])
Tensor(np.array([1.5]))
Tensor([1, 2], ms.float16)
ms.tensor([1, 2])
ms.tensor([1.0, 2.0])
ms.tensor(3)
ops.add(i, j)
ops.add(i, 1.5)
ops.add(i, 1)
ops.add(i, x)
ops.add(l, i)
ops.add(u, 1)
ops.add(h, x)
ops.add(h, 1.5)
ops.add(x, d)
ops.add(b, 1)
ops.add(b, i)
ops.add(x, b)
x + True
i + True
i - 1.5
u + i
u - 4
1 - i
2.5 * i
i * x
i / j
i / 2
x / i
1 / i
u / 2
h / 2
Tensor(np.float64(1.5))
x + Tensor(np.float64(1.5))
h * s
s * h
h / s
h + s
d * s
i * Tensor(3)
i * s
h * Tensor(np.float64(2))
ops.RealDiv()(h, s)
ops.masked_fill(h, b, s)
ops.masked_fill(i, b, Tensor(2))
-i
-u
abs(i)
-x
i == j
x == 2
x != y
x < 1
i <= 2.5
x > b
b & b
~b
b == True
ops.logical_not(b)
ops.logical_and(b, ~b)
ops.logical_or(b, ~b)
ops.equal(i, 2)
ops.maximum(i, j)
ops.maximum(i, 2)
ops.maximum(i, 2.5)
ops.maximum(x, i)
ops.minimum(x, 0.5)
ops.abs(i)
ops.neg(i)
ops.square(i)
ops.square(x)
ops.sqrt(p)
ops.sqrt(j)
ops.rsqrt(p)
ops.exp(x)
ops.exp(i)
ops.log(p)
ops.log(j)
ops.tanh(x)
ops.tanh(i)
ops.sigmoid(x)
ops.relu(x)
ops.relu(i)
ops.silu(x)
ops.gelu(x)
ops.gelu(x, "tanh")
ops.gelu(x, approximate="tanh")
ops.softplus(x)
ops.erf(x)
ops.leaky_relu(x)
ops.leaky_relu(x, 0.1)
ops.floor(x)
ops.floor(i)
ops.isfinite(x / (x - 2.0))
ops.isfinite(i)
ops.clip(x, -1.0, 1.0)
ops.clip(x, max=1.0)
ops.clip(i, -1, 3)
ops.clamp(x, 0)
ops.clip_by_value(x, -1.0, 1.0)
ops.clip_by_value(x, clip_value_min=0.0)
ops.select(b, x, y)
ops.select(b, x, 0.0)
ops.select(b, 1.0, x)
ops.select(b, i, 1)
ops.where(b, x, 0.0)
ops.where(b, x, y)
ops.where(b, i, x)
ops.where(b, i, 1.5)
ops.masked_fill(x, b, 1.5)
ops.masked_fill(i, b, 7)
ops.cast(x, ms.int32)
ops.cast(x, ms.bool_)
ops.cast(b, ms.float32)
x.astype(ms.int32)
x.astype("int32")
x.int()
i.float()
x.bool()
i.half()
i.long()
x.to(ms.float16)
ops.sum(x)
ops.sum(i)
ops.sum(b)
ops.sum(u)
ops.sum(l)
ops.sum(h)
ops.sum(x, 1, True)
ops.sum(i, 0)
ops.sum(x, dtype=ms.float64)
i.sum()
b.sum()
x.sum(axis=0)
x.sum(axis=1, keepdims=True)
x.sum(dim=1)
x.sum(1, keepdim=True)
ops.ReduceSum()(x)
ops.ReduceSum()(i)
ops.ReduceSum(False, True)(x)
ops.ReduceSum(skip_mode=True)(x, ())
ops.ReduceSum(skip_mode=True)(x, 0)
ops.ReduceSum(True)(x, 1)
ops.reduce_sum(x)
ops.reduce_sum(x, 0)
ops.mean(x)
ops.mean(x, 1, True)
ops.mean(i)
i.mean()
x.mean(axis=1, keep_dims=True)
ops.ReduceMean()(x, 0)
ops.ReduceMean()(i, 0)
ops.reduce_mean(x, 0)
ops.max(x)
ops.max(x, 0)
ops.max(x, 1)
ops.max(x, axis=1, keepdims=True)
ops.max(i)
ops.min(x)
ops.min(x, 0)
ops.min(x, axis=1, keepdims=True)
x.max()
x.max(0)
x.max(axis=1, keepdims=True)
x.max(1, return_indices=True)
i.max()
x.min()
x.min(axis=0)
ops.ReduceMax()(x, 1)
ops.ReduceMin(True)(x, 0)
ops.reduce_max(x, 0)
ops.reduce_min(x, 0)
ops.all(b)
ops.any(b)
ops.all(b, 0)
ops.any(b, 1, True)
ops.all(b, axis=1, keep_dims=True)
ops.ReduceAll()(b, 0)
b.all()
b.any(0)
ops.var(x)
ops.var(x, 0)
ops.var(x, axis=1, keepdims=True)
ops.std(x, 1)
x.std()
x.var(0)
x.std(axis=0, ddof=1)
ops.argmax(x)
ops.argmax(x, 0)
ops.argmax(x, 1, True)
ops.argmax(x, dim=-1, keepdim=True)
x.argmax()
x.argmax(0)
x.argmax(axis=1)
ops.Argmax()(x)
ops.Argmax(axis=0, output_type=ms.int32)(x)
ops.cumsum(x, 0)
ops.cumsum(i, 1)
ops.cumsum(x, axis=1, dtype=ms.float64)
x.cumsum(0)
ops.CumSum()(x, 0)
ops.CumSum(True, True)(x, 1)
ops.topk(x, 2)
ops.topk(x, k=1, dim=1)
ops.TopK()(x, 2)
ops.top_k(x, 2)
x.topk(2)
ops.softmax(x)
ops.softmax(x, 0)
ops.Softmax(0)(x)
ops.log_softmax(x)
ops.log_softmax(x, 0)
ops.reshape(x, (3, 2))
ops.reshape(x, (-1,))
x.reshape(3, 2)
x.reshape((3, 2))
x.reshape(-1)
x.view(3, 2)
ops.transpose(x, (1, 0))
x.transpose()
x.transpose(1, 0)
x.transpose((1, 0))
cube.transpose(2, 0, 1)
x.transpose(0, 1)
cube.transpose(0, 1)
cube.transpose((1, 0, 2))
x.permute(0, 1)
ops.any(u, 1, True)
ops.all(u, 0)
x.T
x.swapaxes(0, 1)
ops.swapaxes(x, 0, 1)
cube.permute(1, 0, 2)
ops.permute(cube, (2, 1, 0))
ops.expand_dims(x, 0)
ops.ExpandDims()(x, -1)
ops.unsqueeze(x, 1)
x.unsqueeze(0)
ops.squeeze(ops.expand_dims(x, 0))
ops.squeeze(ops.expand_dims(x, 1), 1)
ops.Squeeze(0)(ops.expand_dims(x, 0))
ops.expand_dims(x, 0).squeeze()
ops.expand_dims(x, 0).squeeze(0)
ops.flatten(cube)
ops.flatten(cube, start_dim=0)
ops.flatten(cube, start_dim=1, end_dim=2)
ops.flatten(x)
ops.flatten(v)
ops.flatten(s)
cube.flatten()
cube.flatten(start_dim=1)
cube.flatten("C", start_dim=1, end_dim=-1)
x.flatten()
v.flatten()
ops.Flatten()(cube)
nn.Flatten()(cube)
nn.Flatten(0)(cube)
ops.concat((x, y))
ops.concat([x, y], 1)
ops.concat((x, y), axis=-1)
ops.concat((i, x))
ops.cat((x, y), 1)
ops.Concat()((x, y))
ops.Concat(1)((x, y))
ops.stack((x, y))
ops.stack([x, y], 1)
ops.stack((x, y), axis=-1)
ops.Stack(1)((x, y))
ops.split(x, 2, 1)
ops.split(x, [1, 2], axis=1)
x.split(1)
x.split(2, 1)
ops.Split(1, 3)(x)
ops.Split(0, 2)(x)
ops.chunk(x, 2)
ops.chunk(x, 2, 1)
x.chunk(2, axis=1)
ops.broadcast_to(v, (2, 3))
ops.broadcast_to(x, (4, -1, -1))
ops.BroadcastTo((2, 3))(v)
v.broadcast_to((2, 3))
ops.gather(x, ids, 1)
ops.gather(x, n - 2, 0)
ops.Gather()(x, ids, 1)
ops.Gather()(v, ids, 0)
ops.repeat_interleave(x, 2, 0)
ops.repeat_interleave(x, 2)
x.repeat_interleave(2, 1)
ops.one_hot(ids, 3)
ops.one_hot(ids, 3, 1, 0)
ops.one_hot(ids, 4, 1.0, 0.0)
ops.one_hot(ids, 3, Tensor(1.0), Tensor(0.0))
ops.one_hot(ids, 3, Tensor(1, ms.int32), Tensor(0, ms.int32))
ops.one_hot(ids, 3, 5, 2, -1)
ops.OneHot()(ids, 3, Tensor(1.0), Tensor(0.0))
nn.OneHot(depth=3)(ids)
ops.zeros((2, 3))
ops.zeros((2,), ms.int32)
ops.ones((2, 3))
ops.ones((2,), dtype=ms.float16)
ops.full((2, 2), 3)
ops.full((2,), 1.5)
ops.full((2,), True)
ops.full((2,), 1, dtype=ms.float32)
ops.fill(ms.float32, (2, 3), 1)
ops.zeros_like(i)
ops.ones_like(i, dtype=ms.float32)
ops.OnesLike()(i)
ops.arange(4)
ops.arange(1, 4)
ops.arange(0, 1, 0.25)
ops.arange(4.0)
ops.arange(4, dtype=ms.float32)
ops.arange(1, 7, 2, dtype=ms.int32)
ops.scalar_to_tensor(3)
ops.scalar_to_tensor(3, ms.int32)
ops.matmul(x, y.T)
ops.matmul(x, v)
ops.matmul(v, v)
ops.matmul(i, j.T)
x @ y.T
x.matmul(v)
ops.MatMul()(x, y.T)
ops.MatMul(transpose_b=True)(x, y)
ops.MatMul(True)(x, y)
ops.BatchMatMul()(cube, cube.transpose(0, 2, 1))
ops.BatchMatMul(transpose_b=True)(cube, cube)
ops.bias_add(x, v)
ops.BiasAdd()(x, v)
ops.AddN()((x, y))
ops.shape(x)
ops.rank(x)
ops.size(x)
ops.Shape()(x)
ops.Size()(x)
x.shape
x.ndim
x.size
x.itemsize
x.nbytes
x.item(2)
s.item()
x.tolist()
len(x)
float(s)
int(n)
x[0]
x[-1, 1]
x[:, 1]
x[0:1, 1:]
x[..., 0]
x[None]
x[:, None, 0]
x[ids[1:]]
x[0, ids]
x[:, ids]
x[b]
x[::2]
x[:, ::-1]
ops.max_pool2d(images, 2)
ops.max_pool2d(images, 2, 2)
ops.max_pool2d(images, 3, 2, 1)
ops.max_pool2d(images, kernel_size=3, stride=1)
ops.avg_pool2d(images, 2)
ops.avg_pool2d(images, 2, 2)
ops.avg_pool2d(images, 3, 2, 1)
ops.avg_pool2d(images, 3, 2, 1, False)
ops.avg_pool2d(images, 3, 2, 1, True)
ops.avg_pool2d(images, 3, 2, 1, False, False)
ops.avg_pool2d(images, 3, 2, padding=1, count_include_pad=False)
ops.avg_pool2d(images, 3, 2, 1, False, True, 4)
ops.avg_pool2d(images, 2, 2, ceil_mode=True)
nn.MaxPool2d()(images)
nn.MaxPool2d(2, 2)(images)
nn.MaxPool2d(3, 2, "same")(images)
nn.MaxPool2d(3, 2, pad_mode="pad", padding=1)(images)
nn.MaxPool2d(3, 2, "pad", 1)(images)
nn.AvgPool2d(2, 2)(images)
nn.AvgPool2d(3, 2, "same")(images)
nn.AvgPool2d(3, 2, "pad", 1)(images)
nn.AvgPool2d(3, 2, pad_mode="pad", padding=1, count_include_pad=False)(images)
ops.MaxPool(2, 2)(images)
ops.AvgPool(2, 2)(images)
ops.AvgPool(3, 2, "same")(images)
nn.AdaptiveAvgPool2d(1)(images)
nn.AdaptiveAvgPool2d((2, 3))(images)
ops.layer_norm(x, (3,), v, v)
ops.cross_entropy(logits, labels)
ops.cross_entropy(logits, labels, None, 1)
ops.cross_entropy(logits, labels, ignore_index=0, reduction="sum")
ops.cross_entropy(logits, labels, reduction="none", label_smoothing=0.2)
ops.cross_entropy(logits, hot)
ops.cross_entropy(logits, labels * 0 + 1, ignore_index=1)
ops.cross_entropy(logits, labels * 0 + 1, ignore_index=1, reduction="sum")
ops.cross_entropy(logits, labels * 0 + 1, ignore_index=1, label_smoothing=0.1)
ops.cross_entropy(logits, labels, v)
ops.cross_entropy(logits, labels, v, 1, "mean", 0.1)
nn.CrossEntropyLoss()(logits, labels)
nn.CrossEntropyLoss(ignore_index=1)(logits, labels)
nn.CrossEntropyLoss(None, 1, "sum")(logits, labels)
nn.CrossEntropyLoss(ignore_index=1)(logits, labels * 0 + 1)
nn.CrossEntropyLoss(label_smoothing=0.1)(logits, labels)
nn.CrossEntropyLoss(label_smoothing=0.1)(logits, hot)
nn.CrossEntropyLoss(weight=v)(logits, labels)
nn.SoftmaxCrossEntropyWithLogits()(logits, hot)
nn.SoftmaxCrossEntropyWithLogits(sparse=True)(logits, labels)
nn.SoftmaxCrossEntropyWithLogits(True, "mean")(logits, labels)
nn.SoftmaxCrossEntropyWithLogits(False, "sum")(logits, hot)
nn.SoftmaxCrossEntropyWithLogits(True, "none")(logits, labels)
ops.SoftmaxCrossEntropyWithLogits()(logits, hot)
ops.SparseSoftmaxCrossEntropyWithLogits()(logits, labels)
nn.MSELoss("sum")(x, y)
nn.MSELoss("none")(x, y)
nn.MAELoss()(x, y)
nn.L1Loss("sum")(x, y)
ops.mse_loss(x, y, "none")
ops.l1_loss(x, y)
nn.BCEWithLogitsLoss()(x, b.float())
nn.BCEWithLogitsLoss("sum")(x, b.float())
nn.BCEWithLogitsLoss(weight=p)(x, b.float())
nn.BCEWithLogitsLoss(pos_weight=v)(x, b.float())
ops.binary_cross_entropy_with_logits(x, b.float(), p, p)
nn.ReLU()(i)
nn.GELU()(x)
nn.GELU(False)(x)
nn.LeakyReLU()(x)
nn.LeakyReLU(0.1)(x)
nn.LogSoftmax()(x)
nn.SiLU()(x)
nn.Identity()(x)
nn.LayerNorm((3,))(x)
nn.LayerNorm([3], epsilon=1e-5)(x)
nn.BatchNorm1d(3)(x)
nn.BatchNorm2d(3)(images)
nn.BatchNorm2d(3).set_train()(images)
nn.Dropout(p=0.0)(x)
nn.Dense(3, 2, weight_init="ones", bias_init="ones")(x)
nn.Dense(3, 2, "ones", "ones", True, "relu")(cube.transpose(0, 2, 1))
nn.Embedding(4, 2, embedding_table="ones")(ids)
nn.Conv2d(3, 2, 3, weight_init="ones")(images)
nn.Conv2d(3, 2, 3, 2, "valid", weight_init="ones")(images)
nn.Conv2d(3, 2, 3, 1, "pad", 1, weight_init="ones")(images)
ms.mint.sum(i)
ms.mint.sum(x, 0, True)
ms.mint.sum(i, dtype=ms.int32)
ms.mint.mean(x)
ms.mint.mean(i)
ms.mint.mean(x, dim=1, keepdim=True)
ms.mint.mean(x, dtype=ms.float64)
ms.mint.max(x)
ms.mint.max(x, 0)
ms.mint.max(x, dim=1, keepdim=True)
ms.mint.max(x, y)
ms.mint.min(x)
ms.mint.min(x, 1)
ms.mint.all(b)
ms.mint.any(b, 0)
ms.mint.softmax(x, 0)
ms.mint.nn.functional.softmax(x, -1)
ms.mint.nn.functional.log_softmax(x, -1)
ms.mint.cat((x, y), 1)
ms.mint.stack((x, y), 1)
ms.mint.split(x, 1)
ms.mint.split(x, [1, 2], 1)
ms.mint.flatten(cube)
ms.mint.flatten(cube, 1)
ms.mint.flatten(s)
ms.mint.transpose(x, 0, 1)
ms.mint.permute(cube, (2, 0, 1))
ms.mint.squeeze(x[None], 0)
ms.mint.squeeze(x, 0)
ms.mint.unsqueeze(x, 1)
ms.mint.select(x, 0, 1)
ms.mint.zeros(2, 3)
ms.mint.zeros((2, 3))
ms.mint.ones((2,), dtype=ms.int32)
ms.mint.full((2,), 1.5)
ms.mint.full((2,), 2)
ms.mint.arange(4)
ms.mint.arange(0, 1, 0.5)
ms.mint.add(x, y, alpha=2)
ms.mint.add(i, 2)
ms.mint.sub(x, 1.5)
ms.mint.mul(i, x)
ms.mint.div(i, j)
ms.mint.div(x, y, rounding_mode="floor")
ms.mint.equal(x, x)
ms.mint.where(b, x, 0.0)
ms.mint.where(b, x, y)
ms.mint.topk(x, 2)
ms.mint.topk(x, 1, 0, False)
ms.mint.clamp(x, -1, 1)
ms.mint.matmul(x, y.T)
ms.mint.abs(i)
ms.mint.sqrt(j)
ms.mint.logical_and(x, i)
ms.mint.maximum(x, i)
ms.mint.ones_like(i)
ms.mint.zeros_like(x, dtype=ms.int32)
ms.mint.broadcast_to(v, (2, 3))
ms.mint.reshape(x, (3, 2))
ms.mint.nn.functional.relu(x)
ms.mint.nn.functional.gelu(x)
ms.mint.nn.functional.gelu(x, approximate="tanh")
ms.mint.nn.functional.silu(x)
ms.mint.nn.functional.leaky_relu(x)
ms.mint.nn.functional.softplus(x)
ms.mint.nn.functional.softplus(x, 2)
ms.mint.nn.functional.linear(x, y)
ms.mint.nn.functional.linear(x, y, v[:2])
ms.mint.nn.functional.cross_entropy(logits, labels)
ms.mint.nn.functional.mse_loss(x, y)
ms.mint.nn.functional.l1_loss(x, y)
ms.mint.nn.functional.dropout(x, 0.0)
ms.mint.nn.functional.sigmoid(x)
ms.mint.nn.Linear(3, 2, weight_init="ones")(x).shape
ms.mint.nn.ReLU()(x)
ms.mint.nn.GELU()(x)
ms.mint.nn.Softmax(0)(x)
ms.mint.nn.Dropout(0.5)(x)
ms.mint.nn.MSELoss()(x, y)
ms.mint.nn.CrossEntropyLoss()(logits, labels)
ms.mint.nn.Identity()(x)
ms.mint.max(i, 1)
ms.mint.min(u)
gradient(lambda a: ops.max(a, 0)[0].sum(), x)
gradient(lambda a: ops.max(a), x)
gradient(lambda a: a.max(), x)
gradient(lambda a: a.max(1).sum(), x)
gradient(lambda a: a.min(1).sum(), Tensor([[1.0, 1.0, 2.0]]))
gradient(lambda a: ops.ReduceMax()(a, 1).sum(), x)
gradient(lambda a: ops.ReduceMin()(a).sum(), Tensor([[1.0, 1.0, 2.0]]))
gradient(lambda a: ops.reduce_max(a, 1).sum(), x)
gradient(lambda a: ops.maximum(a, 2.0).sum(), x)
gradient(lambda a, c: ops.maximum(a, c).sum(), x, y)
gradient(lambda a, c: ops.minimum(a, c).sum(), x, y)
gradient(lambda a: ops.relu(a).sum(), Tensor([0.0, -1.0, 1.0]))
gradient(lambda a: ops.abs(a).sum(), Tensor([0.0, -1.0, 1.0]))
gradient(lambda a: ops.clip(a, -2.0, 2.0).sum(), x)
gradient(lambda a: ops.sqrt(a).sum(), Tensor([0.0, 1.0]))
gradient(lambda a: a.std(), x)
gradient(lambda a: ops.max_pool2d(a, 3, 2).sum(), images)
gradient(lambda a: nn.MaxPool2d(2, 2)(a).sum(), images * 0.0)
gradient(lambda a: nn.AvgPool2d(2, 2)(a).sum(), images)
gradient(lambda a: ops.topk(a, 2)[0].sum(), x)
gradient(lambda a: ops.cumsum(a, 1).sum(), x)
gradient(lambda a, c: nn.SoftmaxCrossEntropyWithLogits(reduction="mean")(a, c), logits, hot)
gradient(lambda a, c: nn.SoftmaxCrossEntropyWithLogits()(a, c).sum(), logits, hot)
gradient(lambda a, c: nn.CrossEntropyLoss()(a, c), logits, hot)
gradient(lambda a, c: nn.CrossEntropyLoss(label_smoothing=0.1)(a, c), logits, hot)
gradient(lambda a, c: ops.cross_entropy(a, c), logits, hot)
gradient(lambda a: nn.CrossEntropyLoss(ignore_index=1)(a, labels), logits)
gradient(lambda a: nn.SoftmaxCrossEntropyWithLogits(True)(a, labels).sum(), logits)
gradient(lambda a, c: nn.MSELoss()(a, c), x, y)
gradient(lambda a, c: nn.MAELoss()(a, c), x, y)
gradient(lambda a, c: nn.BCEWithLogitsLoss()(a, c), x, b.float())
gradient(lambda a: nn.LayerNorm((3,))(a).sum(), x)
x.max(0, True)
x.max(dim=0)
x.max((0, 1))
x.max(axis=None, keepdims=True)
x.max(0, keepdims=True)
x.max(return_indices=True)
x.min(1, True)
ops.max(Tensor([[1.0, 3.0], [3.0, 1.0]]), 0)
ops.max(s, 0)
ops.max(x, None, True)
ops.min(u, 1)
ops.min(i, 0)
ops.argmax(x, None, True)
ops.argmax(s)
x.argmax(dim=0, keepdim=True)
ops.mean(Tensor([-3, 2, -4], ms.int32))
ops.mean(l)
ops.mean(s, 0)
i.mean(dtype=ms.float32)
x.mean(dim=0, keepdim=True)
ops.ReduceSum()(b)
ops.reduce_sum(i)
ops.reduce_mean(i)
ops.sum(i, keepdim=True)
ops.sum(n)
ops.sum(Tensor([0.5, 0.5]), dtype=ms.int32)
ops.sum(u, dtype=ms.uint8)
x.sum(0, True)
x.sum(0, ms.float64, True)
x.sum(initial=2.0)
ops.std(Tensor([[1.0]]), 1, 1)
ops.cumsum(u, 1)
x.cumsum(dim=0)
ops.topk(x, 1, 0)
ops.topk(x, 1, largest=False)
x.topk(1, 0)
ops.arange(0, 4, 1.0)
ops.arange(5, 1, -1)
ops.arange(0.5, 3, dtype=ms.int32)
ops.one_hot(ids, 3, 1.5, 0.5)
ops.one_hot(ids, 3, 1, 0, 0)
ops.one_hot(i, 3)
ops.OneHot(0)(ids, 3, Tensor(1.0), Tensor(0.0))
ops.select(b, 1, 2)
ops.select(b, i, 1.5)
ops.where(b, l, i)
x.select(b, y)
x.where(b, 0.0)
ops.clip(x, 1, 0)
ops.clip(i, 0.5, 2.5)
ops.clip_by_value(i, 0.5, 2.5)
ops.clamp(u, 10, 50)
u + 300
u * 100
h * u
u / h
b + 1.5
b * 2
ops.RealDiv()(i, 2)
ops.RealDiv()(u, i)
ops.div(b, 2)
ops.leaky_relu(i)
ops.abs(b)
ops.logical_or(x, i)
ops.logical_not(i)
ops.softplus(x, 2, 20)
ops.Flatten()(v)
x.eq(1)
x.ge(1)
ops.binary_cross_entropy_with_logits(x, b.float())
ops.eq(x, 2)
ops.ne(i, j)
ops.gt(x, y)
ops.lt(x, 1)
ops.isnan(ops.log(x))
ops.isinf(x / (x - 2.0))
ops.isinf(i)
ops.bmm(cube, cube.transpose(0, 2, 1))
ops.outer(v, v)
ops.dense(x, y)
ops.full_like(x, 3)
ops.full_like(i, 2.5)
ops.full_like(x, 1, dtype=ms.int32)
ops.unstack(x)
ops.unstack(x, 1)
ops.tile(x, (2, 1))
ops.tile(x, (2, 2, 1))
ops.Tile()(v, (2,))
ops.Zeros()((2, 1), ms.float32)
ops.Ones()((2,), ms.int32)
gradient(lambda a: (ops.stop_gradient(a) * a).sum(), x)
gradient(lambda a: ops.tile(a, (2, 1)).sum(), x)
nn.CrossEntropyLoss(weight=v, reduction="none")(logits, labels)
nn.CrossEntropyLoss(weight=v)(logits, hot)
nn.BCEWithLogitsLoss("none", p, v)(x, b.float())
nn.Dense(3, 2, has_bias=False).bias
nn.Conv2d(3, 2, 1).bias
ops.matmul(v, x.T)
ops.matmul(cube, Tensor(np.ones(4, "f4")))
ops.max_pool2d(images, 2, 2, 0, 1, False, True)
ops.avg_pool2d(images, 5, 2, 2, False, False)
cube[..., ids]
x[[0, 1]]
ms.grad(lambda a: (a * a).sum(), (0,))(x)
ms.grad(lambda a, c: (a * c).sum(), (1,))(x, y)
ms.value_and_grad(lambda a: (a * a).sum(), (0,))(x)
ops.GradOperation(get_all=True)(lambda a: (a * a).sum())(x)
gradient(lambda a: a.max(axis=1).sum(), x)
gradient(lambda a: ops.min(a, 1)[0].sum(), Tensor([[1.0, 1.0, 2.0]]))
gradient(lambda a: ops.clip_by_value(a, -2.0, 2.0).sum(), x)
gradient(lambda a: ops.clamp(a, 2.0).sum(), x)
gradient(lambda a, c: ops.maximum(a, c).sum(), x, v)
gradient(lambda a: ops.leaky_relu(a).sum(), Tensor([0.0, -1.0]))
gradient(lambda a: ops.cross_entropy(a, labels * 0 + 1, ignore_index=1), logits)
gradient(lambda a: nn.CrossEntropyLoss(None, 1, "mean", 0.1)(a, labels * 0 + 1), logits)
"""


def calls():
    return [line for line in CALLS.split("\n") if line]


def result_of(system, call):
    """The text of what a call gives, or "refused" and the error."""
    try:
        return described(eval(call, operands(system)))
    except Exception as error:  # of either system
        text = (str(error).strip().splitlines() or [""])[0]
        return f"refused {type(error).__name__}: {text[:100]}"


def described(value):
    """The text of a result: its type, its shape, its numbers, of which many are shortened to the first ones."""
    if isinstance(value, (tuple, list)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return f"{kind}({', '.join(described(one) for one in value)})"
    if not hasattr(value, "asnumpy"):
        return f"{type(value).__name__} {value}"
    array = value.asnumpy().reshape(-1)
    numbers = " ".join(_number(one) for one in array[:_FIRST].tolist())
    rest = f" .. {_number(float(array.astype('f8').sum()))}" if array.size > _FIRST else ""
    return f"{value.dtype}{list(value.shape)} {numbers}{rest}".rstrip()


_FIRST = 16


def _number(value):
    return f"{value + 0.0:.6g}" if isinstance(value, float) else str(value)


def are_equal(got, expected):
    """Whether two texts of results have the same words, and numbers within rounding."""
    a, b = (text.replace(",", " ").replace("(", " ").replace(")", " ").split() for text in (got, expected))
    return len(a) == len(b) and all(one == other or _near(one, other) for one, other in zip(a, b))


def _near(one, other):
    try:
        return abs(float(one) - float(other)) <= 2e-5 * max(1.0, abs(float(other)))
    except ValueError:
        return False


def parameters_of(found):
    """The text of the parameters of a function or a class, "" of other values, or "(..)" of unknown ones."""
    if not callable(found):
        return ""
    function = found.__init__ if inspect.isclass(found) else found
    try:
        parameters = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    except (TypeError, ValueError):
        return "(..)"
    texts = []
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not any(text.startswith("*") for text in texts):
            texts.append("*")
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        texts.append(star + one.name + ("" if one.default is one.empty else f"={_default(one.default)}"))
    return f"({', '.join(texts)})"


def _default(value):
    text = repr(value)
    is_type = type(value).__module__ != "builtins"  # an element type, which each system prints in its own way
    return text.rpartition(".")[2].lower() if is_type else text
