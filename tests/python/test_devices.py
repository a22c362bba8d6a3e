"""The device of a script: the CPU, or an accelerator that stands for the GPU. Those that compute on one run if
PARTITA_PJRT_PLUGIN names a plugin for CPUs (tools/xla/get_plugin.sh)."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np
import support

import partita as ms
from partita import _core, _devices, _warnings, context, nn
from partita import dataset as ds

PLUGIN = os.environ.get("PARTITA_PJRT_PLUGIN", "")


class DeviceCase(support.Case):
    """A test that forgets its devices at the end."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.forget)
        self.forget()

    @staticmethod
    def forget():
        """Puts the context back, and what is known of devices."""
        _devices._opened.clear()
        _warnings._said.clear()
        context._given.clear()
        context._context.update(device_target="CPU", device_id=0)
        ms.set_context(ranks=1)

    @contextlib.contextmanager
    def environment(self, **variables):
        with mock.patch.dict(os.environ, variables):
            yield

    def option(self, alone=True, **settings):
        """(`ranks.device` under these settings, what was printed as warnings)."""
        ms.set_context(**settings)
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            return context.device_option(alone), errors.getvalue()


class Devices(DeviceCase):
    def test_the_cpu_needs_no_plugin(self):
        with self.environment(PARTITA_PJRT_PLUGIN="/nowhere.so"):
            self.assertEqual(self.option(device_target="CPU"), ("cpu", ""))

    def test_a_gpu_that_is_missing_is_a_warning(self):
        with self.environment(PARTITA_PJRT_PLUGIN="/nowhere.so", PARTITA_GPU=""):
            device, text = self.option(device_target="GPU")
            self.assertEqual(self.option(device_target="GPU"), ("cpu", ""), "it is said once")
        self.assertEqual(device, "cpu")
        self.assertTrue(
            text.startswith(
                "partita: warning: [set_context] the GPU cannot be used: [device] no PJRT plugin, got /nowhere.so: "
            ),
            text,
        )
        self.assertTrue(
            text.endswith("; the CPU computes. To install what is missing: unset PARTITA_PJRT_PLUGIN\n"), text
        )

    def test_ascend_is_a_warning(self):
        device, text = self.option(device_target="Ascend")
        self.assertEqual(device, "cpu")
        self.assertIn("[set_context] no plugin has this device, got device_target='Ascend'", text)

    def test_bad_names_are_errors(self):
        with self.environment(PARTITA_GPU="gpu"), self.refuses(ValueError, "a device that does not exist, got gpu"):
            self.option(device_target="GPU")
        with self.refuses(ValueError, "[set_context] bad device_id, got -1, expected 0 or more"):
            ms.set_context(device_id=-1)
        with self.refuses(ValueError, "device_target has an unknown value"):
            ms.set_context(device_target="TPU")

    def test_names_of_devices(self):
        with (
            self.environment(PARTITA_GPU="rocm"),
            mock.patch.object(_devices, "_open", return_value=2),
        ):
            self.assertEqual(self.option(device_target="GPU"), ("rocm", ""))
            self.assertEqual(self.option(device_id=1), ("rocm:1", ""))
            device, text = self.option(device_id=3)
            self.assertEqual(device, "rocm:1")
            self.assertIn("there are fewer devices, got device_id=3 of 2", text)
            self.assertEqual(self.option(ranks=2), ("rocm", ""), "each rank has its own")
        with self.environment(PARTITA_GPU="cuda:1"), mock.patch.object(_devices, "_open", return_value=2):
            self.assertEqual(self.option(ranks=1)[0], "cuda:1")

    def test_the_folders_of_the_interpreter_are_searched(self):
        with mock.patch.object(_core, "search_packages_in") as search, mock.patch.object(
            _core, "open_device", return_value=1
        ):
            self.assertEqual(_devices._open("tpu"), 1)
        (folders,) = search.call_args.args
        self.assertIn(os.path.dirname(os.path.dirname(np.__file__)), folders)


