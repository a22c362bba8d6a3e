"""Updates as ops that set parameters, and the optimizers that are made of them, where MindSpore's CPU has none: against
NumPy."""

import unittest

import numpy as np
from support import Case, Small, labelled

import partita as ms
from partita import Parameter, Tensor, mint, nn, ops, train
from partita import dataset as ds

ROWS = np.random.default_rng(2)
X = ROWS.standard_normal((16, 3)).astype("f4")
Y = ROWS.standard_normal((16, 2)).astype("f4")


def parameter(values, name="w"):
    return Parameter(Tensor(np.asarray(values, "f4")), name)


class Updates(Case):
    def tearDown(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)

    def test_set_their_first_operands(self):
        w, a, g = (ROWS.standard_normal((2, 3)).astype("f4") for _ in range(3))
        for nesterov in (False, True):
            var, accum = parameter(w), parameter(a, "a")
            op = ops.ApplyKerasMomentum(use_nesterov=nesterov)
            made = op(var, accum, Tensor(0.1), Tensor(g), Tensor(0.9))
            moved = a * 0.9 - g * 0.1
            self.close(accum, moved)
            self.close(var, w + (moved * 0.9 - g * 0.1 if nesterov else moved))
            self.close(made[0], var.asnumpy())
        var, accum = parameter(w), parameter(a, "a")
        ops.ApplyMomentum(use_nesterov=True, gradient_scale=0.5)(var, accum, 0.1, Tensor(g), 0.9)
        self.close(accum, a * 0.9 + g * 0.5)
        self.close(var, w - 0.1 * (g * 0.5 + (a * 0.9 + g * 0.5) * 0.9))

    def test_run_within_programs(self):
        def body(gradient):
            return ops.ApplyAdagrad()(*kept, 0.5, gradient * 2)[0]

        kept = parameter([1.0, 2.0]), parameter([0.5, 0.25], "a")
        gradient = np.array([0.5, -1.0])
        for call in (body, ms.jit(body)):
            kept[0].set_data(Tensor([1.0, 2.0]))
            kept[1].set_data(Tensor([0.5, 0.25]))
            call(Tensor(gradient, ms.float32))
            total = np.array([0.5, 0.25]) + (gradient * 2) ** 2
            self.close(kept[1], total)
            self.close(kept[0], np.array([1.0, 2.0]) - 0.5 * gradient * 2 / np.sqrt(total))

    def test_scale_by_the_norms(self):
        w, g = (ROWS.standard_normal((4, 3)).astype("f4") for _ in range(2))
        sizes = [Tensor(np.float32((one**2).sum())) for one in (w, g)]
        trust = 0.02 * np.linalg.norm(w) / (np.linalg.norm(g) + 0.1 * np.linalg.norm(w) + 1e-5)
        for clip, factor in ((False, trust), (True, min(trust / 0.01, 1.0))):
            op = ops.LARSUpdate(hyperpara=0.02, use_clip=clip)
            self.close(op(Tensor(w), Tensor(g), *sizes, 0.1, 0.01), (g + 0.1 * w) * factor, 1e-5)
        zero = Tensor(np.zeros(3, "f4"))
        self.close(ops.LARSUpdate()(zero, Tensor(g[0]), Tensor(0.0), sizes[1], 0.0, 0.1), g[0])

    def test_name_what_is_wrong(self):
        with self.refuses(TypeError, "[ApplyAdagrad]", "first 2 places", "Tensor"):
            ops.ApplyAdagrad()(Tensor([1.0]), Tensor([1.0]), 0.1, Tensor([1.0]))
        with self.refuses(NotImplementedError, "[SparseApplyFtrl]", "ops.ApplyFtrl"):
            ops.SparseApplyFtrl(0.1, 0.0, 0.0, -0.5)
        with self.refuses(ValueError, "[SGD]", "dampening=0.5"):
            ops.SGD(0.5, nesterov=True)


