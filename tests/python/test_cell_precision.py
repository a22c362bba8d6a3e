"""Cells and layers with a precision of their own: in Model, in loops and alone, within networks of others."""

import contextlib
import copy
import io
import pickle

import numpy as np
from support import Case, labelled, Small
from test_precision import by_gradients, HALVES, losses_of_loop, losses_of_model, rounded

import partita as ms
from partita import amp, nn, ops, Tensor, train
from partita import dataset as ds

KINDS = {**HALVES, "f32": ms.float32}


def made(change=lambda net: None):
    """A network of two layers, changed."""
    ms.set_seed(1)
    net = Small()
    change(net)
    return net


def whole(kind):
    return lambda net: amp.auto_mixed_precision(net, "O1", HALVES[kind])


def layers(first, second, around=None):
    """Sets the precision of each layer, and of what is around them."""

    def change(net):
        for cell, kind in ((net, around), (net.fc1, first), (net.fc2, second)):
            if kind:
                cell.to_float(KINDS[kind])

    return change


def product(x, w, kind):
    """x w^T of rounded operands, in float64."""
    if kind == "f32":
        return x.astype("f8") @ w.astype("f8").T
    return rounded(x, kind).astype("f8") @ rounded(w, kind).astype("f8").T


class ToFloat(Case):
    def test_returns_the_cell(self):
        cell = nn.Dense(3, 2)
        self.assertIs(cell.to_float(ms.float16), cell)
        with self.refuses(TypeError, "[Cell.to_float] not a type of products, got Int32, expected float16"):
            cell.to_float(ms.int32)
        with self.refuses(TypeError, "[Cell.to_float] not a type of products, got fp16"):
            cell.to_float("fp16")

    def test_of_a_network_is_that_of_auto_mixed_precision(self):
        loss = nn.CrossEntropyLoss()
        for kind in HALVES:
            expected = losses_of_model("", made(whole(kind)), loss)[0]
            net = made(lambda net, kind=kind: net.to_float(HALVES[kind]))
            self.assertEqual(losses_of_model("", net, loss)[0], expected)

    def test_computes_products_of_that_type(self):
        numbers = np.random.default_rng(2)
        x, w = (numbers.standard_normal(shape).astype("f4") for shape in ((5, 7), (3, 7)))
        for kind in KINDS:
            dense = nn.Dense(7, 3, weight_init=Tensor(w), has_bias=False).to_float(KINDS[kind])
            got = dense(Tensor(x))
            self.assertEqual(got.dtype, ms.float32)
            exact = product(x, w, kind)
            spacing = {"bf16": 2**-8, "f16": 2**-11, "f32": 1e-6}[kind]  # of the result
            np.testing.assert_allclose(got.asnumpy(), exact, rtol=spacing, atol=1e-6)
            self.assertEqual(dense.weight.dtype, ms.float32)

    def test_of_float32_widens_inputs(self):
        x = Tensor(labelled(4)[0]).astype(ms.bfloat16)
        for function in (lambda cell: cell, ms.jit):
            self.assertEqual(function(nn.Softmax())(x).dtype, ms.bfloat16)
            self.assertEqual(function(nn.Softmax().to_float(ms.float32))(x).dtype, ms.float32)

    def test_inner_cells_have_precisions_of_their_own(self):
        loss = nn.CrossEntropyLoss()
        changes = {
            "f32": layers("f32", "f32"),
            "one": layers("bf16", None),
            "other": layers("f16", "bf16"),
            "within": layers("f32", None, "f16"),
            "both": layers("bf16", "f16", "bf16"),
        }
        found = {}
        for name, change in changes.items():
            with self.subTest(name):
                found[name] = losses_of_model("", made(change), loss)
                net = made(change)
                step = by_gradients(net, lambda x, y, net=net: loss(net(x), y))
                losses, after = losses_of_loop(net, step)
                self.assertEqual(losses, found[name][0])
                for one, expected in zip(after, found[name][1], strict=True):
                    np.testing.assert_array_equal(one, expected)
        self.assertEqual(found["f32"][0], losses_of_model("", made(), loss)[0])
        self.assertEqual(len({tuple(losses) for losses, _ in found.values()}), len(changes))

    def test_losses_keep_their_digits(self):
        found = []
        for change in (whole("bf16"), layers(None, None)):
            net = made(change)
            loss = nn.CrossEntropyLoss().to_float(ms.float16)
            found.append(losses_of_model("", net, loss)[0])
            self.assertEqual(found[-1], losses_of_model("", made(change), nn.CrossEntropyLoss())[0])
        self.assertNotEqual(*found)

    def test_changes_programs(self):
        x, net = Tensor(labelled(8)[0]), made()
        call = ms.jit(lambda a: net(a))
        full = call(x).asnumpy()
        net.fc1.to_float(ms.bfloat16)
        half = call(x).asnumpy()
        self.assertFalse(np.array_equal(full, half))
        net.fc1.to_float(ms.float32)
        np.testing.assert_array_equal(call(x).asnumpy(), full)

    def test_of_cells_that_compute_nothing(self):
        net = made(lambda net: (net.to_float(ms.bfloat16), net.norm.to_float(ms.float32)))
        losses = losses_of_model("", net, nn.CrossEntropyLoss())[0]
        self.assertEqual(losses, losses_of_model("", made(whole("bf16")), nn.CrossEntropyLoss())[0])

    def test_evaluations_and_predictions_round(self):
        x = Tensor(labelled(8)[0])
        net = made(layers("bf16", None))
        predicted = train.Model(net).predict(x).asnumpy()
        np.testing.assert_array_equal(ms.jit(lambda a: net(a))(x).asnumpy(), predicted)
        self.assertFalse(np.array_equal(train.Model(made()).predict(x).asnumpy(), predicted))


