"""Optimizers and schedules of `experimental.optim` and `mint.optim`: those of MindSpore over ten steps, PyTorch's
Adam, and what scripts do with groups."""

import os
import tempfile
import unittest

import experimental_cases
import numpy as np
from support import Case

import partita as ms
from partita import Parameter, Tensor, mint, nn
from partita.experimental import optim
from partita.experimental.optim import lr_scheduler


def known():
    """{name of a case: numbers of MindSpore}."""
    with open(os.path.join(os.path.dirname(__file__), "experimental_values.txt")) as file:
        rows = [line.split() for line in file if not line.startswith("#")]
    return {row[0]: np.array(row[1:], "f8") for row in rows}


class Experimental(Case):
    def tearDown(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)

    def test_have_the_updates_of_mindspore(self):
        expected = known()
        for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
            ms.set_context(mode=mode)
            for name in experimental_cases.OPTIMIZERS:
                with self.subTest(name=name, mode=mode):
                    self.close(experimental_cases.trained(ms, optim, name), expected[name], 1e-5)

    def test_have_the_schedules_of_mindspore(self):
        expected = known()
        for name in experimental_cases.SCHEDULES:
            with self.subTest(name=name):
                self.close(experimental_cases.scheduled(ms, optim, name), expected[name], 1e-6)


class Made(Case):
    """Two parameters in groups, and gradients for them."""

    def make(self, **settings):
        draw = np.random.default_rng(5)
        self.parameters = [
            Parameter(Tensor(draw.standard_normal(n).astype("f4")), name=name) for n, name in ((3, "a"), (4, "b"))
        ]
        self.begin = [one.asnumpy().copy() for one in self.parameters]
        self.gradients = [draw.standard_normal(n).astype("f4") for n in (3, 4)]
        return [{"params": self.parameters[:1], **settings}, {"params": self.parameters[1:]}]

    def step(self, optimizer):
        optimizer(tuple(Tensor(one) for one in self.gradients))