class Optimizers(Case):
    def tearDown(self):
        ms.set_context(mode=ms.PYNATIVE_MODE, ranks=1)

    def test_updates_of_ops_are_one_call(self):
        draw = np.random.default_rng(4)
        for kind in (nn.LazyAdam, nn.FTRL, nn.Rprop, nn.AdamWeightDecay):
            longest = []
            for count in (2, 9):
                given = [draw.standard_normal(3).astype("f4") for _ in range(2 * count)]
                many = [ms.Parameter(Tensor(one), name=f"w{i}") for i, one in enumerate(given[:count])]
                optimizer = kind(many, learning_rate=0.1)
                for _ in range(2):
                    optimizer(tuple(Tensor(one) for one in given[count:]))
                alone = [ms.Parameter(Tensor(given[0]), name="w0")]
                one = kind(alone, learning_rate=0.1)
                for _ in range(2):
                    one((Tensor(given[count]),))
                self.close(many[0], alone[0].asnumpy(), 0)
                (found,) = optimizer._program("update", None)._trees.values()
                longest.append(found[0].longest)
            self.assertEqual(longest[0], longest[1], kind.__name__)

    def test_lars_scales_another_optimizer(self):
        for clip in (False, True):
            for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
                ms.set_context(mode=mode)
                net = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
                net.weight.name, net.bias.name = "weight", "bias"
                momentum = nn.Momentum(net.trainable_params(), 0.5, 0.9, weight_decay=0.1)
                optimizer = nn.LARS(momentum, coefficient=0.01, use_clip=clip)
                step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
                weights, moved = [np.ones((2, 3)), np.zeros(2)], [0.0, 0.0]
                for _ in range(3):
                    step(Tensor(X), Tensor(Y))
                    wrong = 2 * (X @ weights[0].T + weights[1] - Y) / Y.size
                    gradients = [wrong.T @ X, wrong.sum(0) + 0.1 * weights[1]]
                    size = np.linalg.norm(weights[0])
                    trust = 0.01 * size / (np.linalg.norm(gradients[0]) + 0.1 * size + 1e-5)
                    trust = min(trust / 0.5, 1) if clip else trust
                    gradients[0] = (gradients[0] + 0.1 * weights[0]) * trust
                    gradients[1] = gradients[1] - 0.1 * weights[1]  # biases that the filter leaves out do not decay
                    moved = [0.9 * v + g for v, g in zip(moved, gradients)]
                    weights = [w - 0.5 * v for w, v in zip(weights, moved)]
                self.close(net.weight, weights[0], 1e-5)
                self.close(net.bias, weights[1], 1e-5)

    def test_train_alike_by_model_and_on_ranks(self):
        x, y = labelled(64)
        for make in (
            lambda p: nn.FTRL(p, learning_rate=0.1, l1=0.01),
            lambda p: nn.ASGD(p, 0.1),
            lambda p: nn.Rprop(p, 0.01),
            lambda p: nn.LazyAdam(p, 0.01, use_nesterov=True),
            lambda p: nn.ProximalAdagrad(p, learning_rate=0.1, l2=0.01),
            lambda p: nn.AdaFactor(p),
            lambda p: mint.optim.AdamW(p, 0.01),
        ):
            found = []
            for ranks in (1, 4):
                ms.set_context(ranks=ranks)
                net = Small(norm=True)
                begin = [one.asnumpy().copy() for one in net.trainable_params()]
                rows = ds.NumpySlicesDataset((x, y), ["data", "label"], shuffle=False).batch(16)
                train.Model(net, nn.CrossEntropyLoss(), make(net.trainable_params())).train(1, rows)
                found.append([one.asnumpy().copy() for one in net.trainable_params()])
            ms.set_context(ranks=1)
            for one, other, first in zip(*found, begin):
                self.close(one, other, 1e-4)
                self.assertGreater(np.abs(one - first).max(), 1e-6)

    def test_factor_squares_of_matrices(self):
        w, g = ROWS.standard_normal((3, 4)), ROWS.standard_normal((3, 4))
        own = parameter(w)
        optimizer = nn.AdaFactor([own], 0.1, beta1=None, scale_parameter=False, relative_step=False)
        row, column = np.zeros(3), np.zeros(4)
        for t in range(1, 4):
            optimizer((Tensor(g * t, ms.float32),))
            share, squares = 1 - t**-0.8, (g * t) ** 2 + 1e-30
            row, column = (
                share * row + (1 - share) * squares.mean(1),
                share * column + (1 - share) * squares.mean(0),
            )
            step = g * t / np.sqrt(np.outer(row, column) / row.mean())
            w = w - 0.1 * step / max(1.0, np.sqrt((step**2).mean()))
        self.close(own, w, 1e-5)

    def test_name_what_is_not_there(self):
        parameters = [parameter([1.0])]
        for name, instead in (("AdamOffload", "nn.Adam"), ("thor", "nn.Muon"), ("OptTFTWrapper", "ModelCheckpoint")):
            with self.refuses(NotImplementedError, f"[{name}]", instead):
                getattr(nn, name)(parameters)
        for make, *texts in (
            (lambda: nn.FTRL(parameters, lr_power=0.5), "[FTRL]", "lr_power", "0.5"),
            (lambda: nn.Rprop(parameters, etas=(0.5, 0.9)), "[Rprop]", "etas"),
            (lambda: nn.AdaFactor(parameters, 0.1), "[AdaFactor]", "relative_step"),
            (lambda: nn.ProximalAdagrad(parameters, l1=-1.0), "[ProximalAdagrad]", "l1", "-1.0"),
        ):
            with self.refuses(ValueError, *texts):
                make()


if __name__ == "__main__":
    unittest.main()