class Blocks(nn.Cell):
    """Layers in a list of cells, or in one of Python."""

    def __init__(self, kind=list):
        super().__init__()
        self.blocks = kind([nn.Dense(6, 8), nn.Dense(8, 8), nn.Dense(8, 3)])
        if kind is list:
            for i, block in enumerate(self.blocks):
                block.update_parameters_name(f"blocks.{i}.")

    def trainable_params(self, recurse=True):
        found = {id(param): param for block in self.blocks for param in block.trainable_params(recurse)}
        return list(found.values())

    def construct(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class Caller(nn.Cell):
    """Calls a function."""

    def __init__(self, function):
        super().__init__()
        self.__dict__["function"] = function

    def construct(self, x):
        return self.function(x)


class Indirect(nn.Cell):
    """A network one of whose layers is called by another cell than the one that has it."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.SequentialCell(nn.Dense(6, 8), nn.Dense(8, 8), nn.Dense(8, 3))
        self.inner = Caller(self.blocks[1])

    def construct(self, x):
        return self.blocks[2](self.inner(self.blocks[0](x)))


class Related(Blocks):
    """A network whose layers know it."""

    def __init__(self):
        super().__init__(nn.CellList)
        names = [param.name for param in self.get_parameters()]
        self.blocks[0].parent = self
        for param, name in zip(self.get_parameters(), names):
            param.name = name


class Structures(Case):
    """Networks whose cells are not attributes, or are called by other cells than their owners."""

    kinds = {
        "CellList": lambda: Blocks(nn.CellList),
        "SequentialCell": lambda: Blocks(nn.SequentialCell),
        "list": Blocks,
        "other caller": Indirect,
        "parent": Related,
    }

    def made(self, name, around, inner):
        ms.set_seed(1)
        net = self.kinds[name]()
        if around:
            net.to_float(KINDS[around])
        if inner:
            net.blocks[1].to_float(KINDS[inner])
        return net

    def test_train_as_loops_do(self):
        loss = nn.CrossEntropyLoss()
        for name in self.kinds:
            found = set()
            for around, inner in (("bf16", None), ("bf16", "f32"), (None, "f16"), (None, None)):
                with self.subTest(name, around=around, inner=inner):
                    losses, parameters = losses_of_model("", self.made(name, around, inner), loss)
                    net = self.made(name, around, inner)
                    step = by_gradients(net, lambda x, y, net=net: loss(net(x), y))
                    losses_then, after = losses_of_loop(net, step)
                    self.assertEqual(losses_then, losses)
                    for one, expected in zip(after, parameters, strict=True):
                        np.testing.assert_array_equal(one, expected)
                    found.add(tuple(losses))
            self.assertEqual(len(found), 4)

    def test_evaluate_and_predict_as_they_compute(self):
        x, y = labelled(24)
        rows = ds.NumpySlicesDataset((x, y), ["data", "label"], shuffle=False).batch(24)
        for name in self.kinds:
            values = []
            for around, inner in (("bf16", None), ("bf16", "f32")):
                net, loss = self.made(name, around, inner), nn.CrossEntropyLoss()
                values.append(ms.jit(lambda a, net=net: net(a))(Tensor(x)).asnumpy())
                np.testing.assert_array_equal(train.Model(net).predict(Tensor(x)).asnumpy(), values[-1])
                measured = train.Model(net, loss, metrics={"loss"}).eval(rows)["loss"]
                self.close(measured, loss(Tensor(values[-1]), Tensor(y)).asnumpy())
            self.assertFalse(np.array_equal(*values))

    def test_scale_losses_in_f16(self):
        x, y = labelled(24)
        rows = ds.NumpySlicesDataset((x, y), ["data", "label"], shuffle=False).batch(24)
        for name in self.kinds:
            net = self.made(name, None, "f16")
            optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                train.Model(net, nn.CrossEntropyLoss(), optimizer).fit(1, rows, rows)
            self.assertNotIn("losses are not scaled", errors.getvalue(), name)

    def test_lists_hand_the_precision_to_their_cells(self):
        x = Tensor(labelled(8)[0])
        for kind in (nn.CellList, nn.SequentialCell):
            cells = kind(nn.Dense(6, 8), nn.SequentialCell(nn.Dense(8, 8), nn.Dense(8, 3).to_float(ms.float32)))
            cells.to_float(ms.bfloat16)
            cells.append(nn.Dense(3, 3))
            given = x
            for cell, own in ((cells[0], "bf16"), (cells[1][0], "bf16"), (cells[1][1], "f32"), (cells[2], "bf16")):
                weight, bias = cell.weight.asnumpy(), cell.bias.asnumpy()
                np.testing.assert_allclose(
                    cell(given).asnumpy(), product(given.asnumpy(), weight, own) + bias, rtol=2**-7, atol=1e-2
                )
                self.assertEqual(cell._precision, own)
                given = cell(given)
            cells.to_float(ms.float16)
            found = [cell._precision for cell in (cells[0], *cells[1], cells[2])]
            self.assertEqual(found, ["f16", "f16", "f32", "f16"])


class LayerTypes(Case):
    def test_parameters_stay_float32(self):
        x = Tensor(np.random.default_rng(1).standard_normal((2, 4, 6, 6)).astype("f4"))
        rows, ids = x[:, :, 0, 0], Tensor(np.array([[1, 2], [0, 3]], "i4"))
        for kind in HALVES:
            dtype = HALVES[kind]
            for build, given in (
                (lambda **one: nn.Dense(4, 3, **one), rows),
                (lambda **one: ms.mint.nn.Linear(4, 3, **one), rows),
                (lambda **one: nn.Conv2d(4, 5, 3, has_bias=True, **one), x),
                (lambda **one: nn.Embedding(5, 4, **one), ids),
                (lambda **one: nn.LayerNorm((6,), **one), x),
                (lambda **one: nn.BatchNorm2d(4, **one), x),
                (lambda **one: nn.Dropout(p=0.5, **one), x),
            ):
                with self.subTest(kind=kind, layer=type(build()).__name__):
                    ms.set_seed(1)
                    full = build()
                    ms.set_seed(1)
                    half = build(dtype=dtype)
                    self.assertTrue(all(one.dtype == ms.float32 for one in half.get_parameters()))
                    for one, other in zip(full.get_parameters(), half.get_parameters(), strict=True):
                        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
                    expected, got = full(given), half(given)
                    self.assertEqual(got.dtype, ms.float32)
                    np.testing.assert_allclose(got.asnumpy(), expected.asnumpy(), rtol=0.05, atol=0.03)
                    if isinstance(full, (nn.Dense, nn.Conv2d, nn.Embedding)):
                        self.assertFalse(np.array_equal(got.asnumpy(), expected.asnumpy()))

    def test_is_one_of_floats(self):
        for build in (
            lambda dtype: nn.Dense(4, 3, dtype=dtype),
            lambda dtype: nn.Conv2d(4, 5, 3, dtype=dtype),
            lambda dtype: nn.Dropout(p=0.5, dtype=dtype),
            lambda dtype: nn.Embedding(5, 4, dtype=dtype),
            lambda dtype: nn.LayerNorm((6,), dtype=dtype),
            lambda dtype: nn.BatchNorm1d(4, dtype=dtype),
            lambda dtype: nn.BatchNorm2d(4, dtype=dtype),
        ):
            where = type(build(ms.float64)).__name__
            for dtype in (ms.int32, int, np.uint8, ms.bool_):
                with self.subTest(layer=where), self.refuses(
                    TypeError,
                    f"[{where}] dtype is not a type of floats, got ",
                    ", expected float16, bfloat16, float32 or float64",
                ):
                    build(dtype)

    def test_is_that_of_to_float(self):
        loss = nn.CrossEntropyLoss()
        found = []
        for dtype in (ms.float32, ms.bfloat16):
            ms.set_seed(1)
            net = nn.SequentialCell(nn.Dense(6, 8, dtype=dtype), nn.ReLU(), nn.Dense(8, 3))
            if dtype == ms.float32:
                net[0].to_float(ms.bfloat16)
            found.append(losses_of_model("", net, loss)[0])
        self.assertEqual(*found)

    def test_gradients_and_updates_are_float32(self):
        ms.set_seed(1)
        net = nn.Dense(6, 3, dtype=ms.float16)
        x, y = labelled(24)
        step = ms.value_and_grad(lambda a, b: ops.cross_entropy(net(a), b), 0, net.trainable_params())
        _, (of_input, of_weights) = step(Tensor(x), Tensor(y))
        for one in (of_input, *of_weights):
            self.assertEqual(one.dtype, ms.float32)


class OwnGradient(nn.Cell):
    """x x^T, with a gradient of its own."""

    def construct(self, x):
        return ops.matmul(x, x.T)

    def bprop(self, x, out, dout):
        return ops.matmul(dout + dout.T, x)


class Hidden(nn.Cell):
    """A cell that calls one in a list, and takes other arguments than tensors."""

    def __init__(self):
        super().__init__()
        self.__dict__["layers"] = [nn.Dense(6, 3, has_bias=False).to_float(ms.bfloat16)]

    def construct(self, x, factor=1.0, mask=None):
        y = self.layers[0](x) * factor
        return y if mask is None else y * mask


class Programs(Case):
    def test_have_networks_of_several_precisions(self):
        x = Tensor(labelled(8)[0])
        nets = [made(whole("bf16")), made(whole("f16")), made()]
        for i, net in enumerate(nets):
            net.update_parameters_name(f"net{i}.")
        both = ms.jit(lambda a: tuple(net(a) for net in [*nets, nets[0]]))(x)
        for one, net in zip(both, [*nets, nets[0]]):
            expected = ms.jit(lambda a, net=net: net(a))(x)
            np.testing.assert_array_equal(one.asnumpy(), expected.asnumpy())
        self.assertEqual(len({one.asnumpy().tobytes() for one in both}), 3)

    def test_round_cells_of_one_name_each_in_its_precision(self):
        x = Tensor(labelled(8)[0])
        for kind in (nn.CellList, nn.SequentialCell):
            ms.set_seed(1)
            layers = [kind(nn.Dense(6, 8), nn.Dense(8, 3)) for _ in range(4)]
            for own, number, one in zip(("bf16", "f32", None, "f16"), range(4), layers):
                one.update_parameters_name(f"list{number}.")
                if own:
                    one.to_float(KINDS[own])
            alone = [ms.jit(lambda a, one=one: one[1](one[0](a)))(x).asnumpy() for one in layers]
            for order in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2, 1, 3)):
                together = ms.jit(lambda a, order=order: tuple(layers[i][1](layers[i][0](a)) for i in order))(x)
                for i, found in zip(order, together):
                    np.testing.assert_array_equal(found.asnumpy(), alone[i])
            for i, own in enumerate(("bf16", "f32", "f32", "f16")):
                first = product(x.asnumpy(), layers[i][0].weight.asnumpy(), own) + layers[i][0].bias.asnumpy()
                found = ms.jit(lambda a, i=i: layers[i][0](a))(x).asnumpy()
                np.testing.assert_allclose(found, first, rtol=2**-7 if own != "f32" else 1e-5, atol=1e-5)

    def test_train_cells_of_one_name_each_in_its_precision(self):
        class Pair(nn.Cell):
            def __init__(self):
                super().__init__()
                self.first = nn.CellList([nn.Dense(6, 8)]).to_float(ms.bfloat16)
                self.second = nn.CellList([nn.Dense(8, 8)])
                self.third = nn.CellList([nn.Dense(8, 3)]).to_float(ms.float16)

            def construct(self, x):
                return self.third[0](self.second[0](self.first[0](x)))

        loss, found = nn.CrossEntropyLoss(), []
        for second in (None, "f32", "bf16"):
            results = []
            for loop in (False, True):
                ms.set_seed(1)
                net = Pair()
                if second:
                    net.second.to_float(KINDS[second])
                step = by_gradients(net, lambda x, y, net=net: loss(net(x), y))
                results.append((losses_of_loop(net, step) if loop else losses_of_model("", net, loss))[0])
            self.assertEqual(*results)
            found.append(results[0])
        self.assertEqual(found[0], found[1])
        self.assertNotEqual(found[1], found[2])

    def test_round_in_gradients_of_ones_own(self):
        x = np.random.default_rng(4).standard_normal((3, 5)).astype("f4")
        for kind in HALVES:
            cell = OwnGradient().to_float(HALVES[kind])
            value, found = ms.value_and_grad(lambda a, cell=cell: cell(a).sum())(Tensor(x))
            expected = product(np.full((3, 3), 2, "f4"), x.T, kind)
            np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5)
            self.assertFalse(np.allclose(found.asnumpy(), product(np.full((3, 3), 2, "f4"), x.T, "f32"), rtol=1e-5))

    def test_round_in_cells_of_lists(self):
        x, cell = Tensor(labelled(8)[0]), Hidden()
        expected = product(x.asnumpy(), cell.layers[0].weight.asnumpy(), "bf16")
        for function in (cell, ms.jit(lambda a: cell(a))):
            np.testing.assert_allclose(function(x).asnumpy(), expected, rtol=2**-8)

    def test_take_tensors_by_name_and_in_collections(self):
        x = Tensor(labelled(8)[0])

        class Summed(nn.Cell):
            def __init__(self):
                super().__init__()
                self.fc = nn.Dense(6, 3)

            def construct(self, parts):
                return self.fc(parts["x"] if isinstance(parts, dict) else parts[0])

        class Typed(nn.Cell):
            def construct(self, one, more=()):
                return one, *more

        ms.set_seed(1)
        for kind in HALVES:
            net, layer = Summed().to_float(HALVES[kind]), nn.Dense(6, 3).to_float(HALVES[kind])
            once = layer(x).asnumpy()
            np.testing.assert_array_equal(layer(x=x).asnumpy(), once)
            once = ms.jit(lambda a, net=net: net([a]))(x).asnumpy()
            for parts in ([x], (x,), {"x": x}):
                np.testing.assert_array_equal(net(parts).asnumpy(), once)
                np.testing.assert_array_equal(net(parts=parts).asnumpy(), once)
            net.to_float(ms.float32)
            self.assertFalse(np.array_equal(net([x]).asnumpy(), once))
            half, cell = x.astype(HALVES[kind]), Typed().to_float(ms.float32)
            for found in (cell(half, more=[half]), cell(one=half, more=(half, x))):
                self.assertTrue(all(one.dtype == ms.float32 for one in found))

    def test_take_other_arguments(self):
        x, cell = Tensor(labelled(8)[0]), Hidden().to_float(ms.float16)
        once = cell(x).asnumpy()
        np.testing.assert_array_equal(cell(x, 2.0).asnumpy(), once * 2)
        np.testing.assert_array_equal(cell(x, factor=4.0).asnumpy(), once * 4)
        np.testing.assert_array_equal(cell(x, mask=Tensor(2.0)).asnumpy(), once * 2)

    def test_of_copies_have_the_precision(self):
        x, net = Tensor(labelled(8)[0]), made(layers("bf16", "f32", "f16"))
        for one in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            np.testing.assert_array_equal(one(x).asnumpy(), net(x).asnumpy())

    def test_of_parts_of_a_batch_have_the_precision(self):
        loss = nn.CrossEntropyLoss()
        for change in (whole("bf16"), layers("bf16", None)):
            expected = losses_of_model("", made(change), loss)[0]
            for wrap in (nn.GradAccumulationCell, nn.PipelineCell):
                found = losses_of_model("", wrap(made(change), 2), loss)[0]
                np.testing.assert_allclose(found, expected, rtol=1e-3)
            with_loss = nn.WithLossCell(made(change), loss)
            self.assertEqual(losses_of_model("", with_loss)[0], expected)


class ResultsOf16Bits(Case):
    """Cells that cast results to 16 bits, as scripts do around norms of networks in 16 bits."""

    def test_reach_layers_with_parameters(self):
        class Cast(nn.Cell):
            def __init__(self, cell):
                super().__init__()
                self.cell = cell.to_float(ms.float32)

            def construct(self, x):
                return ops.cast(self.cell(x), ms.float16)

        x = np.random.default_rng(2).standard_normal((3, 4)).astype("f4")
        dense = nn.Dense(4, 5).to_float(ms.float16)
        net = nn.SequentialCell(Cast(nn.LayerNorm((4,))), dense)
        normed = rounded((x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-7), "f16")
        for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
            ms.set_context(mode=mode)
            result = net(Tensor(x))
            self.assertEqual(result.dtype, ms.float32)
            self.close(result, product(normed, dense.weight.asnumpy(), "f16") + dense.bias.asnumpy(), 2e-3)

    def test_meet_others(self):
        class Joined(nn.Cell):
            def __init__(self):
                super().__init__()
                self.token = ms.Parameter(Tensor(np.ones((1, 2), "f4")))

            def construct(self, x):
                joined = ops.concat((self.token, ops.cast(x, ms.float16)))
                return ops.matmul(ops.cast(x, ms.float16), joined.T)

        x = np.array([[1.0, 2.0], [0.5, 4.0]], "f4")
        result = Joined().to_float(ms.float16)(Tensor(x))
        self.close(result, x @ np.concatenate([np.ones((1, 2)), x]).T, 1e-3)
        with self.refuses(TypeError, "[matmul] operands differ in element type"):
            ops.matmul(Tensor(x), Tensor(x.astype("f2")))

    def test_are_joined_in_the_widest_type(self):
        parts = {"f2": Tensor(np.ones(2, "f2")), "f4": Tensor(np.ones(2, "f4")), "i4": Tensor(np.ones(2, "i4"))}
        for first, second, dtype in (("f2", "f4", ms.float32), ("i4", "f2", ms.float16), ("f4", "i4", ms.float32)):
            self.assertEqual(ops.concat((parts[first], parts[second])).dtype, dtype)
        both = ops.concat((parts["f2"], Tensor(np.ones(2, "f4")).astype(ms.bfloat16)))
        self.assertEqual(both.dtype, ms.float32)
