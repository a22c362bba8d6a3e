"""Mistakes that users make: each message names the value, says what was expected, and has the user's line."""

import textwrap
import traceback

import numpy as np
from support import Case, warned

import partita as ms
from partita import Tensor, nn

HEAD = """
import numpy as np
import partita as ms
from partita import Parameter, Tensor, amp, nn, ops, train
from partita import dataset as ds
x = Tensor(np.ones((2, 4), "f4"))
images = Tensor(np.ones((2, 3, 8, 8), "f4"))
ids = Tensor(np.array([0, 1], "i4"))
net = nn.Dense(4, 3)

def rows(x=np.ones((8, 4), "f4"), y=np.zeros(8, "i4"), batch=4):
    return ds.NumpySlicesDataset((x, y), ["data", "label"], shuffle=False).batch(batch)

def model(net=net, loss=nn.CrossEntropyLoss(), **options):
    return train.Model(net, loss, nn.SGD(net.trainable_params(), 0.1), **options)

"""
# What is wrong: (class of the error, its text; or several texts, parts of one, with "|" between), the line.
MISTAKES = {
    "matrices": (ValueError, "[2,4] and [2,4]|equal inner sizes, not 4 and 2", "ops.matmul(x, x)"),
    "sums": (ValueError, "[add]|[2,4] and [3,4]", "x + Tensor(np.ones((3, 4), 'f4'))"),
    "features": (ValueError, "[2,4] and [3,5]|not 4 and 5", "nn.Dense(5, 3)(x)"),
    "features of a training": (ValueError, "[4,4] and [3,5]", "model(nn.Dense(5, 3)).train(1, rows())"),
    "a forgotten batch": (ValueError, "[conv2d]|f32[3,8,8]|4 dimensions", "nn.Conv2d(3, 4, 3)(images[0])"),
    "channels last": (
        ValueError,
        "channels do not fit, got [2,8,8,3]",
        "nn.Conv2d(3, 4, 3)(images.transpose(0, 2, 3, 1))",
    ),
    "float64": (TypeError, "got f64[2,3], f32[3]", "net(x.astype('f8'))"),
    "a list": (TypeError, "[Dense] input 0 is not a tensor, got list|Tensor(x)", "net([[1.0, 2.0, 3.0, 4.0]])"),
    "an array": (TypeError, "[Dense] input 0 is not a tensor, got ndarray", "net(np.ones((2, 4), 'f4'))"),
    "None": (TypeError, "[Dense] input 0 is not a tensor, got NoneType", "net(None)"),
    "a text": (TypeError, "[relu] operand is not a tensor, got str", "ops.relu('a')"),
    "float ids": (
        TypeError,
        "the ids are of another type, got Float32, expected int32 or int64",
        "nn.Embedding(5, 3)(x)",
    ),
    "large ids": (IndexError, "outside the tensor, got 8 of axis 0, expected -5 to 4", "nn.Embedding(5, 3)(ids + 7)"),
    "one-hot for ids": (
        TypeError,
        "got Float32[2, 4], expected integers, or sparse=False",
        "nn.SoftmaxCrossEntropyWithLogits(sparse=True)(x, x)",
    ),
    "ids for one-hot": (
        ValueError,
        "labels are not one-hot, got Int32[2]|[2, 4], or sparse=True",
        "nn.SoftmaxCrossEntropyWithLogits()(x, ids)",
    ),
    "large labels": (IndexError, "label of row 1 is outside the classes, got 9", "ops.cross_entropy(x, ids * 9)"),
    "large labels of a training": (
        IndexError,
        "outside the classes, got 7, expected 0 to 2",
        "model().train(1, rows(y=np.full(8, 7, 'i4')))",
    ),
    "float labels": (
        ValueError,
        "[CrossEntropyLoss]|got Float32[2]|[2, 4], or integers as ids",
        "nn.CrossEntropyLoss()(x, ids.astype('f4'))",
    ),
    "too many labels": (
        ValueError,
        "[cross_entropy]|f32[2,4] and i32[3]",
        "ops.cross_entropy(x, Tensor([0, 1, 1]).astype('i4'))",
    ),
    "other rows": (ValueError, "[2,4] and [3,4]", "nn.MSELoss()(x, Tensor(np.ones((3, 4), 'f4')))"),
    "a rate below 0": (ValueError, "[SGD] bad learning rate, got -0.1", "nn.SGD(net.trainable_params(), -0.1)"),
    "a rate as text": (TypeError, "[SGD] bad learning rate, got str", "nn.SGD(net.trainable_params(), '0.1')"),
    "momentum": (ValueError, "bad momentum, got -1.0", "nn.Momentum(net.trainable_params(), 0.1, -1.0)"),
    "a network for parameters": (TypeError, "got Dense|net.trainable_params()", "nn.SGD(net, 0.1)"),
    "no parameters": (ValueError, "nothing to train, got no parameters", "nn.SGD([], 0.1)"),
    "parameters twice": (RuntimeError, "the same name, got 'weight' again", "nn.SGD(net.trainable_params() * 2, 0.1)"),
    "decay": (ValueError, "bad weight_decay, got -1", "nn.Adam(net.trainable_params(), 0.1, weight_decay=-1)"),
    "an axis": (ValueError, "axis is outside the tensor, got 3, expected -2 to 1", "ops.softmax(x, axis=3)"),
    "an axis of a sum": (ValueError, "got 2, expected -2 to 1", "x.sum(axis=2)"),
    "concat": (ValueError, "[concat] shapes differ, got f32[2,4], f32[2,3]", "ops.concat((x, x[:, :3]), axis=0)"),
    "nothing to stack": (TypeError, "[stack] no tensors, got 0 of them", "ops.stack(())"),
    "reshape": (ValueError, "wrong number of elements, got f32[2,4] to [3,3]", "x.reshape(3, 3)"),
    "transpose": (ValueError, "[transpose] axis is outside the tensor, got 2", "ops.transpose(x, (0, 2))"),
    "split": (ValueError, "[split] bad size, got 0, expected at least 1", "ops.split(x, 0)"),
    "a device": (
        ValueError,
        "got 'TPU', expected one of ('CPU', 'GPU', 'Ascend')",
        "ms.set_context(device_target='TPU')",
    ),
    "a mode": (ValueError, "mode has an unknown value, got 7", "ms.set_context(mode=7)"),
    "a key": (ValueError, "unknown key, got 'modes'|did you mean 'mode'", "ms.set_context(modes=1)"),
    "a parallel mode": (ValueError, "got 'data'|'data_parallel'", "ms.set_auto_parallel_context(parallel_mode='data')"),
    "no file": (ValueError, "cannot open /nowhere/a.ckpt", "ms.load_checkpoint('/nowhere/a.ckpt')"),
    "another checkpoint": (
        RuntimeError,
        "'weight' is of another shape, got (3, 4), expected (3, 5)",
        "ms.load_param_into_net(nn.Dense(5, 3), net.parameters_dict())",
    ),
    "another size": (
        ValueError,
        "'weight' gets data of the wrong shape, got (4,), expected (3, 4)",
        "net.weight.set_data(x[0])",
    ),
    "a number for a parameter": (TypeError, "'weight' is a parameter, got int", "net.weight = 3"),
    "too many arguments": (TypeError, "takes 2 positional arguments but 3 were given", "net(x, x)"),
    "a metric": (ValueError, "got 'accurcy'|did you mean 'accuracy'?", "model(metrics={'accurcy'})"),
    "no optimizer": (ValueError, "got no optimizer", "train.Model(net, nn.CrossEntropyLoss()).train(1, rows())"),
    "a rate for an optimizer": (
        TypeError,
        "not an optimizer, got float",
        "train.Model(net, nn.CrossEntropyLoss(), 0.1)",
    ),
    "no loss": (
        TypeError,
        "takes all columns, got ['data', 'label']|Dense.construct(x)|Model(network, loss_fn, ..)",
        "model(loss=None).train(1, rows())",
    ),
    "no epochs": (ValueError, "bad number of epochs, got 0", "model().train(0, rows())"),
    "no data set": (TypeError, "not a data set, got ndarray", "model().train(1, np.ones((8, 4)))"),
    "few rows": (
        ValueError,
        "too few rows, got 8, expected at least one batch of 16",
        "model().train(1, rows(batch=16))",
    ),
    "a batch of none": (ValueError, "bad batch_size, got 0", "rows(batch=0)"),
    "lengths of columns": (
        ValueError,
        "columns of different lengths, got [8, 7], expected one",
        "rows(y=np.zeros(7, 'i4'))",
    ),
    "a strategy as list": (TypeError, "a strategy is not a tuple, got list", "ops.MatMul().shard([2, 1])"),
    "gradients of integers": (TypeError, "nothing has a gradient, got Int", "ms.grad(lambda a: (a * 2).sum())(ids)"),
    "a position": (ValueError, "got position 3 of 1 inputs", "ms.grad(lambda a: a.sum(), 3)(x)"),
    "a condition": (ValueError, "neither true nor false, got shape (2, 4)", "assert x > 0"),
    "an index": (IndexError, "got 5 of axis 0, expected -2 to 1", "x[5]"),
    "a place": (IndexError, "[gather_nd]|got [0, 4]|(2, 4)", "ops.gather_nd(x, ids.reshape(1, 2) * 4)"),
    "a place below 0": (IndexError, "[gather_nd]|got [0, -1]", "ops.gather_nd(x, -ids.reshape(1, 2))"),
    "a mask of numbers": (TypeError, "[masked_select] the mask is not of bools", "ops.masked_select(x, x)"),
    "the shape of a mask": (ValueError, "[masked_select]|(2, 4) and (2,)", "ops.masked_select(x, ids > 0)"),
    "a large class": (IndexError, "[nll_loss] outside the tensor, got 9 of axis 1", "ops.nll_loss(x, ids * 9)"),
    "a new name": (ValueError, "[einsum] bad names of the result, got 'ij->ik'", "ops.einsum('ij->ik', x)"),
    "no operands": (ValueError, "[einsum] wrong number of operands, got 0", "ops.einsum('ij->i')"),
    "batches": (ValueError, "[matmul]|(2,) and (3,)", "ops.matmul(ops.ones((2, 1, 1)), ops.ones((3, 1, 1)))"),
    "no parts": (ValueError, "[chunk] bad number of parts, got 0", "ops.chunk(x, 0)"),
    "no distance": (ValueError, "[arange]|got step 0", "ops.arange(0, 3, 0)"),
    "no steps": (ValueError, "[linspace] bad number of steps, got 0", "ops.linspace(0, 1, 0)"),
    "a broken size": (TypeError, "[full] a size is not an integer, got 2.5", "ops.zeros((2.5,))"),
    "axes of one": (TypeError, "axis is not an integer, got (0, 1)", "ops.softmax(x, (0, 1))"),
    "a broken axis": (TypeError, "[reduce_sum] axis is not an integer, got 0.5", "ops.sum(x, 0.5)"),
    "no gradients": (ValueError, "[clip_by_global_norm] no tensors", "ops.clip_by_global_norm([])"),
    "a norm of integers": (TypeError, "[layer_norm]|got Int32", "ops.layer_norm(ids, (2,), x[0, :2], x[0, :2])"),
    "indices": (IndexError, "too many indices, got 3, expected at most 2", "x[0, 0, 0]"),
    "a key of a tensor": (IndexError, "not an index, got 'a' of type str", "x['a']"),
    "an assigned value": (
        ValueError,
        "got shape (3,), expected one that becomes (4,)",
        "x[0] = Tensor([1.0, 2.0, 3.0])",
    ),
    "dropout": (ValueError, "got 1.5, expected 0 <= p < 1", "nn.Dropout(p=1.5)"),
    "a kernel": (ValueError, "bad kernel_size, got (-1, -1)", "nn.Conv2d(3, 4, -1)"),
    "padding": (
        ValueError,
        "unknown pad_mode, got 'SAMEE', expected same, valid or pad",
        "nn.Conv2d(3, 4, 3, pad_mode='SAMEE')",
    ),
    "channels of a norm": (ValueError, "f32[2,3,8,8], got f32[4]", "nn.BatchNorm2d(4)(images)"),
    "a level": (ValueError, "unknown amp_level, got 'O7'", "amp.auto_mixed_precision(net, 'O7')"),
    "an element type": (TypeError, "unknown element type, got 'float31'", "Tensor([1.0], 'float31')"),
    "rows of two lengths": (
        ValueError,
        "rows differ in length, got [[1.0, 2.0], [3.0]]",
        "Tensor([[1.0, 2.0], [3.0]])",
    ),
    "a tensor of a text": (TypeError, "no numbers, got 'abc'", "Tensor('abc')"),
    "a class for a callback": (
        TypeError,
        "not a callback, got type",
        "model().train(1, rows(), callbacks=train.LossMonitor)",
    ),
    "no finite loss": (
        ValueError,
        "the loss is not finite, got nan",
        "model().train(1, rows(np.full((8, 4), np.nan, 'f4')))",
    ),
    "a method": (AttributeError, "got 'resahpe'|did you mean 'reshape'", "x.resahpe(2, 4)"),
    "a function": (AttributeError, "got 'sofmax'|did you mean 'softmax'", "ops.sofmax(x)"),
    "a size below 0": (ValueError, "negative size, got [-1,2]", "ops.ones((-1, 2))"),
}
# Wrong lines of a construct: the class of the error, texts, the body, whose line with "# here" is wrong.
IN_CONSTRUCT = {
    "matrices": (ValueError, "equal inner sizes", "return ops.matmul(self.dense(x), x)  # here"),
    "control flow": (
        TypeError,
        "control flow depends on data",
        "if x.sum() > 0:  # here\n    x = -x\nreturn self.dense(x)",
    ),
    "NumPy": (TypeError, "a value of the network is not known", "return Tensor(x.asnumpy() * 2)  # here"),
    "types": (
        TypeError,
        "differ in element type",
        "return ops.MatMul()(ops.cast(x, ms.int32), self.dense.weight.T)  # here",
    ),
    "a list": (TypeError, "input 0 is not a tensor, got list", "return self.dense([x])  # here"),
    "a typo": (AttributeError, "did you mean 'reshape'", "return self.dense(x.reshap(-1, 4))  # here"),
    "a missing cell": (AttributeError, "no attribute 'conv'", "return self.conv(x)  # here"),
    "an axis": (ValueError, "got 3, expected -2 to 1", "y = self.dense(x)\nreturn y - y.max(axis=3)  # here"),
}


