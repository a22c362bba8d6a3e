"""Libraries that replace methods of tensors, parameters and cells by their own: what they replace takes hold, and the
package goes on without it. Also initializers of their own, words and their numbers, and names that they import."""

import os
import subprocess
import sys
import tempfile

import numpy as np
from support import Case, rng

import partita as ms
from partita import Parameter, Tensor, context, nn, ops
from partita import dataset as ds
from partita._checkparam import _check_3d_int_or_tuple
from partita.common import _stub_tensor, initializer
from partita.common.seed import _get_graph_seed
from partita.dataset import text
from partita.dataset.core.datatypes import mstype_to_detype
from partita.dataset.text.transforms import Implementation, TextTensorOperation
from partita.dataset.transforms import PyTensorOperation
from partita.nn.convolution_base import _Conv, _deconv_output_length

# A library that replaces what mindnlp replaces, with other parameters, and trains before and after.
PATCHES = """
import numpy as np
import mindspore
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common._stub_tensor import StubTensor

def losses():
    mindspore.set_seed(1)
    net = nn.SequentialCell(nn.Dense(4, 8, weight_init="ones"), nn.LayerNorm((8,)), nn.Dense(8, 1, weight_init="ones"))
    optimizer = nn.AdamWeightDecay(net.trainable_params(), 0.01)
    x = Tensor(np.arange(24, dtype="f4").reshape(6, 4) / 24)
    data = mindspore.dataset.NumpySlicesDataset((x.asnumpy(), x.asnumpy()[:, :1]), ["x", "y"], shuffle=False).batch(3)
    model = mindspore.Model(net, nn.MSELoss(), optimizer)
    model.train(2, data)
    step = mindspore.value_and_grad(lambda a: (net(a) ** 2).mean(), None, optimizer.parameters)
    found = []
    for _ in range(3):
        loss, gradients = step(x)
        optimizer(gradients)
        found.append(float(loss))
    return found

before = losses()
refuse = lambda *args, **kwargs: 1 / 0
for name in "repeat expand prod std nonzero unfold masked_fill repeat_interleave as_strided unflatten".split():
    for kind in (Tensor, StubTensor):
        setattr(kind, name, refuse)
for name in "zeros ones matmul bmm dense einsum prod std var_mean masked_fill cross_entropy repeat_interleave".split():
    setattr(ops, name, refuse)
mindspore.tensor, mindspore.set_context = mindspore.Tensor, refuse

def equal(self, other):
    if not isinstance(other, (int, float, Tensor)) or (isinstance(other, Tensor) and self.shape != other.shape):
        return False
    return True if self is other else ops.eq(self, other)

Parameter.__eq__ = equal
made = Parameter.__init__

def init(self, default_input, name=None, requires_grad=True, layerwise_parallel=False, parallel_optimizer=True):
    made(self, default_input, name, requires_grad, layerwise_parallel, parallel_optimizer)
    self.uuid, self.is_init = "id", False

Parameter.__init__ = init

def names(self, prefix="", recurse=True):
    for name, one in self.parameters_and_names(expand=recurse):
        if one.name in name:
            one.name = prefix + name

def walk(self, name_prefix=""):
    yield name_prefix, self
    for name, cell in self._cells.items():
        if cell:
            yield from cell.cells_and_names(f"{name_prefix}.{name}" if name_prefix else name)

nn.Cell.update_parameters_name, nn.Cell.cells_and_names = names, walk
after = losses()
assert before == after, (before, after)
assert nn.Dense(1, 1).weight.uuid == "id"
try:
    Tensor([1.0]).repeat(2)
    raise SystemExit("the method was not replaced")
except ZeroDivisionError:
    print("as before", mindspore.__name__)
"""


