"""Steps in PYNATIVE mode: the Python of a step runs in every step."""

import random
import unittest

import numpy as np
from support import Case, printed, warned

import partita as ms
from partita import Parameter, Tensor, nn, ops, train
from partita import dataset as ds


class Noisy(nn.Cell):
    """Every kind of state that a step can read or change."""

    def __init__(self):
        super().__init__()
        self.n, self.rate, self.names, self.table = 0, 0.5, ["a", "b"], {"k": 1.0}
        self.__dict__["history"] = []
        self.weight = Parameter(Tensor([1.5, -0.5]), name="weight")


def _own_gradient(function):
    class Own(nn.Cell):
        def construct(self, x):
            return x * 1.0

        def bprop(self, x, out, dout):
            return dout * function()

    return Own()


def counted():
    counted.calls = getattr(counted, "calls", 0) + 1
    return counted.calls


def generated():
    while True:
        yield random.random()


def changes_attribute(cell, x):
    cell.n += 1
    return x * float(cell.n)


def changes_list(cell, x):
    cell.history.append(len(cell.history))
    return x + float(sum(cell.history))


def changes_dict(cell, x):
    cell.table["k"] *= 1.5
    return x * cell.table["k"]


def alternates(cell, x):
    cell.n += 1
    return x * x if cell.n % 2 else x + 1.0


def layers(cell, x):
    cell.n += 1
    for _ in range(cell.n % 3):
        x = x * 2.0
    return x


def shuffles(cell, x):
    order = [0, 1]
    random.shuffle(order)
    return ops.gather(x, Tensor(np.array(order, "i4")), 0)


def drops(cell, x):
    return x * Tensor((np.random.rand(2) > 0.5).astype("f4"))


def ways():
    """(name, step): functions of (cell, x) that give something else in each call."""
    generator, numpy_generator, python_generator = generated(), np.random.default_rng(3), random.Random(5)
    counters, queue = {"global": 0}, list(range(100))

    def changes_closure(cell, x):
        counters["global"] += 1
        return x * float(counters["global"] % 3)

    return [
        ("random.random", lambda cell, x: x * random.random()),
        ("random.gauss in an offset", lambda cell, x: x + random.gauss(0, 1)),
        ("numpy scalar", lambda cell, x: x * np.random.rand()),
        ("numpy array", lambda cell, x: x * Tensor(np.random.randn(2).astype("f4"))),
        ("numpy array as operand", lambda cell, x: x * np.random.randn(2).astype("f4")),
        ("generator of numpy", lambda cell, x: x - float(numpy_generator.normal())),
        ("generator of random", lambda cell, x: x / (1.0 + python_generator.random())),
        ("generator of a script", lambda cell, x: x * next(generator)),
        ("attribute", changes_attribute),
        ("list", changes_list),
        ("dict", changes_dict),
        ("closure", changes_closure),
        ("function attribute", lambda cell, x: x * float(counted())),
        ("branch on a count", alternates),
        ("loop of a count", layers),
        ("choice of a function", lambda cell, x: random.choice([ops.tanh, ops.sigmoid, ops.relu])(x)),
        ("order", shuffles),
        ("mask", drops),
        ("queue", lambda cell, x: x * 2.0 + Tensor(np.arange(2, dtype="f4") + queue.pop(0))),
        ("full", lambda cell, x: x * ops.full((2,), random.random(), dtype=ms.float32)),
        ("power of a number", lambda cell, x: ops.exp(x * -random.random()) + random.random()),
        ("integer operand", lambda cell, x: x * random.randint(1, 50)),
        ("negative zero", lambda cell, x: x * random.choice([0.0, -0.0])),
        ("slice", lambda cell, x: ops.concat([x[random.randint(0, 1) :], x]).sum() * x),
        ("parameter", lambda cell, x: x * cell.weight * random.random()),
    ]


def reseeded(cell):
    """The state that all runs begin with."""
    random.seed(7)
    np.random.seed(7)
    counted.calls = 0
    cell.n, cell.table = 0, {"k": 1.0}
    cell.history.clear()


