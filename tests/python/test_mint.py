"""Functions, layers and collectives of `mint`: those of PyTorch where MindSpore cannot run them on a CPU, and what
recorded calls leave open."""

import os
import re
import subprocess
import sys
import unittest

import numpy as np
import surface_calls
from support import Case

import partita as ms
from partita import Parameter, Tensor, mint, nn, ops, train
from partita import dataset as ds
from partita.mint.nn import functional as F

FOLDER = os.path.dirname(os.path.abspath(__file__))


def drawn(*shape, seed=3):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


class Net(nn.Cell):
    """Layers of each kind, for images of 8 x 8."""

    def __init__(self):
        super().__init__()
        self.body = nn.SequentialCell(
            mint.nn.Conv2d(1, 4, 3, padding=1, padding_mode="reflect"),
            mint.nn.BatchNorm2d(4),
            mint.nn.SiLU(),
            mint.nn.MaxPool2d(2),
            mint.nn.Conv2d(4, 4, 2, bias=False),
            mint.nn.GroupNorm(2, 4),
            mint.nn.PReLU(4),
            mint.nn.ConvTranspose2d(4, 2, 2, 2, 1, 1),
            mint.nn.AdaptiveAvgPool2d((2, 3)),
            mint.nn.Flatten(),
            mint.nn.LayerNorm(12),
            mint.nn.Linear(12, 3),
        )

    def construct(self, x):
        return self.body(x)


