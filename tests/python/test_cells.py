"""Cells: names, parameters, defaults, gradients."""

import copy
import pickle

import numpy as np
from support import Case, Small, labelled, rng, warned

import partita as ms
from partita import Parameter, Tensor, nn, ops, train
from partita import dataset as ds
from partita.common.initializer import TruncatedNormal, initializer


class Names(Case):
    def test_follow_attributes(self):
        net = nn.SequentialCell(nn.Dense(2, 3), nn.SequentialCell([nn.Dense(3, 1, has_bias=False)]))
        self.assertEqual([one.name for one in net.get_parameters()], ["0.weight", "0.bias", "1.0.weight"])
        self.assertEqual(
            [name for name, _ in Small(norm=True).parameters_and_names()],
            [
                "fc1.weight",
                "fc1.bias",
                "norm.moving_mean",
                "norm.moving_variance",
                "norm.gamma",
                "norm.beta",
                "fc2.weight",
                "fc2.bias",
            ],
        )
        self.assertEqual(len(Small(norm=True).trainable_params()), 6)

    def test_keep_names_of_their_own(self):
        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.weight = Parameter(initializer("normal", [3, 2]), "w")
                self.cells_of_it = nn.CellList([nn.ReLU(), nn.Dense(2, 2)])

            def construct(self, x):
                return self.cells_of_it[1](ops.matmul(x, self.weight))

        names = [one.name for one in Net().get_parameters()]
        self.assertEqual(names, ["w", "cells_of_it.1.weight", "cells_of_it.1.bias"])
        self.assertEqual(nn.TrainOneStepCell(Net(), nn.SGD(Net().trainable_params())).trainable_params()[0].name, "w")

    def test_refuse_what_is_no_cell(self):
        class Bare(nn.Cell):
            def __init__(self):
                self.fc = nn.Dense(1, 1)

        with self.refuses(AttributeError, "before super().__init__()"):
            Bare()
        with self.refuses(AttributeError, "has no construct"):
            nn.Cell()(Tensor(1.0))
        with self.refuses(TypeError, "[SequentialCell] not a cell, got int"):
            nn.SequentialCell(1)
        with self.refuses(ValueError, "bad pipeline stage, got -1"):
            nn.ReLU().pipeline_stage = -1


class Copies(Case):
    def test_have_values_of_their_own(self):
        ms.set_context(mode=ms.GRAPH_MODE)
        net, x = Small(norm=True), Tensor(labelled(4)[0])
        before = net(x).asnumpy().copy()
        for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            self.close(other(x), before)
            other.fc1.weight.set_data(Tensor(np.zeros((8, 6), "f4")))
            self.assertFalse(np.allclose(other(x).asnumpy(), before))
            self.close(net(x), before)
            self.assertEqual(list(other.parameters_dict()), list(net.parameters_dict()))


class Defaults(Case):
    def test_are_the_documented_ones(self):
        conv = nn.Conv2d(3, 4, 3)
        self.assertEqual((conv.pad_mode, conv.has_bias), ("same", False))
        self.assertEqual(nn.LayerNorm((4,)).epsilon, 1e-7)
        self.assertEqual(nn.Dense(3, 4).weight.shape, (4, 3))
        bound = 1 / np.sqrt(100)
        weight = nn.Dense(100, 400).weight.asnumpy()
        self.assertLess(abs(weight).max(), bound)
        self.assertGreater(abs(weight).max(), 0.99 * bound)

    def test_draw_by_seed_and_name(self):
        first, again = Small().fc1.weight.asnumpy(), Small().fc1.weight.asnumpy()
        np.testing.assert_array_equal(first, again)
        ms.set_seed(2)
        self.assertFalse(np.array_equal(first, Small().fc1.weight.asnumpy()))
        self.assertAlmostEqual(initializer("normal", [100, 100]).asnumpy().std(), 0.01, 3)
        drawn = [initializer(one, [100, 100]).asnumpy() for one in (  # limits are numbers
            TruncatedNormal(), TruncatedNormal(0.01, 1.0, 0.98, 1.02), TruncatedNormal(1.0)
        )]  # fmt: skip
        self.assertAlmostEqual(drawn[0].std(), 0.01, 3)
        self.assertGreater(abs(drawn[0]).max(), 0.03)
        self.assertLessEqual(abs(drawn[1] - 1).max(), 0.0200001)
        self.assertLessEqual(abs(drawn[2]).max(), 2)
        # Means and deviations of scipy.stats.truncnorm.
        for sigma, mean, a, b, center, spread in (
            (1, 0, -3, 1, -0.2828, 0.7839), (1, 0, 2.5, 9, 2.8227, 0.2968), (0.5, 1, 1.9, 2.0, 1.9468, 0.0287)
        ):  # fmt: skip
            made = initializer(TruncatedNormal(sigma, mean, a, b), [100, 200]).asnumpy()
            self.assertTrue(a <= made.min() and made.max() <= b)
            self.assertAlmostEqual(made.mean(), center, delta=0.03)
            self.assertAlmostEqual(made.std(), spread, delta=0.02)
        with self.refuses(ValueError, "[TruncatedNormal] no numbers within the limits, got a=1, b=-1"):
            TruncatedNormal(0.5, 0, 1, -1)
        with self.refuses(ValueError, "a weight has no such counts, got 1 dimensions"):
            initializer("xavier_uniform", [3]).asnumpy()
        with self.refuses(ValueError, "unknown name, got 'norml'", "did you mean 'normal'"):
            initializer("norml", [2])


