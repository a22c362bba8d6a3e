"""Precisions of loops of one's own, of cells and of layers: what is rounded, and what keeps its digits."""

import numpy as np
from support import Case, labelled, Losses, Small

import partita as ms
from partita import amp, nn, ops, Tensor, train
from partita import dataset as ds

HALVES = {"bf16": ms.bfloat16, "f16": ms.float16}


def rounded(array, kind):
    """The array with the digits of a 16-bit type, as float32."""
    return Tensor(array).astype(HALVES[kind]).astype(ms.float32).asnumpy()


def network(kind, seed=1):
    ms.set_seed(seed)
    net = Small()
    return amp.auto_mixed_precision(net, "O2", HALVES[kind]) if kind else net


def losses_of_model(kind, net=None, loss=None):
    """Losses of six steps, and the parameters after them."""
    net = network(kind) if net is None else net
    x, y = labelled(48)
    rows = ds.NumpySlicesDataset((x, y), ["data", "label"], shuffle=False).batch(24)
    losses, optimizer = Losses(), nn.Momentum(net.trainable_params(), 0.1, 0.9)
    model = train.Model(net, loss, optimizer, loss_scale_manager=amp.FixedLossScaleManager(1))  # as in a loop
    model.train(3, rows, callbacks=[losses])
    return losses.values, [one.asnumpy() for one in net.trainable_params()]


def losses_of_loop(net, step):
    """Losses of the same steps in a loop, and the parameters after them."""
    net.set_train()
    x, y = labelled(48)
    parts = [(Tensor(x[i : i + 24]), Tensor(y[i : i + 24])) for i in (0, 24)]
    losses = [float(step(*parts[i % 2])) for i in range(6)]
    return losses, [one.asnumpy() for one in net.trainable_params()]


def by_gradients(net, forward):
    """A step that computes gradients and updates parameters in two programs."""
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradients_of = ms.value_and_grad(forward, None, optimizer.parameters)

    def step(x, y):
        loss, gradients = gradients_of(x, y)
        assert all(one.dtype == ms.float32 for one in gradients)
        optimizer(gradients)
        return loss

    return step


def steps(net):
    """{name: a step of a training of the network}, in each way to write one."""
    loss, optimizer = nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9)
    return {
        "value_and_grad": by_gradients(net, lambda x, y: loss(net(x), y)),
        "function of the loss": by_gradients(net, lambda x, y: ops.cross_entropy(net(x), y)),
        "jit": ms.jit(by_gradients(net, lambda x, y: loss(net(x), y))),
        "TrainOneStepCell": nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer),
    }


class Loops(Case):
    def test_have_the_losses_of_model(self):
        for kind in ("", "bf16", "f16"):
            losses, parameters = losses_of_model(kind, loss=nn.CrossEntropyLoss())
            for name in steps(Small()):
                with self.subTest(kind=kind, way=name):
                    net = network(kind)
                    found, after = losses_of_loop(net, steps(net)[name])
                    self.assertEqual(found, losses)
                    for one, other in zip(after, parameters, strict=True):
                        np.testing.assert_array_equal(one, other)

    def test_round_and_differ(self):
        found = {kind: losses_of_model(kind, loss=nn.CrossEntropyLoss())[0] for kind in ("", "bf16", "f16")}
        self.assertEqual(len({tuple(one) for one in found.values()}), 3)
        for one in found.values():
            np.testing.assert_allclose(one, found[""], rtol=1e-2)


    def test_have_the_losses_of_model_on_ranks(self):
        ms.set_context(ranks=3)
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
        for kind in HALVES:
            losses, _ = losses_of_model(kind, loss=nn.CrossEntropyLoss())
            net = network(kind)
            found, _ = losses_of_loop(net, steps(net)["jit"])
            np.testing.assert_allclose(found, losses, rtol=5e-3)

    def test_draw_the_numbers_of_model(self):
        for kind in ("", "bf16"):
            found = []
            for loop in (False, True):
                ms.set_seed(1)
                net = nn.SequentialCell(nn.Dense(6, 8), nn.Dropout(p=0.5), nn.Dense(8, 3))
                if kind:
                    amp.auto_mixed_precision(net, "O1", HALVES[kind])
                loss = nn.CrossEntropyLoss()
                step = ms.jit(by_gradients(net, lambda x, y, net=net, loss=loss: loss(net(x), y)))
                found.append((losses_of_loop(net, step) if loop else losses_of_model("", net, loss))[0])
            self.assertEqual(found[0], found[1], kind)


