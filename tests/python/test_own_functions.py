"""Functions with a gradient of one's own, and other modules that libraries import."""

import numpy as np
from support import Case, rng

import partita as ms
from partita import nn, ops


class Scaled(ms._Function):
    """x exp(x) scale, whose gradient uses an argument, a result and a tensor between them."""

    @staticmethod
    def forward(ctx, x, scale):
        e = ops.exp(x)
        y = x * e * scale
        ctx.save_for_backward(x, e, y)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx, dy):
        x, e, y = ctx.saved_tensors
        return dy * (e * ctx.scale + y), None


class Two(ms._Function):
    """Two results; the context is set up apart."""

    @staticmethod
    def forward(a, b):
        return a * b, a + b

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, product, total):
        a, b = ctx.saved_tensors
        return product * b + total, product * a + 2 * total  # not quite the gradient


class Functions(Case):
    def test_have_the_gradients_of_backward(self):
        for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
            ms.set_context(mode=mode)
            for seed in range(3):  # the later steps follow the first one
                x = rng(seed).standard_normal((2, 3)).astype("f4")
                self.close(Scaled.apply(ms.Tensor(x), 2.0), x * np.exp(x) * 2, 1e-5)
                found = ms.grad(lambda a: (Scaled.apply(a, 2.0) * 3).sum())(ms.Tensor(x))
                self.close(found, 6 * (np.exp(x) + x * np.exp(x)), 1e-5)

    def test_have_several_results(self):
        a, b = (ms.Tensor(rng(i).standard_normal((4,)).astype("f4")) for i in (1, 2))
        parts = Two.apply(a, b)
        self.close(parts[1], a.asnumpy() + b.asnumpy())

        def total(a, b):
            product, added = Two.apply(a, b)
            return (product + 5 * added).sum()

        da, db = ms.grad(total, (0, 1))(a, b)
        self.close(da, b.asnumpy() + 5, 1e-6)
        self.close(db, a.asnumpy() + 10, 1e-6)

    def test_train_in_a_network(self):
        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.dense = nn.Dense(3, 2)

            def construct(self, x):
                return Scaled.apply(self.dense(x), 0.5)

        class Plain(Net):
            def construct(self, x):
                y = self.dense(x)
                return y * ops.exp(y) * 0.5

        weights = []
        for kind in (Net, Plain):
            ms.set_seed(5)
            net = kind()
            data = ms.dataset.NumpySlicesDataset((rng(4).random((8, 3), "f4"), np.ones((8, 2), "f4")), shuffle=False)
            model = ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
            model.train(2, data.batch(4))
            weights.append(net.dense.weight.asnumpy())
        self.close(weights[0], weights[1], 1e-6)

    def test_data_has_no_gradient(self):
        x = ms.Tensor(rng().standard_normal((3,)).astype("f4"))
        self.close(ms.grad(lambda a: ((a * 2).data * a).sum())(x), 2 * x.asnumpy(), 1e-6)


class Modules(Case):
    def test_that_libraries_import(self):
        from partita import _checkparam, log
        from partita._c_expression import ParamInfo, TensorPy, jit_mode_pi_enable  # noqa: F401
        from partita._check_jit_forbidden_api import jit_forbidden_register
        from partita._extends.parse import resources, trope
        from partita.communication import _comm_helper
        from partita.parallel import _ps_context
        from partita.train import _utils

        self.assertEqual((trope.not_contains([1], 2), trope.add(2, 3), trope.max(1, 4)), (True, 5, 4))
        self.assertEqual(resources.convert_object_map, {})
        self.assertFalse(_comm_helper._is_initialized() or _ps_context._is_role_sched())
        self.assertIs(jit_forbidden_register(len), len)
        self.assertTrue(_checkparam.check_str_by_regular("a.b_1"))
        with self.refuses(ValueError, "got 'a b', expected a text that fits"):
            _checkparam.check_str_by_regular("a b")
        _checkparam.check_types_same_and_valid({"x": ms.float32, "y": ms.float32}, (ms.float32, ms.int32), "Op")
        with self.refuses(TypeError, "bad y"):
            _checkparam.check_types_same_and_valid({"x": ms.float32, "y": ms.int32}, (ms.float32, ms.int32), "Op")
        with self.refuses(TypeError, "[directory] not a path"):
            _utils._make_directory(3)
        seen = []

        class Logger:
            def warning(self, text):
                seen.append(text)

        logger = Logger()
        say = log._LogActionOnce(logger, "key")(lambda: logger.warning("once"))
        say()
        say()
        self.assertEqual(seen, ["once"])
