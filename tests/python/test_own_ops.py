"""Ops of one's own: gradients that are given, functions of NumPy arrays."""

import unittest

import numpy as np
from support import Case, Losses, labelled

import partita as ms
from partita import Tensor, nn, ops, train
from partita import dataset as ds


class Reversed(nn.Cell):
    """The identity, whose gradient has the other sign."""

    def construct(self, x):
        return x

    def bprop(self, x, out, dout):
        return -dout


class Product(nn.Cell):
    """Two results, with twice their gradients."""

    def construct(self, x, y, factor=1.0):
        return x * y * factor, x + y

    def bprop(self, x, y, factor, out, dout):
        return (dout[0] * y + dout[1]) * 2.0, None, None


def tanh(x):
    return np.tanh(x)


def tanh_gradient(x, out, dout):
    return dout * (1.0 - out * out)


class Gradients(Case):
    def setUp(self):
        super().setUp()
        self.x, self.y = Tensor([1.0, 2.0]), Tensor([3.0, 5.0])

    def test_are_those_of_bprop(self):
        net = nn.SequentialCell(Reversed(), nn.ReLU())
        self.close(net(self.x), [1, 2])
        self.close(ms.grad(lambda x: (net(x) * 3.0).sum())(self.x), [-3, -3])

    def test_of_several_inputs_and_results(self):
        net = Product()

        def loss(x, y):
            product, total = net(x, y, 2.0)
            return (product * product).sum() + total.sum()

        x, y = self.x.asnumpy(), self.y.asnumpy()
        found = ms.grad(loss, (0, 1))(self.x, self.y)
        self.close(found[0], (4 * x * y * y + 1) * 2)
        self.close(found[1], [0, 0])  # there is none

    def test_of_a_result_that_nothing_uses(self):
        net = Product()
        self.close(ms.grad(lambda x, y: net(x, y, 1.0)[1].sum())(self.x, self.y), [2, 2])

    def test_hold_in_trainings(self):
        class Net(nn.Cell):
            def __init__(self, first):
                super().__init__()
                self.fc1, self.middle, self.fc2 = nn.Dense(6, 8), first, nn.Dense(8, 3)

            def construct(self, x):
                return self.fc2(self.middle(self.fc1(x)))

        class Tanh(nn.Cell):
            def construct(self, x):
                return ops.tanh(x)

            def bprop(self, x, out, dout):
                return tanh_gradient(x, out, dout)

        def losses(first, ranks=1, mode="data_parallel"):
            ms.set_seed(1)
            ms.set_context(ranks=ranks)
            mode = mode if ranks > 1 else "stand_alone"
            ms.set_auto_parallel_context(parallel_mode=mode, gradients_mean=True, search_mode="dynamic_programming")
            net, seen = Net(first), Losses()
            model = train.Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9))
            model.train(2, ds.NumpySlicesDataset(labelled(48), ["data", "label"], shuffle=False).batch(12), [seen])
            return seen.values

        expected = losses(nn.Tanh())
        for make in (
            Tanh,
            lambda: ops.Custom(tanh, func_type="pyfunc", bprop=tanh_gradient, rule="nk->nk"),
            lambda: ops.Custom(tanh, func_type="pyfunc", bprop=tanh_gradient),
        ):
            for ranks in (1, 2, 3, 4):
                np.testing.assert_allclose(losses(make(), ranks), expected, rtol=1e-5)
            np.testing.assert_allclose(losses(make(), 4, "auto_parallel"), expected, rtol=1e-5)

    def test_of_one_result_twice(self):
        class Twice(nn.Cell):
            def construct(self, x):
                y = x * 1.0
                return y, y

            def bprop(self, x, out, dout):
                return dout[0] * 10.0 + dout[1]

        net = Twice()

        def loss(x):
            a, b = net(x)
            return a.sum() + 2.0 * b.sum()

        self.close(ms.grad(loss)(self.x), [12, 12])

    def test_use_arrays_and_other_gradients(self):
        factors = Tensor([2.0, 3.0])

        class Scaled(nn.Cell):
            def construct(self, x):
                return x + Tensor([10.0, 20.0])

            def bprop(self, x, out, dout):
                slope = ms.grad(lambda y: (y * y * y).sum())(x)
                return dout * factors * slope * np.array([1.0, 10.0], "f4")

        net = Scaled()
        call = ms.grad(lambda x: (net(x) * 1.0).sum())
        self.close(call(self.x), [6, 360])
        factors[1] = 30.0
        self.close(call(self.x), [6, 3600])

    def test_use_arrays_in_trainings(self):
        class Masked(nn.Cell):
            def construct(self, x):
                return x * 1.0

            def bprop(self, x, out, dout):
                return dout * Tensor(np.array([[1, 0, 2]], "f4"))

        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.fc = nn.Dense(6, 3, weight_init="zeros")
                self.masked = Masked()

            def construct(self, x):
                return self.masked(self.fc(x))

        changed = []
        for ranks in (1, 2, 4):
            ms.set_context(ranks=ranks)
            mode = "data_parallel" if ranks > 1 else "stand_alone"
            ms.set_auto_parallel_context(parallel_mode=mode, gradients_mean=True)
            net = Net()
            model = train.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1))
            model.train(1, ds.NumpySlicesDataset(labelled(8), ["data", "label"], shuffle=False).batch(8))
            changed.append(net.fc.weight.asnumpy().copy())
            self.assertTrue((changed[0][1] == 0).all() and (changed[0][[0, 2]] != 0).any())
            self.close(changed[-1], changed[0])

    def test_are_priced(self):
        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.fc1, self.fc2 = nn.Dense(6, 8), nn.Dense(8, 3)
                self.op = ops.Custom(tanh, func_type="pyfunc", bprop=tanh_gradient, rule="nk->nk")

            def construct(self, x):
                return self.fc2(self.op(self.fc1(x)))

        net = Net()
        model = train.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1))
        rows = ds.NumpySlicesDataset(labelled(64), ["data", "label"], shuffle=False).batch(32)
        self.assertGreater(ms.plan(model, rows, cluster="h100", ranks=8).seconds, 0)

    def test_of_results_that_nothing_uses(self):
        class Two(nn.Cell):
            def construct(self, x):
                return ops.log(x), x * 1.0

            def bprop(self, x, out, dout):
                return dout[0] + dout[1]

        two = Two()
        self.close(ms.grad(lambda x: two(x)[1].sum())(Tensor([0.0, 1.0])), [1, 1])  # though a log is infinite

    def test_refuse_what_would_be_lost(self):
        class Layer(nn.Cell):
            def __init__(self):
                super().__init__()
                self.w = ms.Parameter(Tensor([2.0, 2.0]), name="w")

            def construct(self, x):
                return x * self.w

            def bprop(self, x, out, dout):
                return dout, dout, dout

        layer = Layer()
        with self.refuses(TypeError, "a function with a custom gradient uses a parameter, got 'w'"):
            ms.grad(lambda x: layer(x).sum())(self.x)
        layer.w.requires_grad = False
        with self.refuses(ValueError, "[Layer.bprop] wrong number of gradients, got 3, expected 1"):
            ms.grad(lambda x: layer(x).sum())(self.x)
        layer.bprop = lambda x, out, dout: dout.sum()
        with self.refuses(ValueError, "the gradient of input 0 has the wrong type, got f32[], expected f32[2]"):
            ms.grad(lambda x: layer(x).sum())(self.x)
        with self.refuses(TypeError, "[Layer.bprop] inputs cannot be passed by name, got ['x']"):
            ms.grad(lambda x: layer(x=x).sum())(self.x)
        layer.bprop = lambda x, out, dout: np.ones(2, "f4")
        with self.refuses(
            TypeError, "[Layer.bprop] a gradient is not a tensor, got ndarray, expected a Tensor or None"
        ):
            ms.grad(lambda x: layer(x).sum())(self.x)
        layer.bprop = lambda x, out, dout: None
        with self.refuses(TypeError, "[Layer.bprop] no gradients, got None, expected a Tensor"):
            ms.grad(lambda x: layer(x).sum())(self.x)
        layer.construct = lambda x: 1.0
        with self.refuses(TypeError, "[Layer] the result is not a tensor, got float, expected a Tensor"):
            ms.grad(lambda x: x.sum() * layer(x))(self.x)
        del layer.construct
        layer.bprop = lambda x, out, dout: dout * ms.Parameter(Tensor([1.0, 2.0]), name="v")
        with self.refuses(ValueError, "[Layer.bprop] construct does not use this parameter, got 'v'"):
            ms.grad(lambda x: layer(x).sum())(self.x)
        layer.bprop = lambda x, out, dout: nn.Dropout(p=0.5).set_train()(dout)
        with self.refuses(ValueError, "this op works only in a network, not in a custom gradient or update"):
            ms.grad(lambda x: layer(x).sum())(self.x)


