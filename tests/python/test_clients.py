"""Scaled losses, gradients that are added up, windows and names, as models and steps of client libraries use them."""

import glob
import importlib.util
import os
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from support import Case

import partita as ms
from partita import Tensor, boost, nn, ops, train
from partita.boost.grad_accumulation import gradient_accumulation_op


def _net():
    net = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
    return nn.WithLossCell(net, nn.MSELoss()), net


X = Tensor(np.arange(12, dtype="f4").reshape(4, 3) / 10)
Y = Tensor(np.ones((4, 2), "f4"))


def _after(make, steps=3):
    """(losses, weights) of a training by the step that `make(network, optimizer)` gives."""
    network, net = _net()
    step = make(network, nn.Momentum(net.trainable_params(), 0.1, 0.9))
    losses = []
    for _ in range(steps):
        result = step(X, Y)
        losses.append(float(result[0] if isinstance(result, tuple) else result))
    return losses, net.weight.asnumpy().copy()


class ScaledLosses(Case):
    def test_train_as_without_a_scale(self):
        losses, weights = _after(nn.TrainOneStepCell)
        for scale in (Tensor(1024.0), Tensor([8.0]), nn.FixedLossScaleUpdateCell(64.0)):
            for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
                ms.set_context(mode=mode)
                found = _after(lambda network, optimizer: nn.TrainOneStepWithLossScaleCell(network, optimizer, scale))
                ms.set_context(mode=ms.PYNATIVE_MODE)
                np.testing.assert_allclose(found[0], losses, rtol=1e-6)
                np.testing.assert_allclose(found[1], weights, rtol=1e-6)

    def test_leave_out_steps_that_overflow(self):
        network, net = _net()
        manager = nn.DynamicLossScaleUpdateCell(2.0**127, 2, 2)
        step = nn.TrainOneStepWithLossScaleCell(network, nn.SGD(net.trainable_params(), 0.1), manager)
        before = net.weight.asnumpy().copy()
        loss, overflow, scale = step(X, Tensor(np.full((4, 2), 1e3, "f4")))
        self.assertTrue(bool(overflow))
        self.assertEqual(float(scale), 2.0**127)
        np.testing.assert_array_equal(net.weight.asnumpy(), before)
        self.assertEqual(float(step.scale_sense), 2.0**126)
        while bool(step(X, Y)[1]):
            pass
        self.assertFalse(np.array_equal(net.weight.asnumpy(), before))

    def test_scales_follow_the_rule_of_the_documented_system(self):
        cell, scale = nn.DynamicLossScaleUpdateCell(8.0, 2, 3), ms.Parameter(Tensor(8.0), "scale")
        scales = []
        for overflow in (0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0):
            self.assertEqual(bool(cell(scale, Tensor(bool(overflow)))), bool(overflow))
            scales.append(float(scale))
        self.assertEqual(scales, [8, 8, 16, 8, 8, 8, 16, 8, 4, 2, 1, 1, 1])

    def test_refuse_bad_scales(self):
        network, net = _net()
        optimizer = nn.SGD(net.trainable_params(), 0.1)
        with self.assertRaisesRegex(TypeError, r"\[TrainOneStepWithLossScaleCell\] bad scale_sense, got float"):
            nn.TrainOneStepWithLossScaleCell(network, optimizer, 2.0)
        with self.assertRaisesRegex(ValueError, r"scale_sense is no number, got shape \(2,\)"):
            nn.TrainOneStepWithLossScaleCell(network, optimizer, Tensor([1.0, 2.0]))
        step = nn.TrainOneStepWithLossScaleCell(network, optimizer, Tensor(2.0))
        with self.assertRaisesRegex(TypeError, "the scale is no tensor, got float, expected a Tensor"):
            step.set_sense_scale(3.0)
        step.set_sense_scale(Tensor(3.0))
        self.assertEqual(float(step.scale_sense), 3.0)
        with self.assertRaisesRegex(ValueError, r"\[DynamicLossScaleUpdateCell\] bad scale_window, got 0"):
            nn.DynamicLossScaleUpdateCell(2.0, 2, 0)
        with self.assertRaisesRegex(ValueError, r"\[FixedLossScaleUpdateCell\] bad loss_scale_value, got 0"):
            nn.FixedLossScaleUpdateCell(0)

    def test_managers_give_their_cells(self):
        cell = train.DynamicLossScaleManager(16, 4, 5).get_update_cell()
        self.assertEqual((cell.loss_scale_value, cell.scale_factor, cell.scale_window), (16, 4, 5))
        self.assertEqual(train.FixedLossScaleManager(16).get_update_cell().get_loss_scale(), 16)
        self.assertIsNone(train.FixedLossScaleManager(16, False).get_update_cell())