class RunsInEveryStep(Case):
    def test_values_are_those_of_calls_at_once(self):
        x = Tensor([1.0, -2.0])
        for i, (name, _) in enumerate(ways()):
            with self.subTest(name):
                cell = Noisy()
                reseeded(cell)
                at_once = ways()[i][1]
                expected = [at_once(cell, x).asnumpy() for _ in range(12)]
                reseeded(cell)
                step = ways()[i][1]
                found = ms.value_and_grad(lambda a: step(cell, a), 0)
                values = [found(x)[0].asnumpy() for _ in range(12)]
                np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-6)
                self.assertGreater(len({one.tobytes() for one in values}), 1)

    def test_gradients_follow(self):
        x = Tensor([1.0, -2.0])
        random.seed(3)
        factors = [random.random() for _ in range(10)]
        random.seed(3)
        gradient = ms.grad(lambda a: (a * random.random()).sum())
        self.close(np.array([gradient(x).asnumpy()[0] for _ in range(10)]), factors)

    def test_gradients_of_ones_own_run_in_every_step(self):
        counts = iter(range(1, 100))
        cell = _own_gradient(lambda: float(next(counts)))
        gradient = ms.grad(lambda a: cell(a).sum())
        x = Tensor([1.0])
        seen = [float(gradient(x)[0]) for _ in range(5)]
        self.assertEqual(len(set(seen)), 5)
        self.assertEqual(seen, sorted(seen))

    def test_numbers_that_change_compile_once_more(self):
        rates = iter(np.linspace(1, 0.1, 30))
        step = ms.value_and_grad(lambda a: (a * float(next(rates)) + float(next(rates))).sum(), 0)
        x = Tensor([1.0, 2.0])
        for _ in range(10):
            step(x)
        ((tree, _),) = step._trees.values()
        self.assertEqual(tree.compiled, 2)

    def test_bodies_that_know_tensors_are_refused(self):
        from partita.ops.support import F, run

        other = Tensor([1.0, 2.0])
        with self.refuses(TypeError, "[record] a call is known by a Tensor", "expected it as an operand"):
            ms.value_and_grad(lambda a: run(lambda trace, x: F.reshape(x, list(other.shape)), a).sum(), 0)(other)

    def test_many_shapes_keep_few_programs(self):
        step = ms.value_and_grad(lambda a: (a * a).sum(), 0)
        with warned() as lines:
            for i in range(1, 80):
                value, gradient = step(Tensor(np.ones(i, "f4")))
                self.assertEqual(float(value), i)
        self.assertEqual(len(step._trees), 64)
        self.assertIn("arguments of more than 64 types or shapes", lines[0])

    def test_many_branches_keep_few_programs(self):
        step = ms.value_and_grad(lambda a: sum([a * a] * int(a[0]), start=a).sum(), 0)
        with warned() as lines:
            for i in [*range(1, 19), *range(1, 19)]:
                value, _ = step(Tensor([float(i)]))
                self.assertEqual(float(value), i**3 + i)
        ((tree, _),) = step._trees.values()
        self.assertLessEqual(len(tree.programs), 16)
        self.assertIn("more than 16 programs", lines[0])

    def test_optimizers_of_ones_own_run_in_every_step(self):
        class Decaying(nn.Optimizer):
            def __init__(self, parameters):
                super().__init__(0.1, parameters)
                self.__dict__["calls"] = 0

            def update(self, parameter, gradient, learning_rate, states):
                self.__dict__["calls"] += 1
                return parameter - gradient * float(self.calls)

        weight = Parameter(Tensor([1.0, 2.0]), name="w")
        optimizer = Decaying([weight])
        expected = np.array([1.0, 2.0])
        for i in range(1, 6):
            optimizer((Tensor([1.0, 0.5]),))
            expected = expected - np.array([1.0, 0.5]) * i
            self.close(weight, expected)

    def test_train_one_step_cells(self):
        for kind in (nn.Momentum, nn.Adam, nn.SGD):
            random.seed(1)
            net = nn.Dense(3, 1, weight_init="ones")
            noise = []

            def forward(x, y, net=net, noise=noise):
                noise.append(random.random())
                return ((net(x) - y) ** 2).mean() * noise[-1]

            class Loss(nn.Cell):
                def __init__(self, net, forward):
                    super().__init__()
                    self.net, self.__dict__["forward"] = net, forward

                def construct(self, x, y):
                    return self.forward(x, y)

            optimizer = kind(net.trainable_params(), 0.1, **({"momentum": 0.9} if kind is nn.Momentum else {}))
            step = nn.TrainOneStepCell(Loss(net, forward), optimizer)
            x, y = Tensor(np.ones((4, 3), "f4")), Tensor(np.zeros((4, 1), "f4"))
            for i in range(4):
                before = float(((net(x) - y) ** 2).mean())
                self.close(step(x, y), before * noise[-1], 1e-5)
            self.assertEqual(len(set(noise)), 4)


