"""Strategies of primitives: what they compute on several ranks is what one rank computes, and what does not fit is
refused in words of the primitive."""

import contextlib
import random
from unittest import mock

import numpy as np
from strategy_cases import LAYERS, PRIMITIVES, arrays
from support import Case

import partita as ms
from partita import Layout, Parameter, Tensor, nn, ops
from partita import dataset as ds
from partita.ops import strategies
from partita.train import Model


class Network(nn.Cell):
    """Parameters in place of floats, and labels in place of integers, through a primitive or a layer."""

    def __init__(self, call, inputs, layer=None):
        super().__init__()
        self.call, self.inputs = call, inputs
        self.weights = [
            Parameter(Tensor(one), name=f"w{i}") if one.dtype == np.float32 else Tensor(one)
            for i, one in enumerate(inputs)
        ]
        for one in self.weights:
            if isinstance(one, Parameter):
                setattr(self, one.name, one)
        if layer is not None:
            self.layer = layer

    def construct(self, x):
        y = self.call(*[ops.mul(one, 1.5) if isinstance(one, Parameter) else one for one in self.weights])
        y = ops.cast(y, ms.float32)
        return ops.add(ops.mean(ops.mul(y, y)), ops.mul(ops.mean(x), 0.0))


def trained(net, ranks):
    """The losses and the parameters of two steps on some ranks."""
    ms.set_context(ranks=ranks)
    ms.set_auto_parallel_context(
        parallel_mode="semi_auto_parallel" if ranks > 1 else "stand_alone", full_batch=ranks > 1
    )
    found = trained_as_set(net)
    ms.reset_auto_parallel_context()
    return found


def trained_as_set(net):
    """The losses and the parameters of two steps, as the context says."""
    net.set_train()
    rows = ds.NumpySlicesDataset((np.ones((4, 2), "f4"),), ["data"], shuffle=False).batch(4)
    losses = []

    class Kept(ms.train.Callback):
        def step_end(self, run_context):
            losses.append(float(np.asarray(run_context.original_args().net_outputs.asnumpy())))

    Model(net, None, nn.SGD(net.trainable_params(), 0.1)).train(2, rows, [Kept()])
    return losses, [one.asnumpy() for one in net.trainable_params()]


def primitive(name, strategy=None):
    """The network of a case."""
    make, call, shapes, _ = PRIMITIVES[name]
    op = make()
    if strategy is not None:
        op.shard(*strategy) if isinstance(strategy, list) else op.shard(strategy)
    return Network(lambda *inputs: call(op, *inputs), arrays(shapes))


@contextlib.contextmanager
def said_cuts():
    """The texts that ops are annotated with."""
    said, print_cuts = [], strategies.Strategy.print
    with mock.patch.object(strategies.Strategy, "print", lambda *a: said.append(print_cuts(*a)) or said[-1]):
        yield said


