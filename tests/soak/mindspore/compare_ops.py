"""Layers and ops, forward and the gradients by inputs and parameters."""

import numpy as np
from both import Count, arrays, give_parameters, numbers

COUNT = Count("layers and ops", 60)


def with_gradients(system, make, inputs, whole):
    """Results of a cell or function on arrays, and gradients of their sum with weights that are not alike; with `whole`
    the results alone."""
    made = make(system)
    parameters = []
    if isinstance(made, system.nn.Cell):
        made.set_train(True)
        give_parameters(system, made)
        parameters = list(made.trainable_params())
    tensors = [system.Tensor(one) for one in inputs]
    results = made(*tensors)
    floats = [i for i, one in enumerate(inputs) if one.dtype.kind == "f"]
    if whole:
        return arrays(results)
    probes = [system.Tensor(numbers(*one.shape, seed=50 + i)) if one.shape else None
              for i, one in enumerate(arrays(results))]  # fmt: skip

    def loss(*given):
        total = 0.0
        out = made(*given)
        for one, probe in zip(out if isinstance(out, (tuple, list)) else [out], probes):
            total = total + (one if probe is None else (one * probe).sum())
        return total

    if parameters:
        places = tuple(floats) or None
        _, gradients = system.value_and_grad(loss, places, system.ParameterTuple(parameters))(*tensors)
    else:
        _, gradients = system.value_and_grad(loss, tuple(floats))(*tensors)
    return arrays(results) + arrays(gradients)


def case(name, make, *inputs, whole=False, tolerance=1e-5):
    COUNT.add(name, lambda system: with_gradients(system, make, inputs, whole), tolerance)


X, Y, POSITIVE = numbers(4, 6), numbers(4, 6, seed=2), numbers(4, 6, seed=3, low=0.3, high=2)
IMAGES, ROWS = numbers(2, 3, 8, 8), numbers(5, 6)
IDS, LABELS = np.array([0, 3, 1, 2], "i4"), np.array([1, 0, 2, 1, 2], "i4")

# Layers.
for bias in (True, False):
    case(f"Dense bias={bias}", lambda ms, b=bias: ms.nn.Dense(6, 5, has_bias=b), X)
case("Dense activation", lambda ms: ms.nn.Dense(6, 5, activation="relu"), X)
for mode in ("same", "valid"):
    for stride in (1, 2):
        case(f"Conv2d {mode} {stride}", lambda ms, m=mode, s=stride: ms.nn.Conv2d(3, 4, 3, s, m), IMAGES)
case("Conv2d pad", lambda ms: ms.nn.Conv2d(3, 4, 3, pad_mode="pad", padding=1, has_bias=True), IMAGES)
case("Conv2d dilation", lambda ms: ms.nn.Conv2d(3, 4, 3, dilation=2, pad_mode="valid"), IMAGES)
case("Conv2d group", lambda ms: ms.nn.Conv2d(4, 4, 3, group=2), numbers(2, 4, 6, 6))
for mode in ("same", "valid"):
    case(f"MaxPool2d {mode}", lambda ms, m=mode: ms.nn.MaxPool2d(3, 2, m), IMAGES)
    case(f"AvgPool2d {mode}", lambda ms, m=mode: ms.nn.AvgPool2d(2, 2, m), IMAGES)
case("AdaptiveAvgPool2d", lambda ms: ms.nn.AdaptiveAvgPool2d(1), IMAGES)
case("BatchNorm2d", lambda ms: ms.nn.BatchNorm2d(3), IMAGES)
case("BatchNorm1d", lambda ms: ms.nn.BatchNorm1d(6), X)
case("LayerNorm", lambda ms: ms.nn.LayerNorm((6,), 1, 1), X)
case("LayerNorm two axes", lambda ms: ms.nn.LayerNorm((8, 8), 2, 2), IMAGES)
case("Embedding", lambda ms: ms.nn.Embedding(5, 3), IDS)
case("Flatten", lambda ms: ms.nn.Flatten(), IMAGES)
case("SequentialCell", lambda ms: ms.nn.SequentialCell(ms.nn.Dense(6, 4), ms.nn.ReLU(), ms.nn.Dense(4, 2)), X)
for name in ("ReLU", "Sigmoid", "Tanh", "SiLU", "LeakyReLU", "Softmax", "LogSoftmax"):
    case(f"nn.{name}", lambda ms, n=name: getattr(ms.nn, n)(), X)
for approximate in (True, False):
    case(f"nn.GELU {approximate}", lambda ms, a=approximate: ms.nn.GELU(a), X)

# Losses.
case("CrossEntropyLoss", lambda ms: (lambda x: ms.nn.CrossEntropyLoss()(x, ms.Tensor(LABELS))), ROWS)
case("CrossEntropyLoss smoothing",
     lambda ms: (lambda x: ms.nn.CrossEntropyLoss(label_smoothing=0.1)(x, ms.Tensor(LABELS))), ROWS)  # fmt: skip