class Mint(Case):
    def tearDown(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)

    def test_gives_what_pytorch_gives(self):
        different, count = [], 0
        lists = surface_calls.lists(".torch").values()
        for line in [line for path in lists for line in surface_calls.lines_of(path)]:
            call, expected = line.split("\t")
            got, count = surface_calls.result_of(ms, call), count + 1
            if not surface_calls.are_equal(got, expected):
                different.append(f"{call}\n    {got}\n    instead of {expected}")
        print(f"results of PyTorch: {count} calls of mint, {len(different)} different")
        self.assertEqual(different, [], "\n".join(different))
        self.assertGreaterEqual(count, 1200)

    def test_has_types_and_shapes_that_mindspore_infers(self):
        different, count = [], 0
        for line in [line for path in surface_calls.lists(".types").values() for line in surface_calls.lines_of(path)]:
            call, expected = line.split("\t")
            got, count = surface_calls.result_of(ms, call), count + 1
            if " ".join(re.findall(r"[A-Z]\w+\[[^\]]*\]", got)) != expected:
                different.append(f"{call}\n    {got}\n    instead of {expected}")
        print(f"types and shapes of MindSpore: {count} calls of mint, {len(different)} different")
        self.assertEqual(different, [], "\n".join(different))
        self.assertGreaterEqual(count, 850)

    def test_traces_in_graph_mode(self):
        net, x = Net(), Tensor(drawn(4, 1, 8, 8))
        expected = net(x)
        ms.set_context(mode=ms.GRAPH_MODE)
        self.close(net(x), expected.asnumpy(), 1e-5)

    def test_trains_alike_on_ranks(self):
        x, y = drawn(32, 1, 8, 8), np.arange(32, dtype="i4") % 3
        states = []
        for ranks in (1, 2):
            ms.set_seed(5)
            ms.set_context(ranks=ranks, batch_norm="global" if ranks > 1 else "")
            net = Net()
            for i, one in enumerate(net.trainable_params()):
                one.set_data(Tensor(drawn(*one.shape, seed=i) / 2))
            rows = ds.NumpySlicesDataset((x, y), ["data", "label"], shuffle=False).batch(8)
            model = train.Model(net, mint.nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.05, 0.9))
            model.train(1, rows)
            states.append({one.name: one.asnumpy().copy() for one in net.get_parameters()})
        ms.set_context(ranks=1, batch_norm="")
        moved = [name for name, one in states[0].items() if "running_mean" in name and np.abs(one).max() > 0]
        self.assertEqual(len(moved), 1)
        for name, one in states[0].items():
            self.close(states[1][name], one, 2e-5)

    def test_names_parameters_as_pytorch(self):
        names = [one.name for one in mint.nn.BatchNorm2d(3).get_parameters()]
        self.assertEqual(names, ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"])
        self.assertEqual([one.name for one in mint.nn.Embedding(4, 2).get_parameters()], ["weight"])
        layer = mint.nn.Conv2d(8, 4, 3)
        bound = 1 / np.sqrt(8 * 9)
        for one in (layer.weight, layer.bias):
            self.assertLessEqual(np.abs(one.asnumpy()).max(), bound)
        self.assertGreater(np.abs(layer.weight.asnumpy()).max(), 0.9 * bound)
        self.assertIn("kernel_size=(3, 3), stride=(1, 1), padding=(0, 0)", repr(layer))
        self.assertEqual(repr(mint.nn.Dropout(0.2)), "Dropout(p=0.2, inplace=False)")
        self.assertEqual(repr(mint.nn.Dropout2d()), "Dropout2d(p=0.5, inplace=False)")
        self.assertEqual(mint.nn.Embedding(4, 2, padding_idx=1).weight.asnumpy()[1].tolist(), [0.0, 0.0])

    def test_batch_norms_count_batches_of_steps(self):
        draw = np.random.default_rng(12)
        norm = mint.nn.BatchNorm2d(3)
        net = nn.SequentialCell(mint.nn.Conv2d(3, 3, 1), norm, norm)
        gradients_of = ms.value_and_grad(lambda x: net(x).square().mean(), None, net.trainable_params())
        optimizer = mint.optim.SGD(net.trainable_params(), 0.1)
        net.set_train()
        for i in range(1, 4):
            _, gradients = gradients_of(Tensor(draw.standard_normal((2, 3, 4, 4)).astype("f4")))
            optimizer(gradients)
            self.assertEqual(int(norm.num_batches_tracked), 2 * i)
        net.set_train(False)
        gradients_of(Tensor(draw.standard_normal((2, 3, 4, 4)).astype("f4")))
        self.assertEqual(int(norm.num_batches_tracked), 6)

    def test_batch_norms_count_batches_of_programs(self):
        draw = np.random.default_rng(13)
        rows, labels = draw.standard_normal((32, 3, 4, 4)).astype("f4"), np.arange(32, dtype="i4") % 2
        x, y = Tensor(rows[:8]), Tensor(labels[:8])
        for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
            with self.subTest(mode=mode):
                ms.set_context(mode=mode)
                norm, other = mint.nn.BatchNorm2d(3), mint.nn.BatchNorm2d(3)
                net = nn.SequentialCell(mint.nn.Conv2d(3, 3, 1), norm, norm, other, nn.Flatten(), nn.Dense(48, 2))
                seen = lambda: (int(norm.num_batches_tracked), int(other.num_batches_tracked))  # noqa: E731
                called = ms.jit(lambda a: net(a))
                for training in (True, True, False, True):
                    net.set_train(training)
                    called(x)
                self.assertEqual(seen(), (6, 3))
                net(x)
                self.assertEqual(seen(), (8, 4))
                inner = nn.WithLossCell(net, nn.CrossEntropyLoss())
                optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
                step = nn.TrainOneStepCell(inner, optimizer).set_train()
                for _ in range(3):
                    step(x, y)
                self.assertEqual(seen(), (14, 7))
                norm.num_batches_tracked.set_data(Tensor(0, ms.int64))
                step(x, y)
                self.assertEqual(seen(), (2, 8))
                data = ms.dataset.NumpySlicesDataset((rows, labels), ["x", "y"], shuffle=False).batch(8)
                model = ms.Model(net, nn.CrossEntropyLoss(), optimizer)
                model.train(2, data)
                model.train(1, data, dataset_sink_mode=True)
                model.predict(x)
                self.assertEqual(seen(), (26, 20))
                divided = ms.Model(nn.GradAccumulationCell(inner, 2), optimizer=optimizer)
                divided.train(1, data)
                self.assertEqual(seen(), (34, 24))

    def test_draws_what_is_asked_for(self):
        ms.set_seed(7)
        share = mint.rand(50, 40)
        self.assertEqual((share.shape, share.dtype), ((50, 40), ms.float32))
        self.close(share.asnumpy().mean(), 0.5, 0.03)
        normal = mint.normal(Tensor(np.full(2000, 3.0, "f4")), 0.5).asnumpy()
        self.close([normal.mean(), normal.std()], [3.0, 0.5], 0.05)
        self.close(mint.normal(1.0, 2.0, (2000,)).asnumpy().std(), 2.0, 0.15)
        whole = mint.randint(3, 7, (2000,)).asnumpy()
        self.assertEqual((sorted(set(whole.tolist())), whole.dtype), ([3, 4, 5, 6], np.int64))
        self.assertEqual(set(mint.randint(2, (500,)).asnumpy().tolist()), {0, 1})
        like = mint.randint_like(Tensor(np.zeros((20, 30), "i4")), 4)
        self.assertEqual((like.shape, like.dtype, int(like.asnumpy().max())), ((20, 30), ms.int32, 3))
        self.close(mint.bernoulli(Tensor(np.full(2000, 0.3, "f4"))).asnumpy().mean(), 0.3, 0.05)
        self.assertEqual(sorted(mint.randperm(9).asnumpy().tolist()), list(range(9)))
        picked = mint.multinomial(Tensor(np.array([0.0, 1.0, 3.0], "f4")), 2).asnumpy()
        self.assertEqual((sorted(picked.tolist()), picked.dtype), ([1, 2], np.int64))
        again = mint.multinomial(Tensor(np.array([0.0, 1.0, 3.0], "f4")), 2000, True).asnumpy()
        self.close((again == 2).mean(), 0.75, 0.05)
        self.assertEqual(mint.empty(2, 3, dtype=ms.int32).shape, (2, 3))
        self.assertEqual(mint.randn_like(Tensor(drawn(2, 5))).shape, (2, 5))
        with self.refuses(TypeError, "[rand] no generator, got object, expected a Generator or None"):
            mint.rand(2, generator=object())
        for draw in (mint.rand, mint.randn, lambda n, **kw: mint.normal(0.0, 1.0, (n,), **kw), mint.randperm):
            found = []
            for _ in range(2):
                generator = ms.Generator().manual_seed(5)
                found.append([draw(9, generator=generator).asnumpy() for _ in range(2)])
            np.testing.assert_array_equal(found[0], found[1])
            self.assertTrue((found[0][0] != found[0][1]).any())

    def test_generators_are_gone_on_from(self):
        zeros = Tensor(np.zeros(9, "f4"))
        calls = [
            lambda own: mint.normal(zeros, zeros + 1, None, own),
            lambda own: mint.bernoulli(zeros + 0.5, generator=own),
            lambda own: (zeros + 0.5).bernoulli(generator=own),
            lambda own: zeros.uniform(0.0, 1.0, own),
            lambda own: zeros.copy().normal_(generator=own),
            lambda own: zeros.copy().uniform_(0, 1, generator=own),
            lambda own: zeros.copy().exponential_(generator=own),
            lambda own: zeros.copy().random_(0, 100, generator=own),
            lambda own: zeros.copy().bernoulli_(generator=own),
            lambda own: ms.grad(lambda x: (mint.randn(9, generator=own) * x).sum())(zeros),
        ]
        for number, call in enumerate(calls):
            with self.subTest(call=number):
                found = []
                for _ in range(2):
                    own = ms.Generator().manual_seed(5)
                    found.append([call(own).asnumpy() for _ in range(3)])
                np.testing.assert_array_equal(found[0], found[1])
                self.assertTrue(((found[0][0] != found[0][1]) | (found[0][1] != found[0][2])).any())

    def test_drops_whole_channels(self):
        layer = mint.nn.Dropout2d(0.25).set_train()
        kept = layer(Tensor(np.ones((40, 50, 2, 2), "f4"))).asnumpy()
        self.assertEqual(np.abs(kept - kept[:, :, :1, :1]).max(), 0)
        self.close((kept[:, :, 0, 0] == 0).mean(), 0.25, 0.05)
        self.close(kept.max(), 1 / 0.75)
        self.close(mint.nn.Dropout(1.0).set_train()(Tensor(drawn(3))), np.zeros(3))

    def test_changes_tensors_in_place(self):
        for function, expected in (
            (lambda x: F.relu(x, inplace=True), lambda v: np.maximum(v, 0)),
            (F.relu_, lambda v: np.maximum(v, 0)),
            (lambda x: F.silu(x, True), lambda v: v / (1 + np.exp(-v))),
            (lambda x: mint.nn.Hardtanh(-0.5, 0.25, True)(x), lambda v: np.clip(v, -0.5, 0.25)),
            (lambda x: F.threshold_(x, 0.1, 9.0), lambda v: np.where(v > 0.1, v, 9.0)),
            (F.sigmoid_, lambda v: 1 / (1 + np.exp(-v))),
            (lambda x: F.elu_(x, 0.5), lambda v: np.where(v > 0, v, 0.5 * np.expm1(v))),
        ):
            x = Tensor(drawn(4, 5))
            self.assertIs(function(x), x)
            self.close(x, expected(drawn(4, 5)))
        self.assertIsNot(F.relu6(x), x)

    def test_combines_statistics_of_parts(self):
        x = drawn(6, 3, 4) + 1
        parts = [x[:2], x[2:]]
        stats = [mint.batch_norm_stats(Tensor(one), 1e-3) for one in parts]
        mean, invstd = (ops.stack([one[i] for one in stats]) for i in (0, 1))
        moving = [Parameter(Tensor(np.full(3, value, "f4")), name) for value, name in ((0.0, "m"), (1.0, "v"))]
        counts = Tensor(np.array([8.0, 16.0], "f4"))
        got = mint.batch_norm_gather_stats_with_counts(Tensor(x), mean, invstd, *moving, 0.1, 1e-3, counts)
        rows = x.transpose(1, 0, 2).reshape(3, -1)
        self.close(got[0], rows.mean(1), 1e-5)
        self.close(got[1], 1 / np.sqrt(rows.var(1) + 1e-3), 1e-5)
        self.close(moving[0], 0.1 * rows.mean(1), 1e-5)
        self.close(moving[1], 0.9 + 0.1 * rows.var(1, ddof=1), 1e-5)
        made = mint.batch_norm_elemt(Tensor(x), mean=got[0], invstd=got[1])
        expected = (x - rows.mean(1)[:, None]) / np.sqrt(rows.var(1) + 1e-3)[:, None]
        self.close(made, expected, 1e-5)

    def test_keeps_the_padding_row(self):
        layer = mint.nn.Embedding(4, 2, padding_idx=2)
        ids = Tensor(np.array([[0, 2], [2, 3]], "i4"))
        gradient = ms.grad(lambda: (layer(ids) * 3).sum(), None, (layer.weight,))()
        got = gradient[0] if isinstance(gradient, tuple) else gradient
        self.close(got, np.array([[3, 3], [0, 0], [0, 0], [3, 3]]))

    def test_names_what_is_wrong(self):
        for kind, call, *texts in (
            (ValueError, lambda: mint.nn.Conv2d(3, 4, 3, groups=2), "[Conv2d]", "3 to 4 in 2"),
            (ValueError, lambda: mint.nn.Conv2d(2, 4, 3, padding_mode="same"), "padding_mode", "'same'", "reflect"),
            (ValueError, lambda: mint.nn.BatchNorm2d(3)(Tensor(drawn(2, 3))), "[BatchNorm2d]", "(2, 3)", "(4,)"),
            (NotImplementedError, lambda: mint.nn.SyncBatchNorm(3), "batch_norm=\"global\""),
            (NotImplementedError, lambda: F.embedding(Tensor([0]), Tensor(drawn(2, 2)), max_norm=1.0), "max_norm"),
            (ValueError, lambda: mint.nn.ZeroPad2d((1, 2, 3)), "[ZeroPad2d]", "(1, 2, 3)", "4"),
            (ValueError, lambda: F.conv2d(Tensor(drawn(1, 1, 4, 4)), Tensor(drawn(1, 1, 2, 2)), stride=2,
                                          padding="same"), "[conv2d]", "'same' with 1"),
            (ValueError, lambda: F.group_norm(Tensor(drawn(2, 3, 4)), 2), "[group_norm]", "2 of 3"),
            (ValueError, lambda: mint.nn.ConvTranspose2d(1, 1, 2, 2)(Tensor(drawn(1, 1, 3, 3)), (9, 6)), "6 to 7"),
            (ValueError, lambda: mint.nn.Linear(0, 3), "[Linear]", "in_features", "0"),
            (ValueError, lambda: mint.nn.Conv2d(3, 4, 3, stride=0), "[Conv2d]", "stride", "0"),
            (ValueError, lambda: mint.chunk(Tensor(drawn(4)), 0), "[chunk]", "0"),
            (ValueError, lambda: mint.mm(Tensor(drawn(2, 3)), Tensor(drawn(2, 3))), "[mm]", "[2, 3] and [2, 3]"),
            (ValueError, lambda: mint.bmm(Tensor(drawn(2, 3)), Tensor(drawn(3, 2))), "[bmm]", "[b, n, m]"),
            (AttributeError, lambda: mint.nn.LayerNorms, "did you mean 'LayerNorm'"),
        ):
            with self.subTest(texts=texts), self.refuses(kind, *texts):
                call()

    def test_runs_collectives_alone(self):
        script = os.path.join(FOLDER, "mint_ranks.py")
        made = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((made.returncode, made.stdout), (0, "mint.distributed: ok\n"), made.stderr)

    def test_layers_have_texts(self):
        text = repr(nn.SequentialCell(mint.nn.Dropout(0.25), mint.nn.Dropout2d(0.5)))
        self.assertIn("(0): Dropout(p=0.25, inplace=False)", text)
        self.assertIn("(1): Dropout2d(p=0.5, inplace=False)", text)



if __name__ == "__main__":
    unittest.main()