class Mistakes(Case):
    def named(self, kind, texts, source):
        """Checks the error of a script and the line of it that is marked, or the last one."""
        lines = source.split("\n")
        marked = [i for i, one in enumerate(lines, 1) if "# here" in one] or [len(lines)]
        error = None
        try:
            exec(compile(source, "user_script.py", "exec"), {"__name__": "user"})
        except kind as caught:
            error = caught
        self.assertIsNotNone(error, f"no {kind.__name__}")
        for text in texts.split("|"):
            self.assertIn(text, str(error))
        frames = [one.lineno for one in traceback.extract_tb(error.__traceback__) if one.filename == "user_script.py"]
        self.assertTrue(marked[0] in frames or f"user_script.py:{marked[0]}" in str(error), f"{frames}: {error}")

    def test_are_named_with_their_lines(self):
        self.assertGreater(len(MISTAKES), 50)
        for name, (kind, texts, line) in MISTAKES.items():
            with self.subTest(name):
                self.setUp()
                self.named(kind, texts, HEAD + line)

    def test_of_networks_are_named_with_their_lines(self):
        for name, (kind, texts, body) in IN_CONSTRUCT.items():
            with self.subTest(name):
                self.setUp()
                cell = (
                    "class Net(nn.Cell):\n    def __init__(self):\n        super().__init__()\n"
                    "        self.dense = nn.Dense(4, 3)\n    def construct(self, x):\n"
                )
                run = "model(Net()).train(1, rows())"
                self.named(kind, texts, f"{HEAD}{cell}{textwrap.indent(body, ' ' * 8)}\n{run}")

    def test_an_optimizer_of_another_network(self):
        with warned() as lines:
            ms.train.Model(nn.Dense(4, 3), nn.CrossEntropyLoss(), nn.SGD(nn.Dense(4, 3).trainable_params(), 0.1))
        self.assertIn("the optimizer updates another network, got 'weight'", lines[0])
        net = nn.Dense(4, 3)
        with warned() as lines:
            ms.train.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1))
        self.assertEqual(lines, [])


