"""Names within the documented system that client libraries import: modules, helpers, and what is refused."""

import importlib
import os
import subprocess
import sys
import unittest

import numpy as np
from support import Case, warned

import partita as ms
from partita import Tensor, dataset, mint, nn, ops
from partita.common import api
from partita.nn.wrap.loss_scale import _grad_overflow
from partita.ops import primitive

FOLDER = os.path.dirname(os.path.abspath(__file__))
# Names that the documented modules list in their `__all__`.
LISTED = {
    "common": "Parameter ParameterTuple Tensor bfloat16 dtype float32 get_rng_state int8 set_seed tensor_type",
    "context": "GRAPH_MODE ParallelMode get_context set_auto_parallel_context set_context",
    "dataset.engine": "Cifar10Dataset CocoDataset GeneratorDataset MindDataset PKSampler VOCDataset zip",
    "mindrecord": "FileReader FileWriter",
    "nn.layer": "BatchNorm2d Conv2d Dense GELU LSTM PixelUnshuffle SequentialCell get_activation",
    "nn.loss": "CTCLoss CrossEntropyLoss DiceLoss L1Loss LossBase TripletMarginLoss",
    "nn.optim": "Adam LARS Momentum Optimizer SGD",
    "nn.wrap": "DynamicLossScaleUpdateCell TrainOneStepCell WithGradCell WithLossCell",
    "numpy": "abs arange array float32 where",
    "ops.composite": "GradOperation HyperMap MultitypeFuncGraph clip_by_value normal ones_like tensor_dot",
    "ops.functional": "abs add concat jvp sum where",
    "ops.operations": "Add AllReduce Custom MatMul PyFunc ReduceOp ReduceSum",
    "train": "Accuracy Callback LossMonitor Model load_checkpoint save_checkpoint",
    "train.callback": "Callback CheckpointConfig LossMonitor ModelCheckpoint TimeMonitor",
}


def module(name):
    return importlib.import_module(f"partita.{name}")


class Listed(Case):
    def test_modules_list_what_the_documented_ones_do(self):
        for name, wanted in LISTED.items():
            listed = module(name).__all__
            self.assertEqual(set(wanted.split()) - set(listed), set(), name)
            self.assertEqual([one for one in listed if one.startswith("_")], [], name)

    def test_lists_have_no_modules_but_element_types(self):
        for name in ("common", "nn.layer", "ops.functional", "train", "dataset.engine"):
            found = {one for one in module(name).__all__ if type(getattr(module(name), one)) is type(os)}
            self.assertLessEqual(found, {"dtype"}, name)

    def test_lists_are_those_of_the_caller(self):
        ms.common.__all__.append("other")
        self.assertNotIn("other", ms.common.__all__)
        self.assertIn("Tensor", ms.__all__)

    def test_all_names_of_a_module_are_imported(self):
        for name in LISTED:
            found = {}
            exec(f"from partita.{name} import *", found)
            self.assertEqual(set(LISTED[name].split()) - set(found), set(), name)


class Modules(Case):
    def test_modules_that_stand_in_others_are_attributes(self):
        self.assertIs(ms.ops.function.nn_func, ops.functional)
        self.assertIs(ms.ops.composite.multitype_ops.add_impl.add, ops.composite.multitype_ops.add)
        self.assertIs(ms.nn.layer.container.CellList, nn.CellList)
        self.assertIs(ms.train.amp, ms.amp)
        with self.refuses(AttributeError, "[partita.ops]", "'functions'"):
            ms.ops.functions

    def test_a_script_imports_them_by_their_documented_names(self):
        lines = (
            "from partita import msrun",
            "msrun.install()",
            "from mindspore.ops.function import nn_func, math_func",
            "from mindspore.ops.composite.multitype_ops import _compile_utils, getitem_impl",
            "from mindspore.common.recompute import _RecomputeCell, recompute",
            "from mindspore.common._register_for_recompute import recompute_registry",
            "from mindspore.rewrite.parsers.assign_parser import AssignParser",
            "from mindspore.train.node_strategy_pb2 import ParallelStrategyMap",
            "import mindspore as ms",
            "ms.rewrite.parsers.class_def_parser.ClassDefParser.entry_functions.append('forward')",
            "print(nn_func.linear.__name__, getitem_impl.getitem, callable(ms.common.recompute))",
        )
        made = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False)
        self.assertEqual(made.stdout, "linear MultitypeFuncGraph[getitem] True\n", made.stderr)

    def test_texts_and_their_words_are_in_both_modules(self):
        for name in "JiebaTokenizer Ngram PythonTokenizer SlidingWindow ToNumber WordpieceTokenizer".split():
            self.assertIs(getattr(dataset.text.transforms, name), getattr(dataset.text, name))
        self.assertIs(dataset.text.utils.SentencePieceVocab, dataset.text.SentencePieceVocab)
        self.assertIs(dataset.Implementation, dataset.transforms.Implementation)