class WithOwnLoss(nn.Cell):
    """A network that gives its loss, by functions or by a cell."""

    def __init__(self, loss=None):
        super().__init__()
        self.fc1, self.fc2, self.loss = nn.Dense(6, 8), nn.Dense(8, 3), loss

    def construct(self, x, y):
        logits = self.fc2(ops.relu(self.fc1(x)))
        return ops.cross_entropy(logits, y) if self.loss is None else self.loss(logits, y)


class OwnLosses(Case):
    def test_keep_their_digits(self):
        for kind in ("", "bf16", "f16"):
            alone = losses_of_model(kind, loss=nn.CrossEntropyLoss())[0]
            for loss in (None, nn.CrossEntropyLoss()):
                with self.subTest(kind=kind, loss=loss):
                    found = []
                    for loop in (False, True):
                        ms.set_seed(1)
                        net = WithOwnLoss(loss)
                        if kind:
                            amp.auto_mixed_precision(net, "O2", HALVES[kind])
                        one = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
                        found.append((losses_of_loop(net, one) if loop else losses_of_model("", net))[0])
                    self.assertEqual(found[0], found[1])
                    self.assertEqual(found[0], alone)

    def test_of_single_values_are_not_rounded(self):
        x, y = Tensor([[1.0, 2.0]]), Tensor([[0.99951171875, 2.00048828125]])
        for function in (ops.mse_loss, ops.l1_loss, nn.MSELoss(), nn.L1Loss()):
            cell = amp.auto_mixed_precision(Called(function), "O1", ms.bfloat16)
            self.close(ms.jit(cell)(x, y), function(x, y), 1e-7)


