"""Attention by the names of the documented system's kernels, next to its formula in NumPy, on random inputs."""

import numpy as np
from support import Case, rng

import partita as ms
from partita import Tensor, nn, ops
from partita.ops.operations.nn_ops import FlashAttentionScore

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