class Operators(Case):
    def test_libraries_add_functions(self):
        own = ops.MultitypeFuncGraph("own")
        own.register("Tensor", "Slice")(lambda x, part: x[part])
        self.assertEqual(own(Tensor([1, 2, 3]), slice(0, 2)).asnumpy().tolist(), [1, 2])
        ((kinds, function),) = own.entries
        self.assertEqual(kinds, (ms.tensor_type, ms.dtype.typing.str_to_type("Slice")))
        self.assertEqual(function(Tensor([1, 2]), slice(1, 2)).asnumpy().tolist(), [2])

    def test_tuples_of_indices_take_parts(self):
        taken, x = ops.composite.multitype_ops._compile_utils, np.arange(24.0, dtype="f4").reshape(2, 3, 4)
        for index in ((0, 1), (slice(0, 1), None, 2), (..., 3), (0, slice(None), -1)):
            self.assertEqual(taken.tensor_index_by_tuple(Tensor(x), index).asnumpy().tolist(), x[index].tolist())
        self.assertEqual(taken.tensor_index_by_slice(Tensor(x), slice(1, 2)).asnumpy().tolist(), x[1:2].tolist())
        self.assertEqual(taken.tensor_index_by_list(Tensor(x), [1, 0]).asnumpy().tolist(), x[[1, 0]].tolist())

    def test_quotients_are_those_of_tensors(self):
        x, y = np.array([1.0, -3.0], "f4"), np.array([2.0, 4.0], "f4")
        div, floordiv = ops.composite.multitype_ops.div, ops.composite.multitype_ops.floordiv
        self.assertEqual(div(Tensor(x), Tensor(y)).asnumpy().tolist(), (x / y).tolist())
        self.assertEqual(floordiv(Tensor(x), (2, 4)).asnumpy().tolist(), (x // y).tolist())

    def test_refuse_bad_indices(self):
        taken = ops.composite.multitype_ops._compile_utils
        for call in (lambda: taken.tensor_index_by_number(Tensor([1]), False),
                     lambda: taken.tensor_index_by_number(Tensor([1]), 1.5),
                     lambda: taken.tensor_index_by_list(Tensor([1]), [])):
            with self.assertRaises(IndexError):
                call()
        with self.refuses(TypeError, "[add] no function for these arguments"):
            ops.composite.multitype_ops.add({}, 1)
        with self.refuses(RuntimeError, "[str_to_type] unknown type", "'Foo'"):
            ms.dtype.typing.str_to_type("Foo")

    def test_copies_have_elements_of_their_own(self):
        x = Tensor([1.0, 2.0])
        made = ops.deepcopy(x)
        made[0] = 5.0
        self.assertEqual(x.asnumpy().tolist(), [1, 2])
        weight = ms.Parameter(Tensor([1.0, 2.0]), "w")
        gradient = ms.grad(lambda: (ops.deepcopy(weight) * 3).sum(), None, weight)()
        self.assertEqual(gradient.asnumpy().tolist(), [3, 3])
        with self.refuses(TypeError, "[deepcopy] not a tensor, got tuple"):
            ops.deepcopy((x,))


class OwnOps(Case):
    def test_constructors_keep_their_parameters(self):
        class Own(primitive.PrimitiveWithInfer):
            @primitive.prim_attr_register
            def __init__(self, factor=2, *, shift=0):
                self.init_prim_io_names(inputs=["x"], outputs=["y"])

            def compute(self, x):
                return x * self.factor + self.shift

        own = Own(3, shift=1)
        self.assertEqual((own.factor, own.shift, own.name), (3, 1, "Own"))
        self.assertEqual(own.attrs["input_names"], ["x"])
        self.assertEqual(own(Tensor([1.0])).asnumpy().tolist(), [4])

    def test_parameters_that_are_fields_alone(self):
        class Own(ops.Primitive):
            @ops.prim_arg_register
            def __init__(self, factor=2, shift=0):
                self.init_prim_io_names(inputs=["x"], outputs=["y"])
                self.add_prim_attr("kind", 3)

            def compute(self, x):
                return x * self.factor + self.shift

        own = Own(shift=1)
        self.assertEqual(own.init_attrs, {"factor": 2, "shift": 1})
        self.assertEqual(own.get_attr_dict(), {"input_names": ["x"], "output_names": ["y"], "kind": 3})
        self.assertEqual(repr(own), "Prim[Own]<kind=3>")
        self.assertEqual(own(Tensor([1.0])).asnumpy().tolist(), [3])

    def test_modules_of_ops_that_are_objects(self):
        for name, one in (("array", "Concat"), ("math", "MatMul"), ("other", "Assign"), ("random", "StandardNormal")):
            module = getattr(ops.operations, f"{name}_ops")
            self.assertIs(getattr(module, one), getattr(ops, one))

    def test_functions_without_operands_run_in_every_call(self):
        count = iter(range(10))
        own = ops.PyFunc(lambda: (np.full(2, next(count), "f4"), np.array(3, "i4")), (), (), (ms.float32, ms.int32),
                         ((2,), ()))  # fmt: skip
        self.assertEqual([own()[0].asnumpy().tolist() for _ in range(3)], [[0, 0], [1, 1], [2, 2]])
        program = ms.jit(lambda x: own()[0] + x)
        self.assertEqual([program(Tensor([0.5])).asnumpy().tolist() for _ in range(2)], [[3.5, 3.5], [4.5, 4.5]])

    def test_refuse_kernels_that_are_not_there(self):
        with self.refuses(NotImplementedError, "[BatchMatMulV2] there is no kernel", "ops.Custom"):
            type("BatchMatMulV2", (ops.PrimitiveWithInfer,), {})()(Tensor([1.0]))
        with self.refuses(NotImplementedError, "[CustomRegOp]", "pyfunc"):
            ops.CustomRegOp("own")

    def test_seeds_of_ops(self):
        inner, known = ops.function.random_func, ms.get_seed()
        try:
            ms.set_seed(5)
            self.assertEqual(inner._get_seed(None, "normal"), (5, 0))
            self.assertEqual(inner._get_seed(3, "normal"), (5, 3))
        finally:
            ms.set_seed(known or 1)

    def test_norms_of_channels(self):
        drawn = np.random.default_rng(3)
        x, gamma, beta = (drawn.standard_normal(s).astype("f4") for s in ((2, 3, 4, 5), 3, 3))
        kept = [ms.Parameter(Tensor(np.zeros(3, "f4")), "mean"), ms.Parameter(Tensor(np.ones(3, "f4")), "variance")]
        made = ops.operations.InstanceNorm(1e-5, 0.1)(Tensor(x), Tensor(gamma), Tensor(beta), *kept)
        mean, variance = x.mean((2, 3), keepdims=True), x.var((2, 3), keepdims=True)
        expected = (x - mean) / np.sqrt(variance + 1e-5) * gamma.reshape(3, 1, 1) + beta.reshape(3, 1, 1)
        np.testing.assert_allclose(made[0].asnumpy(), expected, 1e-4, 1e-5)
        np.testing.assert_allclose(kept[0].asnumpy(), 0.1 * mean.mean((0, 2, 3)), 1e-4, 1e-6)
        unbiased = x.var((2, 3), ddof=1).mean(0)
        np.testing.assert_allclose(kept[1].asnumpy(), 0.9 + 0.1 * unbiased, 1e-4, 1e-6)

    def test_gradients_of_colors(self):
        pixels = np.random.default_rng(7).uniform(0.1, 0.9, (2, 3, 3))
        for kind in (ops.HSVToRGB, ops.RGBToHSV):
            factors = Tensor(np.arange(1.0, 4.0))
            got = ms.grad(lambda x: (kind()(x) * factors).sum())(Tensor(pixels)).asnumpy()
            expected = np.zeros_like(pixels)
            for place in np.ndindex(*pixels.shape):
                step = np.zeros_like(pixels)
                step[place] = 1e-6
                high, low = (float((kind()(Tensor(pixels + one)) * factors).sum()) for one in (step, -step))
                expected[place] = (high - low) / 2e-6
            np.testing.assert_allclose(got, expected, 1e-5, 1e-6)
        with self.refuses(ValueError, "[RGBToHSV] no pixels of three numbers, got shape (2, 4)"):
            ops.RGBToHSV()(Tensor(np.ones((2, 4), "f4")))

    def test_attention_by_its_other_name(self):
        q, k, v = (Tensor(np.random.default_rng(i).standard_normal((2, 2, 3, 4)).astype("f4")) for i in range(3))
        shift = Tensor(np.random.default_rng(9).standard_normal((2, 2, 3, 3)).astype("f4"))
        for pse_type, factor in ((0, 1.0), (1, 0.5)):
            made = ops.speed_fusion_attention(q, k, v, 2, "BNSD", pse=shift, scale=0.5, pse_type=pse_type)
            expected = ops.flash_attention_score(
                q, k, v, 2, real_shift=shift * factor, scalar_value=0.5, input_layout="BNSD"
            )
            np.testing.assert_allclose(made[0].asnumpy(), expected.asnumpy(), 1e-5, 1e-6)
        self.assertEqual((made[1].shape, made[4:]), ((2, 2, 3, 8), (0, 0, 0)))
        with self.refuses(ValueError, "pse_type=2"):
            ops.speed_fusion_attention(q, k, v, 2, "BNSD", pse_type=2)

    def test_causal_attention_hides_later_keys(self):
        q = Tensor(np.random.default_rng(1).standard_normal((3, 2, 4)).astype("f4"))
        weight, out = Tensor(np.ones((12, 4), "f4") / 5), Tensor(np.ones((4, 4), "f4"))
        options = (4, 2, weight, None, None, None, False, 0.0, out, None)
        attended = ops.function.nn_func.multi_head_attention_forward
        hidden = Tensor(np.triu(np.ones((3, 3), bool), 1))
        made = attended(q, q, q, *options, is_causal=True)
        expected = attended(q, q, q, *options, attn_mask=hidden)
        np.testing.assert_allclose(made[0].asnumpy(), expected[0].asnumpy(), 1e-5, 1e-6)

    def test_windows_and_edges_are_those_of_mint(self):
        x = Tensor(np.arange(48, dtype="f4").reshape(1, 3, 4, 4) % 7)
        inner = ops.function.nn_func
        for options in ((2,), (2, 1), (3, 2, 1), (2, 1, 0, True, True, 5)):
            expected = mint.nn.functional.avg_pool2d(x, *options).asnumpy()
            np.testing.assert_allclose(inner.avg_pool2d_ext(x, *options).asnumpy(), expected, 1e-6)
            np.testing.assert_allclose(inner.avg_pool2d_ext(x[0], *options).asnumpy(), expected[0], 1e-6)
        for options in (((1, 1),), ((1, 2, 0, 1), "reflect"), ([1, 0, 1, 2], "replicate"), ((1, 1), "constant", 2.5)):
            expected = mint.nn.functional.pad(x, *options).asnumpy()
            np.testing.assert_allclose(inner.pad_ext(x, *options).asnumpy(), expected, 1e-6)
        with self.refuses(ValueError, "[pad_ext] a value where none is used"):
            inner.pad_ext(x, (1, 1), "reflect", 2.0)
        made = ops.auto_generate.gen_ops_prim
        added = made.index_add_ext_op(x[0, 0], 0, Tensor([0, 0]), x[0, 1, :2], 2)
        expected = x[0, 0].asnumpy().copy()
        expected[0] += 2 * x[0, 1, :2].asnumpy().sum(0)
        np.testing.assert_allclose(added.asnumpy(), expected, 1e-6)
        rows = made.embedding_op(Tensor([1, 0]), x[0, 0], None, None, 2.0, False)
        np.testing.assert_allclose(rows.asnumpy(), x[0, 0].asnumpy()[[1, 0]])

    def test_quantized_parameters_pass_through(self):
        kind = ops.operations._quant_ops.FakeQuantParam
        made = kind.linear_quant_param(ms.dtype.QuantDtype.INT8, 0.5, 1)
        self.assertEqual(made.attrs[kind.attr_key_linear_quant_scale], [0.5])
        self.assertEqual(made.attrs[kind.attr_key_linear_quant_zero_point], [1])
        self.assertEqual(made.attrs["quant_algo_name"], kind.attr_value_linear_quant_algo_name)
        self.assertEqual(made(Tensor([1.5])).asnumpy().tolist(), [1.5])


class Training(Case):
    def test_overflows_of_gradients(self):
        for values, expected in (([1.0, 2.0], 0), ([1.0, np.inf], 1), ([np.nan, 1.0], 1)):
            self.assertEqual(_grad_overflow(Tensor(values, ms.float32)).asnumpy().tolist(), [expected])

    def test_levels_have_their_parts(self):
        levels = module("_c_expression.amp").AmpLevel
        self.assertEqual([one.name for one in levels], "AmpO0 AmpO1 AmpO2 AmpO3 AmpAuto".split())
        ms.amp._config_amp(enable_rewrite=True)
        with warned() as lines:
            ms.amp._config_amp(cast_op=ops.cast)
            module("nn.recompute_cells")._check_input_args_validate(None, (3,), {})
        self.assertIn("[_config_amp] casts are the library's own", lines[0])
        self.assertIn("[recompute] no argument is a tensor", lines[1])

    def test_cells_are_recomputed(self):
        inner = module("nn.recompute_cells")
        net = nn.Dense(3, 2)
        x = Tensor(np.arange(6, dtype="f4").reshape(2, 3))
        made = ms.value_and_grad(lambda x: inner._RecomputeCell(net)(x).sum())(x)
        expected = ms.value_and_grad(lambda x: net(x).sum())(x)
        for got, wanted in zip(made, expected):
            np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), 1e-6)
        gradients = ["a"]
        inner._padding_input_grads([x, 2, [x, 1], (3,)], gradients)
        self.assertEqual(gradients, ["a", None, [None, None], None])
        with self.refuses(ValueError, "[recompute] wrong number of gradients, got 1, expected 2"):
            inner._padding_input_grads([x, x], ["a"])
        with self.refuses(TypeError, "[recompute_registry] nothing is registered"):
            inner._Registry().get()
        with self.refuses(TypeError, "[_RecomputeCell] not a cell, got int"):
            inner._RecomputeCell(3)

    def test_the_executor_gives_gradients(self):
        net, x = nn.Dense(2, 1, weight_init="ones"), Tensor([[1.0, 2.0]])
        executor = api._pynative_executor
        executor.new_graph(net, x)
        executor.end_graph(net, net(x), x)
        weights = ms.ParameterTuple(net.trainable_params())
        made = executor.grad(net, ops.GradOperation(get_by_list=True), weights, None, x)
        self.assertEqual([one.asnumpy().tolist() for one in made], [[[1.0, 2.0]], [1.0]])
        self.assertIs(executor(), made)
        self.assertFalse(executor.requires_grad())
        self.assertIs(api._convert_python_data(x), x)

    def test_parameters_of_other_names_are_loaded(self):
        inner = module("train.serialization")
        net = nn.SequentialCell(nn.Dense(2, 3), nn.Dense(3, 1))
        given = {f"net.{p.name}": ms.Parameter(p.value() * 0 + 2, p.name) for p in net.get_parameters()}
        lacking = [p.name for p in net.get_parameters()]
        inner._load_dismatch_prefix_params(net, given, lacking, False)
        self.assertEqual(lacking, [])
        self.assertEqual({float(p.asnumpy().max()) for p in net.get_parameters()}, {2.0})
        weight = net[0].weight
        inner._update_param(weight, ms.Parameter(Tensor(np.ones((3, 2), "f2")), "w"), False)
        self.assertEqual((weight.dtype, float(weight.asnumpy().sum())), (ms.float32, 6.0))
        with self.refuses(RuntimeError, "is of another shape, got (2, 2), expected (3, 2)"):
            inner._update_param(weight, ms.Parameter(Tensor(np.ones((2, 2), "f4")), "w"), False)

    def test_tensors_of_a_subclass(self):
        class Own(Tensor):
            pass

        x = Tensor([1.0, 2.0])
        made = Tensor._make_subclass(Own, x, require_grad=False)
        self.assertIs(type(made), Own)
        self.assertEqual((made + 1).asnumpy().tolist(), [2, 3])
        with self.refuses(TypeError, "not a class of tensors"):
            Tensor._make_subclass(int, x)

    def test_other_optimizers_update_alike(self):
        from partita.experimental.optim import AdamW
        from partita.experimental.optim.adamw import SpeedAdamW

        found = []
        for kind in (AdamW, SpeedAdamW):
            weight = ms.Parameter(Tensor([1.0, -2.0]), "w")
            kind([weight], 0.1)((Tensor([0.5, 0.25]),))
            found.append(weight.asnumpy().tolist())
        self.assertEqual(*found)