class Called(nn.Cell):
    """A product of ones, which keeps its operand, then a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def construct(self, x, *others):
        return self.function(ops.matmul(x, Tensor(np.eye(x.shape[-1], dtype="f4"))), *others)


class Calls(Case):
    def test_of_networks_round(self):
        x = labelled(24)[0]
        for kind in HALVES:
            full, net = network(""), network(kind)
            whole = net(Tensor(x)).asnumpy()
            self.assertEqual(whole.dtype, np.float32)
            self.assertFalse(np.array_equal(whole, full(Tensor(x)).asnumpy()))
            np.testing.assert_allclose(whole, full(Tensor(x)).asnumpy(), rtol=0.05, atol=0.02)
            np.testing.assert_array_equal(rounded(whole, kind), whole)
            np.testing.assert_array_equal(ms.jit(lambda a, net=net: net(a))(Tensor(x)).asnumpy(), whole)
            np.testing.assert_array_equal(train.Model(net).predict(Tensor(x)).asnumpy(), whole)
            ms.set_context(mode=ms.GRAPH_MODE)
            np.testing.assert_array_equal(net(Tensor(x)).asnumpy(), whole)
            ms.set_context(mode=ms.PYNATIVE_MODE)

    def test_of_operands_are_products_of_rounded_numbers(self):
        numbers = np.random.default_rng(3)
        x, w = (numbers.standard_normal(shape).astype("f4") for shape in ((4, 5), (3, 5)))
        for kind in HALVES:
            dense = nn.Dense(5, 3, weight_init=Tensor(w), has_bias=False)
            amp.auto_mixed_precision(dense, "O1", HALVES[kind])
            product = rounded(x, kind) @ rounded(w, kind).T
            np.testing.assert_allclose(dense(Tensor(x)).asnumpy(), product, rtol=2e-2 if kind == "bf16" else 2e-3)
            self.assertEqual(dense.weight.dtype, ms.float32)


class Gradients(Case):
    def test_of_parameters_keep_their_digits(self):
        for kind in HALVES:
            net = network(kind)
            x, y = labelled(24)
            step = ms.value_and_grad(lambda x, y, net=net: ops.cross_entropy(net(x), y), None, net.trainable_params())
            for one in step(Tensor(x), Tensor(y))[1]:
                self.assertEqual(one.dtype, ms.float32)
                self.assertFalse(np.array_equal(rounded(one.asnumpy(), kind), one.asnumpy()))


class Scaled(Case):
    """Loops that scale the loss, unscale gradients and leave out updates of gradients that are not finite."""

    def trained(self, kind, scaler, count=6):
        """Losses of a loop, and for each step (whether it made an update, the scale after it)."""
        net = network(kind)
        net.set_train()
        loss, optimizer, seen = nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9), []

        def forward(x, y):
            found = loss(net(x), y)
            return scaler.scale(found), found

        gradients_of = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)
        x, y = (Tensor(one) for one in labelled(24))
        losses = []
        for _ in range(count):
            before = [one.asnumpy().copy() for one in optimizer.parameters]
            (_, value), gradients = gradients_of(x, y)
            gradients = scaler.unscale(gradients)
            finite = amp.all_finite(gradients)
            if finite:
                optimizer(gradients)
                losses.append(float(value))
            scaler.adjust(finite)
            same = [np.array_equal(one.asnumpy(), old) for one, old in zip(optimizer.parameters, before)]
            self.assertEqual(all(same), not finite)
            seen.append((bool(finite), float(scaler.scale_value)))
        ((tree, _),) = gradients_of._trees.values()
        self.assertEqual(len(tree.programs), 1)
        return losses, seen

    def test_overflows_make_no_updates(self):
        plain, _ = self.trained("f16", amp.StaticLossScaler(1))
        losses, seen = self.trained("f16", amp.DynamicLossScaler(2**24, 16, 3), 9)
        self.assertEqual(seen[0], (False, 2.0**20))
        first = [finite for finite, _ in seen].index(True)
        self.assertTrue(all(not finite for finite, _ in seen[:first]))
        scale = seen[first][1]
        self.assertEqual([one for _, one in seen[:first]], [2.0 ** (24 - 4 * i) for i in range(1, first + 1)])
        self.assertEqual([one for _, one in seen[first : first + 3]], [scale, scale, scale * 16])
        self.assertFalse(seen[first + 3][0])  # which is too large again
        np.testing.assert_allclose(losses[:3], plain[:3], rtol=1e-3)

    def test_static_scales_stay(self):
        for kind in HALVES:
            plain, _ = self.trained(kind, amp.StaticLossScaler(1))
            losses, seen = self.trained(kind, amp.StaticLossScaler(1024))
            self.assertEqual(seen, [(True, 1024.0)] * 6)
            np.testing.assert_allclose(losses, plain, rtol=1e-3)

    def test_small_gradients_need_a_scale(self):
        found = {}
        for scale in (1, 2**15):
            net, scaler = network("f16"), amp.StaticLossScaler(scale)
            step = ms.grad(
                lambda x, net=net, scaler=scaler: scaler.scale((net(x) * 1e-9).sum()), None, net.trainable_params()
            )
            found[scale] = [one.asnumpy() for one in scaler.unscale(step(Tensor(labelled(24)[0])))]
        self.assertTrue(all((one == 0).all() for one in found[1][:2]))
        self.assertTrue(all((one != 0).any() for one in found[2**15]))

    def test_scales_stay_finite(self):
        scaler = amp.DynamicLossScaler(2.0**120, 2.0**16, 1)
        self.assertTrue(scaler.adjust(Tensor(True)))
        self.assertEqual(float(scaler.scale_value), 2.0**120)
        scaler.adjust(Tensor(False))
        self.assertEqual(float(scaler.scale_value), 2.0**104)

    def test_scales_belong_to_programs(self):
        one, other = amp.StaticLossScaler(4), amp.StaticLossScaler(8)
        scaled = ms.jit(lambda x: (one.scale(x), other.unscale([x, x])))
        got = scaled(Tensor([2.0, 16.0]))
        self.close(got[0], [8, 64])
        self.close(got[1][1], [0.25, 2])