class OfPython(Case):
    def test_numpy_reads_tensors(self):
        x = np.random.default_rng(4).standard_normal((3, 4)).astype("f4")
        t = Tensor(x)
        for function in (np.sum, np.mean, np.max, np.std, np.prod, np.any, np.var, np.median, np.cumsum, np.squeeze):
            self.close(function(t), function(x), 1e-6)
        self.close(np.sum(t, axis=1), x.sum(1), 1e-6)
        self.close(np.concatenate([t, t]), np.concatenate([x, x]), 0)
        self.close(np.where(t > 0, t, 0), np.maximum(x, 0), 0)

    def test_objects_have_texts(self):
        t = Tensor([[1.5, 2.0]])
        self.assertEqual((f"{t[0, 0]:.2f}", round(t[0, 0], 1), f"{t}"), ("1.50", 1.5, "[[1.5 2. ]]"))
        net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())
        for one in (t, net, nn.SGD(net.trainable_params(), 0.1), net[0].weight):
            self.assertGreater(len(dir(one)), 20)
            self.assertTrue(repr(one) and str(one))
            self.assertFalse(hasattr(one, "_repr_html_"))  # notebooks show what repr says
        with self.refuses(TypeError, "several values have no format, got '.2f' of (1, 2)"):
            f"{t:.2f}"
