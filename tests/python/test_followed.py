"""Programs are not confused with those of other functions, objects, cells, owners and names."""

import collections
import contextlib
import copy
import functools
import io
import os
import sys
import tempfile
import types
import unittest

import numpy as np
from support import Case

import partita as ms
from partita import Tensor, nn, ops


def scaled_by(factor):
    return lambda x: x * factor


class Constants:
    factor = 1.0


class Slots:
    __slots__ = ("factor",)


class Loss:
    def __init__(self):
        self.factor, self.calls = 1.0, 0

    def __call__(self, x):
        return self.scaled(x)

    def scaled(self, x):
        return x * self.factor

    def count(self):
        self.calls += 1


class Scaled(nn.Cell):
    """Whose factor is something that a test puts there."""

    def __init__(self, factor=1.0):
        super().__init__()
        self.factor = factor

    def construct(self, x):
        return x * self.made(self.factor)

    def made(self, factor):
        return factor(1.0) if callable(factor) else getattr(factor, "value", factor)


class Follow(Case):
    """A program gives what the function would give."""

    def setUp(self):
        super().setUp()
        self.x = Tensor([1.0])

    def values(self, function, *changes):
        """Values of a program, at first and after each change."""
        program = ms.jit(function)
        values = [float(program(self.x)[0])]
        for change in changes:
            change()
            values.append(float(program(self.x)[0]))
        return values

    def test_functions_that_are_replaced(self):
        functions = {"act": ops.relu}
        changes = [lambda one=one: functions.update(act=one) for one in (ops.neg, lambda x: x * 3, lambda x: x * 4)]
        self.assertEqual(self.values(lambda x: functions["act"](x), *changes), [1, -1, 3, 4])
        made = [scaled_by(2.0), scaled_by(3.0)]
        change = lambda: made.__setitem__(1, scaled_by(5.0))  # noqa: E731
        self.assertEqual(self.values(lambda x: made[1](made[0](x)), change), [6, 10])
        kinds = [nn.ReLU, nn.Sigmoid]
        self.assertEqual(self.values(lambda x: kinds[0]()(-x), kinds.reverse), [0, float(nn.Sigmoid()(-self.x)[0])])

    def test_defaults_and_decorators(self):
        settings = Loss()

        def by_default(x, *, loss=settings):
            return x * loss.factor

        def decorated(function):
            @functools.wraps(function)
            def inner(x):
                return function(x) * settings.factor

            return inner

        for function in (by_default, decorated(lambda x: x), functools.partial(lambda loss, x: loss(x), settings)):
            settings.factor = 1.0
            self.assertEqual(self.values(function, lambda: setattr(settings, "factor", 4.0)), [1, 4])

    def test_names_in_tuples_imports_and_attributes_of_functions(self):
        settings = Loss()

        def by_names(x):
            for name in ("factor",):
                x = x * getattr(settings, name)
            return x

        self.assertEqual(self.values(by_names, lambda: setattr(settings, "factor", 5.0)), [1, 5])
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "settings_of_a_test.py"), "w") as file:
                file.write("RATE = 1.0\n")
            sys.path.insert(0, folder)
            try:

                def by_module(x):
                    import settings_of_a_test

                    return x * settings_of_a_test.RATE

                def by_name(x):
                    from settings_of_a_test import RATE

                    return x * RATE

                import settings_of_a_test

                for function in (by_module, by_name):
                    settings_of_a_test.RATE = 1.0
                    change = lambda: setattr(settings_of_a_test, "RATE", 5.0)  # noqa: E731
                    self.assertEqual(self.values(function, change), [1, 5])
            finally:
                sys.path.remove(folder)

        def scaled(x):
            return x * scaled.factor

        scaled.factor = 1.0
        self.assertEqual(self.values(scaled, lambda: setattr(scaled, "factor", 5.0)), [1, 5])

        class Numbers(list):
            factor = 1.0

        numbers = Numbers()
        self.assertEqual(self.values(lambda x: x * numbers.factor, lambda: setattr(numbers, "factor", 5.0)), [1, 5])

    def test_many_parts_that_are_made_on_the_way(self):
        """Lists of parts live while others are made: none is taken for an earlier one."""
        factors = [1.0] * 6
        makes = [functools.partial(lambda i, x: x * factors[i], i) for i in range(6)]
        acts = [ms.jit(lambda x, one=one: one(x)) for one in makes]
        changes = [lambda i=i: acts.__setitem__(i, ms.jit(lambda x, i=i: x * (i + 2.0))) for i in range(6)]
        product = lambda x: functools.reduce(lambda y, act: act(y), acts, x)  # noqa: E731
        self.assertEqual(self.values(product, *changes), [1, 2, 6, 24, 120, 720, 5040])

    def test_objects(self):
        for loss, function in (
            (Loss(), lambda loss, x: loss(x)),
            (Loss(), lambda loss, x: loss.scaled(x)),
            (types.SimpleNamespace(), lambda loss, x: x * loss.factor),
            (Constants, lambda loss, x: x * loss.factor),
            (Slots(), lambda loss, x: x * loss.factor),
            (sys.modules[__name__], lambda loss, x: x * loss.factor),
        ):
            loss.factor = 1.0
            change = lambda: setattr(loss, "factor", 5.0)  # noqa: E731, B023
            self.assertEqual(self.values(lambda x: function(loss, x), change), [1, 5])  # noqa: B023
            loss.factor = 1.0
            program = ms.jit(function)  # as an argument
            self.assertEqual(float(program(loss, self.x)[0]), 1)
            change()
            self.assertEqual(float(program(loss, self.x)[0]), 5)

    def test_what_does_not_matter(self):
        loss, traces = Loss(), []
        program = ms.jit(lambda x: traces.append(1) or loss(x))
        program(self.x)
        count = len(traces)
        for _ in range(3):
            program(self.x)
            loss.count()
        self.assertEqual(len(traces), count)

    def test_objects_that_answer_to_every_name(self):
        class Table(dict):
            def __getattr__(self, name):
                return self[name]

        table, itself = Table(factor=1.0), []
        itself.append(itself)
        function = lambda x: x * table.factor * len(itself)  # noqa: E731
        self.assertEqual(self.values(function, lambda: table.update(factor=2.0)), [1, 2])

    def test_collections(self):
        first, second = [1.0, 2.0], [3.0]
        function = lambda x: x * (10 * len(first) + len(second))  # noqa: E731
        self.assertEqual(self.values(function, lambda: second.insert(0, first.pop())), [21, 12])
        some, queue = {1.0}, collections.deque([1.0])
        self.assertEqual(self.values(lambda x: x * len(some), lambda: some.add(2.0)), [1, 2])
        self.assertEqual(self.values(lambda x: x * queue[0], lambda: queue.appendleft(2.0)), [1, 2])

    def test_cells(self):
        net = Scaled()
        net.other, net.deep = 2.0, types.SimpleNamespace(value=1.0)
        self.assertEqual(self.values(lambda x: net(x) * net.other, lambda: setattr(net, "other", 3.0)), [2, 3])
        self.assertEqual(self.values(lambda x: x * net.made(net.factor), lambda: setattr(net, "factor", 4.0)), [1, 4])
        self.assertEqual(self.values(lambda x: x * 2 if net.training else x, net.set_train), [1, 2])
        net.factor = net.deep
        self.assertEqual(self.values(net, lambda: setattr(net.deep, "value", 5.0)), [1, 5])
        change = lambda one: lambda: setattr(net, "factor", one)  # noqa: E731
        functions = [change(lambda x, k=k: x * k) for k in (2.0, 3.0, 4.0, 5.0)]
        self.assertEqual(self.values(net, *functions), [5, 2, 3, 4, 5])

    def test_hooks(self):
        net = Scaled()
        hook = lambda: net.register_forward_hook(lambda cell, inputs, output: output * 7.0)  # noqa: E731
        self.assertEqual(self.values(lambda x: net(x), hook), [1, 7])
        handles = [net.register_forward_pre_hook(lambda cell, inputs: inputs[0] * 3.0)]
        add = lambda: handles.append(net.register_forward_hook(lambda *_: _[2] + 1.0, prepend=True))  # noqa: E731
        changes = (add, handles[0].remove, handles[0].remove, lambda: handles[1].remove())
        self.assertEqual(self.values(lambda x: net(x), *changes), [21, 28, 14, 14, 7])
        with self.refuses(NotImplementedError, "got with_kwargs=True"):
            net.register_forward_hook(print, with_kwargs=True)
        with self.refuses(TypeError, "the hook is not a function, got int"):
            net.register_forward_pre_hook(3)

    def test_values_that_python_read(self):
        power, weight = Tensor([1.0]), ms.Parameter(Tensor([1.0]), name="w")
        self.assertEqual(self.values(lambda x: x * float(power), lambda: power.__setitem__(0, 2.0)), [1, 2])
        change = lambda: weight.set_data(Tensor([3.0]))  # noqa: E731
        self.assertEqual(self.values(lambda x: x * float(weight.asnumpy()[0]), change), [1, 3])

    def test_parameters_that_are_frozen(self):
        net = nn.Dense(1, 1, weight_init="ones", bias_init="ones")
        freeze = lambda: setattr(net.bias, "requires_grad", False)  # noqa: E731
        function = lambda x: x * len(net.trainable_params()) + net(x.reshape(1, 1))[0] * 0  # noqa: E731
        self.assertEqual(self.values(function, freeze), [2, 1])

    def test_gradients_of_ones_own(self):
        factor, layer = 1.0, Scaled()
        op = ops.Custom(np.tanh, func_type="pyfunc", bprop=lambda x, out, dout: dout * factor)
        gradient = ms.grad(lambda x: op(x).sum())
        self.close(gradient(self.x), [1])
        factor = 3.0
        self.close(gradient(self.x), [3])
        layer.bprop = lambda x, out, dout: dout * factor
        self.close(ms.grad(lambda x: layer(x).sum())(self.x), [3])

    def test_the_context(self):
        drop = nn.Dropout(p=0.5).set_train()
        program = ms.jit(lambda x: drop(x))
        ones = Tensor(np.ones(64, "f4"))
        drawn = []
        for seed in (1, 2):
            ms.set_seed(seed)
            drawn.append(program(ones).asnumpy().tolist())
        self.assertNotEqual(*drawn)


