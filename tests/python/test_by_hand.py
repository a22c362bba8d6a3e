"""Optimizers of client libraries, whose `construct` updates parameters itself by what the documented base class gives
it; learning rates of groups; updates as ops."""

import copy
import os
import tempfile
import unittest

import numpy as np
from support import Case

import partita as ms
from partita import Parameter, Tensor, nn
from partita.nn import learning_rate_schedule as schedules
from partita.nn.optim.optimizer import Optimizer
from partita.ops import composite as C
from partita.ops import functional as F
from partita.ops import operations as P

ROWS = np.random.default_rng(7)
X = ROWS.standard_normal((8, 3)).astype("f4")
Y = ROWS.standard_normal((8, 2)).astype("f4")

adam = C.MultitypeFuncGraph("adam")


@adam.register("Tensor", "Tensor", "Tensor", "Tensor", "Tensor", "Tensor", "Tensor", "Bool")
def _updated(beta, step, rate, decay, weight, gradient, mean, decays):
    following = mean * beta + gradient * (1 - beta)
    F.assign(mean, following)
    if decays:
        weight_now = weight * (1 - rate * decay)
    else:
        weight_now = weight * 1.0
    F.assign(weight, weight_now - rate * following / (1 - P.Pow()(beta, step)))
    return True


class Averaged(Optimizer):
    """A momentum with the correction of its bias, written as client libraries write optimizers."""

    def __init__(self, params, learning_rate=0.1, beta=0.9, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay)
        self.beta = Tensor(np.array([beta], "f4"))
        self.mean = self._parameters.clone(prefix="mean", init="zeros")
        self.steps_seen = []

    def construct(self, gradients, factor=None):
        gradients = self.scale_grad(self.flatten_gradients(gradients))
        if factor is not None:
            gradients = tuple(one * factor for one in gradients)
        decay, rate = self.get_weight_decay(), self.get_lr()
        self.assignadd(self.global_step, self.global_step_increase_tensor)
        self.steps_seen.append(int(self.global_step))
        common, lists = [self.beta, self.global_step], [self._parameters, gradients, self.mean, self.decay_flags]
        if self.is_group and not self.is_group_lr:
            return self.hyper_map(F.partial(adam, *common, rate), decay, *lists)
        if self.is_group:
            return self.map_reverse(F.partial(adam, *common), rate, decay, *lists)
        return self.hyper_map(F.partial(adam, *common, rate, decay), *lists)


class Trained:
    """A linear regression, trained by an optimizer and by NumPy."""

    def __init__(self, make):
        self.net = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
        self.net.weight.name, self.net.bias.name = "weight", "beta"
        self.optimizer = make([self.net.weight, self.net.bias])
        self.step = nn.TrainOneStepCell(nn.WithLossCell(self.net, nn.MSELoss()), self.optimizer)
        self.weights = [np.ones((2, 3)), np.zeros(2)]
        self.means = [0.0, 0.0]

    def take(self, step, rates, decays, beta=0.9):
        """One step by both; `rates` and `decays` are of the two parameters."""
        self.step(Tensor(X), Tensor(Y))
        of_y = 2 * (X @ self.weights[0].T + self.weights[1] - Y) / Y.size
        for i, gradient in enumerate((of_y.T @ X, of_y.sum(0))):
            self.means[i] = self.means[i] * beta + gradient * (1 - beta)
            self.weights[i] = self.weights[i] * (1 - rates[i] * decays[i])
            self.weights[i] = self.weights[i] - rates[i] * self.means[i] / (1 - beta**step)
        for one, expected in zip((self.net.weight, self.net.bias), self.weights):
            np.testing.assert_allclose(one.asnumpy(), expected, rtol=1e-5, atol=1e-6)


