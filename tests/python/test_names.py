"""Names that scripts ask for: those of the top level, and those that are not there, with what to use."""

import importlib
import inspect
import os
import subprocess
import sys
import tempfile
import threading
import time
from unittest import mock

import numpy as np
from support import Case, printed, rng, warned

import partita as ms
from partita import _hints, amp, common, hal, nn, ops, runtime, utils
from partita import dataset as ds

TOOL = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "reference", "missing_names.py")


def owner_of(where):
    """The object whose attributes are asked for."""
    cell = nn.Dense(2, 3)
    objects = {"Tensor": ms.Tensor(1.0), "Cell": cell, "Optimizer": nn.SGD(cell.trainable_params(), 0.1)}
    return objects.get(where) or importlib.import_module(f"partita.{where}" if where else "partita")


class Missing(Case):
    def test_names_of_pytorch_say_what_to_use(self):
        asked = 0
        for where, hints in _hints.OF_TORCH.items():
            owner = owner_of(where)
            for name, hint in hints.items():
                if hasattr(owner, name):
                    continue  # it is there by now
                with self.assertRaises(AttributeError) as caught:
                    getattr(owner, name)
                self.assertIn(hint, str(caught.exception), (where, name))
                self.assertIn(name, str(caught.exception))
                asked += 1
        self.assertGreater(asked, 60)

    def test_hints_name_what_is_there(self):
        """The functions and classes that hints name."""
        for where, hints in _hints.OF_TORCH.items():
            for name, hint in hints.items():
                words = [one.strip(",:()[]") for one in hint.split("(")[0].split()]
                for word in words:
                    head, dot, last = word.partition(".")
                    if dot and head in ("ops", "nn", "communication") and last:
                        self.assertTrue(hasattr(getattr(ms, head), last), (where, name, word))

    def test_refused_names_say_what_to_use(self):
        for module, names in _hints.REFUSED.items():
            owner = importlib.import_module(f"partita.{module}" if module else "partita")
            for name, instead in names.items():
                try:
                    found = getattr(owner, name)
                except AttributeError as error:
                    self.assertIn(instead, str(error), (module, name))
                    continue
                if inspect.isclass(found) and (found.__doc__ or "").startswith("Not there"):
                    with self.assertRaises(NotImplementedError):
                        found()

    def test_an_import_says_it_too(self):
        with self.assertRaisesRegex(ImportError, "nn.Cell, whose method is `construct`"):
            from partita.nn import Module  # noqa: F401
        with self.assertRaisesRegex(ImportError, "there is no parameter server"):
            from partita import set_ps_context  # noqa: F401

    def test_forward_is_not_construct(self):
        class Net(nn.Cell):
            def forward(self, x):
                return x

        with self.refuses(AttributeError, "got a call and a method forward", "construct(self, ..)"):
            Net()(ms.Tensor(1.0))

    def test_the_page_is_current(self):
        done = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class TopLevel(Case):
    def test_all_names_are_there(self):
        for name in dir(ms):
            self.assertIsNotNone(getattr(ms, name, None) if name != "_null" else ms._null, name)

    def test_the_generator_has_a_state(self):
        ms.manual_seed(11)
        state = ms.get_rng_state()
        first, second = ops.rand(4).asnumpy(), ops.rand(4).asnumpy()
        self.assertTrue((first != second).all())
        ms.set_rng_state(state)
        self.close(ops.rand(4), first, 0)
        self.close(ops.rand(4), second, 0)
        self.assertEqual(ms.initial_seed(), 11)
        own = ms.Generator().manual_seed(5)
        with own.drawing():
            mine = ops.randn(3).asnumpy()
        with ms.Generator().manual_seed(5).drawing():
            self.close(ops.randn(3), mine, 0)
        drawn = {ms.Generator().seed() for _ in range(4)}
        self.assertGreater(len(drawn), 2)
        with self.refuses(ValueError, "no state of a generator"):
            ms.set_rng_state(np.zeros(3))
        with self.refuses(TypeError, "not an integer, got float"):
            ms.manual_seed(1.5)

    def test_the_state_before_a_seed_is_that_of_the_seed_1(self):
        text = "import partita as ms; from partita import ops; state = ms.get_rng_state(); a = ops.rand(3).asnumpy(); "
        again = "ms.set_rng_state(state); print(ms.initial_seed(), (ops.rand(3).asnumpy() == a).all())"
        made = subprocess.run([sys.executable, "-c", text + again], capture_output=True, text=True, check=True)
        self.assertEqual(made.stdout, "1 True\n")

    def test_no_grad_of_threads_is_their_own(self):
        entered, both, left = (threading.Event() for _ in range(3))

        @ms._no_grad()
        def doubled(x, is_first):
            (entered if is_first else both).set()
            (both if is_first else left).wait(20)
            return x * 2

        def run(is_first):
            def loss(x):
                made = doubled(x, is_first)
                left.set()
                return (made + x).sum()

            if not is_first:
                entered.wait(20)
            found[is_first] = ms.grad(loss)(ms.Tensor(np.ones(3, "f4"))).asnumpy().tolist()

        found = {}
        threads = [threading.Thread(target=run, args=(one,)) for one in (True, False)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(found, {True: [1.0] * 3, False: [1.0] * 3})

    def test_no_grad_detaches(self):
        net, x = nn.Dense(3, 3), ms.Tensor(rng().standard_normal((2, 3)).astype("f4"))

        def part(x):
            with ms._no_grad():
                y = net(x) * 2
            return (y * x).sum()

        for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
            ms.set_context(mode=mode)
            _, (dx, dw) = ms.value_and_grad(part, 0, net.trainable_params())(x)
            self.close(dx, 2 * net(x).asnumpy(), 1e-5)
            self.assertFalse(any(one.asnumpy().any() for one in dw))

    def test_recompute_gives_the_same(self):
        net, x = nn.SequentialCell(nn.Dense(3, 4), nn.Tanh(), nn.Dense(4, 1)), ms.Tensor(rng().random((2, 3), "f4"))
        own = ms.grad(lambda x: ms.recompute(net, x).sum())(x)
        self.close(own, ms.grad(lambda x: net(x).sum())(x).asnumpy(), 1e-6)
        with self.refuses(TypeError, "cannot be called, got int"):
            ms.recompute(3, x)

    def test_run_check(self):
        with printed() as out:
            ms.run_check()
        self.assertIn("multiplication calculation is correct", out.getvalue())

    def test_types_of_values(self):
        tensor = ms.Tensor([1.0])
        for value in (tensor, ms.TensorType((ms.float32,))):
            self.assertEqual(str(ms.get_py_obj_dtype(value)), "Tensor[Float32]")
        for value, kind in ((np.float32(1), ms.float32), (1j, ms.complex128), (int, ms.int64), ((1,), ms.tuple_)):
            self.assertEqual(ms.get_py_obj_dtype(value), kind)
        self.assertEqual(ms.pytype_to_dtype(np.complex64), ms.complex64)
        self.assertEqual(common.dtype.type_size_in_bytes(ms.complex64), 8)
        with self.refuses(TypeError, "[dtype] no such type, got slice, expected a number, a str or a Tensor"):
            ms.get_py_obj_dtype(slice(1))
        with self.refuses(TypeError, "[dtype] NumPy lacks this element type, got BFloat16, expected another one"):
            ms.dtype_to_nptype(ms.bfloat16)

    def test_settings(self):
        self.assertEqual(ms.get_current_device(), ("CPU", 0))
        limit = sys.getrecursionlimit()
        ms.set_recursion_limit(10)
        self.assertEqual(sys.getrecursionlimit(), limit)
        ms.set_algo_parameters(fully_use_devices=True)
        self.assertTrue(ms.get_algo_parameters("fully_use_devices"))
        ms.reset_algo_parameters()
        self.assertFalse(ms.get_algo_parameters("fully_use_devices"))
        a, b = ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])
        ms.swap_tensors(a, b)
        self.close(a, [3, 4])
        self.close(b, [1, 2])
        with self.refuses(ValueError, "the tensors differ"):
            ms.swap_tensors(a, ms.Tensor([1.0]))