class Functions(Case):
    def test_of_bfloat16_get_float32(self):
        op = ops.Custom(lambda x: x * 1.5, func_type="pyfunc")
        x = Tensor([1.0, 2.0]).astype(ms.bfloat16)
        self.assertEqual(op(x).dtype, ms.bfloat16)
        self.close(op(x).astype(ms.float32), [1.5, 3])
        self.close(ops.Custom(lambda x: x + 1, func_type="pyfunc", out_dtype=ms.float32)(x), [2, 3])

    def test_run_at_once_and_in_programs(self):
        calls = []

        def rolled(x):
            calls.append(x.shape)
            return np.roll(x, 1)

        roll = ops.Custom(rolled, func_type="pyfunc")
        x = Tensor(np.arange(4, dtype="f4"))
        self.close(roll(x), [3, 0, 1, 2])
        self.close(ms.jit(lambda y: roll(y) * 2.0)(x), [6, 0, 2, 4])
        self.assertEqual(len(calls), 2)

    def test_have_results_of_any_type(self):
        def parts(x, y):
            return x.sum(1), (x > y).astype("i4")

        op = ops.Custom(
            parts, lambda x, y: (x[:1], x), (ms.float32, ms.int32), func_type="pyfunc", rule="nk,k -> n,nk"
        )
        x, y = np.arange(6, dtype="f4").reshape(2, 3), np.array([1, 1, 9], "f4")
        sums, larger = op(Tensor(x), Tensor(y))
        self.close(sums, x.sum(1))
        self.close(larger, x > y)
        self.assertEqual(larger.dtype, ms.int32)
        same = ops.PyFunc(lambda a: a + 1, [ms.float32], [(2, 3)], [ms.float32], [(2, 3)])
        self.close(same(Tensor(x))[0], x + 1)
        with self.refuses(TypeError, "[PyFunc] the operands differ from the declared ones"):
            same(Tensor(y))

    def test_get_their_part_by_a_rule(self):
        shapes = []

        def scaled(x):
            shapes.append(x.shape)
            return x * 2

        class Net(nn.Cell):
            def __init__(self, op):
                super().__init__()
                self.fc, self.op = nn.Dense(6, 3), op

            def construct(self, x):
                return self.op(self.fc(x))

        for rule, rows in (("nk->nk", 4), ("", 12)):
            shapes.clear()
            ms.set_context(ranks=3)
            ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
            net = Net(ops.Custom(scaled, func_type="pyfunc", bprop=lambda x, out, dout: dout * 2.0, rule=rule))
            model = train.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1))
            model.train(1, ds.NumpySlicesDataset(labelled(12), ["data", "label"], shuffle=False).batch(12))
            self.assertEqual(set(shapes), {(rows, 3)})
            self.assertEqual(len(shapes), 3)

    def test_fail_as_themselves(self):
        def failing(x):
            raise ZeroDivisionError("mine")

        x = Tensor([1.0, 2.0])
        with self.refuses(ZeroDivisionError, "mine"):
            ops.Custom(failing, func_type="pyfunc")(x)
        with self.refuses(ZeroDivisionError, "mine"):
            ms.jit(lambda y: ops.Custom(failing, func_type="pyfunc")(y))(x)
        for function, text in (
            (lambda a: a.astype("f8"), "a result has the wrong type, got f64[2], expected f32[2]"),
            (lambda a: a[:1], "a result has the wrong type, got f32[1], expected f32[2]"),
            (lambda a: (a, a), "wrong number of results, got 2, expected 1"),
        ):
            with self.assertRaisesRegex((TypeError, ValueError), text.replace("[", r"\[").replace("]", r"\]")):
                ops.Custom(function, func_type="pyfunc")(x)
        with self.refuses(TypeError, "cannot differentiate an op that has no gradient, got 'host_function'"):
            ms.grad(lambda y: ops.Custom(tanh, func_type="pyfunc")(y).sum())(x)

    def test_refuse_bad_input(self):
        with self.refuses(NotImplementedError, "kernels in another language are not supported, got func_type='aot'"):
            ops.Custom(tanh, func_type="aot")
        with self.refuses(TypeError, "[Custom] not a function, got str"):
            ops.Custom("add.so", func_type="pyfunc")
        with self.refuses(TypeError, "bprop is not a function, got int"):
            ops.Custom(tanh, func_type="pyfunc", bprop=1)
        with self.refuses(TypeError, "the rule is not a string, got tuple"):
            ops.Custom(tanh, func_type="pyfunc", rule=("n",))
        x = Tensor([1.0, 2.0])
        for rule, text in (
            ("n", "bad rule, got 'n', expected operands -> results"),
            ("N->N", "bad rule, got 'N->N', expected letters a to z"),
            ("nk->nk", "the rule does not fit, got 'nk->nk' with 'nk' for 1 dimensions"),
            ("n,n->n", "expected 2"),
            ("n->n,n", "the rule does not fit, got 'n->n,n' for 1 results"),
        ):
            with self.refuses(ValueError, text):
                ops.Custom(tanh, func_type="pyfunc", rule=rule)(x)
        with self.refuses(ValueError, "different numbers of shapes and element types, got 2 and 1"):
            ops.Custom(tanh, ((2,), (2,)), (ms.float32,), func_type="pyfunc")(x)
        with self.refuses(ValueError, "sizes of results do not fit"):
            ops.Custom(tanh, (-1,), func_type="pyfunc")(x)


if __name__ == "__main__":
    unittest.main()
