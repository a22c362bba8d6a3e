"""Tuples of parameters as attributes of cells, copies of parameters, their values and types."""

import copy
import os
import tempfile

import numpy as np
from support import Case

import partita as ms
from partita import Parameter, ParameterTuple, Tensor, nn, train
from partita import dataset as ds


def parameters(*names):
    return [Parameter(Tensor(np.full(2, i + 1, "f4")), name=name) for i, name in enumerate(names)]


class Two(nn.Cell):
    def __init__(self):
        super().__init__()
        self.ws = ParameterTuple(parameters("w0", "w1"))

    def construct(self, x):
        return x * self.ws[0] + self.ws[1]


def names(cell):
    return [one.name for one in cell.get_parameters()]


class Tuples(Case):
    def test_are_parameters_of_the_cell_by_their_own_names(self):
        net = Two()
        self.assertEqual(names(net), ["w0", "w1"])
        self.assertEqual([path for path, _ in net.parameters_and_names()], ["w0", "w1"])
        self.assertEqual(names(nn.CellList([Two(), Two()])), ["0.w0", "0.w1", "1.w0", "1.w1"])
        net.ws = ParameterTuple(parameters("v"))  # the first ones stay, as there
        self.assertEqual(names(net), ["w0", "w1", "v"])
        with self.refuses(AttributeError, "no parameters and cells yet, got 'ws' before super().__init__()"):

            class Early(nn.Cell):
                def __init__(self):
                    self.ws = ParameterTuple(parameters("w"))

            Early()
        net = nn.Cell()
        net.w0 = 3
        with self.refuses(KeyError, "a parameter of 'ws' has the name of an attribute, got 'w0', expected another"):
            net.ws = ParameterTuple(parameters("w0"))

    def test_of_parameters_without_names_number_them(self):
        class Unnamed(nn.Cell):
            def __init__(self):
                super().__init__()
                self.ws = ParameterTuple([Parameter(Tensor([1.0])), *parameters("own"), Parameter(Tensor([2.0]))])

        self.assertEqual(names(Unnamed()), ["Parameter$1", "own", "Parameter$2"])

    def test_of_parameters_of_inner_cells_are_these(self):
        class Outer(nn.Cell):
            def __init__(self):
                super().__init__()
                self.dense = nn.Dense(2, 2)
                self.weights = ParameterTuple(self.dense.trainable_params())
                self.moments = self.weights.clone("moment", "zeros")

        net = Outer()
        self.assertEqual(names(net), ["dense.weight", "dense.bias", "moment.dense.weight", "moment.dense.bias"])
        self.assertIs(net.weights[0], net.dense.weight)

    def test_in_lists_and_tuples_are_no_parameters_of_the_cell(self):
        for kind in (list, tuple):
            net = nn.Cell()
            net.ws = kind(parameters("w0", "w1"))
            self.assertEqual(names(net), [])
            self.assertEqual(type(net.ws), kind)

    def test_are_trained_saved_and_copied(self):
        net = Two()
        rows = ds.NumpySlicesDataset((np.ones((4, 2), "f4"), np.zeros((4, 2), "f4")), shuffle=False).batch(2)
        train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1)).train(1, rows)
        expected = np.array([1.0, 2.0])
        for _ in range(2):
            expected -= 0.1 * expected.sum()
        for one, value in zip(net.ws, expected):
            self.close(one, [value] * 2)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.ckpt")
            ms.save_checkpoint(net, path)
            other = Two()
            ms.load_param_into_net(other, ms.load_checkpoint(path))
            self.close(other.ws[1], net.ws[1].asnumpy(), 0)
        made = copy.deepcopy(net)
        self.assertIsInstance(made.ws, ParameterTuple)
        for one, same, first in zip(made.ws, made.get_parameters(), net.ws):
            self.assertIs(one, same)
            self.assertIsNot(one, first)


class Copies(Case):
    def test_have_the_settings_of_the_first(self):
        (one,) = parameters("p")
        one.requires_grad, one.comm_fusion = False, 3
        for init, expected in (
            ("same", [1, 1]),
            ("zeros", [0, 0]),
            (0.5, [0.5, 0.5]),
            (2, [2, 2]),
            (Tensor([3, 4]), [3, 4]),
        ):
            made = one.clone(init)
            self.close(made, expected)
            self.assertEqual((made.name, made.dtype, made.requires_grad, made.comm_fusion), ("p", ms.float32, False, 3))
        made[0] = 9
        self.close(one, [1, 1])
        with self.refuses(ValueError, "[initializer] the tensor has another shape, got (3,), expected (2,)"):
            one.clone(Tensor([1.0, 2.0, 3.0]))
        with self.refuses(ValueError, "[initializer] unknown name, got 'nope'"):
            one.clone("nope")

    def test_of_tuples_have_a_prefix(self):
        made = ParameterTuple(parameters("a", "b.c")).clone("moment", init="zeros")
        self.assertEqual([one.name for one in made], ["moment.a", "moment.b.c"])
        self.close(made[1], [0, 0])


class Values(Case):
    def test_are_those_of_the_moment(self):
        (one,) = parameters("p")
        before = one.value()
        one[0] = 5
        between = one.value()
        one.set_data(Tensor([7.0, 7.0]))
        self.close(before, [1, 1])
        self.close(between, [5, 1])
        self.assertNotIsInstance(before, Parameter)

    def test_have_gradients_within_programs(self):
        net = nn.Cell()
        net.w = parameters("w")[0]
        (found,) = ms.value_and_grad(lambda x: (x * net.w.value()).sum(), None, [net.w])(Tensor([3.0, 4.0]))[1]
        self.close(found, [3, 4])

    def test_are_cast_in_place(self):
        (one,) = parameters("p")
        self.assertEqual(one.set_dtype(ms.float16), ms.float16)
        self.assertEqual((one.dtype, one.name), (ms.float16, "p"))
        self.close(one.value().astype(ms.float32), [1, 1])
        drawn = Parameter(ms.common.initializer.initializer("ones", [2], ms.float32), name="q")
        drawn.set_dtype(ms.float64)
        self.assertEqual(drawn.dtype, ms.float64)
        with self.refuses(TypeError, "got 'f12'"):
            one.set_dtype("f12")