class Devices(Case):
    def test_memory_is_that_of_the_process(self):
        hal.reset_peak_memory_stats()
        before = runtime.memory_allocated()
        kept = np.ones(8 << 20)  # 64 MiB
        self.assertGreater(runtime.memory_allocated() - before, 60 << 20)
        del kept
        self.assertGreater(runtime.max_memory_allocated() - before, 60 << 20)
        self.assertIn("MiB", hal.memory_summary())
        with mock.patch("partita._memory._STATUS", "/nowhere"), self.refuses(NotImplementedError, "ms.plan"):
            hal.memory_stats()

    def test_events_have_times(self):
        begin, end = runtime.Event(enable_timing=True), runtime.Event(enable_timing=True)
        begin.record()
        time.sleep(0.02)
        with runtime.StreamCtx(hal.current_stream()):
            hal.current_stream().record_event(end)
        self.assertTrue(15 < begin.elapsed_time(end) < 2000)
        self.assertTrue(end.query() and hal.Stream() == runtime.default_stream())
        with self.refuses(RuntimeError, "enable_timing=True"):
            runtime.Event().elapsed_time(end)
        with self.refuses(TypeError, "expected Event"):
            hal.Stream().wait_event(3)

    def test_devices(self):
        from partita.device_context import ascend, cpu
        from partita.device_context.ascend import op_precision

        self.assertEqual((cpu.device_count(), hal.device_count("CPU")), (1, 1))
        self.assertFalse(ascend.is_available())
        with self.refuses(RuntimeError, "got 'Ascend'"):
            ascend.device_count()
        with self.refuses(ValueError, "unknown device, got 'NPU'"):
            hal.device_count("NPU")
        with warned() as lines:
            op_precision.precision_mode("force_fp32")
        self.assertIn("[precision_mode]", lines[0])