class ByHand(Case):
    def tearDown(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)

    def test_update_parameters(self):
        for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
            ms.set_context(mode=mode)
            trained = Trained(lambda parameters: Averaged(parameters, 0.1, weight_decay=0.2))
            self.assertEqual(trained.optimizer.decay_flags, (True, False))
            for step in range(1, 5):
                trained.take(step, (0.1, 0.1), (0.2, 0.0))
                self.assertEqual(int(trained.optimizer.global_step), step)
            self.assertEqual(trained.optimizer.steps_seen, [1, 2, 3, 4])

    def test_follow_schedules(self):
        for rates in (schedules.ExponentialDecayLR(0.2, 0.5, 1), [0.2, 0.1, 0.05, 0.025]):
            trained = Trained(lambda parameters: Averaged(parameters, rates))
            self.assertTrue(trained.optimizer.dynamic_lr)
            for step in range(1, 5):
                rate = 0.2 * 0.5 ** (step - 1)
                of_step = copy.deepcopy(trained.optimizer.learning_rate)
                self.assertAlmostEqual(float(of_step(trained.optimizer.global_step)), rate, 6)
                trained.take(step, (rate, rate), (0.0, 0.0))

    def test_have_groups(self):
        def grouped(parameters, **of_first):
            groups = [{"params": parameters[:1], **of_first}, {"params": parameters[1:], "weight_decay": 0.3}]
            return Averaged(groups, 0.1, weight_decay=0.2)

        trained = Trained(grouped)
        self.assertTrue(trained.optimizer.is_group)
        for step in range(1, 4):
            trained.take(step, (0.1, 0.1), (0.2, 0.3))
        trained = Trained(lambda parameters: grouped(parameters, lr=schedules.ExponentialDecayLR(0.2, 0.5, 1)))
        self.assertTrue(trained.optimizer.is_group_lr and trained.optimizer.dynamic_lr)
        for step in range(1, 4):
            rate = 0.2 * 0.5 ** (step - 1)
            self.assertAlmostEqual(float(trained.optimizer.learning_rate[0](step - 1)), rate, 6)
            self.assertAlmostEqual(float(trained.optimizer.learning_rate[1](step - 1)), 0.1, 6)
            trained.take(step, (rate, 0.1), (0.2, 0.3))

    def test_take_more_than_gradients(self):
        weight = Parameter(Tensor([1.0, 2.0]), "weight")
        Averaged([weight], 0.1)((Tensor([1.0, 1.0]),), Tensor(2.0))
        self.close(weight, [0.8, 1.8])

    def test_train_models(self):
        trained, alone = (Trained(lambda parameters: Averaged(parameters, [0.1, 0.2, 0.3])) for _ in range(2))
        for step in range(1, 4):
            alone.take(step, [0.1 * step] * 2, (0.0, 0.0))
        data = ms.dataset.NumpySlicesDataset((X, Y), ["data", "label"], shuffle=False).batch(8)
        ms.train.Model(trained.net, nn.MSELoss(), trained.optimizer).train(3, data)
        self.close(trained.net.weight, alone.net.weight.asnumpy())
        self.assertEqual(int(trained.optimizer.global_step), 3)

    def test_go_on_from_files(self):
        with tempfile.TemporaryDirectory() as folder:
            there, here = (Trained(lambda parameters: Averaged(parameters, [0.1, 0.2, 0.3, 0.4])) for _ in range(2))
            for step in range(1, 3):
                there.take(step, [0.1 * step] * 2, (0.0, 0.0))
            path = os.path.join(folder, "step.ckpt")
            ms.save_checkpoint(there.step, path)
            found = ms.load_checkpoint(path)
            self.assertIn("mean.weight", found)
            self.assertEqual(ms.load_param_into_net(here.step, found), ([], []))
            self.assertEqual(int(here.optimizer.global_step), 2)
            here.weights, here.means = there.weights, there.means
            for step in range(3, 5):
                here.take(step, [0.1 * step] * 2, (0.0, 0.0))


class Groups(Case):
    """Rates of groups that change in each step, of optimizers of the package."""

    def test_have_schedules(self):
        for make in (nn.Momentum, nn.AdamWeightDecay):
            weight, other = (Parameter(Tensor([1.0, 2.0]), name) for name in ("weight", "other"))
            alone = Parameter(Tensor([1.0, 2.0]), "alone")
            options = {"momentum": 0.9} if make is nn.Momentum else {}
            rate = schedules.ExponentialDecayLR(0.2, 0.5, 1)
            optimizer = make([{"params": [weight], "lr": rate}, {"params": [other]}], learning_rate=0.1, **options)
            expected = make([alone], learning_rate=[0.2, 0.1, 0.05], **options)
            second = Parameter(Tensor([1.0, 2.0]), "second")
            constant = make([second], learning_rate=0.1, **options)
            for _ in range(3):
                gradient = Tensor(ROWS.standard_normal(2).astype("f4"))
                optimizer((gradient, gradient))
                expected((gradient,))
                constant((gradient,))
                self.close(weight, alone.asnumpy())
                self.close(other, second.asnumpy())

    def test_keep_the_steps_of_schedules_in_files(self):
        with tempfile.TemporaryDirectory() as folder:
            steps = []
            for _ in range(2):
                net = nn.Dense(3, 2, weight_init="ones")
                optimizer = nn.Momentum(net.trainable_params(), schedules.ExponentialDecayLR(0.2, 0.5, 1), 0.9)
                steps.append(nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer))
            there, here = steps
            for _ in range(2):
                there(Tensor(X), Tensor(Y))
            path = os.path.join(folder, "step.ckpt")
            ms.save_checkpoint(there, path)
            self.assertEqual(ms.load_param_into_net(here, ms.load_checkpoint(path)), ([], []))
            self.assertEqual(float(here(Tensor(X), Tensor(Y))), float(there(Tensor(X), Tensor(Y))))
            self.assertEqual(int(here.optimizer.global_step), 3)

    def test_with_schedules_do_not_train_models(self):
        net = nn.Dense(3, 2)
        groups = [{"params": [net.weight], "lr": [0.1, 0.2]}, {"params": [net.bias]}]
        data = ms.dataset.NumpySlicesDataset((X, Y), ["data", "label"], shuffle=False).batch(8)
        with self.refuses(NotImplementedError, "a group cannot have a learning rate for each step under Model"):
            ms.train.Model(net, nn.MSELoss(), nn.Momentum(groups, 0.1, 0.9)).train(1, data)