class AddedGradients(Case):
    def test_update_by_the_mean_of_several_steps(self):
        net = nn.Dense(3, 2, weight_init="ones", has_bias=False)
        optimizer = nn.SGD(net.trainable_params(), 0.5)
        added = boost.GradientAccumulation(3, optimizer)
        gradients = [np.full((2, 3), one, "f4") for one in (1, 2, 6, 3, 3, 3)]
        seen = []
        for one in gradients:
            self.assertEqual(float(added(Tensor(0.25), (Tensor(one),))), 0.25)
            seen.append(float(net.weight.asnumpy()[0, 0]))
        self.assertEqual(seen, [1, 1, -0.5, -0.5, -0.5, -2])

    def test_refuse_bad_numbers(self):
        optimizer = nn.SGD(nn.Dense(1, 1).trainable_params(), 0.5)
        with self.assertRaisesRegex(ValueError, "bad number of steps, got 0, expected an integer from 1"):
            boost.GradientAccumulation(0, optimizer)
        with self.assertRaisesRegex(TypeError, "the number of steps is not an integer, got 1.5"):
            boost.GradientAccumulation(1.5, optimizer)
        with self.assertRaisesRegex(TypeError, "no function for these arguments"):
            gradient_accumulation_op("a", X, X)


class Windows(Case):
    def test_unfold_as_layer(self):
        x = np.arange(2 * 3 * 6 * 7, dtype="f4").reshape(2, 3, 6, 7)
        got = nn.Unfold([1, 2, 3, 1], [1, 2, 1, 1], [1, 2, 2, 1])(Tensor(x)).asnumpy()
        self.assertEqual(got.shape, (2, 18, 2, 3))
        for n, c, i, j, r, s in ((0, 0, 0, 0, 0, 0), (1, 2, 1, 2, 1, 2), (0, 1, 1, 0, 0, 1)):
            self.assertEqual(got[n, (i * 3 + j) * 3 + c, r, s], x[n, c, 2 * r + 2 * i, s + 2 * j])
        same = nn.Unfold([1, 3, 3, 1], [1, 1, 1, 1], [1, 1, 1, 1], "same")(Tensor(x)).asnumpy()
        self.assertEqual(same.shape, (2, 27, 6, 7))
        self.assertEqual(same[0, 0, 0, 0], 0)
        np.testing.assert_array_equal(same[:, 12:15], x)  # the middle of windows

    def test_keep_infinite_elements_to_themselves(self):
        x = np.ones((1, 1, 3, 3), "f4")
        x[0, 0, 0, 0] = np.inf
        got = ops.unfold(Tensor(x), 2).asnumpy()
        self.assertEqual(int(np.isfinite(got).sum()), 15)

    def test_refuse_what_does_not_fit(self):
        for call, kind, text in (
            (lambda: ops.unfold(X, 2), ValueError, r"\[unfold\] wrong number of dimensions, got \(4, 3\), expected 4"),
            (lambda: ops.unfold(Tensor(np.ones((1, 1, 2, 2), "f4")), 3), ValueError, "no window is within the image"),
            (lambda: ops.unfold(Tensor(np.ones((1, 1, 2, 2), "f4")), 0), ValueError, "bad window, got kernel_size=0"),
            (lambda: ops.unfold(X, (1, 2, 3)), ValueError, "wrong number of dimensions"),
            (lambda: nn.Unfold([1, 2, 2], [1] * 4, [1] * 4), ValueError, "bad ksizes"),
            (lambda: nn.Unfold(2, [1] * 4, [1] * 4), TypeError, "ksizes is not a tuple, got int"),
            (lambda: nn.Unfold([1, 2, 2, 1], [1] * 4, [1] * 4, "full"), ValueError, "unknown padding, got 'full'"),
            (lambda: ops.conv3d(X, X), ValueError, "wrong number of dimensions"),
            (lambda: ops.conv3d(X, X, None, 1, "pad", (1, 2)), ValueError, r"\[conv3d\] bad padding, got \(1, 2\)"),
            (lambda: nn.Conv3d(3, 2, 1, group=2), ValueError, "channels do not divide into groups"),
            (lambda: nn.Conv3d(1, 2, 1, pad_mode="full"), ValueError, "unknown pad_mode, got 'full'"),
            (lambda: ops.LpNorm(0, 0), ValueError, r"\[LpNorm\] bad degree, got p=0"),
            (lambda: ops.KLDivLoss("most"), ValueError, r"\[KLDivLoss\] unknown reduction, got 'most'"),
            (lambda: ops.Unstack(0, 3)(X), ValueError, r"\[Unstack\] wrong number of slices, got 3, expected 4"),
            (lambda: ops.functional.addn([]), ValueError, r"\[addn\] nothing to add"),
        ):
            with self.assertRaisesRegex(kind, text):
                call()

    def test_primitives_of_convolutions_are_whole(self):
        class Scaled(nn.Conv2d):
            def construct(self, x):
                return self.conv2d(x, self.weight * 2.0)

        x = Tensor(np.random.default_rng(1).standard_normal((2, 4, 7, 7)).astype("f4"))
        layer = Scaled(4, 6, 3, 2, "pad", 1, 1, 2)
        expected = ops.conv2d(x, layer.weight * 2.0, None, 2, "pad", 1, 1, 2)
        np.testing.assert_allclose(layer(x).asnumpy(), expected.asnumpy(), rtol=1e-6)