class Tensors(Case):
    def test_say_how_they_lie(self):
        x = rng().standard_normal((3, 4)).astype("f4")
        t = ms.Tensor(x)
        self.assertEqual((t.get_bytes(), t.storage().size()), (x.tobytes(), x.nbytes))
        self.close(ms.Tensor.convert_bytes_to_tensor(t.get_bytes(), (3, 4), ms.float32), x, 0)
        self.assertEqual((t.is_contiguous(), t.storage_offset(), t.is_signed()), (True, 0, True))
        self.assertFalse(ms.Tensor(np.ones(2, "u1")).is_signed())
        self.assertEqual(t.data_ptr(), t.asnumpy().ctypes.data)
        t.data = t * 2
        self.close(t, 2 * x, 0)
        self.close(t.itemset((1, 2), 7.0)[1, 2], 7)
        parameter = ms.Parameter(t)
        parameter.requires_grad_(False)
        self.assertFalse(parameter.requires_grad)

    def test_go_through_dlpack(self):
        x = rng().standard_normal((3, 4)).astype("f4")
        self.close(utils.from_dlpack(utils.to_dlpack(ms.Tensor(x))), x, 0)
        self.close(ms.Tensor.from_dlpack(x.T.copy()), x.T, 0)


class Steps(Case):
    def rows(self):
        return ds.NumpySlicesDataset((rng().random((6, 3), "f4"), np.arange(6, dtype="i4") % 2), shuffle=False).batch(2)

    def test_read_a_data_set(self):
        seen = []
        sunk = ms.data_sink(lambda x, y: seen.append(y.asnumpy().tolist()) or len(seen), self.rows(), 2)
        self.assertEqual([sunk(), sunk()], [2, 4])
        self.assertEqual(seen, [[0, 1]] * 4)
        helper = ms.DatasetHelper(self.rows(), dataset_sink_mode=False)
        self.assertEqual([len(one) for one in helper], [2, 2, 2])
        self.assertEqual(helper.types_shapes()[1], [[2, 3], [2]])

    def test_of_a_connected_network(self):
        def losses(connect):
            ms.set_seed(4)
            net = nn.Dense(3, 2)
            step = amp.build_train_network(net, nn.SGD(net.trainable_params(), 0.3), nn.CrossEntropyLoss())
            helper = ms.DatasetHelper(self.rows(), dataset_sink_mode=connect)
            step = ms.connect_network_with_dataset(step, helper) if connect else step
            return [float(step(*one)) for _ in range(2) for one in helper]

        self.assertEqual(losses(True), losses(False))
        with self.refuses(RuntimeError, "dataset_sink_mode=False"):
            ms.connect_network_with_dataset(nn.Dense(3, 2), ms.DatasetHelper(self.rows(), False))

    def test_in_chosen_precisions(self):
        net = nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4), nn.Dense(4, 2))
        amp.custom_mixed_precision(net, black_list=[nn.BatchNorm1d])
        self.assertEqual([one._precision for one in net], ["f16", "f32", "f16"])
        net = nn.SequentialCell(nn.Dense(3, 4), nn.Tanh())
        amp.custom_mixed_precision(net, white_list=[nn.Dense], dtype=ms.bfloat16)
        self.assertEqual([one._precision for one in net], ["bf16", None])
        with self.refuses(ValueError, "one list is needed"):
            amp.custom_mixed_precision(net)