def drawn(shape, name, positive=False, dtype=ms.float32):
    values = ROWS.standard_normal(shape)
    values = values**2 if positive else values
    return values.astype("f4"), Parameter(Tensor(values.astype("f4"), dtype), name)


class Updates(Case):
    def test_of_adam_with_decayed_weights(self):
        for cast in (False, True):
            (w, weight), (m, mean), (v, square) = drawn((3, 4), "w"), drawn((3, 4), "m"), drawn((3, 4), "v", True)
            gradient = ROWS.standard_normal((3, 4)).astype("f2" if cast else "f4")
            numbers = [Tensor(np.float32(one)) for one in (0.1, 0.9, 0.99, 1e-3, 0.02)]
            op = P.FusedCastAdamWeightDecay() if cast else P.AdamWeightDecay()
            op(weight, mean, square, *numbers, Tensor(gradient), *([Tensor(2.0)] if cast else []))
            g = gradient.astype("f8") / (2 if cast else 1)
            m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
            self.close(mean, m, 1e-5)
            self.close(square, v, 1e-5)
            self.close(weight, w - 0.1 * (m / (np.sqrt(v) + 1e-3) + 0.02 * w), 1e-5)

    def test_of_ada_factor(self):
        for shape in ((3, 4), (5,), (2, 3, 4)):
            for flags in np.ndindex(2, 2, 2):
                self._compare_ada_factor(shape, *map(bool, flags))

    def _compare_ada_factor(self, shape, scales, averages, decays):
        many, flat = len(shape) > 1, (1,)
        row, of_row = drawn(shape[:-1] if many else flat, "row", True)
        column, of_column = drawn(shape[:-2] + shape[-1:] if many else flat, "column", True)
        square, of_square = drawn(flat if many else shape, "square", True)
        (w, weight), (a, mean), (g, _) = drawn(shape, "w"), drawn(shape, "a"), drawn(shape, "g")
        eps, clip, beta1, beta2, decay, rate = (1e-3, 1e-2, 1e-9), 0.7, 0.9, 0.8, 0.03, 0.1
        numbers = [Tensor(np.float32(one)) for one in (clip, beta1, beta2, decay, rate)]
        op = P.FusedAdaFactor(scales, averages, decays)
        op(tuple(Tensor(one) for one in eps), *numbers, Tensor(g), weight, mean, of_row, of_column, of_square)
        rate = rate * max(eps[1], np.sqrt((w**2).mean())) if scales else rate
        squares = g**2 + eps[0]
        if many:
            row, column = row * beta2 + squares.mean(-1) * 0.2, column * beta2 + squares.mean(-2) * 0.2
            update = g / np.sqrt(row / row.mean(-1, keepdims=True))[..., None] / np.sqrt(column)[..., None, :]
            self.close(of_row, row, 1e-5)
            self.close(of_column, column, 1e-5)
        else:
            square = square * beta2 + squares * 0.2
            update = g / np.sqrt(square)
            self.close(of_square, square, 1e-5)
        update = update / max(1.0, np.sqrt((update**2).mean()) / clip) * rate
        if averages:
            update = a * beta1 + update * (1 - beta1)
            self.close(mean, update, 1e-5)
        self.close(weight, w - (decay * rate * w if decays else 0) - update, 2e-5)


if __name__ == "__main__":
    unittest.main()