class Strategies(Case):
    def equal(self, got, expected):
        np.testing.assert_allclose(got[0], expected[0], rtol=1e-5)
        for one, other in zip(got[1], expected[1]):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)

    def test_of_primitives_change_no_number(self):
        for name, (_, _, _, documented) in PRIMITIVES.items():
            expected = trained(primitive(name), 1)
            for ranks, strategy in zip((2, 4), documented):
                with self.subTest(name, ranks=ranks):
                    with said_cuts() as said:
                        self.equal(trained(primitive(name, strategy), ranks), expected)
                    self.assertTrue(any(str(parts) in text for text in said for parts in (2, 4)), said)

    def test_of_layers_change_no_number(self):
        for name, (make, shape) in LAYERS.items():
            with self.subTest(name):
                ms.set_seed(1)
                layer = make()
                expected = trained(Network(layer, arrays([shape]), layer), 1)
                ms.set_seed(1)
                layer = make()
                self.equal(trained(Network(layer, arrays([shape]), layer), 2), expected)

    def test_of_any_kind_are_kept_or_refused(self):
        """Random parts: what is not refused by name is what one rank computes."""
        choose = random.Random(3)
        kept = 0
        for name in PRIMITIVES:
            expected = trained(primitive(name), 1)
            for ranks in (2, 4):
                documented = PRIMITIVES[name][3][0]
                strategy = tuple(tuple(choose.choice((1, 1, 2, 4)) for _ in dims) for dims in documented)
                with self.subTest(name, strategy=strategy, ranks=ranks):
                    try:
                        got = trained(primitive(name, strategy), ranks)
                    except (ValueError, NotImplementedError) as error:
                        self.assertRegex(str(error), r"^\[(\w+\.)?shard\] .*got .*expected ")
                        ms.reset_auto_parallel_context()
                        continue
                    kept += 1
                    self.equal(got, expected)
        self.assertGreater(kept, 20)

    def test_are_carried_to_the_ops_of_a_primitive(self):
        with said_cuts() as said:
            trained(primitive("Tile", ((2, 2),)), 4)
        self.assertEqual(said[:3], ["((2,1))", "((1,2,1,1))->((1,2,2,1))", "((1,2,2,1))"])

    def test_are_the_cuts_of_the_plan(self):
        for name, strategy, lines in (
            ("Add of a number", ((2, 2), ()), ["node scale2 a={ranks.0} b={ranks.1}"]),
            ("Cast to the same type", ((1, 4),), ["node reshape b={ranks.0,ranks.1}"]),
            ("OneHot", ((2, 2), (), ()), ["node one_hot A={ranks.0} z={ranks.1}"]),
            ("Tile", ((2, 2),), ["node reshape a={ranks.0}", "node broadcast_to a={ranks.0} b={ranks.1}"]),
        ):
            ms.set_context(ranks=4)
            ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
            net = primitive(name, strategy).set_train()
            rows = ds.NumpySlicesDataset((np.ones((4, 2), "f4"),), ["data"], shuffle=False).batch(4)
            plan = str(Model(net, None, nn.SGD(net.trainable_params(), 0.1)).program(rows).plan).splitlines()
            for line in lines:
                self.assertIn(line, plan, name)

    def test_may_be_of_named_axes_and_of_results(self):
        layout = Layout((2, 2), ("dp", "mp"))
        cases = {
            "Add of a number": ((layout("dp", "mp"), layout()),),
            "Mul": ((layout("dp", "mp"), layout("mp")),),
            "Softmax": ((layout("dp", "None"),),),
            "MatMul": ((layout("dp", "mp"), layout("mp", "None")), (layout(("dp", "mp"), "None"),)),
            "OneHot": ((layout("dp", "mp"), layout(), layout()),),
            "Tile": ((layout("dp", "mp"),),),
            "Transpose": ((layout("dp", "mp"),), (layout("None", "mp"),)),
            "Dropout": ((layout("mp", "dp"),),),
            "LayerNorm": ((layout("dp", "None"), layout("None"), layout("None")),),
        }
        for name, given in cases.items():
            with self.subTest(name):
                self.equal(trained(primitive(name, list(given)), 4), trained(primitive(name), 1))
        product = [((2, 2), (2, 1)), ((4, 1),)]
        self.equal(trained(primitive("MatMul", product), 4), trained(primitive("MatMul"), 1))

    def test_that_do_not_fit_are_refused_in_words_of_the_primitive(self):
        layout = Layout((2, 4), ("dp", "mp"))
        for name, strategy, text in (
            ("Mul", ((2, 1),), "[Mul.shard] wrong number of inputs, got 1 in ((2,1),), expected 2"),
            ("Add of a number", ((2, 1), (), ()), "[Add.shard] wrong number of inputs, got 3 in"),
            ("Maximum", ((2,), (2,)), "[Maximum.shard] wrong number of dimensions of input 0, got 1 in ((2,),(2,)), "),
            (
                "Maximum",
                ((2, 1), (1, 1)),
                "[Maximum.shard] dimension 0 of input 1 is cut differently from dimension 0 of "
                "input 0, which it belongs to, got 1 parts, expected 2",
            ),
            (
                "RealDiv",
                ((2, 2), (2, 2)),
                "[RealDiv.shard] dimension 1 of input 1 cannot be cut: it has one element, got 2 " "parts, expected 1",
            ),
            (
                "StridedSlice",
                ((2, 2),),
                "[StridedSlice.shard] dimension 1 of input 0 cannot be cut: the op needs it whole",
            ),
            ("Concat", ((1, 2), (1, 2)), "[Concat.shard] dimension 1 of input 0 cannot be cut"),
            (
                "Softmax",
                ((3, 1),),
                "[Softmax.shard] the parts do not fit the ranks, got 3 in ((3,1),), expected a divisor " "of 4",
            ),
            ("MatMul", ((2, 2), (2, 2)), "[MatMul.shard] the parts do not fit the ranks, got 8"),
            (
                "BatchMatMul",
                ((4, 1, 1), (4, 1, 1)),
                "[BatchMatMul.shard] dimension 0 of input 0 has fewer elements than "
                "parts, got 4 parts, expected at most 2",
            ),
            ("Exp", (layout("dp", "mp"),), "[Exp.shard] the layout has another number of ranks, got 8 in"),
            ("Cast to the same type", ((4, 2),), "[Cast.shard] the parts do not fit the ranks, got 8 in ((4,2),)"),
            ("Transpose", [((2, 1),), ((2, 1, 1),)], "[Transpose.shard] wrong number of dimensions of a result, got 3"),
            ("Transpose", [((2, 1),), ((1, 1), (1, 1))], "[Transpose.shard] wrong number of results, got 2"),
        ):
            with self.subTest(name, strategy=strategy), self.refuses((ValueError, NotImplementedError), text):
                trained(primitive(name, strategy), 4)

    def test_of_other_ranks_have_no_effect_on_one(self):
        self.equal(trained(primitive("Exp", ((8, 1),)), 1), trained(primitive("Exp"), 1))
        self.equal(trained(primitive("Mul", ((8, 1),)), 1), trained(primitive("Mul"), 1))

    def test_of_ops_without_a_rule_are_given_to_them(self):
        class Rotary(ops.Primitive):
            def compute(self, x):
                return ops.registry.rotary(x, heads=1)

        class Repeated(ops.Primitive):
            def compute(self, x):
                return ops.repeat_interleave(x, 2, 0)

        op, inputs = Rotary(), arrays([(4, 3, 8)])
        expected = trained(Network(op, inputs), 1)
        op.shard(((2, 1, 1),))
        with said_cuts() as said:
            self.equal(trained(Network(op, inputs), 2), expected)
        self.assertEqual(said, [])
        op = Repeated().shard(((2, 1, 1),))
        with self.refuses(
            NotImplementedError, "[Repeated.shard] the op 'repeat' within it has no rule", "expected none"
        ):
            trained(Network(op, inputs), 2)

    def test_of_layers_are_read_after_a_call_without(self):
        net = nn.SequentialCell(nn.Dense(4, 4), nn.ReLU())
        ms.set_context(mode=ms.GRAPH_MODE)
        ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel")
        x = Tensor(np.ones((2, 4), "f4"))
        net(x)
        for name, layer, strategy in (("relu", net[1], ((1, 2),)), ("matmul", net[0], ((1, 2), (1, 2)))):
            getattr(layer, name).shard(strategy)
            with said_cuts() as said:
                net(x)
            self.assertTrue(said)
