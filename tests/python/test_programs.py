"""Programs of functions: what calls share, the order of results, options that are refused."""

import unittest

import numpy as np
from support import Case, warned

import partita as ms
from partita import Tensor, nn, ops, train


class Signatures(Case):
    def test_tell_cells_apart(self):
        first, second = nn.Dense(2, 1), nn.Dense(2, 1)
        second.weight.set_data(Tensor(first.weight.asnumpy() + 1))

        @ms.jit
        def called(cell, x):
            return cell(x)

        x = Tensor(np.ones((1, 2), "f4"))
        for cell in (first, second, first):
            np.testing.assert_allclose(called(cell, x).asnumpy(), cell(x).asnumpy(), rtol=1e-6)

    def test_tell_large_arrays_apart(self):
        @ms.jit
        def added(x, array):
            return x + Tensor(array)

        x, array = Tensor(np.zeros(2000, "f4")), np.zeros(2000, "f4")
        added(x, array)
        array = array.copy()
        array[1000] = 1
        self.assertEqual(added(x, array).asnumpy()[1000], 1)

    def test_know_equal_arguments(self):
        calls = []

        @ms.jit
        def scaled(x, by):
            calls.append(by)
            return x * by

        x = Tensor(np.ones(2, "f4"))
        for by in (2.0, 2.0, 3.0):
            scaled(x, by)
        self.assertEqual(len(set(calls)), 2)
        self.assertEqual(calls.count(2.0), calls.count(3.0))


class Results(Case):
    def test_of_predict_are_in_their_order(self):
        class Many(nn.Cell):
            def construct(self, x):
                return tuple(x + float(i) for i in range(12))

        made = train.Model(Many()).predict(Tensor(np.zeros((2, 1), "f4")))
        self.assertEqual([one.asnumpy()[0, 0] for one in made], list(range(12)))

    def test_are_in_tuples_of_tuples(self):
        class Nested(nn.Cell):
            def construct(self, x):
                return x, (x + 1, [x * 2])

        x = Tensor(np.ones((2, 3), "f4"))
        first, (second, (third,)) = train.Model(Nested()).predict(x)
        self.assertEqual([float(one.asnumpy().max()) for one in (first, second, third)], [1, 2, 2])
        layer = nn.LSTM(3, 4, batch_first=True)
        made, (hidden, state) = train.Model(layer).predict(Tensor(np.ones((2, 5, 3), "f4")))
        self.assertEqual((made.shape, hidden.shape, state.shape), ((2, 5, 4), (1, 2, 4), (1, 2, 4)))


class Gradients(Case):
    x = np.array([1.0, 2.0, 3.0], "f4")

    @staticmethod
    def _two(x):
        return (x * x).sum(), (x * 5.0).sum()

    def test_are_of_all_outputs(self):
        (first, second), found = ms.value_and_grad(self._two)(Tensor(self.x))
        self.close(found, 2 * self.x + 5)
        self.close(first, 14)
        self.close(second, 30)
        self.close(ms.grad(self._two)(Tensor(self.x)), 2 * self.x + 5)
        self.close(ms.ops.GradOperation()(self._two)(Tensor(self.x)), 2 * self.x + 5)

    def test_are_of_the_loss_alone_among_others(self):
        (_, second), found = ms.value_and_grad(self._two, has_aux=True)(Tensor(self.x))
        self.close(found, 2 * self.x)
        self.close(second, 30)
        with self.refuses(ValueError, "nothing besides the loss"):
            ms.value_and_grad(lambda x: x.sum(), has_aux=True)(Tensor(self.x))

    def test_leave_integers_out(self):
        _, found = ms.value_and_grad(lambda x: ((x * x).sum(), ms.ops.argmax(x)))(Tensor(self.x))
        self.close(found, 2 * self.x)
        with self.refuses(TypeError, "nothing has a gradient"):
            ms.value_and_grad(lambda x: ms.ops.argmax(x))(Tensor(self.x))

    def test_take_a_factor_for_each_output(self):
        sens = (Tensor(np.float32(2)), Tensor(np.float32(3)))
        found = ms.ops.GradOperation(sens_param=True)(self._two)(Tensor(self.x), sens)
        self.close(found, 4 * self.x + 15)


