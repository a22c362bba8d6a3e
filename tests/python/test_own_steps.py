"""Cells around a network that call it before they differentiate it, and losses of elements that tensors pick."""

import numpy as np
from support import Case, rng

import partita as ms
from partita import Tensor, nn, ops

X, Y = rng(1).random((8, 3), "f4"), rng(2).random((8, 2), "f4")


class Counting(nn.Cell):
    """A network with its loss that counts its calls, and has moving statistics."""

    def __init__(self):
        super().__init__()
        self.dense, self.norm, self.calls = nn.Dense(3, 2), nn.BatchNorm1d(2), 0
        self.dense.weight.set_data(Tensor(np.linspace(-1, 1, 6, dtype="f4").reshape(2, 3)))
        self.dense.bias.set_data(Tensor(np.zeros(2, "f4")))

    def construct(self, x, y):
        self.calls += 1
        return ops.mse_loss(self.norm(self.dense(x)), y)


class Own(nn.TrainOneStepCell):
    """The step that scripts write: the call, then its gradients."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        gradients = self.grad(self.network, self.weights)(*inputs, ops.fill(loss.dtype, loss.shape, self.sens))
        self.optimizer(tuple(one / self.sens for one in self.grad_reducer(gradients)))
        return loss


def trained(kind, steps=3, **options):
    """(losses, weights and statistics, calls) of steps on the same rows."""
    net = Counting()
    step = kind(net, nn.SGD(net.trainable_params(), 0.1), **options)
    step.set_train()
    losses = [float(step(Tensor(X), Tensor(Y))) for _ in range(steps)]
    return losses, [one.asnumpy() for one in net.get_parameters()], net.calls


class Called(Case):
    def test_differentiates_the_call_that_was_made(self):
        expected = trained(nn.TrainOneStepCell)
        for options in ({}, {"sens": 64.0}):
            got = trained(Own, **options)
            self.close(got[0], expected[0])
            for one, other in zip(got[1], expected[1]):
                self.close(one, other)
            self.assertEqual(got[2], 3)  # not twice in a step

    def test_needs_the_same_call(self):
        net, x, y = Counting(), Tensor(X), Tensor(Y)
        net.set_train().set_grad()
        weights = ms.ParameterTuple(net.trainable_params())
        gradient = ops.GradOperation(get_by_list=True)
        of_others = gradient(net, weights)(Tensor(2 * X), y)
        for calls, made, given in ((1, (x, y), (x, y)), (2, (x, y), (x, Tensor(Y))), (2, None, (x, y))):
            net.calls = 0
            if made:
                net(*made)
            else:
                net(x, y)
                gradient(net, weights)(x, y)  # which takes them
                net.calls = 1
            gradient(net, weights)(*given)
            self.assertEqual(net.calls, calls)
        net.calls = 0
        net(x, y)
        got = gradient(net, weights)(Tensor(2 * X), y)
        self.assertEqual(net.calls, 2)
        for one, other in zip(got, of_others):
            self.close(one, other)
        net.calls = 0
        loss = net(x, y)
        value, _ = ms.value_and_grad(net, None, weights)(x, y)
        self.assertEqual(net.calls, 1)
        self.close(value, loss.asnumpy())

    def test_draws_once(self):
        class Drawing(Counting):
            def construct(self, x, y):
                return super().construct(x * np.random.random(), y)

        np.random.seed(3)
        net = Drawing()
        step = Own(net, nn.SGD(net.trainable_params(), 0.1))
        step.set_train()
        for _ in range(3):
            step(Tensor(X), Tensor(Y))
        fourth = np.random.random()
        np.random.seed(3)
        self.assertEqual([np.random.random() for _ in range(4)][3], fourth)
        self.assertEqual(net.calls, 3)

    def test_calls_a_network_without_a_loss(self):
        net = nn.SequentialCell(nn.Dense(3, 2), nn.ReLU())
        expected = net(Tensor(X)).asnumpy()
        net.set_train().set_grad()
        self.close(net(Tensor(X)), expected)
        found = ops.GradOperation(get_by_list=True)(net, ms.ParameterTuple(net.trainable_params()))(Tensor(X))
        self.assertEqual([one.shape for one in found], [(2, 3), (2,)])


class OneStep(Case):
    def test_multiplies_the_loss(self):
        plain, scaled = trained(nn.TrainOneStepCell), trained(nn.TrainOneStepCell, sens=0.5)
        self.close(plain[0][0], scaled[0][0])
        net = Counting()
        _, gradients = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.0), 4.0, True)(Tensor(X), Tensor(Y))
        other = Counting()
        step = nn.TrainOneStepCell(other, nn.SGD(other.trainable_params(), 0.0), return_grad=True)
        _, expected = step(Tensor(X), Tensor(Y))
        self.assertEqual(list(gradients), ["dense.weight", "dense.bias", "norm.gamma", "norm.beta"])
        for name, one in gradients.items():
            self.close(one, 4 * expected[name].asnumpy())
        for kind, sens, text in (
            (ValueError, 0, "[TrainOneStepCell] bad sens, got 0, expected a finite number other than 0"),
            (ValueError, float("inf"), "[TrainOneStepCell] bad sens, got inf"),
            (TypeError, "2", "[TrainOneStepCell] sens is not a number, got '2'"),
        ):
            with self.refuses(kind, text):
                nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1), sens)

    def test_reduces_as_the_context_says(self):
        ms.set_context(ranks=4)
        ms.communication.init()
        found = {}
        for mean in (True, False):
            ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=mean)
            for kind in (nn.TrainOneStepCell, Own):
                net = nn.SequentialCell(nn.Dense(3, 2, weight_init="ones", bias_init="zeros"))
                step = kind(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
                step.set_train()
                step(Tensor(X), Tensor(Y))
                found[mean, kind] = 1 - net[0].weight.asnumpy()
        for kind in (nn.TrainOneStepCell, Own):
            self.close(found[False, kind], 4 * found[True, kind], 1e-5)
        self.close(found[True, Own], found[True, nn.TrainOneStepCell])


class Picked(Case):
    def test_elements_within_a_step(self):
        values, rows, columns = rng(3).random((4, 5, 2), "f4"), np.array([0, 1, 1, 3]), np.array([4, -1, 0, 2])

        def picked(x, i, j):
            return (x[i, j] ** 2).sum() + x[0, :, j % 2].sum()

        expected = np.zeros_like(values)
        np.add.at(expected, (rows, columns), 2 * values[rows, columns])
        for j in columns:
            expected[0, :, j % 2] += 1
        i, j = Tensor(rows.astype("i4")), Tensor(columns.astype("i4"))
        self.close(ms.grad(picked)(Tensor(values), i, j), expected)
        self.close(ms.jit(ms.grad(picked))(Tensor(values), i, j), expected)
        outside = Tensor(np.array([0, 1, 1, 5], "i4"))
        with self.refuses(IndexError, "outside"):
            ms.grad(lambda x, k: x[i, k].sum())(Tensor(values), outside)


class Assigned(Case):
    def test_random_indices_and_their_gradients(self):
        random = rng(6)
        for _ in range(120):
            self.assigns(random)

    def index_of(self, random, size):
        begin, end = sorted(random.integers(0, size + 1, 2).tolist())
        number = int(random.integers(-size, size))
        kinds = number, slice(None), slice(begin, end), slice(None, None, 2), slice(begin, None)
        return kinds[random.integers(0, len(kinds))]

    def assigns(self, random):
        x = random.random((4, 3, 5), "f4")
        index = tuple(self.index_of(random, size) for size in x.shape[: random.integers(1, 4)])
        index += (Ellipsis,) * int(random.integers(0, 2))
        shape = x[index].shape
        value = random.random(shape[int(random.integers(0, 2)) :], "f4")
        factors = random.random(x.shape, "f4")

        def changed(a, b):
            a = a * 1.0
            a[index] = b
            return (a * Tensor(factors)).sum(), a

        (_, got), (by_x, by_value) = ms.value_and_grad(changed, (0, 1), has_aux=True)(Tensor(x), Tensor(value))
        expected, others = x.copy(), factors.copy()
        expected[index], others[index] = value, 0
        taken = factors[index]
        taken = taken.sum(0) if taken.ndim > value.ndim else taken
        with self.subTest(index=index, shape=value.shape):
            np.testing.assert_array_equal(got.asnumpy(), expected)
            self.close(by_x, others)
            self.close(by_value, taken, 1e-5)

    def test_refuses_values_that_do_not_fit(self):
        def changed(x, index, value):
            x[index] = Tensor(value)
            return x.sum()

        text = "[index] the value has the wrong shape, got {}, expected that of the elements, {}"
        cases = (0, (2, 5), (3, 5)), (slice(1, 1), (2,), (0, 3)), (([0, 1],), (4, 1, 3), (2, 3))
        for index, shape, elements in cases:
            x = Tensor(np.zeros((4, 3, 5) if index == 0 else (4, 3), "f4"))
            with self.refuses(ValueError, text.format(shape, elements)):
                ms.grad(lambda a, i=index, s=shape: changed(a, i, np.zeros(s, "f4")))(x)


class OtherLosses(Case):
    def test_soft_margin(self):
        x, y = rng(4).normal(size=(3, 4)).astype("f4"), np.where(rng(5).random((3, 4)) > 0.5, 1, -1).astype("f4")
        expected = np.log1p(np.exp(-x * y))
        self.close(ops.soft_margin_loss(Tensor(x), Tensor(y)), expected.mean())
        self.close(nn.SoftMarginLoss("none")(Tensor(x), Tensor(y)), expected)

    def test_name_what_does_not_fit(self):
        x, y, classes = Tensor(X), Tensor(Y), Tensor(np.zeros(8, "i4"))
        for kind, text, call in (
            (ValueError, "[smooth_l1_loss] the shapes differ, got (8, 3) and (8, 2)", lambda: ops.smooth_l1_loss(x, y)),
            (ValueError, "[smooth_l1_loss] bad beta, got -1", lambda: ops.smooth_l1_loss(x, x, -1)),
            (TypeError, "[smooth_l1_loss] beta is not a number, got 'a'", lambda: ops.smooth_l1_loss(x, x, "a")),
            (ValueError, "[HuberLoss] bad delta, got 0", lambda: nn.HuberLoss(delta=0)),
            (ValueError, "[kl_div] unknown reduction, got 'all'", lambda: ops.kl_div(x, x, "all")),
            (ValueError, "[nll_loss] wrong shape of the target, got (8, 2)", lambda: ops.nll_loss(x, Tensor(Y > 0))),
            (TypeError, "[nll_loss] the target is no classes, got Float32", lambda: ops.nll_loss(x, x)),
            (
                ValueError,
                "[nll_loss] wrong number of weights, got (2,), expected (3,)",
                lambda: ops.nll_loss(x, classes, Tensor([1.0, 2.0])),
            ),
            (
                ValueError,
                "[nll_loss] label_smoothing out of range, got 1.5",
                lambda: ops.nll_loss(x, classes, label_smoothing=1.5),
            ),
            (
                ValueError,
                "[cosine_embedding_loss] bad margin, got 2.0, expected -1 to 1",
                lambda: ops.cosine_embedding_loss(x, x, classes, 2),
            ),
            (ValueError, "[DiceLoss] the shapes differ, got (8, 3) and (8, 2)", lambda: nn.DiceLoss()(x, y)),
            (NotImplementedError, "[amax] initial and where are not supported", lambda: ops.amax(x, initial=1.0)),
        ):
            with self.subTest(text), self.refuses(kind, text):
                call()