class Refused(Case):
    def test_say_what_to_use(self):
        q, inner = ops.operations._quant_ops, ops.auto_generate
        for name, call, text in (
            ("FakeQuantPerLayer", lambda: q.FakeQuantPerLayer(8)(Tensor([1.0])), "ops.round"),
            ("BatchNormFold", lambda: q.BatchNormFold()(Tensor([1.0])), "nn.BatchNorm2d"),
            ("QuantBatchMatmul", lambda: inner.QuantBatchMatmul()(1), "floating-point"),
            ("AdamW", lambda: inner.AdamW()(1), "experimental.optim.AdamW"),
            ("SyncBatchNorm", lambda: ops.operations._inner_ops.SyncBatchNorm()(1), "nn.SyncBatchNorm"),
            ("angle", lambda: ops.angle(Tensor([1.0])), "imaginary"),
            ("view_as_real", lambda: ops.view_as_real(Tensor([1.0])), "imaginary"),
            ("load", lambda: ms.load("net.mindir"), "load_checkpoint"),
            ("SparseTensor", lambda: ms.SparseTensor(1), "Tensor of all elements"),
            ("create", lambda: ms.rewrite.SymbolTree.create(None), "attributes"),
            ("create_call_cell", lambda: ms.rewrite.Node.create_call_cell(None), "attributes"),
            ("SymbolTreeBuilder", lambda: ms.rewrite.symbol_tree.SymbolTreeBuilder(None), "attributes"),
            ("compile", lambda: api._cell_graph_executor.compile(None), "jit"),
            ("ModelProto", lambda: module("train.refused_files").ModelProto(), "load_checkpoint"),
            ("GraphProto", lambda: module("train.refused_files").GraphProto(), "load_checkpoint"),
            ("_get_func_graph_proto", lambda: api._cell_graph_executor._get_func_graph_proto(None), "cells_and_names"),
            ("_check_match", lambda: ms.rewrite.PatternEngine._check_match([], {}), "attributes"),
            ("pyboost_empty", lambda: module("_c_expression").pyboost_empty([(2,), None, None]), "mint.empty"),
            ("SentencePieceModel", lambda: dataset.text.utils.SentencePieceModel(0), "sentencepiece"),
            ("SPieceTokenizerLoadType", lambda: dataset.text.utils.SPieceTokenizerLoadType(0), "sentencepiece"),
            ("SPieceTokenizerOutType", lambda: dataset.text.utils.SPieceTokenizerOutType(0), "sentencepiece"),
            ("bfloat16", lambda: module("common.np_dtype").bfloat16(1), "float32"),
            ("create_amp_strategy", lambda: module("_c_expression.amp").create_amp_strategy(), "auto_mixed"),
            ("combine_tensor_list_contiguous", lambda: ms.hal.combine_tensor_list_contiguous([]), "ops.concat"),
            ("_get_summary_tensor_data", module("train.summary")._get_summary_tensor_data, "results"),
        ):
            with self.subTest(name=name), self.refuses(NotImplementedError, f"[{name}]", text):
                call()

    def test_positions_of_the_executor(self):
        with self.refuses(NotImplementedError, "[grad] positions are not supported, got 0"):
            api._pynative_executor.grad(lambda x: x, ops.GradOperation(), None, 0, Tensor([1.0]))


class Ranks(Case):
    def test_collectives_alone(self):
        script = os.path.join(FOLDER, "inner_ranks.py")
        made = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((made.returncode, made.stdout), (0, "collectives of ops: ok\n"), made.stderr)


if __name__ == "__main__":
    unittest.main()