class Owners(Case):
    """Programs that are methods."""

    def setUp(self):
        super().setUp()
        self.x = Tensor([1.0])

    def test_of_one_name(self):
        class Two:
            first = ms.jit(lambda self, x: x * 2)
            second = ms.jit(lambda self, x: x * 3)

        two = Two()
        self.assertEqual([float(one(self.x)[0]) for one in (two.first, two.second)], [2, 3])

    def test_that_call_those_of_a_base(self):
        class Base(nn.Cell):
            @ms.jit
            def construct(self, x):
                return x + 1.0

        class Derived(Base):
            @ms.jit
            def construct(self, x):
                return super().construct(x) * 2.0

        self.close(Derived()(self.x), [4])

    def test_of_copies_and_of_slots(self):
        class Trainer:
            def __init__(self, factor):
                self.factor = factor

            @ms.jit
            def step(self, x):
                return x * self.factor

        class Small(Slots):
            __slots__ = ()
            step = ms.jit(lambda self, x: x * self.factor)

        first = Trainer(1.0)
        self.close(first.step(self.x), [1])
        second = copy.copy(first)
        second.factor = 5.0
        for one, value in ((second, 5), (first, 1), (second, 5)):
            self.close(one.step(self.x), [value])
        small = Small()
        small.factor = 3.0
        self.close(small.step(self.x), [3])

    def test_of_cells_that_are_copied(self):
        net = Scaled()
        net._step = 4.0  # a name of one's own
        step = nn.TrainOneStepCell(nn.Dense(1, 1), nn.SGD([ms.Parameter(Tensor([1.0]), name="w")], 0.1))
        self.assertEqual(copy.deepcopy(net)._step, 4.0)
        self.assertIsNot(copy.deepcopy(step).network, step.network)

    def test_without_names_are_warned_of(self):
        numbers = []
        program = ms.jit(functools.partial(lambda factor, x: x * len(factor), numbers))
        with contextlib.redirect_stderr(io.StringIO()) as said:
            for _ in range(12):
                program(self.x)
                numbers.append(1)
        self.assertIn("'partial' is compiled again and again", said.getvalue())