class Lists(Case):
    def test_of_cells_that_come_later_have_the_prefix_of_their_list(self):
        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.one, self.two = nn.SequentialCell(nn.Dense(1, 1)), nn.CellList([nn.Dense(1, 1)])
                self.inner = nn.SequentialCell(nn.SequentialCell(nn.ReLU(), nn.Dense(1, 1)), nn.ReLU())
                self.one.append(nn.Dense(1, 1, has_bias=False))
                self.two.append(nn.Dense(1, 1, has_bias=False))
                self.two.insert(0, nn.Dense(1, 1, has_bias=False))
                self.inner[0].append(nn.Dense(1, 1, has_bias=False))

        names = [one.name for one in Net().get_parameters()]
        self.assertEqual(names[:3], ["one.0.weight", "one.0.bias", "one.1.weight"])
        self.assertEqual(names[3:7], ["two.0.weight", "two.1.weight", "two.1.bias", "two.2.weight"])
        self.assertEqual(names[7:], ["inner.0.1.weight", "inner.0.1.bias", "inner.0.2.weight"])
        alone = nn.SequentialCell()
        for _ in range(3):
            alone.append(nn.SequentialCell(nn.Dense(1, 1, has_bias=False)))
        names = [one.name for one in alone.get_parameters()]  # those of MindSpore
        self.assertEqual(names, ["0.0.weight", "0.1.0.weight", "0.2.0.weight"])


class Layers(Case):
    def test_without_a_bias_have_none(self):
        for layer in (nn.Dense(2, 3, has_bias=False), nn.Conv2d(2, 3, 1), ms.mint.nn.Linear(2, 3, bias=False)):
            self.assertIsNone(layer.bias)
            self.assertEqual([one.name for one in layer.get_parameters()], ["weight"])
        for layer in (nn.Dense(2, 3), nn.Conv2d(2, 3, 1, has_bias=True)):
            self.assertEqual(layer.bias.shape, (3,))

    def test_of_stages_train_the_parameters_of_all(self):
        net = nn.SequentialCell(nn.Dense(2, 3), nn.Dense(3, 1))
        net[0].pipeline_stage, net[1].pipeline_stage = 0, 1
        net[1].bias.requires_grad = False
        names = [one.name for one in net.infer_param_pipeline_stage()]
        self.assertEqual(names, ["0.weight", "0.bias", "1.weight"])


class Gradients(Case):
    def test_are_slopes(self):
        x, y = labelled(12)
        net, loss = Small(norm=True), nn.CrossEntropyLoss()
        net.set_train()
        weights = net.trainable_params()
        data, label = Tensor(x.astype("f4")), Tensor(y)
        value, found = ms.value_and_grad(lambda a, b: loss(net(a), b), None, weights)(data, label)
        before = [one.asnumpy().copy() for one in weights]
        for parameter, gradient, start in zip(weights, found, before):
            direction = rng(3).standard_normal(start.shape).astype("f4")
            ends = []
            for sign in (1, -1):
                parameter.set_data(Tensor(start + np.float32(sign * 1e-3) * direction))
                ends.append(float(loss(net(data), label)))
            parameter.set_data(Tensor(start))
            slope = (ends[0] - ends[1]) / 2e-3
            self.assertAlmostEqual(float((gradient.asnumpy() * direction).sum()), slope, delta=5e-3)
        self.assertAlmostEqual(float(value), float(loss(net(data), label)), 5)

    def test_come_in_every_documented_form(self):
        x, w = Tensor(np.array([1.0, 2], "f4")), Parameter(Tensor(np.array([3.0, 4], "f4")), name="w")

        def fn(a, b):
            return (a * b * w).sum(), a

        self.close(ms.grad(lambda a: (a * a).sum())(x), [2, 4])
        self.close(ms.grad(fn, 1, has_aux=True)(x, x)[0], [3, 8])
        (value, aux), (of_inputs, of_w) = ms.value_and_grad(fn, (0, 1), w, has_aux=True)(x, x)
        self.close(value, 19)
        self.close(aux, [1, 2])
        self.close(of_inputs[0], [3, 8])
        self.close(of_w, [1, 4])
        self.close(ops.GradOperation()(lambda a: a * a)(x), [2, 4])
        self.close(
            ops.GradOperation(get_all=True, sens_param=True)(lambda a, b: a * b)(x, x, Tensor([1.0, 10]))[0], [1, 20]
        )
        self.close(ops.GradOperation(get_by_list=True)(lambda a: (a * w).sum(), [w])(x)[0], [1, 2])
        with self.refuses(ValueError, "nothing to differentiate by"):
            ms.value_and_grad(fn, None)
        with self.refuses(TypeError, "a weight is not a parameter, got Tensor"):
            ms.value_and_grad(fn, None, [x])


