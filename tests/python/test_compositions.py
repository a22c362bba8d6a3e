"""Functions that are made of others: against NumPy where the documented system has no kernel on a CPU, and what they
refuse."""

import contextlib
import io
import math
import random

import numpy as np
from support import Case, rng

import partita as ms
from partita import Tensor, nn, ops
from partita import numpy as mnp

X = rng().standard_normal((2, 3, 4)).astype("f4")


class Contractions(Case):
    def test_are_those_of_numpy(self):
        choose, sizes = random.Random(2), dict(zip("abcde", (2, 3, 4, 1, 2)))
        for _ in range(150):
            count = choose.choice((1, 2, 2, 2, 3))
            names = ["".join(choose.choice("abcde") for _ in range(choose.randint(1, 3))) for _ in range(count)]
            used = sorted(set("".join(names)))
            result = "".join(choose.sample(used, choose.randint(0, len(used))))
            equation = ",".join(names) + choose.choice(("", "->" + result, "->" + result))
            arrays = [rng().standard_normal([sizes[one] for one in name]) for name in names]
            with self.subTest(equation):
                expected = np.einsum(equation, *arrays)
                got = ops.einsum(equation, *[Tensor(one) for one in arrays])
                self.assertEqual(got.shape, expected.shape)
                self.close(got, expected, 1e-9)

    def test_broadcast_the_first_dimensions(self):
        a, b = rng().standard_normal((5, 1, 2, 3)), rng().standard_normal((4, 3, 2))
        for equation in ("...ij,...jk->...ik", "...ij,...jk", "...ij,...jk->ik..."):
            self.close(ops.einsum(equation, Tensor(a), Tensor(b)), np.einsum(equation, a, b), 1e-9)
        self.close(ops.einsum("i...,i...->...", Tensor(a), Tensor(a)), np.einsum("i...,i...->...", a, a), 1e-9)

    def test_have_gradients(self):
        a, b = rng().standard_normal((3, 4)), rng().standard_normal((5, 4))
        found = ms.grad(lambda x, y: (ops.einsum("ij,kj->ik", x, y) ** 2).sum(), (0, 1))(Tensor(a), Tensor(b))
        product = a @ b.T
        self.close(found[0], 2 * product @ b, 1e-9)
        self.close(found[1], 2 * product.T @ a, 1e-9)
        squares = Tensor(rng().standard_normal((3, 3)))
        self.close(ms.grad(lambda x: ops.einsum("ii", x))(squares), np.eye(3), 1e-9)