class Groups(Made):
    def tearDown(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)

    def test_follow_what_is_set_in_groups(self):
        for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
            ms.set_context(mode=mode)
            optimizer = optim.SGD(self.make(lr=0.5, weight_decay=0.25), 0.1)
            self.assertEqual([float(one["lr"]) for one in optimizer.param_groups], [0.5, float(np.float32(0.1))])
            self.step(optimizer)
            first = self.begin[0] - 0.5 * (self.gradients[0] + 0.25 * self.begin[0])
            self.close(self.parameters[0], first)
            self.close(self.parameters[1], self.begin[1] - 0.1 * self.gradients[1])
            optimizer.param_groups[0]["weight_decay"] = 0.0
            optimizer.param_groups[1]["lr"] = 0.3
            ms.ops.assign(optimizer.param_groups[0]["lr"], Tensor(0.2, ms.float32))
            self.step(optimizer)
            self.close(self.parameters[0], first - 0.2 * self.gradients[0])
            self.close(self.parameters[1], self.begin[1] - 0.4 * self.gradients[1])

    def test_update_all_parameters_in_one_call(self):
        draw = np.random.default_rng(6)
        for kind in (mint.optim.Adam, mint.optim.SGD, optim.NAdam, optim.RMSprop, optim.Rprop):
            longest = []
            for count in (2, 9):
                many = [Parameter(Tensor(draw.standard_normal(3).astype("f4")), name=f"w{i}") for i in range(count)]
                optimizer = kind(many, lr=0.1)
                for _ in range(2):
                    optimizer(tuple(Tensor(draw.standard_normal(3).astype("f4")) for _ in many))
                (found,) = optimizer._program("update", None)._trees.values()
                longest.append(found[0].longest)
            self.assertEqual(longest, [1, 1], kind.__name__)

    def test_update_in_one_program_of_graph_mode(self):
        ms.set_context(mode=ms.GRAPH_MODE)
        for kind in (mint.optim.AdamW, mint.optim.SGD, optim.Adagrad):
            optimizer = kind(self.make(), lr=0.1)
            schedule = lr_scheduler.StepLR(optimizer, 1, 0.5)
            for _ in range(3):
                self.step(optimizer)
                schedule.step()
            self.assertFalse(optimizer._program("update", None)._kept.needs_values)
            self.assertEqual(int(optimizer.step_count), 3)

    def test_take_another_decay_in_each_step(self):
        for kind in (mint.optim.SGD, mint.optim.AdamW, optim.Adam):
            made = []
            for is_new in (False, True):
                optimizer = kind(self.make(), lr=0.1)
                for i in range(6):
                    optimizer.param_groups[0]["weight_decay"] = 0.1 * (i + 1)
                    if is_new:  # has programs of its own for this number
                        optimizer.__dict__.pop("_programs", None)
                    self.step(optimizer)
                made.append(self.parameters[0].asnumpy().copy())
                if not is_new:
                    (found,) = optimizer._program("update", None)._trees.values()
                    self.assertLessEqual(found[0].compiled, 2)
            self.close(made[0], made[1], 1e-6)

    def test_update_what_a_step_has_assigned(self):
        optimizer = mint.optim.SGD(self.make(), 0.1)

        class Assigning(nn.Cell):
            def construct(self, *gradients):
                w = optimizer.parameters[0]
                ms.ops.assign(w, w * 2)
                optimizer(gradients)
                return w * 3, optimizer.step_count + 1

        got, count = Assigning()(*[Tensor(one) for one in self.gradients])
        expected = 2 * self.begin[0] - 0.1 * self.gradients[0]
        self.close(got, 3 * expected)
        self.close(self.parameters[0], expected)
        self.assertEqual(int(count), 2)

    def test_take_groups_later(self):
        optimizer = optim.Adam(self.make()[:1], 0.1)
        self.step_of_one = optimizer((Tensor(self.gradients[0]),))
        optimizer.add_param_group({"params": self.parameters[1:], "lr": 0.05})
        self.step(optimizer)
        self.assertEqual([one.name for one in optimizer.parameters], ["a", "b"])
        self.assertEqual([one.name for one in optimizer.exp_avg], ["exp_avg.a", "exp_avg.b"])
        self.assertEqual(int(optimizer.state_step), 2)
        self.assertTrue(np.abs(self.parameters[1].asnumpy() - self.begin[1]).max() > 0.01)

    def test_exchange_states_with_files(self):
        names = {
            optim.Adam: "exp_avg.a exp_avg.b exp_avg_sq.a exp_avg_sq.b max_exp_avg_sq.a max_exp_avg_sq.b state_step",
            optim.Adagrad: "accum.a accum.b step_t",
            mint.optim.AdamW: "exp_avg.a exp_avg.b exp_avg_sq.a exp_avg_sq.b state_step",
        }
        for kind, expected in names.items():
            optimizer = kind(self.make(), 0.1)
            self.step(optimizer)
            found = [one.name for one in optimizer.get_parameters()]
            self.assertEqual(found, ["a", "b", *expected.split()])
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "optimizer.ckpt")
                ms.save_checkpoint(optimizer, path)
                states = ms.load_checkpoint(path)
            after = [one.asnumpy().copy() for one in self.parameters]
            self.step(optimizer)
            expected = [one.asnumpy().copy() for one in self.parameters]
            other = kind(self.make(), 0.1)
            ms.load_param_into_net(other, states)
            for one, value in zip(self.parameters, after):
                self.close(one, value)
            self.step(other)
            for one, value in zip(self.parameters, expected):
                self.close(one, value)
        plain = [one.name for one in optim.SGD(self.make(), 0.1).get_parameters()]
        self.assertEqual(plain, ["a", "b", "accum.a", "accum.b", "stat.a", "stat.b"])
        plain = [one.name for one in mint.optim.SGD(self.make(), 0.1).get_parameters()]
        self.assertEqual(plain, ["a", "b", "momentum_buf.a", "momentum_buf.b", "step_t"])

    def test_go_on_from_files_of_trainings(self):
        draw = np.random.default_rng(3)
        x, y = (Tensor(draw.standard_normal((8, n)).astype("f4")) for n in (3, 2))

        def training(make):
            net = nn.Dense(3, 2, weight_init="ones")
            return nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), make(net.trainable_params()))

        makers = {
            "mint": lambda p: mint.optim.Adam(p, lr=0.1),
            "averaged": lambda p: optim.NAdam(p, lr=0.1),
            "lars": lambda p: nn.LARS(nn.Momentum(p, 0.1, 0.9)),
        }
        for name, make in makers.items():
            with self.subTest(name=name), tempfile.TemporaryDirectory() as folder:
                path, one = os.path.join(folder, "training.ckpt"), training(make)
                for _ in range(3):
                    one(x, y)
                ms.save_checkpoint(one, path)
                one(x, y)
                other = training(make)
                self.assertEqual(ms.load_param_into_net(other, ms.load_checkpoint(path)), ([], []))
                other(x, y)
                for expected, got in zip(one.optimizer.parameters, other.optimizer.parameters):
                    self.close(got, expected.asnumpy(), 0)
                if name != "lars":
                    ms.save_checkpoint(one.network, path)
                    missing, unused = ms.load_param_into_net(other, ms.load_checkpoint(path))
                    self.assertEqual(missing, [state.name for state in other.optimizer.states_in_files()])
                    self.assertEqual(unused, [])

    def test_name_what_is_wrong(self):
        groups = self.make()
        with self.refuses(ValueError, "[SGD]", "in two groups", "'a'"):
            optim.SGD([groups[0], dict(groups[0])], 0.1)
        with self.refuses(ValueError, "[Adam]", "betas[1]", "1.5"):
            optim.Adam(groups, betas=(0.9, 1.5))
        with self.refuses(TypeError, "[Adam]", "not a parameter"):
            optim.Adam([Tensor([1.0])])
        with self.refuses(ValueError, "[RMSprop]", "wrong number of gradients", "1", "2"):
            optim.RMSprop(groups)((Tensor(self.gradients[0]),))
        with self.refuses(TypeError, "[Adam]", "not a tensor", "NoneType", "'b'"):
            optim.Adam(self.make())((Tensor(self.gradients[0]), None))
        mixed = Tensor(np.ones((2, 7), "f4")), Tensor(self.gradients[1])
        with self.refuses(ValueError, "[AdamW] a gradient has the wrong shape, got (2, 7) for 'a'", ".parameters"):
            optim.AdamW(groups)(mixed)
        with self.refuses(TypeError, "[StepLR]", "Momentum"):
            lr_scheduler.StepLR(nn.Momentum(self.parameters, 0.1, 0.9), 2)
        with self.refuses(AttributeError, "lr_schedulers", "did you mean 'lr_scheduler'"):
            optim.lr_schedulers

    def test_train_a_network(self):
        ms.set_seed(3)
        draw = np.random.default_rng(4)
        x, y = draw.standard_normal((16, 3)).astype("f4"), draw.standard_normal((16, 1)).astype("f4")
        net = nn.Dense(3, 1)
        weight, bias = net.weight.asnumpy().astype("f8"), net.bias.asnumpy().astype("f8")
        optimizer = mint.optim.SGD(net.trainable_params(), 0.1, momentum=0.9)
        schedule = lr_scheduler.ExponentialLR(optimizer, 0.5)
        gradients_of = ms.value_and_grad(lambda a, b: nn.MSELoss()(net(a), b), None, optimizer.parameters)
        moved, rate = [0.0, 0.0], 0.1
        for _ in range(4):
            _, gradients = gradients_of(Tensor(x), Tensor(y))
            optimizer(gradients)
            schedule.step()
            wrong = 2 * (x @ weight.T + bias - y) / len(y)
            moved = [0.9 * v + g for v, g in zip(moved, (wrong.T @ x, wrong.sum(0)))]
            weight, bias, rate = weight - rate * moved[0], bias - rate * moved[1], rate / 2
        self.close(net.weight, weight, 1e-5)
        self.close(net.bias, bias, 1e-5)
        self.assertAlmostEqual(float(schedule.get_last_lr()[0]), rate, 6)

    def test_follow_a_measure(self):
        measures = np.random.default_rng(9).uniform(0.5, 1.5, 12)
        for mode, sign in (("min", 1), ("max", -1)):
            for kind in ("rel", "abs"):
                optimizer = optim.SGD(self.make(), 1.0)
                schedule = lr_scheduler.ReduceLROnPlateau(optimizer, mode, 0.5, 0, 0.1, kind)
                rate, best = 1.0, None
                for one in measures:
                    schedule.step(one)
                    margin = 0.1 if kind == "abs" else 0.1 * (one if best is None else best)
                    better = best is None or sign * one < sign * best - margin
                    best, rate = (one, rate) if better else (best, rate / 2)
                    self.assertAlmostEqual(float(schedule.get_last_lr()[0]), rate, 6, (mode, kind))

    def test_have_optimizers_of_ones_own(self):
        class Signs(optim.Optimizer):
            def __init__(self, params, lr):
                super().__init__(params, {"lr": lr, "power": 1.0})
                self.seen = self.parameters.clone(prefix="seen", init="zeros")

            def construct(self, gradients):
                for k, group in enumerate(self.param_groups):
                    for i in range(self.group_start_id[k], self.group_start_id[k + 1]):
                        ms.ops.assign(self.seen[i], self.seen[i] + gradients[i])
                        step = ms.ops.sign(self.seen[i]) * self.lrs[k] * group["power"]
                        ms.ops.assign(self.parameters[i], self.parameters[i] - step)
                return True

        optimizer = Signs(self.make(power=2.0), 0.25)
        self.step(optimizer)
        self.step(optimizer)
        self.close(self.parameters[0], self.begin[0] - 1.0 * np.sign(self.gradients[0]))
        self.close(self.parameters[1], self.begin[1] - 0.5 * np.sign(self.gradients[1]))
        self.close(optimizer.seen[1], 2 * self.gradients[1])