class NeedsValues(Case):
    """Control flow on data, and values that a step reads of what it computes."""

    def step(self, function, *inputs):
        """The values and gradients of three steps."""
        both = ms.value_and_grad(function, 0)
        return [both(*inputs) for _ in range(3)]

    def test_float_and_items(self):
        x = Tensor([1.0, 2.0])
        ways = [
            lambda a: a * float((a * a).sum()),
            lambda a: a * (a * a).sum().item(),
            lambda a: a * float((a * a).asnumpy().sum()),
            lambda a: a * sum((a * a).tolist()),
            lambda a: a * int((a * a).sum()),
            lambda a: a * Tensor((a * a).asnumpy().sum()),
        ]
        for way in ways:
            for value, gradient in self.step(way, x):
                self.close(value, [5, 10])
                self.close(gradient, [5, 5])  # what Python read has no gradient

    def test_branches(self):
        def absolute(a):
            return a if a.sum() > 0 else -a

        for given, slope in (([1.0, 2.0], 1), ([-1.0, -2.0], -1), ([3.0, -1.0], 1)):
            for value, gradient in self.step(absolute, Tensor(given)):
                self.close(value, slope * np.array(given))
                self.close(gradient, [slope, slope])

    def test_branches_change_between_steps(self):
        both = ms.value_and_grad(lambda a: a * a if float(a.sum()) > 0 else a * -3.0, 0)
        for i in range(12):
            given = np.array([1.0, 2.0], "f4") * (1 if i % 3 else -1)
            value, gradient = both(Tensor(given))
            self.close(value, given * given if given.sum() > 0 else given * -3)
            self.close(gradient, 2 * given if given.sum() > 0 else [-3, -3])

    def test_loops_until_a_value(self):
        def halved(a):
            count = 0
            while (a * a).sum() > 1.0:
                a, count = a * 0.5, count + 1
            return a, Tensor(float(count))

        both = ms.value_and_grad(halved, 0, has_aux=True)
        for given, count in (([4.0, 0.0], 2), ([0.5, 0.0], 0), ([16.0, 0.0], 4), ([4.0, 0.0], 2)):
            (value, steps), gradient = both(Tensor(given))
            self.close(value, np.array(given) / 2**count)
            self.assertEqual(float(steps), count)
            self.close(gradient, [0.5**count] * 2)

    def test_for_over_elements_and_comparisons(self):
        def total(a):
            result = a * 0.0
            for one in a:
                if one > 1:
                    result = result + one * a
            return result

        for value, gradient in self.step(total, Tensor([1.0, 2.0, 3.0])):
            self.close(value, [5, 10, 15])
            self.close(gradient, [5, 5 + 6, 5 + 6])

    def test_early_returns_assertions_and_exceptions(self):
        def guarded(a):
            if bool((a < 0).any()):
                return a * 0.0
            assert (a >= 0).all()
            try:
                if float(a.sum()) > 100:
                    raise ValueError
            except ValueError:
                return a * 7.0
            return a * 2.0

        both = ms.value_and_grad(guarded, 0)
        for given, slope in (([1.0, 1.0], 2), ([-1.0, 1.0], 0), ([100.0, 1.0], 7), ([1.0, 1.0], 2)):
            value, gradient = both(Tensor(given))
            self.close(value, np.array(given) * slope)
            self.close(gradient, [slope] * 2)

    def test_clipping_by_a_norm(self):
        net = nn.Dense(3, 1, weight_init="ones", bias_init="zeros")
        optimizer = nn.SGD(net.trainable_params(), 1.0)

        class Clipped(nn.TrainOneStepCell):
            def construct(self, *inputs):
                loss = self.network(*inputs)
                gradients = self.grad(self.network, self.weights)(*inputs, Tensor(1.0))
                norm = float(sum(float((one * one).sum()) for one in gradients)) ** 0.5
                if norm > 1:
                    gradients = tuple(one * (1 / norm) for one in gradients)
                self.optimizer(gradients)
                return loss

        step = Clipped(nn.WithLossCell(net, nn.MSELoss()), optimizer)
        x, y = np.ones((2, 3), "f4"), np.zeros((2, 1), "f4")
        for call in (step, ms.value_and_grad(lambda a, b: step(a, b), None, [net.weight])):
            before = net.weight.asnumpy().copy()
            call(Tensor(x), Tensor(y))
            moved = np.linalg.norm(net.weight.asnumpy() - before)
            self.assertLess(moved, 1.0)
            self.assertGreater(moved, 0.5)

    def test_prints_values(self):
        def printing(a):
            b = a * 2.0
            print("half", b)
            print(f"{float(b.sum()):.1f}", repr(b)[:12])
            return b * b

        with printed() as out:
            for value, gradient in self.step(printing, Tensor([1.0, 2.0])):
                self.close(value, [4, 16])
                self.close(gradient, [8, 16])
        self.assertEqual(out.getvalue().count("half [2. 4.]"), 3)
        self.assertEqual(out.getvalue().count("6.0 Tensor(shape"), 3)

    def test_dropout_is_that_of_the_value(self):
        drop = nn.Dropout(p=0.5)
        drop.set_train()
        seen = []

        def function(a):
            b = drop(a)
            seen.append(b.asnumpy().copy())
            return b * float(b.sum())

        both = ms.value_and_grad(function, 0)
        x = Tensor(np.ones(64, "f4"))
        for _ in range(6):
            value, gradient = both(x)
            self.close(value, seen[-1] * seen[-1].sum())
            self.close(gradient, seen[-1] * seen[-1].sum())
        self.assertEqual(len({one.tobytes() for one in seen}), 6)

    def test_values_that_outlive_the_step(self):
        class Keeping(nn.Cell):
            def __init__(self):
                super().__init__()
                self.fc = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
                self.__dict__["last"] = None

            def construct(self, x):
                self.__dict__["last"] = self.fc(x)
                return self.last.sum()

        net = Keeping()
        step = ms.value_and_grad(net, None, net.trainable_params())
        for i in range(3):
            x = np.full((1, 3), i + 1, "f4")
            step(Tensor(x))
            self.close(net.last, [[3 * (i + 1)] * 2])
            self.close(net.last * 2.0, [[6 * (i + 1)] * 2])

    def test_values_that_outlive_the_step_keep_no_others(self):
        kept = []

        def function(x):
            big = x * 2.0
            kept.append(big.sum())
            return big, float(big.mean())

        both = ms.value_and_grad(function, 0, has_aux=True)
        for i in range(4):
            both(Tensor(np.full(1000, i, "f4")))
        self.assertEqual([len(one._init.arrays) for one in kept], [1] * 4)
        self.assertEqual([float(one) for one in kept], [0, 2000, 4000, 6000])

    def test_statistics_change_once(self):
        norm = nn.BatchNorm1d(2)
        norm.set_train()
        x = Tensor(np.array([[1.0, 2.0], [3.0, 6.0]], "f4"))
        both = ms.value_and_grad(lambda a: (norm(a) * 2.0).sum() + float(norm(a).sum()), 0)
        other = nn.BatchNorm1d(2)
        other.set_train()
        plain = ms.value_and_grad(lambda a: (other(a) * 2.0).sum() + other(a).sum(), 0)
        for _ in range(3):
            both(x)
            plain(x)
            self.close(norm.moving_mean, other.moving_mean.asnumpy())
            self.close(norm.moving_variance, other.moving_variance.asnumpy())

    def test_updated_parameters_are_read(self):
        weight = Parameter(Tensor([1.0, 2.0]), name="w")
        optimizer = nn.SGD([weight], 0.5)
        seen = []

        class Step(nn.Cell):
            def construct(self, x):
                loss, gradients = ms.value_and_grad(lambda a: (a * weight).sum(), None, [weight])(x)
                optimizer(gradients)
                seen.append(weight.asnumpy().copy())
                return loss * float(weight[0])

        step = Step()
        value = ms.value_and_grad(lambda a: step(a), 0)
        expected = np.array([1.0, 2.0])
        for _ in range(3):
            value(Tensor([1.0, 2.0]))
            expected = expected - 0.5 * np.array([1.0, 2.0])
            self.close(seen[-1], expected)
            self.close(weight, expected)

    def test_two_updates_in_one_step(self):
        def player():
            return nn.Dense(2, 1, weight_init="ones", bias_init="zeros")

        def play(generator, critic, update_critic, update_generator, x):
            first, gradients = ms.value_and_grad(lambda a: critic(a).sum() ** 2, None, [critic.weight])(x)
            update_critic(gradients)
            second, gradients = ms.value_and_grad(
                lambda a: (critic(a) * generator(a)).sum(), None, [generator.weight]
            )(x)
            update_generator(gradients)
            _, gradients = ms.value_and_grad(lambda a: critic(a).sum(), None, [critic.weight])(x)
            update_critic(gradients)
            return first, second

        seen = []
        for whole in (False, True):
            generator, critic = player(), player()
            updates = [nn.SGD([one.weight], 0.1) for one in (critic, generator)]
            step = lambda x, parts=(generator, critic, *updates): play(*parts, x)  # noqa: E731
            if whole:
                step = ms.value_and_grad(step, 0)
            for i in range(3):
                made = step(Tensor(np.array([[1.0, 2.0]], "f4") * (i + 1)))
                first, second = made[0] if whole else made
                seen.append([float(first), float(second), *generator.weight.asnumpy()[0], *critic.weight.asnumpy()[0]])
        np.testing.assert_allclose(seen[:3], seen[3:], rtol=1e-5)