@unittest.skipUnless("cpu" in os.path.basename(PLUGIN), "no PARTITA_PJRT_PLUGIN for CPUs: tools/xla/get_plugin.sh")
class OnADevice(DeviceCase):
    def numbers(self, function, target):
        """Returns the numbers of a function that computes on this device."""
        self.forget()
        ms.set_seed(1)
        ms.set_context(device_target=target)
        with self.environment(PARTITA_GPU="xla:cpu"), contextlib.redirect_stderr(io.StringIO()) as errors:
            found = function()
            self.assertEqual(context.device_option(), "xla:cpu" if target == "GPU" else "cpu")
        self.assertEqual(errors.getvalue(), "")
        return found

    def same(self, function):
        self.close(self.numbers(function, "GPU"), self.numbers(function, "CPU"), 1e-5)

    @staticmethod
    def network():
        return nn.SequentialCell(nn.Dense(6, 8), nn.ReLU(), nn.Dense(8, 3))

    @staticmethod
    def rows():
        numbers = np.random.default_rng(2)
        labels = numbers.integers(0, 3, 24).astype("i4")
        return ds.NumpySlicesDataset((numbers.random((24, 6), "f4"), labels), ["x", "y"], shuffle=False).batch(8)

    def test_model(self):
        def run(ranks):
            ms.set_context(ranks=ranks)
            if ranks > 1:
                ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
            net = self.network()
            model = ms.Model(
                net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9), metrics={"loss"}
            )
            model.train(2, self.rows())
            predicted = model.predict(ms.Tensor(np.ones((2, 6), "f4"))).asnumpy()
            return np.append(predicted, model.eval(self.rows())["loss"])

        self.same(lambda: run(1))
        self.same(lambda: run(2))

    def test_loops(self):
        x, y = ms.Tensor(np.ones((4, 6), "f4")), ms.Tensor(np.array([0, 1, 2, 0], "i4"))

        def one_step_cell():
            net = self.network()
            optimizer = nn.Adam(net.trainable_params(), 0.01)
            step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
            return [float(step(x, y)) for _ in range(3)]

        def gradients():
            net, loss = self.network(), nn.CrossEntropyLoss()
            optimizer = nn.SGD(net.trainable_params(), 0.1)
            function = ms.value_and_grad(lambda a, b: loss(net(a), b), None, optimizer.parameters)
            losses = []
            for _ in range(3):
                value, grads = function(x, y)
                optimizer(grads)
                losses.append(float(value))
            return losses

        self.same(one_step_cell)
        self.same(gradients)


SCRIPT = """
import ctypes
import numpy as np
import partita as ms
from partita import nn

ms.set_context(device_target="GPU")
net = nn.Dense(8, 4, "ones", "zeros")
x = ms.Tensor(np.ones((2, 8), np.float32))
if %r == "loop":
    print(float(ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())(x)[0].asnumpy()))
else:
    print(float(ms.Model(net).predict(x).asnumpy().sum()))
library = ctypes.CDLL(None)
library.getenv.restype = ctypes.c_char_p
print(library.getenv(b"TF_CPP_MIN_LOG_LEVEL").decode())
"""


@unittest.skipUnless(PLUGIN, "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh")
class Logs(unittest.TestCase):
    """The plugin for CPUs logs nothing when it loads a kept program, unless a script asks for it. What it would log
    depends on the processor, so the level is checked, too."""

    def run_script(self, cache, script, **variables):
        names = ("TF_CPP_MIN_LOG_LEVEL", "PARTITA_CACHE")
        kept = {name: value for name, value in os.environ.items() if name not in names}
        environment = kept | {"PARTITA_GPU": "xla:cpu", "PARTITA_CACHE": cache} | variables
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT % script], env=environment, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def test_kept_programs_are_silent(self):
        for script in ("loop", "predict"):
            with tempfile.TemporaryDirectory() as cache:
                for run in ("compiled", "kept"):
                    self.assertEqual(self.run_script(cache, script), ("64.0\n3\n", ""), f"{script}, {run}")
                output, _ = self.run_script(cache, script, TF_CPP_MIN_LOG_LEVEL="0")
                self.assertEqual(output, "64.0\n0\n", script)


if __name__ == "__main__":
    unittest.main()