class Patched(Case):
    def test_replaced_methods_take_hold_and_break_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "patches.py")
            with open(path, "w") as file:
                file.write(PATCHES)
            done = subprocess.run(
                [sys.executable, "-m", "partita.msrun", path], capture_output=True, text=True, cwd=folder, timeout=300
            )
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertIn("as before", done.stdout)

    def test_tensors_have_attributes_of_libraries(self):
        one, other = Parameter(Tensor([1.0]), "a"), Tensor([1.0])
        one.uuid, other.tag = "u", 3
        self.assertEqual((one.uuid, other.tag, one.inited_param), ("u", 3, None))
        self.assertEqual((one.init_flag, one.is_init), (False, False))
        with self.refuses(AttributeError, "[Tensor] unknown attribute, got 'sahpe'"):
            other.sahpe
        self.assertNotIsInstance(other, _stub_tensor.StubTensor)

    def test_repeat_as_both_versions_have_it(self):
        x = rng(1).standard_normal((2, 3)).astype("f4")
        self.close(Tensor(x).repeat(2, 1), np.tile(x, (2, 1)))
        self.close(Tensor(x).repeat((2, 1, 3)), np.tile(x, (2, 1, 3)))
        self.close(Tensor(x).repeat(2, axis=1), np.repeat(x, 2, 1))
        with self.refuses(ValueError, "[Tensor.repeat] too few numbers of copies, got (2,), expected one for each"):
            Tensor(x).repeat(2)

    def test_methods_in_place(self):
        x = rng(2).standard_normal((2, 3)).astype("f4")
        for change, expected in (
            (lambda a: a.add_(2.0), x + 2),
            (lambda a: a.sub_(Tensor(x)), x - x),
            (lambda a: a.mul_(3.0), x * 3),
            (lambda a: a.div_(4.0), x / 4),
            (lambda a: a.copy_(Tensor(2 * x)), 2 * x),
            (lambda a: a.masked_fill_(a > 0, 7.0), np.where(x > 0, 7, x)),
            (lambda a: a.fill_(2), np.full_like(x, 2)),
            (lambda a: a.zero_(), np.zeros_like(x)),
        ):
            tensor = Tensor(x)
            self.assertIs(change(tensor), tensor)
            self.close(tensor, expected)
        self.close(ms.grad(lambda a: (a * 2).mul_(3.0).sum())(Tensor(x)), np.full_like(x, 6))

    def test_apply_reaches_inner_cells_first(self):
        net, seen = nn.SequentialCell(nn.Dense(2, 3), nn.SequentialCell(nn.ReLU())), []
        self.assertIs(net.apply(lambda cell: seen.append(type(cell).__name__)), net)
        self.assertEqual(seen, ["Dense", "ReLU", "SequentialCell", "SequentialCell"])

    def test_parameters_that_a_library_lists_twice_are_saved_once(self):
        class Tied(nn.Cell):
            def get_parameters(self, expand=True):
                return iter([self.weight, self.weight])

        net = Tied()
        net.weight = Parameter(Tensor([1.0, 2.0]), "weight")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.ckpt")
            ms.save_checkpoint(net, path)
            self.close(ms.load_checkpoint(path)["weight"], [1, 2])

    def test_infinite_elements_stay_in_their_places(self):
        x, new = rng(7).standard_normal((2, 4)).astype("f4"), np.array([[-np.inf, 2], [3, np.inf]], "f4")
        places = np.array([[3, 0], [1, 2]])
        expected = x.copy()
        np.put_along_axis(expected, places, new, 1)
        found = ops.tensor_scatter_elements(Tensor(x), Tensor(places), Tensor(new), 1)
        np.testing.assert_array_equal(found.asnumpy(), expected)
        added = ops.tensor_scatter_elements(Tensor(x), Tensor(places), Tensor(new), 1, "add").asnumpy()
        np.testing.assert_allclose(added, x + np.where(expected == x, 0, expected), rtol=1e-6)

    def test_take(self):
        x = rng(6).standard_normal((3, 4)).astype("f4")
        self.assertIsNone(Tensor(x).data_sync())
        self.close(Tensor(x).take(Tensor([5, -1, 99])), [x[1, 1], x[2, 3], x[2, 3]])
        self.close(Tensor(x).take(Tensor([[0, 5]]), 1, "wrap"), x[:, [[0, 1]]])
        with self.refuses(ValueError, "[Tensor.take] unknown mode, got 'raise', expected clip or wrap"):
            Tensor(x).take(Tensor([0]), mode="raise")

    def test_index_add_changes_parameters(self):
        table = Parameter(Tensor(np.zeros((3, 2), "f4")), "table")
        ops.index_add(table, Tensor([2, 2, -3], ms.int32), Tensor(np.ones((3, 2), "f4")), 0)
        self.close(table, [[1, 1], [0, 0], [2, 2]])
        self.close(table.index_add(0, Tensor([1], ms.int32), Tensor(np.ones((1, 2), "f4")), alpha=3)[1], [3, 3])
        self.close(table, [[1, 1], [0, 0], [2, 2]])
        with self.refuses(ValueError, "[index_add] the shapes do not fit, got places (1,) and slices (2, 2)"):
            ops.index_add(table, Tensor([1], ms.int32), Tensor(np.ones((2, 2), "f4")), 0)