class Trainings(Case):
    """Model.train compiles a network once and refuses Python that wants more."""

    def trained(self, change, sink=False, mode=ms.PYNATIVE_MODE):
        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.fc, self.n = nn.Dense(3, 2), 0

            def construct(self, x):
                return change(self, self.fc(x))

        ms.set_context(mode=mode)
        net, rows = Net(), np.random.default_rng(1)
        optimizer = nn.SGD(net.trainable_params(), 0.01)
        data = ds.NumpySlicesDataset((rows.random((32, 3)).astype("f4"), rows.random((32, 2)).astype("f4")), ["x", "y"])
        train.Model(net, nn.MSELoss(), optimizer).train(2, data.batch(8), dataset_sink_mode=sink)

    def test_refuse_what_changes(self):
        draws = np.random.default_rng(1)

        def counts(net, y):
            net.n += 1
            return y * float(net.n)

        def branches(net, y):
            net.n += 1
            return ops.relu(y) if net.n > 6 else ops.tanh(y)

        def grows(net, y):
            net.n += 1
            return y + y if net.n > 6 else y

        ways = {
            "a number": lambda net, y: y * random.random(),
            "a mask": lambda net, y: y * Tensor((draws.random((8, 2)) > 0.5).astype("f4")),
            "a count": counts,
            "a branch": branches,
            "more ops": grows,
        }
        for name, way in ways.items():
            with self.subTest(name):
                texts = "[train] the network changed in step", "test_eager.py:", "a loop of your own"
                with self.refuses(RuntimeError, *texts):
                    self.trained(way)
                self.trained(way, sink=True)  # which runs a whole epoch as one
                self.trained(way, mode=ms.GRAPH_MODE)

    def test_take_what_stays(self):
        def same(net, y):
            return y * 0.5 + Tensor(np.ones((1, 2), "f4")) * float(len(net.name_cells())) + (1.0 if net.n == 0 else y)

        self.trained(same)


if __name__ == "__main__":
    unittest.main()