class Programs(Case):
    def test_are_what_runs_at_once(self):
        net, x = Small(norm=True), Tensor(labelled(8)[0])
        at_once = net(x).asnumpy()
        self.close(ms.jit(lambda a: net(a))(x), at_once, 1e-6)
        ms.set_context(mode=ms.GRAPH_MODE)
        self.close(net(x), at_once, 1e-6)
        net.set_train()
        net(x)
        self.assertGreater(abs(net.norm.moving_mean.asnumpy()).max(), 0)

    def test_see_new_values_and_shapes(self):
        weight = Parameter(Tensor(np.ones(2, "f4")), name="w")
        calls = []

        @ms.jit
        def product(a, times):
            calls.append(a.shape)
            return a * weight * times

        x = Tensor(np.array([1.0, 2], "f4"))
        self.close(product(x, 3), [3, 6])
        weight.set_data(Tensor(np.array([2.0, 2], "f4")))
        self.close(product(x, 3), [6, 12])
        self.close(product(x, 4), [8, 16])
        self.assertEqual(len(calls), 2)

    def test_record_control_flow_on_data(self):
        ways = {
            "its truth": lambda a: a if a.sum() > 0 else -a,
            "a float": lambda a: a * (1.0 if float(a.sum()) > 0 else -1.0),
            "not known while it is built": lambda a: Tensor(a.asnumpy() * np.sign(a.asnumpy().sum())),
        }
        for text, way in ways.items():
            program = ms.jit(way)
            with warned() as lines:
                for given in ([1.0, 2.0], [-1.0, -3.0], [1.0, 2.0]):
                    self.close(program(Tensor(given)), np.abs(given))
            self.assertEqual(len(lines), 1)
            self.assertIn(text, lines[0])
            self.assertIn("runs in parts", lines[0])
            self.assertIn("test_cells.py", lines[0])

    def test_are_named_where_they_run_in_parts(self):
        class Branch(nn.Cell):
            def construct(self, a):
                return a if a.sum() > 0 else -a

        ms.set_context(mode=ms.GRAPH_MODE)
        with warned() as lines:
            self.close(Branch()(Tensor([-1.0, -2.0])), [1, 2])
        self.assertIn("[jit] 'Branch' runs in parts", lines[0])

    def test_refuse_control_flow_on_data_in_trainings(self):
        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.fc = nn.Dense(2, 1)

            def construct(self, x):
                y = self.fc(x)
                return y if y.sum() > 0 else -y

        net = Net()
        rows = ds.NumpySlicesDataset((np.ones((4, 2), "f4"), np.ones((4, 1), "f4")), ["x", "y"]).batch(2)
        with self.refuses(TypeError, "control flow depends on data at", "test_cells.py", "its truth"):
            train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1)).train(1, rows)

    def test_refuse_values_of_other_programs(self):
        kept = []
        ms.jit(lambda a: kept.append(a) or a)(Tensor([1.0]))
        with self.refuses(ValueError, "is used after its network was built"):
            ms.jit(lambda a: a + kept[0])(Tensor([1.0]))

    def test_have_two_parameters_of_one_name(self):
        a, b = Parameter(Tensor([1.0, 2.0]), name="w"), Parameter(Tensor([3.0, 5.0]), name="w")
        for program in (ms.jit(lambda x: x * a + b), lambda x: ms.value_and_grad(lambda y: y * a + b)(x)[0]):
            self.close(program(Tensor([1.0, 2.0])), [4, 9])