class Files(Case):
    def test_are_converted(self):
        with tempfile.TemporaryDirectory() as folder:
            net = nn.Dense(3, 2)
            ms.save_checkpoint(net, folder + "/a.ckpt")
            ms.ckpt_to_safetensors(folder, name_map={"weight": "w"})
            found = ms.load_checkpoint(folder + "/a.safetensors", format="safetensors")
            self.close(found["w"], net.weight.asnumpy(), 0)
            ms.safetensors_to_ckpt(folder + "/a.safetensors", folder + "/out", {"w": "weight"})
            self.close(ms.load_checkpoint_async(folder + "/out/a.ckpt").result()["weight"], net.weight.asnumpy(), 0)
            ms.save_checkpoint([{"name": "other", "data": net.bias}], folder + "/out/b.ckpt")
            self.assertEqual(set(ms.load_segmented_checkpoints(folder + "/out")), {"weight", "bias", "other"})
            with self.refuses(ValueError, "nothing to convert"):
                ms.ckpt_to_safetensors(folder + "/none")


class Initializers(Case):
    def drawn(self, init, shape):
        return ms.Tensor(shape=shape, dtype=ms.float32, init=init).init_data().asnumpy()

    def test_have_their_properties(self):
        from partita.common import initializer as kinds

        for shape in ((5, 9), (9, 5), (6, 2, 3)):
            flat = self.drawn(kinds.Orthogonal(2.0), shape).reshape(shape[0], -1)
            product = flat @ flat.T if flat.shape[0] <= flat.shape[1] else flat.T @ flat
            self.close(product, 4 * np.eye(len(product)), 1e-5)
        sparse = self.drawn(kinds.Sparse(0.25, 0.5), (40, 30))
        self.assertTrue(((sparse == 0).sum(axis=0) == 10).all())
        self.assertTrue(0.4 < sparse[sparse != 0].std() < 0.6)
        self.close(self.drawn(kinds.Identity(), (3, 5)), np.eye(3, 5), 0)
        for kind, fan in (("fan_in", 300), ("fan_out", 200), ("fan_avg", 250)):
            for distribution in ("uniform", "truncated_normal", "untruncated_normal"):
                values = self.drawn(kinds.VarianceScaling(2.0, kind, distribution), (200, 300))
                self.assertTrue(0.95 < values.var() * fan / 2 < 1.05, (kind, distribution))
        x = rng().standard_normal((1, 4, 5)).astype("f4")
        kernel = self.drawn(kinds.Dirac(), (4, 4, 3))
        kept = ops.conv1d(ms.Tensor(x), ms.Tensor(kernel), pad_mode="same")
        self.close(kept, x, 1e-6)