class Elements(Case):
    def test_move_as_in_numpy(self):
        choose = random.Random(4)
        for _ in range(30):
            axes = tuple(choose.sample(range(3), choose.randint(1, 3)))
            shifts = tuple(choose.randint(-5, 5) for _ in axes)
            self.close(ops.roll(Tensor(X), shifts, axes), np.roll(X, shifts, axes), 0)
        self.close(ops.roll(Tensor(X), 5), np.roll(X, 5), 0)
        self.close(mnp.roll(Tensor(X), (1, 2), 1), np.roll(X, (1, 2), 1), 0)
        found = ms.grad(lambda x: (ops.roll(x, 1, 2)[..., 0] * 3.0).sum())(Tensor(X))
        self.close(found, np.broadcast_to([0, 0, 0, 3], X.shape), 0)

    def test_have_places_under_the_names_of_mint(self):
        x, places = Tensor(X), np.argsort(X, 1, kind="stable")
        for got, expected in zip(ms.mint.sort(x, dim=1), (np.sort(X, 1), places)):
            self.close(got, expected, 0)
        self.close(ms.mint.argsort(x, 1), places, 0)
        self.assertEqual(ms.mint.argmin(x).dtype, ms.int64)
        self.close(ms.mint.argmin(x, 2, True), X.argmin(2)[..., None], 0)
        self.close(ms.mint.index_select(x, 2, Tensor([3, 0])), X[:, :, [3, 0]], 0)

    def test_have_sines_to_the_last_digits(self):
        for dtype, most, tolerance in (("f4", 1e4, 3e-6), ("f8", 1e5, 1e-13)):
            x = np.concatenate([np.linspace(-most, most, 4001), np.linspace(-7, 7, 2001)]).astype(dtype)
            wide = x.astype(np.longdouble)
            for name in ("sin", "cos"):
                got = getattr(ops, name)(Tensor(x)).asnumpy()
                self.assertLess(np.abs(got - getattr(np, name)(wide)).max(), tolerance, (name, dtype))
        found = ms.grad(lambda x: ops.sin(ops.cos(x)).sum())(Tensor(X.astype("f8")))
        self.close(found, -np.cos(np.cos(X.astype("f8"))) * np.sin(X.astype("f8")), 1e-9)

    def test_have_as_many_right_digits_near_zero(self):
        x = (10.0 ** -np.arange(1, 8)).astype("f4")
        self.close(ops.expm1(Tensor(x)), np.expm1(x.astype("f8")), 1e-6)
        np.testing.assert_allclose(ops.expm1(Tensor(x)).asnumpy(), np.expm1(x.astype("f8")), rtol=1e-6)
        np.testing.assert_allclose(ops.log1p(Tensor(x)).asnumpy(), np.log1p(x.astype("f8")), rtol=1e-6)

    def test_are_drawn_in_and_outside_of_programs(self):
        draw = ms.jit(lambda x: (ops.randn(4, 5) + x, ops.rand(3, dtype=ms.float16), ops.randint(2, 5, (50,))))
        first, shares, whole = draw(Tensor(0.0))
        self.assertEqual((first.shape, shares.dtype, whole.dtype), ((4, 5), ms.float16, ms.int64))
        self.assertEqual(set(whole.asnumpy().tolist()), {2, 3, 4})
        self.assertGreater(float(first.std()), 0.3)
        ms.set_seed(5)
        one, other = ops.uniform((1000,), 2.0, 4.0), ops.normal((1000,), 3.0, 0.5)
        self.assertTrue(2 <= float(one.min()) and float(one.max()) <= 4 and abs(float(one.mean()) - 3) < 0.1)
        self.assertTrue(abs(float(other.mean()) - 3) < 0.1 and abs(float(other.std()) - 0.5) < 0.1)
        places = ops.multinomial(Tensor([1.0, 0.0, 3.0]), 400).asnumpy()
        self.assertTrue(set(places.tolist()) == {0, 2} and 250 < (places == 2).sum() < 350)
        self.assertEqual(sorted(ops.multinomial(Tensor([1.0, 2.0, 3.0]), 3, False).asnumpy().tolist()), [0, 1, 2])
        self.assertNotEqual(ops.rand(4).asnumpy().tolist(), ops.rand(4).asnumpy().tolist())
        self.assertEqual(ops.rand_like(Tensor(X)).shape, X.shape)
        self.assertEqual(ops.randn_like(Tensor(X), dtype=ms.float64).dtype, ms.float64)
        self.assertTrue(0 <= int(ops.randint(0, 2, (1,))[0]) < 2)


