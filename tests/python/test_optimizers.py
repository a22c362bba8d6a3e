"""Optimizers over gradients of every size: what MindSpore's make of them, kept in optimizer_values.txt."""

import os

import numpy as np
import optimizer_cases
from support import Case, parameters_text, warned

import partita as ms
from partita import mint, nn


def kept_values():
    """The parameter of each case after each of the steps that are compared."""
    with open(os.path.join(os.path.dirname(__file__), "optimizer_values.txt")) as file:
        lines = [line.split() for line in file if not line.startswith("#")]
    count = len(optimizer_cases.AT)
    return {" ".join(words[:3]): np.array(words[3:], "f8").reshape(count, -1) for words in lines}


class Optimizers(Case):
    def test_follow_gradients_of_every_size(self):
        kept = kept_values()
        self.assertEqual(list(kept), optimizer_cases.cases())
        worst = 0.0
        for name, expected in kept.items():
            got = np.array(optimizer_cases.trained(ms, name), "f8")
            far = np.abs(got - expected).max() / np.abs(expected).max()
            worst = max(worst, far)
            with self.subTest(name):
                self.assertLess(far, optimizer_cases.TOLERANCE, f"{got.tolist()} instead of {expected.tolist()}")
        print(f"optimizers: {len(kept)} cases, the largest difference {worst:.1e}")

    def test_adam_adds_epsilon_before_the_correction(self):
        # Gradients of 1e-5 and the default epsilon: 14 % in ten steps between the two places of epsilon.
        parameter = ms.Parameter(ms.Tensor([0.0]), name="w")
        adam = nn.Adam([parameter], 0.01)
        v = m = p = 0.0
        for t in range(1, 11):
            adam((ms.Tensor([1e-5]),))
            m, v = 0.9 * m + 0.1 * 1e-5, 0.999 * v + 0.001 * 1e-10
            p -= 0.01 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 1e-8)
        self.close(parameter, [p], 1e-5)


def orthogonalized(x, steps=5):
    """Five steps of the iteration of Muon, in NumPy."""
    x = x / (np.sqrt((x * x).sum()) + 1e-7)
    for _ in range(steps):
        gram = x @ x.T
        x = 3.4445 * x + (-4.775 * gram + 2.0315 * gram @ gram) @ x
    return x