class Branches(Case):
    """Branches and loops on data in GRAPH mode, with gradients of MindSpore 2.10 there."""

    def test_have_the_gradient_of_the_branch_that_is_taken(self):
        def branches(a):
            if a.sum() > 0:
                return ops.sqrt(a).sum()
            return (a * a).sum()

        def halves(a):
            while a.sum() > 1.0:
                a = a * 0.5
            return a.sum()

        ms.set_context(mode=ms.GRAPH_MODE)
        with warned() as lines:
            for _ in range(3):
                self.close(ms.grad(branches)(Tensor([0.0, -4.0])), [0, -8])  # the slope of a root at 0 is infinite
                self.close(ms.grad(branches)(Tensor([1.0, 4.0])), [0.5, 0.25])
                self.close(ms.grad(halves)(Tensor([4.0, 1.0])), [0.125, 0.125])
        self.assertEqual(len(lines), 2)  # one for each function

    def test_run_what_is_taken_once(self):
        taken = []

        def branches(a):
            if a.sum() > 0:
                taken.append("above")
                return ops.gather(a, Tensor(1), 0)
            taken.append("below")
            return a[0]

        ms.set_context(mode=ms.GRAPH_MODE)
        with warned():
            ms.grad(branches)(Tensor([1.0, 2.0]))
            del taken[:]
            for given in ([1.0, 2.0], [-1.0, -2.0], [3.0, 1.0]):
                ms.grad(branches)(Tensor(given))
        self.assertEqual(taken, ["above", "below", "above"])


class Values(Case):
    def test_changed_in_place_reach_programs(self):
        net = nn.Dense(2, 1, "ones", has_bias=False)
        called, x = ms.jit(lambda x: net(x)), Tensor(np.ones((1, 2), "f4"))
        self.close(called(x), [[2]])
        net.weight[0, 1] = 5.0
        self.close(called(x), [[6]])

    def test_as_arrays_change_by_items_alone(self):
        weight = nn.Dense(2, 1).weight
        values = weight.asnumpy()
        values[0, 0] = 1
        self.close(weight[0, 0], 1)
        for change in (lambda: np.add(values, 1, out=values), lambda: values[0].__setitem__(0, 2)):
            with self.assertRaises(ValueError):  # programs would not hear of it
                change()
        self.close(np.from_dlpack(weight), weight.asnumpy())


class Mint(Case):
    """Against NumPy: the parameters that PyTorch's functions have."""

    def test_dimensions(self):
        from partita import mint

        values = np.random.default_rng(3).random((2, 3, 4), "f4")
        x = Tensor(values)
        self.close(mint.sum(x, dim=1, keepdim=True), values.sum(1, keepdims=True))
        self.close(mint.mean(x, dim=(0, 2)), values.mean((0, 2)))
        self.close(mint.max(x, dim=1)[0], values.max(1))
        self.close(mint.min(x), values.min())
        self.close(mint.max(x, Tensor(1 - values)), np.maximum(values, 1 - values))
        self.close(mint.transpose(x, 0, 2), values.swapaxes(0, 2))
        self.close(mint.permute(x, (2, 0, 1)), values.transpose(2, 0, 1))
        self.assertEqual(mint.flatten(x).shape, (24,))
        self.assertEqual(mint.flatten(x, 1).shape, (2, 12))
        self.assertEqual(mint.squeeze(x, 1).shape, (2, 3, 4))
        self.assertEqual(mint.unsqueeze(x, 0).shape, (1, 2, 3, 4))
        self.close(mint.cat((x, x), dim=2), np.concatenate((values, values), 2))
        self.close(mint.stack((x, x), dim=1), np.stack((values, values), 1))
        self.assertEqual([one.shape for one in mint.split(x, [1, 3], dim=2)], [(2, 3, 1), (2, 3, 3)])
        self.close(mint.cumsum(x, dim=2), values.cumsum(2), 1e-5)
        self.close(mint.select(x, 1, 2), values[:, 2])
        exp = np.exp(values)
        self.close(mint.softmax(x, dim=1), exp / exp.sum(1, keepdims=True), 1e-5)
        self.close(mint.nn.functional.softmax(x), exp / exp.sum(0, keepdims=True), 1e-5)

    def test_factors(self):
        from partita import mint

        x = Tensor(np.array([-1.0, 2.0], "f4"))
        self.close(mint.add(x, x, alpha=3), [-4, 8])
        self.close(mint.sub(x, x, alpha=2), [1, -2])
        self.assertIs(mint.equal(x, x), True)
        self.assertIs(mint.equal(x, x * 2.0), False)
        self.close(mint.nn.functional.leaky_relu(x, negative_slope=0.5), [-0.5, 2])
        self.close(mint.nn.functional.softplus(x, beta=2), np.log1p(np.exp(2 * x.asnumpy())) / 2, 1e-5)
        self.close(mint.nn.functional.layer_norm(x, (2,)), [-1, 1], 1e-4)
        self.close(mint.nn.GELU()(x), [-0.15865525, 1.9544997], 1e-5)
        self.assertEqual(mint.nn.Dropout(0.25).p, 0.25)
        self.assertEqual(mint.nn.Embedding(5, 3).weight.shape, (5, 3))
        self.close(mint.nn.Linear(2, 3, bias_init=0.5).bias, [0.5] * 3)
        self.close(mint.div(x, 0.75, rounding_mode="trunc"), [-1, 2])