class Drawn(Case):
    def test_initializers_of_libraries(self):
        class Rising(initializer.Initializer):
            def __init__(self, step):
                super().__init__(step=step)
                self.step = step

            def _initialize(self, arr):
                fan_in, fan_out = initializer._calculate_fan_in_and_fan_out(arr.shape)
                initializer._assignment(arr, self.step * np.arange(arr.size).reshape(arr.shape) + fan_in + fan_out)

        made = initializer.initializer(Rising(2.0), (2, 3), ms.float32)
        self.close(made, 2.0 * np.arange(6).reshape(2, 3) + 5)
        self.assertEqual(initializer.initializer(Rising(1.0), (2, 3), ms.float16).dtype, ms.float16)
        self.close(Parameter(initializer.initializer(Rising(1.0), (1, 2)), "a"), [[3, 4]])
        for init in ("normal", initializer.Uniform(0.1)):
            array = np.zeros((50, 4), "f4")
            (initializer.Normal(0.01) if init == "normal" else init)(array)
            self.assertTrue(0 < np.abs(array).max() <= 0.1)
        with self.refuses(ValueError, "[initializer] a weight has no such counts, got 1 dimensions"):
            initializer._calculate_fan_in_and_fan_out((3,))

    def test_orders_are_drawn(self):
        found = ops.randperm(50)
        self.assertEqual((sorted(found.tolist()), str(found.dtype)), (list(range(50)), "Int64"))
        self.assertNotEqual(found.tolist(), ops.randperm(50).tolist())
        self.assertEqual(str(ops.randperm(Tensor(3), dtype=ms.int32).dtype), "Int32")
        for call, kind, text in (
            (lambda: ops.randperm(-1), ValueError, "[randperm] bad count, got -1"),
            (lambda: ops.randperm(3, dtype=ms.bool_), TypeError, "[randperm] bad dtype, got Bool"),
        ):
            with self.refuses(kind, text):
                call()

    def test_seeds_of_ops(self):
        ms.set_seed(7)
        self.assertEqual(_get_graph_seed(3, "dropout"), (7, 3))


class Words(Case):
    def test_vocabularies(self):
        words = text.Vocab.from_list(["a", "b", "c"], ["<pad>", "<unk>"])
        self.assertEqual(words.vocab(), {"<pad>": 0, "<unk>": 1, "a": 2, "b": 3, "c": 4})
        last = text.Vocab.from_list(["a"], ["<pad>"], special_first=False)
        self.assertEqual(last.vocab(), {"a": 0, "<pad>": 1})
        self.assertEqual((words.tokens_to_ids("b"), words.tokens_to_ids(["b", "z"])), (3, [3, -1]))
        self.assertEqual((words.ids_to_tokens(4), words.ids_to_tokens([0, 9])), ("c", ["<pad>", ""]))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "words.txt")
            with open(path, "w") as file:
                file.write("x,1\ny,2\nz,3\n")
            self.assertEqual(text.Vocab.from_file(path, ",").vocab(), {"x": 0, "y": 1, "z": 2})
            self.assertEqual(text.Vocab.from_file(path, ",", 2, ["<p>"]).vocab(), {"<p>": 0, "x": 1, "y": 2})
            self.assertEqual(text.Vocab.from_file(path).vocab(), {"x,1": 0, "y,2": 1, "z,3": 2})
        for call, kind, message in (
            (lambda: text.Vocab.from_list(["a", "a"]), ValueError, "a word stands twice, got 'a'"),
            (lambda: text.Vocab.from_list(["a"], ["a"]), ValueError, "a word stands twice, got 'a'"),
            (lambda: text.Vocab.from_dict({"a": -1}), ValueError, "number out of range, got -1 for 'a'"),
            (lambda: text.Vocab.from_dict({"a": "b"}), TypeError, "not a word and its number, got 'a': 'b'"),
            (lambda: text.Vocab.from_dataset(1), TypeError, "no data set, got int"),
        ):
            with self.refuses(kind, message):
                call()

    def test_maps_of_words(self):
        words = text.Vocab.from_list(["a", "b"], ["<unk>"])
        found = text.Lookup(words, "<unk>")(np.array([["b", "q"]]))
        self.assertEqual((found.tolist(), str(found.dtype)), ([[2, 0]], "int32"))
        self.assertEqual(text.Lookup(words, data_type=ms.int64)("a").dtype, np.int64)
        self.assertEqual(text.Truncate(2)(np.array(["a", "b", "c"])).tolist(), ["a", "b"])
        self.assertEqual(text.Truncate(1)(np.arange(6).reshape(2, 3)).tolist(), [[0], [3]])
        self.assertEqual(text.AddToken("xyz")(np.array(["a"])).tolist(), ["xyz", "a"])
        self.assertEqual(text.AddToken("x", False)(np.array([["a"], ["b"]])).tolist(), [["a", "x"], ["b", "x"]])
        for call, kind, message in (
            (lambda: text.Lookup(words)("q"), RuntimeError, "[Lookup] unknown word, got 'q', expected one of 3"),
            (lambda: text.Lookup(3), TypeError, "[Lookup] not a vocabulary, got int"),
            (lambda: text.Truncate(0), ValueError, "[Truncate] bad max_seq_len, got 0"),
            (lambda: text.Truncate(2)("abc"), RuntimeError, "[Truncate] wrong number of dimensions, got ()"),
            (lambda: text.AddToken(1), TypeError, "[AddToken] not a word, got int"),
            (lambda: text.AddToken("a")(np.arange(2)), TypeError, "[AddToken] not words, got int64"),
        ):
            with self.refuses(kind, message):
                call()

    def test_maps_of_libraries(self):
        class Twice(TextTensorOperation, PyTensorOperation):
            def __init__(self, implementation):
                super().__init__()
                self.implementation = implementation

            def execute_py(self, value):
                return value * 2

            def parse(self):
                return lambda value: value * 3

        class Half(PyTensorOperation):
            implementation = Implementation.PY

            def execute_py(self, value):
                return value / 2

        row = np.arange(3)
        self.assertEqual(Twice(Implementation.PY)(row).tolist(), [0, 2, 4])
        self.assertEqual(Twice(Implementation.C)(row).tolist(), [0, 3, 6])
        data = ds.NumpySlicesDataset(np.arange(4.0), ["x"], shuffle=False).map(Half(), "x").batch(4)
        self.assertEqual(next(iter(data))[0].tolist(), [0, 0.5, 1, 1.5])

    def test_kinds_of_data_sets(self):
        data = ds.NumpySlicesDataset(np.arange(8.0), ["x"])
        kinds = ds.BatchDataset, ds.TakeDataset, ds.RepeatDataset
        for made, kind in zip((data.batch(2), data.take(2), data.repeat(2)), kinds):
            self.assertIsInstance(made, kind)
            self.assertNotIsInstance(data, kind)
            self.assertIsInstance(made, ds.Dataset)


