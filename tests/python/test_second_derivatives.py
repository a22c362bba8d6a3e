"""Gradients of gradients: products with Hessians against differences, and a gradient penalty on ranks."""

import unittest

import numpy as np
from support import Case, rng

import partita as ms
from partita import Parameter, Tensor, nn, ops

LABELS = Tensor(np.array([1, 0, 3], "i4"))
GAMMA, BETA = (Tensor(rng(seed).standard_normal(4)) for seed in (5, 6))
WEIGHT = Tensor(rng(7).standard_normal((4, 4)))
FILTER = Tensor(rng(8).standard_normal((2, 2, 2, 2)))

FUNCTIONS = {
    "relu": lambda x: (ops.relu(ops.matmul(x, WEIGHT)) ** 3).sum(),
    "leaky relu": lambda x: (ops.leaky_relu(ops.matmul(x, WEIGHT), 0.2) ** 3).sum(),
    "silu": lambda x: (ops.silu(x) ** 2).sum(),
    "gelu": lambda x: (ops.gelu(x, approximate="none") ** 2).sum(),
    "approximate gelu": lambda x: (ops.gelu(x, approximate="tanh") ** 2).sum(),
    "sigmoid": lambda x: (ops.sigmoid(x) ** 2).sum(),
    "tanh": lambda x: (ops.tanh(x) ** 2).sum(),
    "softmax": lambda x: (ops.softmax(x, -1) ** 2).sum(),
    "log softmax": lambda x: (ops.log_softmax(x, -1) ** 2).sum(),
    "layer norm": lambda x: (ops.layer_norm(x, (4,), GAMMA, BETA) ** 3).sum(),
    "cross entropy": lambda x: ops.cross_entropy(x, LABELS),
    "norm": lambda x: ops.sqrt((x * x).sum(1)).sum(),
    "top k": lambda x: (ops.topk(x, 2)[0] ** 3).sum(),
    "rows": lambda x: (ops.gather(x, LABELS % 3, 0) ** 3).sum(),
    "maximum": lambda x: (ops.max(x, 1)[0] ** 3).sum(),
    "convolution": lambda x: (ops.conv2d(x.reshape((1, 2, 2, 3)), FILTER) ** 3).sum(),
    "largest of windows": lambda x: (ops.max_pool2d(x.reshape((1, 1, 3, 4)), 2, 1) ** 3).sum(),
    "mean of windows": lambda x: (ops.avg_pool2d(x.reshape((1, 1, 3, 4)), 2, 1) ** 3).sum(),
}


class Products(Case):
    """The product of a Hessian and a vector is a difference of gradients."""

    def check(self, function, x, tolerance=1e-6):
        v, step = rng(3).standard_normal(x.shape), 1e-5
        slope = ms.grad(function)
        got = ms.grad(lambda a: (slope(a) * Tensor(v)).sum())(Tensor(x)).asnumpy()
        above, below = (slope(Tensor(x + sign * step * v)).asnumpy() for sign in (1, -1))
        expected = (above - below) / (2 * step)
        self.assertEqual(got.dtype, np.float64)
        self.assertGreater(np.abs(expected).max(), 1e-3)
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())

    def test_of_functions(self):
        x = rng(2).standard_normal((3, 4))
        for name, function in FUNCTIONS.items():
            with self.subTest(name):
                self.check(function, x)

    def test_of_programs(self):
        x = Tensor(rng(2).standard_normal((3, 4)))
        for name in ("silu", "softmax", "layer norm", "cross entropy"):
            twice = lambda a, name=name: ms.grad(lambda b: ms.grad(FUNCTIONS[name])(b).sum())(a)  # noqa: E731
            with self.subTest(name):
                self.close(ms.jit(twice)(x), twice(x).asnumpy(), 1e-12)

    def test_of_third_order(self):
        x = np.array([0.3, -1.2, 0.7])
        third = ms.grad(lambda a: ms.grad(lambda b: ms.grad(lambda c: ops.silu(c).sum())(b).sum())(a).sum())
        second = ms.grad(lambda b: ms.grad(lambda c: ops.silu(c).sum())(b).sum())
        expected = (second(Tensor(x + 1e-5)).asnumpy() - second(Tensor(x - 1e-5)).asnumpy()) / 2e-5
        self.close(third(Tensor(x)), expected, 1e-7)

    def test_of_a_batch_norm(self):
        net = nn.BatchNorm1d(4)
        net.set_train()
        x, v = (rng(seed).standard_normal((5, 4)).astype("f4") for seed in (2, 3))
        slope = ms.grad(lambda a: (net(a) ** 3).sum())
        got = ms.grad(lambda a: (slope(a) * Tensor(v)).sum())(Tensor(x))
        above, below = (slope(Tensor(x + np.float32(sign) * v)).asnumpy() for sign in (1e-2, -1e-2))
        self.close(got, (above - below) / 2e-2, 0.02 * np.abs(above - below).max() / 2e-2)


