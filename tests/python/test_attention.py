"""Attention by the names of the documented system's kernels, next to its formula in NumPy, on random inputs."""

import numpy as np
from support import Case, rng

import partita as ms
from partita import Tensor, nn, ops
from partita.ops.operations.nn_ops import FlashAttentionScore, PromptFlashAttention

B, S, T, N, D = 2, 5, 8, 4, 3
TO = {
    "BSND": lambda x: x,
    "BNSD": lambda x: x.transpose(0, 2, 1, 3),
    "BSH": lambda x: x.reshape(*x.shape[:2], -1),
    "SBH": lambda x: x.reshape(*x.shape[:2], -1).transpose(1, 0, 2),
}


def expected(q, k, v, scale, hidden=None, shift=0.0, kept=None, keep_prob=1.0):
    """The formula of [b, s, heads, d]."""
    k, v = (np.repeat(x, q.shape[2] // x.shape[2], 2) for x in (k, v))
    scores = np.einsum("bind,bjnd->bnij", q, k) * scale + shift
    scores = scores if hidden is None else np.where(hidden, -np.inf, scores)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    shares = shares if kept is None else shares * kept / keep_prob
    return np.einsum("bnij,bjnd->bind", shares, v)


class Attention(Case):
    def setUp(self):
        draw = rng(11)
        self.q = draw.standard_normal((B, S, N, D))
        self.k, self.v = (draw.standard_normal((B, T, 2, D)) for _ in range(2))
        self.draw = draw

    def given(self, layout):
        return [Tensor(TO[layout](x)) for x in (self.q, self.k, self.v)]

    def check(self, want, layout="BSND", **options):
        got = ops.flash_attention_score(*self.given(layout), N, scalar_value=0.6, input_layout=layout, **options)
        np.testing.assert_allclose(got.asnumpy(), TO[layout](want), rtol=1e-9, atol=1e-12)

    def test_layouts(self):
        for layout in TO:
            self.check(expected(self.q, self.k, self.v, 0.6), layout)

    def test_masks_and_shifts(self):
        mask = self.draw.random((B, 1, S, T)) < 0.4
        mask[..., 0] = False
        shift = self.draw.standard_normal((B, N, S, T))
        for layout in TO:
            self.check(expected(self.q, self.k, self.v, 0.6, mask), layout, attn_mask=Tensor(mask))
            want = expected(self.q, self.k, self.v, 0.6, mask, shift)
            self.check(want, layout, attn_mask=Tensor(mask.astype("u1")), real_shift=Tensor(shift), sparse_mode=1)

    def test_positions(self):
        i, j = np.arange(S)[:, None], np.arange(T)[None]
        for mode, hidden, options in (
            (2, j > i, {}),
            (3, j > i + T - S, {}),
            (4, (j > i + T - S + 1) | (j < i + T - S - 2), {"pre_tokens": 2, "next_tokens": 1}),
            (0, (j > i + 1) | (j < i - 2), {"pre_tokens": 2, "next_tokens": 1, "attn_mask": np.zeros((S, T), bool)}),
        ):
            options = {name: Tensor(one) if name == "attn_mask" else one for name, one in options.items()}
            self.check(expected(self.q, self.k, self.v, 0.6, hidden), sparse_mode=mode, **options)

    def test_drops_by_bits(self):
        kept = self.draw.random((B, N, S, T)) < 0.7
        packed = np.packbits(kept, -1, bitorder="little")
        want = expected(self.q, self.k, self.v, 0.6, kept=kept, keep_prob=0.7)
        self.check(want, drop_mask=Tensor(packed), keep_prob=0.7)

    def test_is_one_op_of_networks(self):
        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.attention = FlashAttentionScore(N, scale_value=0.6, input_layout="BSH", sparse_mode=3)

            def construct(self, q, k, v):
                return self.attention(q, k, v)[3]

        i, j = np.arange(S)[:, None], np.arange(T)[None]
        want = TO["BSH"](expected(self.q, self.k, self.v, 0.6, j > i + T - S))
        net = Net()
        np.testing.assert_allclose(ms.jit(net)(*self.given("BSH")).asnumpy(), want, rtol=1e-9)
        given = self.given("BSH")
        gradient = ms.grad(lambda q: (net(q, *given[1:]) * Tensor(want)).sum())(given[0]).asnumpy()
        step = 1e-5 * self.draw.standard_normal(gradient.shape)
        moved = [
            float((net(given[0] + sign * Tensor(step), *given[1:]) * Tensor(want)).sum().asnumpy()) for sign in (1, -1)
        ]
        np.testing.assert_allclose((moved[0] - moved[1]) / 2, (gradient * step).sum(), rtol=1e-6)

    def test_of_prompts(self):
        i, j = np.arange(S)[:, None], np.arange(T)[None]
        mask = self.draw.random((B, S, T)) < 0.3
        mask[..., 0] = mask[:, range(S), range(S)] = False
        shift, lengths = self.draw.standard_normal((B, N, S, T)), [6, 3]
        beyond = j[None, None] >= np.array(lengths).reshape(2, 1, 1, 1)
        for options, args, hidden, more in (
            ({}, (), None, 0.0),
            ({"sparse_mode": 1}, (mask,), mask[:, None], 0.0),
            ({"pre_tokens": 2}, (mask,), mask[:, None] | (j > i) | (j < i - 2), 0.0),
            ({"sparse_mode": 2}, (), j > i, 0.0),
            ({"sparse_mode": 3}, (), j > i + T - S, 0.0),
            ({"sparse_mode": 1}, (mask[:, None], None, lengths), mask[:, None] | beyond, 0.0),
            ({}, (None, None, np.array(lengths), shift), beyond, shift),
        ):
            args = [Tensor(one) if isinstance(one, np.ndarray) else one for one in args]
            for layout in ("BSH", "BNSD", "BSND"):
                op = PromptFlashAttention(N, 0.6, input_layout=layout, num_key_value_heads=2, **options)
                want = TO[layout](expected(self.q, self.k, self.v, 0.6, hidden, more))
                np.testing.assert_allclose(op(*self.given(layout), *args).asnumpy(), want, rtol=1e-9, atol=1e-12)
        scale = Tensor([1.0])
        with self.assertRaisesRegex(ValueError, "quant_scale2 is not supported, got Tensor"):
            PromptFlashAttention(N)(*self.given("BSH"), None, None, None, None, None, None, None, scale)

    def test_rotates_positions(self):
        x, angle = self.draw.standard_normal((2, 3, 4, 6)), self.draw.standard_normal((1, 3, 1, 6))
        cos, sin = np.cos(angle), np.sin(angle)
        halves = np.concatenate((-x[..., 3:], x[..., :3]), -1)
        pairs = np.stack((-x[..., 1::2], x[..., ::2]), -1).reshape(x.shape)
        for mode, turned in enumerate((halves, pairs)):
            got = ops.rotary_position_embedding(Tensor(x), Tensor(cos), Tensor(sin), mode)
            np.testing.assert_allclose(got.asnumpy(), x * cos + turned * sin, rtol=1e-12)

    def test_refuses(self):
        for options, text in (
            ({"input_layout": "TND"}, "unsupported layout, got 'TND'"),
            ({"sparse_mode": 5}, "unsupported sparse_mode, got 5"),
            ({"keep_prob": 0.5}, "bad keep_prob, got 0.5"),
            ({"prefix": (1, 2)}, "prefix is not supported, got tuple"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                ops.flash_attention_score(*self.given("BSND"), N, **{"input_layout": "BSND", **options})
        with self.assertRaisesRegex(ValueError, "the heads do not divide the last dimension, got 5 of 12"):
            ops.flash_attention_score(*self.given("BSH")[:1], *self.given("BSH")[:1], *self.given("BSH")[:1], 5)
        with self.assertRaisesRegex(ValueError, "bad arguments, got mode 2"):
            ops.rotary_position_embedding(Tensor(np.ones((1, 1, 1, 4))), 1.0, 1.0, 2)


class Kernels(Case):
    """Functions that have no kernel on a CPU in the documented system, next to their formulas."""

    def setUp(self):
        super().setUp()
        self.x = rng(7).standard_normal((3, 4, 6))

    def test_rms_norms(self):
        for gamma in (rng(8).standard_normal(6), rng(9).standard_normal((4, 6))):
            axes = (2,) if gamma.ndim == 1 else (1, 2)
            scale = 1 / np.sqrt((self.x**2).mean(axes, keepdims=True) + 1e-3)
            y, rstd = ops.rms_norm(Tensor(self.x), Tensor(gamma), 1e-3)
            np.testing.assert_allclose(y.asnumpy(), self.x * scale * gamma, rtol=1e-12)
            np.testing.assert_allclose(rstd.asnumpy(), scale, rtol=1e-12)
            for one, other in zip(ops.RmsNorm(1e-3)(Tensor(self.x), Tensor(gamma)), (y, rstd)):
                np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
            half, wide = ops.rms_norm(Tensor(self.x.astype("f2")), Tensor(gamma.astype("f2")), epsilon=1e-3)
            self.assertEqual((half.dtype, wide.dtype), (ms.float16, ms.float32))
            self.close(half, self.x * scale * gamma, 1e-2)
        with self.refuses(ValueError, "gamma has another shape, got (3,), expected the last sizes of (3, 4, 6)"):
            ops.rms_norm(Tensor(self.x), Tensor(np.ones(3)))

    def test_gradients_of_rms_norms(self):
        gamma, step = rng(8).standard_normal((4, 6)), 1e-6 * rng(5).standard_normal(self.x.shape)

        def total(x, g):
            return (ops.rms_norm(x, g)[0] * Tensor(np.cos(self.x))).sum()

        by_x, by_gamma = ms.grad(total, (0, 1))(Tensor(self.x), Tensor(gamma))
        moved = [float(total(Tensor(self.x + sign * step), Tensor(gamma))) for sign in (1, -1)]
        np.testing.assert_allclose((moved[0] - moved[1]) / 2, (by_x.asnumpy() * step).sum(), rtol=1e-6)
        scale = 1 / np.sqrt((self.x**2).mean((1, 2), keepdims=True) + 1e-6)
        np.testing.assert_allclose(by_gamma.asnumpy(), (self.x * scale * np.cos(self.x)).sum(0), rtol=1e-9)

    def test_gated_halves(self):
        for axis in (-1, 1, 2):
            first, second = np.split(self.x, 2, axis)
            want = first / (1 + np.exp(-first)) * second
            np.testing.assert_allclose(ops.swiglu(Tensor(self.x), axis).asnumpy(), want, rtol=1e-12)
        first, second = np.split(self.x, 2, -1)
        np.testing.assert_allclose(ops.swiglu(Tensor(self.x)).asnumpy(), first / (1 + np.exp(-first)) * second, 1e-12)


class Layers(Case):
    """Layers whose results in the documented system are in surface/attention.results: in programs, in training and in
    16 bits."""

    def setUp(self):
        super().setUp()
        self.x = Tensor(rng(2).standard_normal((5, 3, 8)).astype("f4"))

    def tearDown(self):
        ms.set_context(mode=ms.PYNATIVE_MODE)

    def test_are_parts_of_programs(self):
        mask = Tensor(np.triu(np.ones((5, 5), "?"), 1))
        net = nn.Transformer(8, 2, 1, 2, 16, 0.0)
        plain = net(self.x, self.x, mask, mask).asnumpy()
        ms.set_context(mode=ms.GRAPH_MODE)
        self.close(net(self.x, self.x, mask, mask), plain, 1e-5)

    def test_drop_shares_in_training_alone(self):
        layer = nn.MultiheadAttention(8, 2, dropout=0.5)
        _, whole = layer(self.x, self.x, self.x)
        self.close(whole.sum(-1), np.ones((3, 5)), 1e-6)
        _, dropped = layer.set_train()(self.x, self.x, self.x, average_attn_weights=False)
        self.assertGreater(int((dropped.asnumpy() == 0).sum()), 20)

    def test_begin_with_one_layer(self):
        stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 4), 2)
        first, second = (one.dense1.weight.asnumpy() for one in stack.layers)
        np.testing.assert_array_equal(first, second)
        ms.ops.assign(stack.layers[0].dense1.weight, Tensor(first * 2))
        np.testing.assert_array_equal(stack.layers[1].dense1.weight.asnumpy(), first)

    def test_train(self):
        net = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, 0.0), 1)
        step = nn.TrainOneStepCell(
            nn.WithLossCell(lambda x: net(x, x), nn.MSELoss()), nn.Adam(net.trainable_params(), 0.01)
        )
        losses = [float(step(self.x, ops.zeros_like(self.x))) for _ in range(8)]
        self.assertLess(losses[-1], losses[0] * 0.9)

    def test_refuse(self):
        layer = nn.MultiheadAttention(8, 2)
        for call, text in (
            (lambda: nn.MultiheadAttention(8, 3), "the heads do not divide embed_dim, got 3 of 8"),
            (lambda: layer(self.x, self.x, self.x, attn_mask=Tensor([[True]])), "attn_mask has another shape"),
            (lambda: layer(self.x, self.x, self.x, Tensor(np.ones((3, 5), "i4"))), "another type, got Int32"),
            (lambda: layer(self.x[..., :4], self.x, self.x), r"another last size, got \(5, 3, 4\), expected 8"),
            (lambda: nn.TransformerEncoderLayer(8, 2, activation="tanh"), "unknown activation, got 'tanh'"),
            (lambda: nn.Transformer(8, 2, 1, 1)(self.x[..., :4], self.x), "another number of features, got 4 and 8"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                call()
        with self.assertRaisesRegex(TypeError, "got TransformerEncoderLayer, expected a TransformerDecoderLayer"):
            nn.TransformerDecoder(nn.TransformerEncoderLayer(8, 2, 4), 1)

    def test_the_layer_has_the_documented_cells(self):
        layer = nn.MultiheadAttention(8, 2, dropout=0.5)
        self.assertEqual([name for name, _ in layer.cells_and_names()], ["", "out_proj"])
        x = ms.Tensor(np.ones((3, 2, 8), "f4"))
        weights = layer.set_train()(x, x, x)[1].asnumpy()
        self.assertTrue((weights == 0).any())
        self.close(layer.set_train(False)(x, x, x)[1], np.full((2, 3, 3), 1 / 3))

    def test_stacks_copy_layers_of_scripts(self):
        class Own(nn.TransformerEncoderLayer):
            def __init__(self, size):
                super().__init__(size, 2, 16, dropout=0.0)
                self.more = nn.Dense(size, size, weight_init="zeros", bias_init="ones")

            def construct(self, src, src_mask=None, src_key_padding_mask=None):
                return super().construct(src, src_mask, src_key_padding_mask) + self.more(src)

        class Plain(nn.Cell):
            def construct(self, src, src_mask=None, src_key_padding_mask=None):
                return src * 2.0

        own, x = Own(8), ms.Tensor(rng().normal(size=(3, 2, 8)).astype("f4"))
        stack = nn.TransformerEncoder(own, 2)
        self.assertEqual([type(one) for one in stack.layers], [Own, Own])
        names = [one.name for one in stack.trainable_params()]
        self.assertEqual((len(names), len(set(names)), names[-1]), (28, 28, "layers.1.more.bias"))
        self.close(stack(x), own(own(x)).asnumpy())
        self.close(nn.TransformerEncoder(Plain(), 3)(x), x.asnumpy() * 8)