class Refusals(Case):
    def test_of_what_models_and_data_do_not_take(self):
        net = nn.Dense(2, 1)
        columns = (np.zeros((4, 2), "f4"), np.zeros((4, 1), "f4"))
        data = ms.dataset.NumpySlicesDataset(columns, ["x", "y"], shuffle=False)
        model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params()))
        for size in (0, -2):
            with self.refuses(ValueError, f"sink_size, got {size}"):
                model.train(1, data.batch(2), dataset_sink_mode=True, sink_size=size)
        for size in ("x", 2.0, True):
            text = f"[train] sink_size is not an integer, got {size!r}, expected -1 or one from 1"
            with self.refuses(TypeError, text):
                model.train(1, data.batch(2), dataset_sink_mode=True, sink_size=size)
        with self.refuses(ValueError, "initial_epoch", "expected 0 to 1"):
            model.train(2, data.batch(2), initial_epoch=2)
        with self.refuses(NotImplementedError, "column_order is not supported"):
            data.batch(2, column_order=["y", "x"])
        with self.refuses(TypeError, "unknown parameter, got 'colour'"):
            data.map(lambda x: x, "x", colour=1)
        with self.refuses(ValueError, "MaxPool", "'NHWC'"):
            ms.ops.MaxPool(data_format="NHWC")

    def test_of_gradients(self):
        def summed(x):
            return x.sum()

        x = Tensor(np.ones((2, 2), "f4"))
        with self.refuses(ValueError, "bad grad_position, got -1, expected integers from 0"):
            ms.grad(summed, -1)
        with self.refuses(ValueError, "no inputs, got grad_position=()"):
            ms.grad(summed, ())
        with self.refuses(ValueError, "nothing to differentiate by, got no tensors"):
            ms.ops.GradOperation()(lambda: x.sum())()
        with self.refuses(ValueError, "the factors have the wrong shape, got (3, 2), expected (2,)"):
            ms.ops.GradOperation(sens_param=True)(lambda y: y)(Tensor([1.0, 2.0]), Tensor(np.ones((3, 2), "f4")))
        with self.refuses(TypeError, "[assign] not a parameter, got Tensor"):
            ms.ops.assign(x, x)
        self.close(ms.jit(lambda y: ms.ops.assign(ms.Parameter(x, name="w"), y * 2.0))(x), 2 * np.ones((2, 2)))
        with self.refuses(ValueError, "[squeeze] axis is outside the tensor, got 5"):
            ms.mint.squeeze(x, 5)
        self.assertEqual(ms.mint.ones(2, 3).shape, ms.mint.zeros((2, 3)).shape)

    def test_of_parameters_set_in_a_network_that_is_compiled_once(self):
        class Counting(ms.nn.Cell):
            def __init__(self):
                super().__init__()
                self.w = ms.Parameter(Tensor(np.ones((2, 2), "f4")), name="w")

            def construct(self, x):
                return ms.ops.assign(self.w, x).sum()

        net, x = Counting(), Tensor(np.full((2, 2), 3, "f4"))
        with self.refuses(NotImplementedError, "[assign] a parameter cannot be changed within a program, got 'w'"):
            ms.train.Model(net).predict(x)
        np.testing.assert_array_equal(net.w.asnumpy(), np.ones((2, 2)))
        self.assertEqual(float(ms.jit(net)(x)), 12)  # recorded in each step
        np.testing.assert_array_equal(net.w.asnumpy(), np.full((2, 2), 3))

    def test_names_of_parallel(self):
        from partita.parallel import load_distributed_checkpoint, transform_checkpoints

        self.assertIs(load_distributed_checkpoint, ms.load_distributed_checkpoint)
        self.assertIs(transform_checkpoints, ms.transform_checkpoints)


if __name__ == "__main__":
    unittest.main()
