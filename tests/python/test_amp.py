"""Models in 16 bits: nearly the losses of float32, the same on any number of ranks."""

import contextlib
import io

import numpy as np
from support import Case, Losses, Small, labelled

import partita as ms
from partita import amp, nn, train
from partita import dataset as ds


def losses_of(ranks=1, wrap=lambda net: net, **options):
    x, y = labelled(48)
    rows = ds.NumpySlicesDataset((x, y), ["data", "label"], shuffle=False).batch(24)
    ms.set_seed(1)
    ms.set_context(ranks=ranks)
    mode = "data_parallel" if ranks > 1 else "stand_alone"
    ms.set_auto_parallel_context(parallel_mode=mode, gradients_mean=True)
    net, losses = wrap(Small()), Losses()
    model = train.Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9), **options)
    model.train(3, rows, callbacks=[losses])
    return losses.values


class MixedPrecision(Case):
    def tearDown(self):
        ms.set_context(ranks=1)
        ms.reset_auto_parallel_context()

    def test_has_nearly_the_losses_of_float32(self):
        full = losses_of()
        halves = {
            "level": losses_of(amp_level="O2"),
            "float16": losses_of(wrap=lambda net: amp.auto_mixed_precision(net, "O1")),
            "bfloat16": losses_of(wrap=lambda net: amp.auto_mixed_precision(net, "O3", ms.bfloat16)),
        }
        for name, values in halves.items():
            self.assertNotEqual(values, full, name)
            np.testing.assert_allclose(values, full, rtol=1e-2, err_msg=name)
        self.assertEqual(halves["level"], halves["float16"])
        self.assertNotEqual(halves["bfloat16"], halves["float16"])

    def test_reaches_networks_that_give_their_loss(self):
        x, y = labelled(48)
        rows = ds.NumpySlicesDataset((x, y), ["data", "label"], shuffle=False).batch(24)
        found = {}
        for level in ("O0", "O1"):
            ms.set_seed(1)
            net, losses = amp.auto_mixed_precision(Small(), level, ms.bfloat16), Losses()
            whole = nn.WithLossCell(net, nn.CrossEntropyLoss())
            model = train.Model(whole, optimizer=nn.Momentum(net.trainable_params(), 0.1, 0.9))
            model.train(3, rows, callbacks=[losses])
            found[level] = losses.values
        self.assertNotEqual(found["O1"], found["O0"])
        alone = losses_of(wrap=lambda net: amp.auto_mixed_precision(net, "O1", ms.bfloat16))
        np.testing.assert_allclose(found["O1"], alone)
        np.testing.assert_allclose(found["O1"], found["O0"], rtol=1e-2)

    def test_ranks_change_no_rounding(self):
        def wrap(net):
            return amp.auto_mixed_precision(net, "auto", ms.bfloat16)

        np.testing.assert_allclose(losses_of(ranks=3, wrap=wrap), losses_of(wrap=wrap), rtol=5e-3)

    def test_o0_changes_nothing(self):
        self.assertEqual(losses_of(wrap=lambda net: amp.auto_mixed_precision(net, "O0", ms.bfloat16)), losses_of())

    def test_refuses_what_has_not_16_bits(self):
        with self.refuses(ValueError, "[auto_mixed_precision] not a type of 16 bits, got dtype=Float32"):
            amp.auto_mixed_precision(Small(), "O1", ms.float32)
        with self.refuses(ValueError, "[auto_mixed_precision] unknown amp_level, got 'O4', expected one of O0 O1"):
            amp.auto_mixed_precision(Small(), "O4")
        with self.refuses(TypeError, "[auto_mixed_precision] the network is not a cell, got int"):
            amp.auto_mixed_precision(3, "O1")

    def test_scales_losses_by_managers(self):
        plain = losses_of(amp_level="O2")
        for manager in (
            amp.DynamicLossScaleManager(init_loss_scale=2**10, scale_window=2),
            amp.FixedLossScaleManager(1024, drop_overflow_update=False),
        ):
            scaled = losses_of(amp_level="O2", loss_scale_manager=manager)
            np.testing.assert_allclose(scaled, plain, rtol=1e-3)
        self.assertEqual(
            losses_of(loss_scale_manager=amp.FixedLossScaleManager(2.0**20)), losses_of(), "a power of 2 changes no bit"
        )

    def test_scales_losses_of_single_cells_in_f16(self):
        def wrap(net):
            inner = [cell for _, cell in net.cells_and_names() if isinstance(cell, nn.Dense)]
            inner[0].to_float(ms.float16)
            return net

        with contextlib.redirect_stderr(io.StringIO()) as errors:
            found = losses_of(wrap=wrap)
        self.assertNotIn("losses are not scaled", errors.getvalue())
        np.testing.assert_allclose(found, losses_of(), rtol=1e-2)

    def test_leaves_out_steps_that_overflow(self):
        with contextlib.redirect_stderr(io.StringIO()):
            dynamic = amp.DynamicLossScaleManager(init_loss_scale=2**24)
            found = losses_of(amp_level="O2", loss_scale_manager=dynamic)
            losses_of(amp_level="O2", loss_scale_manager=amp.FixedLossScaleManager(2.0**30))
        self.assertEqual(found[0], losses_of(amp_level="O2")[0])
        with self.refuses(ValueError, "[train] the gradients are not finite, got NaN or infinity, expected numbers"):
            losses_of(amp_level="O2", loss_scale_manager=amp.FixedLossScaleManager(2.0**30, False))

    def test_tells_callbacks_of_scales_and_steps_left_out(self):
        class Seen(train.Callback):
            def __init__(self, net):
                self.net, self.steps, self.before = net, [], net.fc1.weight.asnumpy()

            def on_train_step_end(self, run_context):
                args, weight = run_context.original_args(), self.net.fc1.weight.asnumpy()
                assert args.skipped == np.array_equal(weight, self.before)
                self.before = weight
                self.steps.append((args.loss_scale, args.skipped))

        x, y = labelled(48)
        rows = ds.NumpySlicesDataset((x, y), ["data", "label"], shuffle=False).batch(24)
        manager = amp.DynamicLossScaleManager(2**24, 4, 3)
        net = Small()
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        model = train.Model(net, nn.CrossEntropyLoss(), optimizer, amp_level="O2", loss_scale_manager=manager)
        expected = 2.0**24
        for epochs in (4, 1, 5):  # the next goes on with the scale of the last
            seen, good = Seen(net), 0
            with contextlib.redirect_stderr(io.StringIO()):
                model.train(epochs, rows, callbacks=[seen])
            for scale, skipped in seen.steps:
                self.assertEqual(scale, expected)
                good = 0 if skipped else good + 1
                expected = scale / 4 if skipped else scale * 4 if good == 3 else scale
                good %= 3
            self.assertEqual((manager.loss_scale, manager.good_steps), (expected, good))
            if epochs == 4:
                self.assertTrue(seen.steps[0][1])
                self.assertFalse(all(skipped for _, skipped in seen.steps))
        plain = Seen(Small())
        optimizer = nn.Momentum(plain.net.trainable_params(), 0.1, 0.9)
        train.Model(plain.net, nn.CrossEntropyLoss(), optimizer).train(1, rows, callbacks=[plain])
        self.assertEqual(plain.steps, [(1, False)] * 2)

    def test_scales_of_managers_begin_trainings(self):
        manager = amp.DynamicLossScaleManager(2.0**39, 4, 1)
        losses_of(loss_scale_manager=manager)  # in f32 nothing overflows
        self.assertEqual(manager.get_loss_scale(), 2.0**40)
        losses_of(loss_scale_manager=manager)

    def test_leaves_out_losses_that_are_not_finite(self):
        x, y = labelled(48)
        x[5, 2] = np.nan
        rows = ds.NumpySlicesDataset((x, y), ["data", "label"], shuffle=False).batch(24)
        for manager in (amp.FixedLossScaleManager(1), amp.DynamicLossScaleManager(4)):
            net, losses = Small(), Losses()
            optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
            with contextlib.redirect_stderr(io.StringIO()):
                model = train.Model(net, nn.CrossEntropyLoss(), optimizer, loss_scale_manager=manager)
                model.train(2, rows, callbacks=[losses])
            np.testing.assert_array_equal(np.isfinite(losses.values), [False, True] * 2)
            self.assertLess(losses.values[3], losses.values[1])

    def test_refuses_managers_of_other_kinds(self):
        with self.refuses(TypeError, "[Model] not a manager of loss scales, got int, expected amp.Fixed"):
            losses_of(loss_scale_manager=3)

    def test_refuses_bad_scales_when_built(self):
        fixed, dynamic = amp.FixedLossScaleManager, amp.DynamicLossScaleManager
        static, scaler = amp.StaticLossScaler, amp.DynamicLossScaler
        for kind, build, text in (
            (ValueError, lambda: fixed(0.5), "[FixedLossScaleManager] bad loss_scale, got 0.5, expected a number from"),
            (ValueError, lambda: fixed(np.inf), "[FixedLossScaleManager] bad loss_scale, got inf, expected a number"),
            (ValueError, lambda: fixed(np.nan), "[FixedLossScaleManager] bad loss_scale, got nan, expected a number"),
            (ValueError, lambda: fixed(2.0**41), "got 2199023255552.0, expected a number from 1 to 1.09951e+12"),
            (TypeError, lambda: fixed("2"), "[FixedLossScaleManager] loss_scale is not a number, got '2', expected a"),
            (TypeError, lambda: fixed(2, 1), "[FixedLossScaleManager] drop_overflow_update is no bool, got 1,"),
            (ValueError, lambda: dynamic(0), "[DynamicLossScaleManager] bad init_loss_scale, got 0, expected a number"),
            (TypeError, lambda: dynamic(True), "init_loss_scale is not a number, got True, expected a number from 1"),
            (ValueError, lambda: dynamic(8, 0), "[DynamicLossScaleManager] bad scale_factor, got 0, expected a number"),
            (TypeError, lambda: dynamic(8, None), "scale_factor is not a number, got None, expected a number from"),
            (ValueError, lambda: dynamic(8, 2, 0), "[DynamicLossScaleManager] bad scale_window, got 0, expected an"),
            (TypeError, lambda: dynamic(8, 2, 2.5), "scale_window is not an integer, got 2.5, expected one from 1"),
            (ValueError, lambda: static(0.5), "[StaticLossScaler] bad scale_value, got 0.5, expected a number from 1"),
            (ValueError, lambda: static(1e39), "[StaticLossScaler] bad scale_value, got 1e+39, expected a number from"),
            (TypeError, lambda: static("8"), "[StaticLossScaler] scale_value is not a number, got '8', expected a"),
            (ValueError, lambda: scaler(np.inf, 2, 9), "[DynamicLossScaler] bad scale_value, got inf, expected a"),
            (ValueError, lambda: scaler(8, 0, 9), "[DynamicLossScaler] bad scale_factor, got 0, expected a number"),
            (TypeError, lambda: scaler(8, "2", 9), "[DynamicLossScaler] scale_factor is not a number, got '2',"),
            (ValueError, lambda: scaler(8, 2, 0), "[DynamicLossScaler] bad scale_window, got 0, expected an integer"),
            (TypeError, lambda: scaler(8, 2, 9.0), "[DynamicLossScaler] scale_window is not an integer, got 9.0"),
        ):
            with self.subTest(text), self.refuses(kind, text):
                build()