class Names(Case):
    """Parameters that have other names than when they were trained."""

    def trained(self, net):
        optimizer = nn.SGD(net.trainable_params(), 0.5)
        ms.jit(lambda: optimizer(tuple(ops.ones_like(one) for one in net.trainable_params())))()

    def test_of_networks_that_are_wrapped(self):
        net = nn.Dense(1, 1, weight_init="ones", has_bias=False)
        self.trained(net)
        nn.SequentialCell(net)
        self.close(net.weight, [[0.5]])

    def test_of_lists_that_grow(self):
        kinds = ("ones", "zeros")
        layers = nn.CellList([nn.Dense(1, 1, weight_init=one, has_bias=False) for one in kinds])
        self.trained(layers)
        layers.insert(0, nn.Dense(1, 1, has_bias=False))
        self.close(layers[1].weight, [[0.5]])
        self.close(layers[2].weight, [[-0.5]])


class Structures(Case):
    """Collections of tensors as arguments and results."""

    def test_named_tuples_and_dicts(self):
        Pair = collections.namedtuple("Pair", "a b")
        program = ms.jit(lambda pair, table: (Pair(pair.b, pair.a), collections.OrderedDict(c=table["c"] * 2)))
        pair, table = program(Pair(Tensor([1.0]), Tensor([2.0])), {"c": Tensor([3.0])})
        self.assertEqual((type(pair), float(pair.a[0]), float(pair.b[0])), (Pair, 2, 1))
        self.assertEqual((type(table), float(table["c"][0])), (collections.OrderedDict, 6))

    def test_tuples_of_parameters(self):
        weights = ms.ParameterTuple([ms.Parameter(Tensor([2.0]), name="w")])
        self.close(ms.jit(lambda given: given[0] * 3)(weights), [6])


if __name__ == "__main__":
    unittest.main()