class Names(Case):
    def test_say_what_to_use_instead(self):
        for make, text in (
            (lambda: ms.RowTensor(), r"\[RowTensor\] sparse tensors are not supported, got a call"),
            (lambda: ops.operations.nn_ops.ReshapeAndCache(), r"\[ReshapeAndCache\] this name is not"),
            (lambda: ms.rewrite.SymbolTree(), r"\[SymbolTree\] this name is not supported, got a call"),
            (lambda: ms.Profiler(), r"\[Profiler\] .*partita train --trace"),
            (lambda: nn.GraphCell(None), r"\[GraphCell\] this name is not supported, got a call, expected the network"),
            (lambda: ops.ScalarSummary()("a", X), r"\[ScalarSummary\] networks record nothing"),
            (lambda: ms.dataset.LSUNDataset("."), r"\[LSUNDataset\] this name is not supported"),
        ):
            with self.assertRaisesRegex(NotImplementedError, text):
                make()

    def test_element_types_that_no_tensor_has(self):
        from partita.common import dtype as mstype

        self.assertEqual(str(ms.int8), "Int8")
        self.assertNotEqual(ms.int8, ms.int32)
        self.assertIn(ms.complex64, mstype.number_type)
        self.assertTrue(isinstance(ms.float16, mstype.Float) and not isinstance(ms.int32, mstype.Float))
        for make in (lambda: Tensor([1], ms.uint64), lambda: X.astype(ms.complex64), lambda: ops.zeros(2, ms.uint64)):
            with self.assertRaisesRegex(TypeError, r"\[dtype\] unknown element type, got (UInt64|Complex64)"):
                make()

    def test_modules_under_their_documented_names(self):
        script = """
from mindspore.nn.loss.loss import LossBase
from mindspore.nn.metrics import Accuracy
from mindspore.dataset.vision.transforms import CenterCrop
from mindspore.dataset.vision.utils import Inter
from mindspore.dataset.engine.datasets import BatchDataset
from mindspore.parallel.shard import Layout
from mindspore.ops.operations.comm_ops import Broadcast
from mindspore.parallel._auto_parallel_context import auto_parallel_context
from mindspore._c_expression import MSContext
from mindspore.nn import metrics
import mindspore, mindspore.nn, partita
assert mindspore is partita and LossBase is partita.nn.LossBase, mindspore
assert Accuracy is partita.train.Accuracy and CenterCrop is partita.dataset.vision.CenterCrop
assert metrics.Accuracy is Accuracy and auto_parallel_context().get_pipeline_stages() == 1
assert MSContext.get_instance().get_ascend_soc_version() == ""
try:
    auto_parallel_context().get_nothing()
except AttributeError as error:
    print(error)
"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "script.py")
            with open(path, "w") as file:
                file.write(script)
            done = subprocess.run([sys.executable, "-m", "partita.msrun", path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("[auto_parallel_context] unknown option, got 'nothing'", done.stdout)

    def test_metrics_by_their_names(self):
        found = train.metrics.get_metrics({"acc", "loss"})
        self.assertEqual(sorted(found), ["acc", "loss"])
        self.assertIsNone(train.metrics.get_metrics(None))
        with self.assertRaisesRegex(KeyError, r"unknown metric, got 'none', expected one of"):
            train.get_metric_fn("none")
        with self.assertRaisesRegex(TypeError, "bad metrics, got int"):
            train.metrics.get_metrics(3)
        self.assertIs(nn.Top5CategoricalAccuracy, train.Top5CategoricalAccuracy)

    def test_checks_of_keywords_that_a_function_does_not_list(self):
        from partita._checkparam import args_type_check

        @args_type_check(size=int, kwargs=dict)
        def call(**kwargs):
            return kwargs

        self.assertEqual(call(size=2, name="a"), {"size": 2, "name": "a"})
        with self.assertRaisesRegex(TypeError, "'size' has the wrong type, got str"):
            call(size="2")


class ValuesOfParameters(Case):
    def test_items_that_are_assigned_become_the_parameters(self):
        w = ms.Parameter(Tensor(np.zeros((2, 3), "f4")), "w")
        step = ms.jit(lambda x: (x * w).sum())
        self.assertEqual(float(step(Tensor(np.ones((2, 3), "f4")))), 0)
        values = w.asnumpy()
        values[0] = 2
        values[1, 2] = 5
        self.assertEqual(float(step(Tensor(np.ones((2, 3), "f4")))), 11)
        self.assertEqual(float((values + 1)[0, 0]), 3)
        for computed in (values + 1, values.copy(), np.exp(values)):
            self.assertIs(type(computed), np.ndarray)
        with self.assertRaises(ValueError):
            values += 1  # programs would not hear of it
        copied = values.copy()
        copied[0] = 9
        self.assertEqual(float(w[0, 0]), 2)


class Summaries(Case):
    def test_scalars_of_steps(self):
        with tempfile.TemporaryDirectory() as folder, train.SummaryRecord(folder) as record:
            record.add_value("scalar", "loss", Tensor(0.5))
            self.assertTrue(record.record(300))
            record.flush()
            path = glob.glob(os.path.join(folder, "events.out.events.summary.*_MS"))[0]
            self.assertEqual(record.log_dir, path)
            with open(path, "rb") as file:
                data = file.read()
            (size,) = struct.unpack("<Q", data[:8])
            second = data[16 + size :]
            body = second[12 : 12 + struct.unpack("<Q", second[:8])[0]]
            self.assertEqual(body[9:12], b"\x10\xac\x02")  # step 300
            self.assertTrue(body.endswith(b"\x0a\x04loss\x1d" + struct.pack("<f", 0.5)))
            record.close()
            self.assertFalse(record.record(301))

    def test_crc_is_that_of_records(self):
        from partita.train.summary import _masked_crc

        crc = ((_masked_crc(b"123456789") - 0xA282EAD8) & 0xFFFFFFFF) << 15 & 0xFFFFFFFF
        crc |= ((_masked_crc(b"123456789") - 0xA282EAD8) & 0xFFFFFFFF) >> 17
        self.assertEqual(crc, 0xE3069283)  # the check value of CRC-32C

    def test_refuse_what_is_no_scalar(self):
        with tempfile.TemporaryDirectory() as folder, train.SummaryRecord(folder) as record:
            for args, kind, text in (
                (("image", "a", X), NotImplementedError, "only scalars are recorded, got 'image'"),
                (("sound", "a", X), ValueError, "unknown plugin, got 'sound'"),
                (("scalar", "", X), ValueError, "bad name, got ''"),
                (("scalar", "a", 0.5), TypeError, "the value is no tensor, got float"),
                (("scalar", "a", X), ValueError, r"the value is no scalar, got shape \(4, 3\)"),
            ):
                with self.assertRaisesRegex(kind, text):
                    record.add_value(*args)
            with self.assertRaisesRegex(TypeError, "the step is not an integer, got True"):
                record.record(True)
            with self.assertRaisesRegex(ValueError, "unknown mode, got 'test'"):
                record.set_mode("test")
        with self.assertRaisesRegex(TypeError, "log_dir is not a string, got int"):
            train.SummaryRecord(3)


class DrawnImages(Case):
    def rows(self, maps, count=6, edge=9):
        images = np.random.default_rng(3).integers(0, 256, (count, edge, edge + 2, 3), np.uint8)
        data = ms.dataset.NumpySlicesDataset({"image": images}, shuffle=False).map(maps, "image")
        return images, [row["image"] for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]

    def test_follow_from_the_seed_and_the_row(self):
        vision = ms.dataset.vision
        for make in (
            lambda: vision.RandomResizedCrop(5),
            lambda: vision.RandomVerticalFlip(0.5),
            lambda: vision.RandomHorizontalFlip(0.3),
            lambda: vision.RandomColorAdjust(0.4, 0.4, 0.4, 0.1),
        ):
            ms.set_seed(1)
            first = self.rows([make()])[1]
            again = self.rows([make()])[1]
            ms.set_seed(2)
            other = self.rows([make()])[1]
            for a, b in zip(first, again):
                np.testing.assert_array_equal(a, b)
            self.assertTrue(any(not np.array_equal(a, b) for a, b in zip(first, other)), make())

    def test_flips_keep_or_turn(self):
        images, found = self.rows([ms.dataset.vision.RandomVerticalFlip(0.5)], 40)
        turned = [np.array_equal(a, b[::-1]) for a, b in zip(found, images)]
        kept = [np.array_equal(a, b) for a, b in zip(found, images)]
        self.assertTrue(all(a != b for a, b in zip(turned, kept)))
        self.assertTrue(8 < sum(turned) < 32, sum(turned))

    def test_crops_are_windows_of_the_image(self):
        plain = np.arange(40 * 30, dtype=np.float32).reshape(40, 30, 1).repeat(3, 2)
        for seed in range(20):
            generator = np.random.default_rng(seed)
            crop = ms.dataset.vision.RandomResizedCrop(8, (0.1, 0.6), (0.5, 2.0))
            top, left, h, w = crop.window(40, 30, generator)
            self.assertTrue(0 <= top <= 40 - h and 0 <= left <= 30 - w)
            self.assertTrue(0.45 <= w / h <= 2.2 and 0.08 <= h * w / 1200 <= 0.65, (h, w))
        self.assertEqual(crop(plain).shape, (8, 8, 3))

    def test_erase_a_window(self):
        image = np.ones((3, 20, 16), np.float32)
        erased = ms.dataset.vision.RandomErasing(1.0, (0.1, 0.2), (0.5, 2.0), (4, 5, 6))(image)
        places = np.argwhere(erased[0] == 4)
        (top, left), (bottom, right) = places.min(0), places.max(0) + 1
        self.assertTrue((erased[:, top:bottom, left:right] == np.array([4, 5, 6])[:, None, None]).all())
        self.assertEqual(int((erased != 1).sum()), 3 * (bottom - top) * (right - left))
        self.assertTrue((image == 1).all())

    def test_refuse_bad_arguments(self):
        vision = ms.dataset.vision
        image = np.zeros((4, 4, 3), np.uint8)
        for call, kind, text in (
            (lambda: vision.CenterCrop(0), ValueError, r"\[CenterCrop\] bad size, got 0"),
            (lambda: vision.CenterCrop(2)(np.zeros(3)), ValueError, r"\[CenterCrop\] no image, got shape \(3,\)"),
            (lambda: vision.RandomVerticalFlip(1.5), ValueError, "bad prob, got 1.5, expected 0 to 1"),
            (lambda: vision.RandomVerticalFlip("a"), TypeError, "prob is not a number, got 'a'"),
            (lambda: vision.RandomResizedCrop(3, (0.5, 0.1)), ValueError, r"bad scale, got \(0.5, 0.1\)"),
            (lambda: vision.RandomResizedCrop(3, max_attempts=0), ValueError, "bad max_attempts, got 0"),
            (lambda: vision.RandomErasing(value="a"), ValueError, "bad value, got 'a'"),
            (lambda: vision.RandomErasing(1.0)(image[0]), ValueError, r"\[RandomErasing\] no image, got shape"),
            (lambda: vision.RandomColorAdjust(hue=(0, 0.7)), ValueError, "bad hue"),
            (lambda: vision.RandomColorAdjust()(image[..., :1]), ValueError, "no colours, got shape"),
            (lambda: vision.Resize(3, 4), TypeError, "bad interpolation, got 4"),
        ):
            with self.assertRaisesRegex(kind, text):
                call()

    @unittest.skipUnless(importlib.util.find_spec("PIL"), "no Pillow")
    def test_files_that_are_decoded_later(self):
        from PIL import Image

        with self.assertRaisesRegex(ValueError, r"\[RandomCropDecodeResize\] no image"):
            ms.dataset.vision.RandomCropDecodeResize(3)(np.zeros(9, np.uint8))
        with tempfile.TemporaryDirectory() as folder:
            for label, sizes in enumerate(((9, 7), (30, 40))):
                os.mkdir(os.path.join(folder, str(label)))
                pixels = np.full((*sizes, 3), 50 * (label + 1), np.uint8)
                Image.fromarray(pixels).save(os.path.join(folder, str(label), "a.png"))
            data = ms.dataset.ImageFolderDataset(folder, shuffle=False)
            maps = [ms.dataset.vision.RandomCropDecodeResize(5), ms.dataset.vision.HWC2CHW()]
            data = data.map(maps, "image").batch(2)
            (row,) = data.create_dict_iterator(num_epochs=1, output_numpy=True)
        self.assertEqual(row["image"].shape, (2, 3, 5, 5))
        self.assertEqual(row["image"][:, 0, 0, 0].tolist(), [50, 100])
        self.assertEqual(row["label"].tolist(), [0, 1])


if __name__ == "__main__":
    unittest.main()