case("CrossEntropyLoss sum", lambda ms: (lambda x: ms.nn.CrossEntropyLoss(reduction="sum")(x, ms.Tensor(LABELS))), ROWS)
for sparse in (True, False):
    given = LABELS if sparse else np.eye(6, dtype="f4")[LABELS]
    case(f"SoftmaxCrossEntropyWithLogits {sparse}",
         lambda ms, s=sparse, g=given: (lambda x: ms.nn.SoftmaxCrossEntropyWithLogits(s, "mean")(x, ms.Tensor(g))),
         ROWS)  # fmt: skip
for name in ("MSELoss", "MAELoss"):
    for reduction in ("mean", "sum"):
        case(f"{name} {reduction}", lambda ms, n=name, r=reduction: getattr(ms.nn, n)(r), X, Y)
case("BCEWithLogitsLoss", lambda ms: ms.nn.BCEWithLogitsLoss(), X, (Y > 0).astype("f4"))

# Ops of one tensor.
for name in ("abs", "exp", "neg", "relu", "sigmoid", "silu", "square", "tanh", "erf"):
    case(name, lambda ms, n=name: getattr(ms.ops, n), X)
for name in ("log", "sqrt", "rsqrt"):
    case(name, lambda ms, n=name: getattr(ms.ops, n), POSITIVE)
for axis in (-1, 0):
    case(f"softmax {axis}", lambda ms, a=axis: (lambda x: ms.ops.softmax(x, axis=a)), X)
    case(f"log_softmax {axis}", lambda ms, a=axis: (lambda x: ms.ops.log_softmax(x, a)), X)
    case(f"cumsum {axis}", lambda ms, a=axis: (lambda x: ms.ops.cumsum(x, a)), X)
    for name in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"):
        case(f"{name} {axis}", lambda ms, n=name, a=axis: (lambda x: getattr(ms.ops, n)(keep_dims=True)(x, a)), X)
case("Softplus", lambda ms: ms.ops.Softplus(), X)
case("GeLU", lambda ms: ms.ops.GeLU(), X)
case("pow", lambda ms: (lambda x: ms.ops.pow(x, 3.0)), POSITIVE)
case("transpose", lambda ms: (lambda x: ms.ops.transpose(x, (1, 0))), X)
case("reshape", lambda ms: (lambda x: ms.ops.reshape(x, (8, 3))), X)
case("expand_dims", lambda ms: (lambda x: ms.ops.expand_dims(x, 1)), X)
case("squeeze", lambda ms: (lambda x: ms.ops.squeeze(x, 1)), X[:, None])
case("broadcast_to", lambda ms: (lambda x: ms.ops.broadcast_to(x, (3, 4, 6))), X)
case("slice", lambda ms: (lambda x: x[1:3, 2:5]), X)
case("split", lambda ms: (lambda x: ms.ops.split(x, 3, 1)), X)
case("clip_by_value", lambda ms: (lambda x: ms.ops.clip_by_value(x, -0.5, 0.4)), X)
case("layer_norm of a tensor", lambda ms: (lambda x: (x - x.mean(-1, keep_dims=True)) / (x.std(0) + 1.0)), X)
case("one_hot", lambda ms: (lambda i: ms.ops.OneHot()(i, 5, ms.Tensor(1.0), ms.Tensor(0.0))), IDS, whole=True)
case("argmax", lambda ms: (lambda x: ms.ops.argmax(x, -1)), X, whole=True)

# Of two or more.
for name in ("add", "sub", "mul", "div", "maximum", "minimum"):
    case(name, lambda ms, n=name: getattr(ms.ops, n), X, POSITIVE)
    case(f"{name} broadcast", lambda ms, n=name: getattr(ms.ops, n), X, POSITIVE[:1])
for name in ("equal", "less", "greater_equal", "not_equal"):
    case(name, lambda ms, n=name: getattr(ms.ops, n), X, np.where(Y > 0, X, Y), whole=True)
for a in (False, True):
    for b in (False, True):
        left, right = (X.T.copy() if a else X), (Y if b else Y.T.copy())
        case(f"MatMul {a} {b}", lambda ms, a=a, b=b: ms.ops.MatMul(a, b), left, right)
case("BatchMatMul", lambda ms: ms.ops.BatchMatMul(), numbers(3, 4, 6), numbers(3, 6, 2))
case("BiasAdd", lambda ms: ms.ops.BiasAdd(), X, numbers(6))
case("Concat", lambda ms: (lambda x, y: ms.ops.Concat(1)((x, y))), X, Y)
case("stack", lambda ms: (lambda x, y: ms.ops.stack((x, y), 1)), X, Y)
case("Gather", lambda ms: (lambda x, i: ms.ops.Gather()(x, i, 1)), X, IDS)
case("select", lambda ms: (lambda x, y: ms.ops.select(x > y, x, y)), X, Y)
case("masked_fill", lambda ms: (lambda x: ms.ops.masked_fill(x, x > 0.2, 1.5)), X)
case("AddN", lambda ms: (lambda x, y: ms.ops.AddN()((x, y))), X, Y)
COUNT.finish()
