"""Layers and ops that MindSpore's CPU cannot run, against formulas in NumPy and central differences; states of cells;
names that are refused."""

import numpy as np
from support import Case, rng

import partita as ms
from partita import Tensor, nn, ops


def gradient_of(function, *arrays):
    """Gradients of the sum of a function's result times fixed numbers, in float64."""

    def total(*xs):
        made = function(*xs)
        factors = Tensor(np.cos(np.arange(made.size)).reshape(made.shape))
        return (made * factors).sum()

    found = ms.grad(total, tuple(range(len(arrays))))(*map(Tensor, arrays))
    return [one.asnumpy() for one in (found if isinstance(found, tuple) else (found,))]


def differences_of(function, *arrays, step=1e-6):
    """Their values by central differences."""

    def total(*xs):
        made = function(*map(Tensor, xs)).asnumpy()
        return float((made * np.cos(np.arange(made.size)).reshape(made.shape)).sum())

    found = []
    for i, array in enumerate(arrays):
        one = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            ends = []
            for sign in (1, -1):
                moved = [other.copy() for other in arrays]
                moved[i][place] += sign * step
                ends.append(total(*moved))
            one[place] = (ends[0] - ends[1]) / (2 * step)
        found.append(one)
    return found


class Layers(Case):
    def setUp(self):
        self.rng = rng(45)

    def drawn(self, *shape, dtype="f8"):
        return self.rng.standard_normal(shape).astype(dtype)

    def same_gradients(self, function, *arrays):
        for got, expected in zip(gradient_of(function, *arrays), differences_of(function, *arrays)):
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)

    def test_instance_norms_are_of_each_channel(self):
        shapes = (nn.InstanceNorm1d, (2, 3, 7)), (nn.InstanceNorm2d, (2, 3, 4, 5)), (nn.InstanceNorm3d, (2, 3, 2, 3, 4))
        for kind, shape in shapes:
            x, axes = self.drawn(*shape, dtype="f4"), tuple(range(2, len(shape)))
            layer = kind(3, eps=1e-3, gamma_init="ones", beta_init="ones")
            expected = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-3) + 1
            for training in (True, False):
                np.testing.assert_allclose(layer.set_train(training)(Tensor(x)).asnumpy(), expected, atol=1e-5)
            names = [one.name for one in layer.get_parameters()]
            self.assertEqual(sorted(names), ["beta", "gamma", "moving_mean", "moving_variance"])
            self.assertEqual([one.name for one in kind(3, affine=False).trainable_params()], [])
        with self.refuses(ValueError, "[InstanceNorm2d] wrong shape, got (2, 4, 3, 3)"):
            nn.InstanceNorm2d(3)(Tensor(np.ones((2, 4, 3, 3), "f4")))

    def test_triplet_margin_losses(self):
        a, good, bad = (self.drawn(5, 4) for _ in range(3))
        for p, swap, margin in ((2, False, 1.0), (2, True, 0.5), (1, True, 2.0), (3, False, 1.5)):
            far = np.linalg.norm(a - bad + 1e-6, p, -1)
            if swap:
                far = np.minimum(far, np.linalg.norm(good - bad + 1e-6, p, -1))
            expected = np.maximum(np.linalg.norm(a - good + 1e-6, p, -1) - far + margin, 0)
            got = ops.triplet_margin_loss(*map(Tensor, (a, good, bad)), margin, p, 1e-6, swap, "none")
            np.testing.assert_allclose(got.asnumpy(), expected, atol=1e-12)
            layer = nn.TripletMarginLoss(p, swap, 1e-6, "mean", margin)
            np.testing.assert_allclose(layer(*map(Tensor, (a, good, bad))).asnumpy(), expected.mean(), atol=1e-12)
            made = ops.TripletMarginLoss(p, swap, reduction="sum")(*map(Tensor, (a, good, bad)), margin)
            np.testing.assert_allclose(made.asnumpy(), expected.sum(), atol=1e-12)
            self.same_gradients(
                lambda *xs: ops.triplet_margin_loss(*xs, margin, p, 1e-6, swap, "none"), a, good, bad
            )

    def test_multilabel_margin_losses(self):
        x = self.drawn(3, 5)
        labels = np.array([[1, 3, -1, 2, 0], [0, -1, 1, 1, 1], [4, 2, 0, 1, -1]], "i4")
        expected, is_label = np.zeros(3), np.zeros((3, 5), "i4")
        for i in range(3):
            own = labels[i][: list(labels[i]).index(-1)]
            is_label[i, own] = 1
            for j in own:
                expected[i] += sum(max(0, 1 - x[i, j] + x[i, k]) for k in range(5) if k not in own) / 5
        for got, wanted in (
            (ops.multilabel_margin_loss(Tensor(x), Tensor(labels), "none"), expected),
            (nn.MultilabelMarginLoss()(Tensor(x), Tensor(labels)), expected.mean()),
            (nn.MultilabelMarginLoss("sum")(Tensor(x), Tensor(labels)), expected.sum()),
            (ops.multilabel_margin_loss(Tensor(x[0]), Tensor(labels[0])), expected[0]),
        ):
            np.testing.assert_allclose(got.asnumpy(), wanted, atol=1e-12)
        np.testing.assert_array_equal(ops.MultilabelMarginLoss()(Tensor(x), Tensor(labels))[1].asnumpy(), is_label)
        self.same_gradients(lambda a: ops.multilabel_margin_loss(a, Tensor(labels), "none"), x)

    def test_similarities_of_images(self):
        a, b = self.rng.random((2, 2, 3, 24, 20))
        line = np.exp(-0.5 * ((np.arange(7) - 3) / 1.5) ** 2)
        window = np.outer(line, line) / line.sum() ** 2

        def means(x):
            parts = np.lib.stride_tricks.sliding_window_view(x, (7, 7), (2, 3))
            return (parts * window).sum((-1, -2))

        def parts(x, y):
            low, high = 0.01**2, 0.03**2
            m, n = means(x), means(y)
            contrast = (2 * (means(x * y) - m * n) + high) / (means(x * x) + means(y * y) - m * m - n * n + high)
            return ((2 * m * n + low) / (m * m + n * n + low) * contrast).mean((2, 3)), contrast.mean((2, 3))

        got = nn.SSIM(1.0, 7)(Tensor(a), Tensor(b)).asnumpy()
        np.testing.assert_allclose(got, parts(a, b)[0].mean(1), rtol=1e-5)
        np.testing.assert_allclose(nn.SSIM()(Tensor(a), Tensor(a)).asnumpy(), np.ones(2), rtol=1e-5)
        halves = [one.reshape(2, 3, 12, 2, 10, 2).mean((3, 5)) for one in (a, (a + b) / 2)]
        expected = np.maximum(parts(a, (a + b) / 2)[1], 0) ** 0.3 * np.maximum(parts(*halves)[0], 0) ** 0.5
        got = nn.MSSSIM(1.0, (0.3, 0.5), 7)(Tensor(a), Tensor((a + b) / 2)).asnumpy()
        np.testing.assert_allclose(got, expected.mean(1), rtol=1e-5)
        ratio = 10 * np.log10(4 / ((a - b) ** 2).mean((1, 2, 3)))
        np.testing.assert_allclose(nn.PSNR(2.0)(Tensor(a), Tensor(b)).asnumpy(), ratio, rtol=1e-6)
        self.same_gradients(nn.SSIM(1.0, 3), a[:1, :1, :5, :4], b[:1, :1, :5, :4])

    def test_transposed_convolutions_undo_sums(self):
        """<conv(x), y> is <x, transposed(y)>, of the same filters."""
        cases = (1, 0, 1, 1), (2, 1, 1, 1), ((2, 1), (1, 0), (1, 2), 2), (1, 1, 2, 2)
        for stride, padding, dilation, groups in cases:
            x, w = self.drawn(2, 4, 7, 6), self.drawn(6, 4 // groups, 3, 2)
            around = (padding, padding) if isinstance(padding, int) else padding
            pads = (around[0], around[0], around[1], around[1])
            y = ops.conv2d(Tensor(x), Tensor(w), None, stride, "pad", pads, dilation, groups)
            v = self.drawn(*y.shape)
            options = stride, padding, 0, groups, dilation
            back = ops.conv_transpose2d(Tensor(v), Tensor(w), None, *options).asnumpy()
            wide = np.zeros_like(x)
            wide[:, :, : back.shape[2], : back.shape[3]] = back  # what no window reaches is 0
            self.assertAlmostEqual(float((y.asnumpy() * v).sum()), float((x * wide).sum()), places=8)
            more = ops.conv_transpose2d(Tensor(v), Tensor(w), Tensor(np.arange(4.0)), *options)
            np.testing.assert_allclose(more.asnumpy(), back + np.arange(4.0).reshape(1, 4, 1, 1), atol=1e-12)
        filters = self.drawn(2, 1, 3, 2)
        self.same_gradients(lambda a, w: ops.conv_transpose2d(a, w, None, 2, 1, 1), self.drawn(1, 2, 3, 2), filters)

    def test_dropouts_of_channels(self):
        for function, layer, shape in (
            (ops.dropout1d, nn.Dropout1d, (40, 50, 3)),
            (ops.dropout2d, nn.Dropout2d, (40, 50, 2, 3)),
            (ops.dropout3d, nn.Dropout3d, (40, 50, 2, 1, 3)),
        ):
            x = self.rng.uniform(1, 2, shape).astype("f4")
            for call in (lambda a: function(a, 0.25), layer(0.25).set_train(), ms.jit(lambda a: function(a, 0.25))):
                made = call(Tensor(x))
                share = made.asnumpy() / x
                flat = share.reshape(2000, -1)
                np.testing.assert_allclose(flat, np.broadcast_to(flat[:, :1], flat.shape), rtol=1e-6)
                np.testing.assert_allclose(np.unique(flat[:, 0].round(4)), [0, 1.3333], atol=1e-4)
                self.assertAlmostEqual(float((flat[:, 0] == 0).mean()), 0.25, delta=0.05)
        y, mask = ops.Dropout2D(0.5)(Tensor(np.ones((4, 5, 2, 2), "f4")))
        np.testing.assert_array_equal(mask.asnumpy(), y.asnumpy() != 0)
        with self.refuses(ValueError, "[dropout2d] bad probability, got 1.5"):
            ops.dropout2d(Tensor(np.ones((1, 1, 1, 1), "f4")), 1.5)

    def test_drawn_slopes_and_windows(self):
        x = -np.ones((30, 40), "f4")
        made = -ops.rrelu(Tensor(x), 0.25, 0.75).asnumpy()
        self.assertTrue(0.25 <= made.min() < 0.3 and 0.7 < made.max() <= 0.75 and abs(made.mean() - 0.5) < 0.02)
        images = self.drawn(2, 3, 9, 8, dtype="f4")
        values, places = ops.fractional_max_pool2d(Tensor(images), 2, (4, 3), return_indices=True)
        flat = images.reshape(2, 3, -1)
        picked = np.take_along_axis(flat, places.asnumpy().reshape(2, 3, -1), 2)
        np.testing.assert_array_equal(picked.reshape(values.shape), values.asnumpy())
        self.assertEqual(values.shape, (2, 3, 4, 3))
        samples = Tensor(self.rng.random((2, 3, 2)))
        self.same_gradients(lambda a: ops.fractional_max_pool2d(a, 2, 3, None, False, samples), self.drawn(2, 3, 6, 6))

    def test_ctc_loss_is_the_sum_over_paths(self):
        import itertools

        steps, classes, target = 4, 3, [1, 1]
        x = self.drawn(steps, 1, classes)
        logs = x - np.log(np.exp(x).sum(-1, keepdims=True))
        total = 0.0
        for path in itertools.product(range(classes), repeat=steps):
            kept = [one for i, one in enumerate(path) if one and (i == 0 or one != path[i - 1])]
            total += np.exp(sum(logs[t, 0, one] for t, one in enumerate(path))) if kept == target else 0
        given = Tensor([target]), Tensor([steps]), Tensor([2])

        def loss(a):
            return ops.ctc_loss(ops.log_softmax(a, -1), *given, 0, "none")[0]

        self.assertAlmostEqual(float(loss(Tensor(x)).asnumpy()[0]), -np.log(total), places=10)
        self.same_gradients(loss, x)
        none = Tensor([[1, 1, 1]]), Tensor([4]), Tensor([3])
        self.assertEqual(float(ops.ctc_loss(Tensor(logs), *none, reduction="none")[0].asnumpy()[0]), np.inf)
        found = ops.ctc_loss(Tensor(logs), *none, zero_infinity=True)[0]
        self.assertEqual(float(found), 0)
        zero = ms.grad(lambda a: ops.ctc_loss(a, *none, zero_infinity=True)[0])(Tensor(logs))
        np.testing.assert_array_equal(zero.asnumpy(), np.zeros_like(logs))
        with self.refuses(ValueError, "bad target_lengths, got [5]"):
            ops.ctc_loss(Tensor(logs), Tensor([[1, 1, 1]]), Tensor([4]), Tensor([5]))
        longer = np.array([[0, 0], [0, 1]]), np.array([1, 0], "i4"), np.array([1], "i4")
        losses = ops.CTCLoss(ignore_longer_outputs_than_inputs=True)(Tensor(x), *map(Tensor, longer))
        np.testing.assert_array_equal([one.asnumpy().any() for one in losses], [False, False])
        with self.refuses(ValueError, "[CTCLoss] a target is longer than its steps, got 2 labels"):
            ops.CTCLoss()(Tensor(x), *map(Tensor, longer))

    def test_gradients_of_ops_with_places(self):
        grid = self.rng.uniform(-0.9, 0.9, (1, 2, 3, 2))
        self.same_gradients(lambda a, g: ops.grid_sample(a, g, "bilinear", "border"), self.drawn(1, 2, 4, 3), grid)
        offsets = self.rng.uniform(0.1, 0.4, (1, 12, 3, 2))
        windows, filters = ((2, 2), (1, 1, 1, 1), (0, 0, 0, 0)), self.drawn(2, 2, 2, 2)
        moved = lambda a, w, o: ops.deformable_conv2d(a, w, o, *windows)  # noqa: E731
        self.same_gradients(moved, self.drawn(1, 2, 4, 3), filters, offsets)
        self.same_gradients(lambda a: ops.max_pool3d(a, 2, 1, return_indices=True)[0], self.drawn(1, 2, 3, 3, 3))
        self.same_gradients(lambda a: ops.adaptive_max_pool2d(a, (2, 3)), self.drawn(2, 5, 4))
        self.same_gradients(lambda a: ops.adaptive_avg_pool3d(a, (2, 3, 1)), self.drawn(1, 1, 3, 4, 2))
        self.same_gradients(lambda a: ops.lp_pool2d(ops.abs(a) + 1.0, 3, 2, 1), self.drawn(1, 1, 3, 3))
        self.same_gradients(lambda a: ops.fold(a, (4, 3), 2), self.drawn(1, 4, 6))


class Shapes(Case):
    def test_pools_take_images_without_a_batch(self):
        x = Tensor(rng().normal(size=(3, 5, 7)).astype("f4"))
        for pool in (nn.MaxPool2d(2, 2), nn.AvgPool2d(2, 2), nn.AvgPool2d(2, 2, pad_mode="pad", padding=1)):
            self.close(pool(x), pool(x.expand_dims(0)).asnumpy()[0])
        values, places = nn.MaxPool2d(2, 2, pad_mode="pad", return_indices=True)(x)
        self.assertEqual((values.shape, places.shape), ((3, 2, 3), (3, 2, 3)))

    def test_lines_are_normalized_by_channel(self):
        x = rng().normal(size=(4, 3, 5)).astype("f4")
        expected = (x - x.mean((0, 2), keepdims=True)) / np.sqrt(x.var((0, 2), keepdims=True) + 1e-5)
        self.close(nn.BatchNorm1d(3).set_train()(Tensor(x)), expected, 1e-5)
        of_images = nn.BatchNorm2d(3).set_train()(Tensor(x[:, :, :1, None])).asnumpy()[:, :, 0, 0]
        self.close(nn.BatchNorm1d(3).set_train()(Tensor(x[:, :, 0])), of_images, 1e-5)

    def test_refuse_windows_of_no_size_and_missing_dimensions(self):
        for layer in (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Conv1dTranspose, nn.Conv2dTranspose, nn.Conv3dTranspose):
            for options in ({"stride": 0}, {"dilation": 0}, {"group": 0}):
                with self.subTest(layer=layer.__name__, options=options), self.assertRaises(ValueError):
                    layer(2, 2, 3, **options)
        for pool in (nn.MaxPool2d, nn.AvgPool2d, nn.MaxPool1d, nn.AvgPool1d):
            for sizes in ((0, 1), (2, 0)):
                with self.subTest(pool=pool.__name__, sizes=sizes), self.assertRaises(ValueError):
                    pool(*sizes)
        with self.assertRaisesRegex(ValueError, "outside the tensor"):
            nn.Flatten()(Tensor([1.0, 2.0]))
        with self.assertRaisesRegex(ValueError, "expected 5"):
            nn.BatchNorm3d(3)(ops.ones((2, 3, 4, 2)))


class States(Case):
    def net(self):
        net = nn.SequentialCell(nn.Dense(3, 2), nn.BatchNorm1d(2))
        net[0].register_buffer("scale", Tensor([1.0, 2.0]))
        net[0].register_buffer("passing", Tensor([3.0]), persistent=False)
        return net

    def test_have_parameters_and_buffers(self):
        net = self.net()
        self.assertEqual([name for name, _ in net.named_buffers()], ["0.scale", "0.passing"])
        self.assertEqual(len(list(net.buffers(recurse=False))), 0)
        self.assertIs(net.get_buffer("0.scale"), net[0].scale)
        state = net.state_dict(prefix="all.")
        self.assertIn("all.0.scale", state)
        self.assertNotIn("all.0.passing", state)
        self.assertIs(state["all.0.weight"], net[0].weight)
        with self.refuses(KeyError, "bad name, got 'weight'"):
            net[0].register_buffer("weight", Tensor([1.0]))
        with self.refuses(AttributeError, "no such buffer, got '0.nothing'"):
            net.get_buffer("0.nothing")

    def test_are_loaded(self):
        net, other = self.net(), self.net()
        values = {name: Tensor(rng(7).random(one.shape).astype("f4")) for name, one in net.state_dict().items()}
        seen = []
        handle = other.register_load_state_dict_post_hook(lambda cell, keys: seen.append(keys))
        self.assertEqual(tuple(other.load_state_dict(values)), ([], []))
        handle.remove()
        for name, one in other.state_dict().items():
            np.testing.assert_array_equal(one.asnumpy(), values[name].asnumpy())
        self.assertEqual(len(seen), 1)
        del values["0.bias"]
        values["more"] = values["0.scale"]
        found = other.load_state_dict(values, strict=False)
        self.assertEqual((found.missing_keys, found.unexpected_keys), (["0.bias"], ["more"]))
        with self.refuses(RuntimeError, "missing keys: 0.bias; unexpected keys: more"):
            other.load_state_dict(values)
        with self.refuses(RuntimeError, "shape (3,) of '0.scale' for (2,)"):
            other.load_state_dict({"0.scale": Tensor([1.0, 2.0, 3.0])}, strict=False)

    def test_count_in_programs(self):
        class Scaled(nn.Cell):
            def __init__(self):
                super().__init__()
                self.register_buffer("scale", Tensor([2.0, 3.0]))

            def construct(self, x):
                return x * self.scale

        net, x = Scaled(), Tensor([1.0, 1.0])
        call = ms.jit(lambda a: net(a))
        np.testing.assert_array_equal(call(x).asnumpy(), [2, 3])
        net.load_state_dict({"scale": Tensor([5.0, 7.0])})
        np.testing.assert_array_equal(call(x).asnumpy(), [5, 7])

    def test_have_more_where_cells_say_so(self):
        class Counted(nn.Cell):
            def get_extra_state(self):
                return {"count": 3}

            def set_extra_state(self, state):
                self.count = state["count"]

        net = nn.SequentialCell(Counted())
        self.assertEqual(net.state_dict()["0._extra_state"], {"count": 3})
        net.load_state_dict({"0._extra_state": {"count": 5}})
        self.assertEqual(net[0].count, 5)

    def test_move_to_element_types(self):
        net = self.net().to(ms.float64)
        self.assertEqual({one.dtype for one in net.state_dict().values()}, {ms.float64})
        with self.refuses(TypeError, "[Cell.to] not a type of floats, got Int32"):
            net.to(ms.int32)


class Names(Case):
    def test_are_refused_with_what_to_use(self):
        for name, instead in (("BasicLSTMCell", "nn.LSTMCell"), ("DynamicRNN", "nn.LSTM"), ("RNNTLoss", "CTCLossV2")):
            with self.refuses(NotImplementedError, f"[{name}]", instead):
                getattr(ops, name)()(Tensor([1.0]))
        with self.refuses(NotImplementedError, "[GraphCell]", "load_checkpoint"):
            nn.GraphCell(None)
        with self.refuses(NotImplementedError, "[SampledSoftmaxLoss] classes are not drawn here"):
            nn.SampledSoftmaxLoss(2, 4)

    def test_messages(self):
        x = Tensor(np.ones((2, 3), "f4"))
        with self.refuses(ValueError, "[reshape] the elements do not fit, got 6 of them for (5, -1)"):
            ops.reshape(x, (5, -1))
        with self.refuses(ValueError, "[MaxPool1d] options of pad_mode='pad', got dilation=1 and return_indices=True"):
            nn.MaxPool1d(2, return_indices=True)
        with self.refuses(ValueError, "[binary_cross_entropy] a number is no probability, got 1.5"):
            nn.BCELoss()(Tensor([1.5, 0.5]), Tensor([1.0, 1.0]))
        with self.refuses(KeyError, "[CellDict] bad name, got 'construct'"):
            nn.CellDict({"construct": nn.ReLU()})

    def test_options_of_made_cells_can_change(self):
        layer, x = nn.HShrink(0.5), Tensor([0.6, 2.0])
        call = ms.jit(lambda a: layer(a))
        np.testing.assert_allclose(call(x).asnumpy(), [0.6, 2])
        layer.lambd = 1.0
        np.testing.assert_allclose(call(x).asnumpy(), [0, 2])
        self.assertEqual(repr(layer), "HShrink(lambd=1.0)")


class Sums(Case):
    def test_are_normalized(self):
        drawn = rng(46)
        x, y, gamma, beta = (drawn.standard_normal(shape).astype("f4") for shape in ((3, 5), (3, 5), (5,), (5,)))
        total = (x + y).astype("f8")
        centred = total - total.mean(-1, keepdims=True)
        scale = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-3)
        found = ops.add_layer_norm(*map(Tensor, (x, y, gamma, beta)), 1e-3, True)
        expected = centred * scale * gamma + beta, total.mean(-1, keepdims=True), scale, total
        for got, wanted in zip(found, expected):
            np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-4, atol=1e-5)
        scale = 1 / np.sqrt((total**2).mean(-1, keepdims=True) + 1e-3)
        found = ops.add_rms_norm(*map(Tensor, (x, y, gamma)), 1e-3)
        for got, wanted in zip(found, (total * scale * gamma, scale, total)):
            np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-4, atol=1e-5)

    def test_rows_of_tables_without_gradient(self):
        table, ids = rng(47).standard_normal((4, 3)).astype("f4"), np.array([[1, -1], [1, 0]])
        np.testing.assert_array_equal(ops.embedding(Tensor(ids), Tensor(table)).asnumpy(), table[ids])
        found = ms.grad(lambda a: ops.embedding(Tensor(ids), a, 1).sum())(Tensor(table)).asnumpy()
        np.testing.assert_array_equal(found, np.outer([1, 0, 0, 1], np.ones(3)))
        with self.refuses(NotImplementedError, "[embedding] this form is not supported, got max_norm=1.0"):
            ops.embedding(Tensor(ids), Tensor(table), max_norm=1.0)

    def test_windows_as_channels(self):
        x = rng(48).standard_normal((2, 3, 6, 5)).astype("f4")
        made = ops.ExtractImagePatches([1, 1, 2, 2], [1, 1, 1, 2], [1, 1, 2, 1])(Tensor(x)).asnumpy()
        self.assertEqual(made.shape, (2, 12, 4, 2))
        np.testing.assert_array_equal(made[1, :, 2, 1].reshape(2, 2, 3), x[1, :, 2:5:2, 2:4].transpose(1, 2, 0))
        w = rng(49).standard_normal((1, 3, 2, 2)).astype("f4")
        found = ops.DepthwiseConv2dNative(1, (2, 2))(Tensor(x), Tensor(w)).asnumpy()
        expected = ops.conv2d(Tensor(x), Tensor(w.swapaxes(0, 1)), groups=3).asnumpy()
        np.testing.assert_allclose(found, expected, rtol=1e-6)