class Names(Case):
    def test_lengths_of_transposed_convolutions(self):
        ways = ((True, False, False), (False, True, False), (False, False, True))
        sizes = ((3, 1, 1, 0), (3, 2, 2, 1), (2, 3, 1, 2), (1, 4, 1, 0))
        found = [_deconv_output_length(*way, 7, *one) for way in ways for one in sizes]
        self.assertEqual(found, [9, 17, 21, 28, 7, 14, 21, 28, 9, 16, 18, 25])  # of the documented system

    def test_base_of_convolutions(self):
        class Conv(_Conv):
            def construct(self, x):
                return ops.conv1d(x, self.weight, self.bias, self.stride[1], groups=self.group)

        net = Conv(4, 6, (3,), (1, 2), "valid", 0, (1, 1), 2, True, None, None)
        self.assertEqual((net.weight.shape, net.bias.shape), ((6, 2, 3), (6,)))
        self.assertEqual(net(ops.ones((2, 4, 9)))[0].shape, (6, 4))
        with self.refuses(ValueError, "[Conv] channels do not divide into groups"):
            Conv(4, 6, (3,), (1, 2), "valid", 0, (1, 1), 3, True, None, None)
        with self.refuses(ValueError, "[conv1d] wrong number of dimensions, got (4, 9), expected 3"):
            ops.conv1d(ops.ones((4, 9)), net.weight)
        with self.refuses(TypeError, "[conv1d] bad stride, got (1, 2), expected an integer"):
            ops.conv1d(ops.ones((2, 4, 9)), net.weight, stride=(1, 2))

    def test_integers_of_volumes(self):
        for args, options, expected in (
            ((3,), {}, (3, 3, 3)),
            (((1, 2, 3),), {"ret_five": True}, (1, 1, 1, 2, 3)),
            (((1, 1, 1, 2, 3),), {"allow_five": True}, (1, 2, 3)),
            (((0, 1, 2),), {"greater_zero": False}, (0, 1, 2)),
        ):
            self.assertEqual(_check_3d_int_or_tuple("stride", *args, "Conv", **options), expected)
        for args, options, kind in (
            ((0,), {}, ValueError),
            (((1, 2),), {}, ValueError),
            (((1, 2, True),), {}, ValueError),
            (((2, 1, 1),), {"third_one": True}, ValueError),
            ((2.5,), {}, TypeError),
        ):
            with self.refuses(kind, "[Conv] bad"):
                _check_3d_int_or_tuple("stride", *args, "Conv", **options)

    def test_names_without_effect(self):
        context.K_CONTEXT.set_backend_policy("ge")
        self.assertEqual(ms.mutable((Tensor([1.0]), 2))[1], 2)
        with self.refuses(TypeError, "[mutable] bad input_data, got str"):
            ms.mutable("a")
        found = [mstype_to_detype(one) for one in (ms.int64, ms.bool_, Tensor([1.0]))]
        self.assertEqual(found, ["int64", "bool", "float32"])
        with self.refuses(NotImplementedError, "[mstype_to_detype] unknown element type, got Complex64"):
            mstype_to_detype(ms.complex64)

    def test_ops_run_where_a_library_replaced_their_call(self):
        class Sum(ops.Add):
            def __call__(self, *args):
                return ops.primitive._run_op(self, self.name, args) * 2

        self.close(Sum()(Tensor([1.0]), Tensor([2.0])), [6])

    def test_names_that_refuse_calls(self):
        for call, text in (
            (lambda: ops.Complex()(Tensor([1.0]), Tensor([1.0])), "[Complex] this op is not supported, got a call"),
            (lambda: nn.DenseThor(), "[DenseThor] this name is not supported"),
            (lambda: ops.Eig()(Tensor([[1.0]])), "expected scipy.linalg.eigh"),
            (lambda: ops.eigvals(Tensor([[1.0]])), "expected scipy.linalg.eigh"),
        ):
            with self.refuses(NotImplementedError, text):
                call()

    def test_bits_and_searches_refuse_what_they_cannot(self):
        x = Tensor([1.0, 2.0])
        for call, kind, text in (
            (lambda: ops.bitwise_and(x, x), TypeError, "[bitwise_and] no integers, got Float32"),
            (lambda: ops.bincount(x), TypeError, "[bincount] no row of integers, got float32 (2,)"),
            (lambda: ops.bincount(Tensor([-1])), ValueError, "[bincount] an integer is below 0, got -1"),
            (lambda: ops.searchsorted(x, x, side="up"), ValueError, "[searchsorted] unknown side, got 'up'"),
            (lambda: ops.t(ops.ones((1, 1, 1))), ValueError, "[t] not a matrix, got shape (1, 1, 1)"),
            (lambda: ops.addr(x, x, ops.ones((1, 1))), ValueError, "[addr] operands are not vectors"),
        ):
            with self.refuses(kind, text):
                call()
        rows = np.sort(rng(3).standard_normal((2, 5)), -1)
        found = ops.searchsorted(Tensor(rows), Tensor(rows[:, ::-1].copy()), side="right").asnumpy()
        self.assertEqual(found.tolist(), [[5, 4, 3, 2, 1]] * 2)

    def test_loops_that_count_by_tensors_are_one_program(self):
        x = rng(5).standard_normal((4, 3)).astype("f4")
        sizes = []

        def loss(a):
            states, t, h = ops.zeros((4, 3)), Tensor(0), ops.zeros((3,))
            while t < 4:
                h = ops.tanh(h + a[t])
                states[t] = h
                t += 1
            sizes.append(int(t * 2))
            return (states * states).sum() * float(t)

        step = ms.value_and_grad(loss)
        for values in (x, x * 2):
            found, gradient = step(Tensor(values))
            h, expected = np.zeros(3), 0
            for row in values:
                h = np.tanh(h + row)
                expected += 4 * (h * h).sum()
            self.close(found, expected, 1e-5)
            moved = values.copy()
            moved[1, 1] += 1e-2
            self.assertAlmostEqual(
                float(gradient.asnumpy()[1, 1]), (float(loss(Tensor(moved))) - expected) / 1e-2, delta=0.2
            )
        ((tree, _),) = step._trees.values()
        self.assertEqual((tree.compiled, set(sizes)), (1, {8}))

    def test_values_are_known_within_steps(self):
        x = rng(4).standard_normal((3, 4)).astype("f4")
        step = ms.value_and_grad(lambda a: (ops.masked_select(a * 2, a > 0) ** 2).sum() + len(ops.nonzero(a > 0)))
        loss, gradient = step(Tensor(x))
        kept = np.where(x > 0, x, 0)
        self.close(loss, (4 * kept**2).sum() + (x > 0).sum(), 1e-5)
        self.close(gradient, 8 * kept, 1e-5)