class Described(Case):
    """The classes that are made from descriptions of the library."""

    def steps(self, make, begin, gradients):
        parameter = ms.Parameter(ms.Tensor(begin), name="w")
        optimizer = make([parameter])
        for gradient in gradients:
            optimizer((ms.Tensor(gradient),))
        return parameter.asnumpy(), optimizer

    def test_muon_is_that_of_numpy(self):
        random = np.random.default_rng(7)
        for shape in ((4, 6), (6, 4), (5, 2, 3, 3)):
            begin, gradients = random.normal(size=shape), random.normal(size=(3, *shape))
            rows, columns = shape[0], begin.size // shape[0]
            for match_rms in (True, False):
                scale = 0.2 * np.sqrt(max(rows, columns)) if match_rms else np.sqrt(max(1, rows / columns))
                found, optimizer = self.steps(
                    lambda p: nn.Muon(p, 0.25, momentum=0.75, weight_decay=0.5, match_rms=match_rms),  # noqa: B023
                    begin,
                    gradients,
                )
                w, v = begin, np.zeros(shape)
                for g in gradients:
                    v = 0.75 * v + g
                    o = orthogonalized((g + 0.75 * v).reshape(rows, columns)).reshape(shape)
                    w = w - 0.25 * (scale * o + 0.5 * w)
                self.assertLess(np.abs(found - w).max(), 1e-10 * np.abs(w).max(), (shape, match_rms))
                self.assertEqual(list(optimizer.states), ["w.momentum"])

    def test_vectors_have_adamw_under_muon(self):
        begin, gradients = np.array([1.0, -2.0]), np.array([[0.5, 0.25], [0.125, -1.0]])
        found, optimizer = self.steps(lambda p: nn.Muon(p, 0.25, adamw_rate=0.5, weight_decay=0.5), begin, gradients)
        w, m, v = begin, 0.0, 0.0
        for t, g in enumerate(gradients, 1):
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            w = w * (1 - 0.125 * 0.5) - 0.125 * m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        self.assertLess(np.abs(found - w).max(), 1e-12)
        self.assertEqual({name.rpartition(".")[2] for name in optimizer.states}, {"exp_avg", "exp_avg_sq", "step"})

    def test_have_the_signature_and_the_text_of_the_library(self):
        self.assertEqual(
            parameters_text(nn.Lion), "(params, learning_rate=0.0001, beta1=0.9, beta2=0.99, weight_decay=0.0)"
        )
        self.assertIn("Chen et al., 2023", nn.Lion.__doc__)
        self.assertIn("State exp_avg: the mean m of gradients.", nn.Lion.__doc__)
        parameters = [ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")]
        for make, error, text in (
            (lambda: nn.Lion(), TypeError, "missing a required argument: 'params'"),
            (lambda: nn.Lion(parameters, rate=1.0), TypeError, "unexpected keyword argument 'rate'"),
            (lambda: nn.Lion(parameters, beta1=2.0), ValueError, "[Lion] bad beta1, got 2.0, expected a number from"),
            (lambda: nn.Muon(parameters, newton_schulz_steps=2.5), TypeError, "[Muon] newton_schulz_steps is not"),
            (lambda: nn.Muon(parameters, momentum="much"), TypeError, "[Muon] momentum is not a number, got 'much'"),
            (lambda: nn.Adam(parameters, use_amsgrad=True), NotImplementedError, "[Adam] this variant is not"),
        ):
            with self.refuses(error, text):
                make()

    def test_keep_the_numbers_of_a_class_of_a_script(self):
        class Mine(nn.Optimizer):
            def update(self, parameter, gradient, learning_rate, states):
                total = states("total", 0.5) + gradient * gradient
                states.keep("total", total)
                return parameter - learning_rate * gradient * ms.ops.rsqrt(total)

        begin = np.array([1.0, -2.0], "f4")
        gradients = np.array([[0.5, 0.25], [0.125, -1.0]], "f4")
        mine, _ = self.steps(lambda p: Mine(0.25, p), begin, gradients)
        adagrad, _ = self.steps(lambda p: nn.Adagrad(p, accum=0.5, learning_rate=0.25), begin, gradients)
        self.close(ms.Tensor(mine), adagrad, 0)

    def trained(self, make, steps):
        """(network, optimizer, function of a step) after a number of steps."""
        net = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
        optimizer = make(net.trainable_params())
        x = ms.Tensor([[1.0, 2.0, 3.0]])
        gradient = ms.value_and_grad(lambda x: (net(x) ** 2).sum(), None, optimizer.parameters)

        def step():
            optimizer(gradient(x)[1])

        for _ in range(steps):
            step()
        return net, optimizer, step

    def test_have_their_states_in_a_dict_that_another_one_takes(self):
        for make in (
            lambda p: nn.Adam(p, 0.1),
            lambda p: nn.Momentum(p, 0.1, 0.9),
            lambda p: ms.experimental.optim.Adam(p, lr=0.1),
            lambda p: mint.optim.AdamW(p, lr=0.1),
        ):
            net, optimizer, step = self.trained(make, 2)
            states = {name: ms.Tensor(one.asnumpy().copy()) for name, one in optimizer.state_dict().items()}
            weights = {name: ms.Tensor(one.asnumpy().copy()) for name, one in net.state_dict().items()}
            step()
            other, taking, next_step = self.trained(make, 1)
            other.load_state_dict(weights)
            with warned() as warnings:
                self.assertEqual(tuple(taking.load_state_dict(states)), ([], []))
            self.assertEqual(warnings, [])
            next_step()
            self.assertEqual(other.weight.asnumpy().tolist(), net.weight.asnumpy().tolist())
            with self.refuses(RuntimeError, "load_state_dict]", "unexpected keys", "other"):
                taking.load_state_dict({**states, "other": ms.Tensor(1.0)})
            with self.refuses(TypeError, "load_state_dict] not a dict, got int"):
                taking.load_state_dict(3)

    def test_take_the_learning_rate_of_a_dict(self):
        _, optimizer, _ = self.trained(lambda p: nn.SGD(p, 0.1), 1)
        optimizer.learning_rate = 0.025
        _, other, _ = self.trained(lambda p: nn.SGD(p, 0.1), 1)
        other.load_state_dict(optimizer.state_dict())
        self.assertAlmostEqual(float(other.get_lr()), 0.025, 6)