class Tools(Case):
    def test_choose_a_function_by_kinds(self):
        scale = ops.MultitypeFuncGraph("scale")

        @scale.register("Tensor", "Number")
        def of_tensor(x, factor):
            return x * factor

        @scale.register("Tuple", "Number")
        def of_tuple(xs, factor):
            return tuple(scale(one, factor) for one in xs)

        @scale.register("None", "Number")
        def of_none(x, factor):
            return None

        x = Tensor([1.0, 2.0])
        self.close(scale((x, x), 3)[1], [3, 6])
        self.assertIsNone(scale(None, 2))
        added = ops.HyperMap(ops.MultitypeFuncGraph("none"))
        with self.refuses(TypeError, "[none] no function for these arguments, got ['Tensor'], expected one of []"):
            added((x,))
        found = ops.HyperMap()(ops.partial(scale), (x, x), (2, 3))
        self.close(found[1], [3, 6])
        self.assertIs(ms.ops.composite.HyperMap, ops.HyperMap)
        with self.refuses(ValueError, "[scale] unknown kind of an argument, got 'Matrix', expected one of"):
            scale.register("Matrix")

    def test_run_while_a_program_is_made(self):
        @ops.constexpr
        def half(size):
            return size // 2

        @ops.primitive.constexpr(reuse_result=False)
        def double(size):
            return size * 2

        @ms.jit_class
        class Scale:
            def __call__(self, x):
                return x * half(double(x.shape[0]))

        self.close(ms.jit(lambda x: ops.depend(Scale()(x), x))(Tensor([1.0, 2.0, 3.0])), [3, 6, 9])

    def test_keep_ops_for_the_same_arguments(self):
        make = ms.ops._primitive_cache._get_cache_prim(ops.Softmax)
        self.assertIs(make(0), make(0))
        self.assertIsNot(make(0), make(1))
        self.assertEqual(make([0]).axis, [0])

    def test_name_the_ops_of_other_modules(self):
        from partita.ops.auto_generate import Tile
        from partita.ops.operations import ReLU6
        from partita.ops.operations._inner_ops import SiLU

        from partita.nn.optim.optimizer import opt_init_args_register
        from partita.ops.auto_generate import SplitWithSize

        first, second = SplitWithSize()(Tensor(X), (1, 2), 1)
        self.close(first, X[:, :1], 0)
        self.close(second, X[:, 1:], 0)
        self.assertIs(opt_init_args_register(len), len)
        self.assertIs(ops.Tensor, Tensor)
        self.assertIs(SiLU, ops.SiLU)
        self.assertIs(Tile, ops.Tile)
        self.assertIs(ReLU6, ops.ReLU6)


class Rates(Case):
    def test_schedules_of_the_package_are_quiet_in_graph_mode(self):
        ms.set_context(mode=ms.GRAPH_MODE)
        self.addCleanup(ms.set_context, mode=ms.PYNATIVE_MODE)
        parameters = nn.Dense(2, 1).trainable_params()
        for schedule in (
            nn.CosineDecayLR(0.01, 0.4, 15),
            nn.PolynomialDecayLR(0.4, 0.01, 15, 0.5),
            nn.ExponentialDecayLR(0.4, 0.9, 4),
            nn.WarmUpLR(0.4, 4),
        ):
            expected = [float(schedule.rate(step)) for step in range(20)]
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                optimizer = nn.SGD(parameters, schedule)
                self.close([optimizer.rate_of(step) for step in range(20)], expected, 1e-7)
            self.assertEqual(errors.getvalue(), "")

    def test_follow_a_schedule(self):
        net = nn.Dense(2, 1)

        class Halves(nn.learning_rate_schedule.LearningRateSchedule):
            def construct(self, global_step):
                return 0.5**global_step

        optimizer = nn.SGD(net.trainable_params(), Halves())
        rates, data = [], ms.dataset.NumpySlicesDataset((np.ones((8, 2), "f4"), np.ones((8, 1), "f4")), shuffle=False)

        class Keep(ms.Callback):
            def on_train_step_end(self, run_context):
                args = run_context.original_args()
                rates.append(
                    (args.learning_rate, float(args.optimizer.learning_rate(args.optimizer.global_step - 1)[0]))
                )

        ms.Model(net, nn.MSELoss(), optimizer).train(1, data.batch(2), [Keep()])
        self.assertEqual(rates, [(0.5**k, 0.5**k) for k in range(4)])
        self.assertTrue(optimizer.dynamic_lr)
        with self.refuses(ValueError, "[SGD] bad learning rate, got -1.0 of step 0, expected a number from 0"):

            class Below(nn.learning_rate_schedule.LearningRateSchedule):
                def construct(self, global_step):
                    return Tensor(-1.0)

            nn.SGD(net.trainable_params(), Below())
        with self.refuses(NotImplementedError, "[LearningRateSchedule] no learning rate, got no construct"):
            nn.SGD(net.trainable_params(), nn.learning_rate_schedule.LearningRateSchedule())