class OfMint(Made):
    def check_adam(self, make, decay, apart, amsgrad=False):
        optimizer = make(self.make())
        w = [one.astype("f8") for one in self.begin]
        m, v, most = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]
        draw = np.random.default_rng(8)
        for t in range(1, 6):
            self.gradients = [(draw.standard_normal(n) * 1e-6).astype("f4") for n in (3, 4)]
            self.step(optimizer)
            for i, g in enumerate(self.gradients):
                g = g.astype("f8") if apart else g + decay * w[i]
                m[i], v[i] = m[i] * 0.8 + g * 0.2, v[i] * 0.95 + g * g * 0.05
                most[i] = np.maximum(most[i], v[i])
                square = most[i] if amsgrad else v[i]
                w[i] = w[i] * (1 - 0.01 * decay) if apart else w[i]
                w[i] = w[i] - 0.01 * m[i] / (1 - 0.8**t) / (np.sqrt(square / (1 - 0.95**t)) + 1e-7)
        for one, expected in zip(self.parameters, w):
            self.close(one, expected, 1e-5)

    def test_add_epsilon_to_the_corrected_root(self):
        settings = {"lr": 0.01, "betas": (0.8, 0.95), "eps": 1e-7}
        self.check_adam(lambda p: mint.optim.Adam(p, **settings), 0.0, False)
        self.check_adam(lambda p: mint.optim.Adam(p, weight_decay=1e-6, **settings), 1e-6, False)
        self.check_adam(lambda p: mint.optim.Adam(p, amsgrad=True, **settings), 0.0, False, True)
        for kind in (mint.optim.AdamW, mint.optim.FusedAdamW, optim.AdamW):
            self.check_adam(lambda p, kind=kind: kind(p, weight_decay=0.1, **settings), 0.1, True)


if __name__ == "__main__":
    unittest.main()