class JacobianProducts(Case):
    """`jvp` and `vjp`, with values of MindSpore 2.10."""

    X, Y, V = (Tensor(np.array(one, "f4")) for one in ([[1, 2], [3, 4]], [[1, 0.5], [3, 2]], [[1, 2], [0, 1]]))

    def test_of_one_result(self):
        value, found = ms.jvp(lambda a, b: a**3 + b, (self.X, self.Y), (self.V, self.V))
        self.close(value, [[2, 8.5], [30, 66]])
        self.close(found, [[4, 26], [0, 49]])
        value, pulled = ms.vjp(lambda a: a**3, self.X)
        self.close(value, [[1, 8], [27, 64]])
        self.assertIsInstance(pulled(self.V), tuple)
        self.close(pulled(self.V)[0], [[3, 24], [0, 48]])

    def test_of_several_results(self):
        several = lambda a, b: (a * b, a**2)  # noqa: E731
        found = ms.jvp(several, [self.X, self.Y], [self.V, self.V])[1]
        self.close(found[0], [[2, 5], [0, 6]])
        self.close(found[1], [[2, 8], [0, 8]])
        found = ms.vjp(several, self.X, self.Y)[1](self.V, self.V)
        self.close(found[0], [[3, 9], [0, 10]])
        self.close(found[1], [[1, 4], [0, 4]])

    def test_with_other_results(self):
        several = lambda a, b: (a * b, a**2, b)  # noqa: E731
        value, found, others = ms.jvp(several, (self.X, self.Y), (self.V, self.V), has_aux=True)
        self.close(value, [[1, 1], [9, 8]])
        self.close(found, [[2, 5], [0, 6]])
        self.close(others[0], [[1, 4], [9, 16]])
        _, pulled, others = ms.vjp(several, self.X, self.Y, has_aux=True)
        self.close(pulled(self.V)[0], [[1, 1], [0, 2]])
        self.close(others[1], self.Y.asnumpy())

    def test_by_weights(self):
        w = Parameter(Tensor(np.array([1, 2], "f4")), "w")
        of_inputs, of_weight = ms.vjp(lambda a: a * w, self.X, weights=w)[1](self.V)
        self.close(of_inputs[0], [[1, 4], [0, 2]])
        self.close(of_weight, [1, 8])
        self.close(ms.vjp(lambda a: a * w, self.X, weights=[w])[1](self.V)[1][0], [1, 8])

    def test_in_programs(self):
        program = ms.jit(lambda a, v: ms.jvp(lambda b: ops.relu(b) ** 2, a, v)[1])
        self.close(program(self.X, self.V), [[2, 8], [0, 8]])

    def test_refuse_what_does_not_fit(self):
        cube = lambda a: a**3  # noqa: E731
        with self.refuses(ValueError, "[jvp] wrong number of vectors, got 2, expected 1"):
            ms.jvp(cube, self.X, (self.V, self.V))
        with self.refuses(TypeError, "[jvp] inputs are not tensors, got float, expected Tensor"):
            ms.jvp(cube, 1.0, self.V)
        with self.refuses(TypeError, "[vjp] results are not tensors, got str, expected Tensor"):
            ms.vjp(lambda a: "a", self.X)
        with self.refuses(ValueError, "[vjp] a vector does not fit, got Float32 (2,), expected Float32 (2, 2)"):
            ms.vjp(cube, self.X)[1](self.V[0])
        with self.refuses(ValueError, "[jvp] the function returns nothing besides what is differentiated, got Tensor"):
            ms.jvp(cube, self.X, self.V, has_aux=True)


class Critic(nn.Cell):
    """Two layers in f64."""

    def __init__(self):
        super().__init__()
        numbers = rng(4)
        self.w1 = Parameter(Tensor(numbers.standard_normal((6, 8))), "w1")
        self.w2 = Parameter(Tensor(numbers.standard_normal((8, 1))), "w2")

    def construct(self, x):
        return ops.matmul(ops.leaky_relu(ops.gelu(ops.matmul(x, self.w1)), 0.2), self.w2)


def trained(ranks):
    """The losses and the weights of three steps with a gradient penalty (Gulrajani et al., 2017)."""
    ms.reset_auto_parallel_context()
    ms.set_context(ranks=ranks)
    ms.set_auto_parallel_context(
        parallel_mode="data_parallel" if ranks > 1 else "stand_alone", gradients_mean=True
    )
    critic = Critic()
    optimizer = nn.SGD(critic.trainable_params(), 0.01)

    def loss_of(real, fake, mixed):
        slopes = ms.grad(lambda a: critic(a).sum())(mixed)
        length = ops.sqrt((slopes * slopes).sum(1))
        return critic(fake).mean() - critic(real).mean() + 10.0 * ((length - 1.0) ** 2).mean()

    gradients_of = ms.value_and_grad(loss_of, None, optimizer.parameters)

    @ms.jit
    def step(real, fake, mixed):
        loss, gradients = gradients_of(real, fake, mixed)
        optimizer(gradients)
        return loss

    numbers, losses = rng(9), []
    for _ in range(3):
        real, fake, share = (numbers.standard_normal((8, 6)) for _ in range(3))
        losses.append(float(step(Tensor(real), Tensor(fake), Tensor(real + share * (fake - real)))))
    return losses, critic.w1.asnumpy().copy()


class GradientPenalty(Case):
    def test_trains_on_ranks_as_on_one(self):
        losses, weights = trained(1)
        self.assertLess(losses[2], losses[0])
        for ranks in (2, 4):
            got, others = trained(ranks)
            self.close(got, losses, 1e-9)
            self.close(others, weights, 1e-9)


if __name__ == "__main__":
    unittest.main()