REFUSED = (
    (ValueError, "[tril] no matrix, got shape (3,)", lambda x, v: ops.tril(v)),
    (TypeError, "[triu] diagonal is not an integer, got 1.5", lambda x, v: ops.triu(x, 1.5)),
    (ValueError, "[eye] bad shape, got (-1, -1)", lambda x, v: ops.eye(-1)),
    (ValueError, "[pad] unknown mode, got 'wrap'", lambda x, v: ops.pad(x, (1, 1), "wrap")),
    (ValueError, "[pad] wrong number of sizes, got 3 for shape (2, 3, 4)", lambda x, v: ops.pad(x, (1, 1, 1))),
    (ValueError, "[pad] this mode takes no value, got 1", lambda x, v: ops.pad(x, (1, 1), "reflect", 1)),
    (ValueError, "[pad] more is added than can be reflected, got (4, 0)", lambda x, v: ops.pad(x, (4, 0), "reflect")),
    (ValueError, "[pad] more is added than there is, got (5, 0)", lambda x, v: ops.pad(x, (5, 0), "circular")),
    (ValueError, "[pad] nothing is left, got padding", lambda x, v: ops.pad(v, (-2, -2))),
    (ValueError, "[einsum] wrong number of operands, got 1 for 'i,i', expected 2", lambda x, v: ops.einsum("i,i", v)),
    (ValueError, "[einsum] wrong number of dimensions, got shape (3,) for 'ij'", lambda x, v: ops.einsum("ij", v)),
    (ValueError, "[glu] no two halves, got 3 elements of axis 0", lambda x, v: ops.glu(v, 0)),
    (ValueError, "[norm] no vector or matrix, got shape (2, 3, 4) with ord=2", lambda x, v: ops.norm(x, 2)),
    (ValueError, "[norm] unknown norm of vectors, got ord='fro'", lambda x, v: ops.norm(v, "fro")),
    (ValueError, "[norm] unknown norm of matrices, got ord=3", lambda x, v: ops.norm(x, 3, (0, 1))),
    (ValueError, "[clip_by_global_norm] another norm", lambda x, v: ops.clip_by_global_norm((v,), 1.0, 2.0)),
    (ValueError, "[meshgrid] unknown indexing, got 'x'", lambda x, v: ops.meshgrid(v, v, indexing="x")),
    (
        ValueError,
        "[roll] different numbers of shifts and dims, got [1, 2] and [0]",
        lambda x, v: ops.roll(x, (1, 2), (0,)),
    ),
    (ValueError, "[moveaxis] bad places, got (0, 1) to 0", lambda x, v: ops.moveaxis(x, (0, 1), 0)),
    (
        ValueError,
        "[narrow] outside the tensor, got 2 to 5 of axis 0, expected 0 to 3",
        lambda x, v: ops.narrow(v, 0, 2, 3),
    ),
    (ValueError, "[slice] outside the tensor, got begin (2,) and size (3,)", lambda x, v: ops.slice(v, (2,), (3,))),
    (ValueError, "[tensor_split] bad number of parts, got 0", lambda x, v: ops.tensor_split(v, 0)),
    (ValueError, "[diagonal] the dimensions are the same, got 0 and 0", lambda x, v: ops.diagonal(x, 0, 0, 0)),
    (ValueError, "[diagonal] the dimensions are the same, got 1 and 1", lambda x, v: ops.diagonal(x, 9, 1, 1)),
    (
        ValueError,
        "[gather_elements] wrong number of dimensions, got 1",
        lambda x, v: ops.gather_elements(x, 0, Tensor([0])),
    ),
    (
        ValueError,
        "[gather_elements] more indices than elements, got (3, 1, 1)",
        lambda x, v: ops.gather_elements(x, 1, Tensor(np.zeros((3, 1, 1), "i4"))),
    ),
    (ValueError, "[gather_nd] too many numbers in a place, got 2", lambda x, v: ops.gather_nd(v, Tensor([[0, 0]]))),
    (NotImplementedError, "[nonzero] the result needs values", lambda x, v: ms.jit(ops.nonzero)(v)),
    (NotImplementedError, "[masked_select] the result needs values", lambda x, v: ms.jit(ops.masked_select)(v, v > 0)),
    (ValueError, "[rand] bad size, got -1, expected an integer from 0", lambda x, v: ops.rand(-1)),
    (ValueError, "[randn] dtype is not a type of floats, got Int32", lambda x, v: ops.randn(2, dtype=ms.int32)),
    (ValueError, "[randint] no integers, got 3 to 3", lambda x, v: ops.randint(3, 3, (1,))),
    (TypeError, "[Map] not a tuple or list, got Tensor", lambda x, v: ops.Map(ops.exp)(v)),
    (TypeError, "[HyperMap] no function, got ()", lambda x, v: ops.HyperMap()()),
    (ValueError, "[HyperMap] tuples differ in length, got [1, 2]", lambda x, v: ops.HyperMap(ops.add)((v,), (v, v))),
    (ValueError, "[Pad] wrong number of pairs, got 1, expected 3", lambda x, v: ops.Pad(((1, 1),))(x)),
    (ValueError, "[GroupNorm] bad num_groups, got 0", lambda x, v: nn.GroupNorm(0, 3)),
    (ValueError, "[GroupNorm] channels do not divide into groups, got 3 in 2", lambda x, v: nn.GroupNorm(2, 3)),
    (ValueError, "[GroupNorm] wrong channels, got shape (2, 3, 4), expected 4", lambda x, v: nn.GroupNorm(2, 4)(x)),
    (ValueError, "[Conv1d] unknown pad_mode, got 'none'", lambda x, v: nn.Conv1d(1, 1, 1, pad_mode="none")),
    (
        ValueError,
        "[Conv1d] channels do not divide into groups, got 3 to 2 in 3",
        lambda x, v: nn.Conv1d(3, 2, 1, group=3),
    ),
    (ValueError, "[Conv1d] wrong number of dimensions, got (3,)", lambda x, v: nn.Conv1d(3, 2, 1)(v)),
    (ValueError, "[Pad] unknown mode, got 'EDGE'", lambda x, v: nn.Pad(((1, 1),), "EDGE")),
    (ValueError, "[pad] more is added than can be mirrored", lambda x, v: nn.Pad(((4, 1),), "SYMMETRIC")(v)),
    (ValueError, "[Pad] bad paddings, got (1,)", lambda x, v: nn.Pad((1,))),
    (ValueError, "[Pad] wrong number of pairs, got 1, expected 3", lambda x, v: nn.Pad(((1, 1),))(x)),
    (ValueError, "[ZeroPad2d] wrong number of sizes, got (1,)", lambda x, v: nn.ZeroPad2d((1,))),
    (ValueError, "[pixel_shuffle] wrong channels, got 2, expected a multiple of 4", lambda x, v: nn.PixelShuffle(2)(x)),
    (ValueError, "[PReLU] bad channel, got 0", lambda x, v: nn.PReLU(0)),
    (
        TypeError,
        "[ExponentialDecayLR] learning_rate is not a number, got '1'",
        lambda x, v: nn.ExponentialDecayLR("1", 1.0, 1),
    ),
    (ValueError, "[WarmUpLR] bad warmup_steps, got 0", lambda x, v: nn.WarmUpLR(0.1, 0)),
    (ValueError, "[CosineDecayLR] bad min_lr, got 0.2", lambda x, v: nn.CosineDecayLR(0.2, 0.1, 3)),
    (ValueError, "[cosine_decay_lr] bad min_lr, got 0.2", lambda x, v: nn.cosine_decay_lr(0.2, 0.1, 3, 1, 1)),
    (TypeError, "[warmup_lr] total_step is not an integer, got 1.5", lambda x, v: nn.warmup_lr(0.1, 1.5, 1, 1)),
    (ValueError, "[warmup_lr] bad learning_rate, got 0", lambda x, v: nn.warmup_lr(0, 1, 1, 1)),
    (ValueError, "[piecewise_constant_lr] different numbers", lambda x, v: nn.piecewise_constant_lr([1], [])),
    (
        ValueError,
        "[piecewise_constant_lr] bad milestone, got 1",
        lambda x, v: nn.piecewise_constant_lr([2, 1], [0.1, 0.1]),
    ),
    (ValueError, "[interpolate] one of two is to be given, got size=None", lambda x, v: ops.interpolate(x)),
    (ValueError, "[interpolate] unknown mode, got 'cubic'", lambda x, v: ops.interpolate(x, 3, mode="cubic")),
    (ValueError, "[interpolate] wrong number of dimensions", lambda x, v: ops.interpolate(x, 3, mode="bilinear")),
    (ValueError, "[interpolate] this mode has no corners", lambda x, v: ops.interpolate(x, 3, align_corners=True)),
    (ValueError, "[interpolate] wrong number of sizes, got [3, 3]", lambda x, v: ops.interpolate(x, (3, 3))),
    (ValueError, "[interpolate] nothing is left, got sizes [0]", lambda x, v: ops.interpolate(x, (0,))),
    (TypeError, "[assign_add] not a parameter, got Tensor", lambda x, v: ops.assign_add(v, v)),
    (
        ValueError,
        "[tensor_scatter_elements] unknown reduction, got 'max'",
        lambda x, v: ops.tensor_scatter_elements(v, Tensor([0]), Tensor([1.0]), 0, "max"),
    ),
    (
        ValueError,
        "[tensor_scatter_elements] the shapes do not fit",
        lambda x, v: ops.tensor_scatter_elements(v, Tensor([[0]]), Tensor([[1.0]])),
    ),
    (NotImplementedError, "[unique_consecutive] the result", lambda x, v: ms.jit(ops.unique_consecutive)(v)),
    (ValueError, "[multinomial] bad num_samples, got 4", lambda x, v: ops.multinomial(v, 4, False)),
    (
        ValueError,
        "[Conv2dTranspose] unknown pad_mode, got 'none'",
        lambda x, v: nn.Conv2dTranspose(1, 1, 1, pad_mode="none"),
    ),
    (ValueError, "[Conv2dTranspose] channels do not divide", lambda x, v: nn.Conv2dTranspose(3, 2, 1, group=3)),
    (
        ValueError,
        "[Conv2dTranspose] bad padding, got 1 and 0 with same",
        lambda x, v: nn.Conv2dTranspose(1, 1, 1, padding=1),
    ),
    (
        ValueError,
        "[Conv2dTranspose] bad output_padding, got 1 rows, expected 0 to 0",
        lambda x, v: nn.Conv2dTranspose(1, 1, 1, pad_mode="pad", output_padding=1),
    ),
    (ValueError, "[Conv2dTranspose] wrong number of dimensions, got (3,)", lambda x, v: nn.Conv2dTranspose(1, 1, 1)(v)),
    (ValueError, "[Conv1dTranspose] wrong number of dimensions, got (3,)", lambda x, v: nn.Conv1dTranspose(1, 1, 1)(v)),
    (ValueError, "[split] parts are not equal, got 2 of 3", lambda x, v: mnp.split(v, 2)),
    (TypeError, "[where] a choice needs two tensors", lambda x, v: mnp.where(v > 0)),
    (ValueError, "[take] unknown mode, got 'x'", lambda x, v: mnp.take(v, 0, mode="x")),
    (TypeError, "[average] weights do not fit, got shape (3,) and axis None", lambda x, v: mnp.average(x, weights=v)),
    (ValueError, "[clip] no limit is given, got None and None", lambda x, v: mnp.clip(x, None, None)),
    (ValueError, "[diag] no vector or matrix, got shape (2, 3, 4)", lambda x, v: mnp.diag(x)),
)


class Refusals(Case):
    def test_say_what_was_wrong(self):
        x, v = Tensor(X), Tensor([1.0, 2.0, 3.0])
        for kind, text, call in REFUSED:
            with self.subTest(text), self.refuses(kind, text, "expected"):
                call(x, v)
        self.assertEqual(float(ops.norm(v, math.inf)), 3.0)
