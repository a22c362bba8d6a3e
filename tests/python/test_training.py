"""Model.train and loops of one's own: the same numbers in every form, on any number of ranks."""

import json
import os
import shutil
import signal
import tempfile
import threading
import time

import numpy as np
from support import Case, Folder, Losses, Small, labelled, printed

import partita as ms
from partita import Tensor, _ranks, communication, nn, train
from partita import dataset as ds
from partita.parallel.auto_parallel import AutoParallel


def rows(count=64, batch=16, **options):
    x, y = labelled(count)
    return ds.NumpySlicesDataset((x, y), ["data", "label"], shuffle=False, **options).batch(batch)


def trained(epochs=2, data=None, net=None, optimizer=None, callbacks=(), **options):
    """(losses of the steps, network)."""
    net = net or Small(**options)
    losses = Losses()
    optimizer = (optimizer or (lambda params: nn.Momentum(params, 0.1, 0.9)))(net.trainable_params())
    model = train.Model(net, nn.CrossEntropyLoss(), optimizer)
    model.train(epochs, data or rows(), callbacks=[losses, *callbacks])
    return losses.values, net


class Captured(Case):
    def test_tensors_have_their_values_in_models(self):
        x, y = labelled(48)
        weights, others = Tensor(np.array([1.0, 2, 3], "f4")), ms.Parameter(Tensor([0.5, 1.5, 1.0]), name="others")

        class Net(Small):
            def construct(self, data):
                return super().construct(data) * weights + others

        class Loss(nn.Cell):
            def construct(self, logits, label):
                return nn.CrossEntropyLoss(weight=weights)(logits, label) + (logits * weights).mean()

        rows = ds.NumpySlicesDataset((x, y), ["data", "label"], shuffle=False).batch(24)
        for ranks in (1, 3):
            ms.set_seed(1)
            ms.set_context(ranks=ranks)
            mode = "data_parallel" if ranks > 1 else "stand_alone"
            ms.set_auto_parallel_context(parallel_mode=mode, gradients_mean=True)
            net, loss, losses = Net(), Loss(), Losses()
            expected = float(loss(net(Tensor(x[:24])), Tensor(y[:24])))
            model = train.Model(net, loss, nn.Momentum(net.trainable_params(), 0.1, 0.9), metrics={"loss"})
            model.train(1, rows, callbacks=[losses])
            self.assertAlmostEqual(losses.values[0], expected, 5)
            means = [float(loss(net(Tensor(x[i : i + 24])), Tensor(y[i : i + 24]))) for i in (0, 24)]
            if ranks == 1:
                self.close(model.predict(Tensor(x)), net(Tensor(x)), 1e-5)
            self.assertNotAlmostEqual(means[0], expected, 3)
            self.close(others, [0.5, 1.5, 1.0])


class FixedRows(Case):
    """Networks that take the rows of a batch alone are evaluated batch by batch."""

    X = np.random.default_rng(1).standard_normal((128, 3)).astype("f4")
    Y = (X @ np.array([[1.0], [2.0], [3.0]], "f4")).astype("f4")

    def evaluated(self, construct, loss):
        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.dense = nn.Dense(3, 1, weight_init=Tensor(np.array([[0.1, 0.2, 0.3]], "f4")), has_bias=False)

            def construct(self, x):
                return construct(self.dense, x)

        class Loss(nn.Cell):
            def construct(self, logits, label):
                return loss(logits, label)

        net = Net()
        model = train.Model(net, Loss(), nn.SGD(net.trainable_params(), 0.0), metrics={"loss"})
        data = ds.NumpySlicesDataset((self.X, self.Y), ["data", "label"], shuffle=False).batch(32)
        model.fit(1, data, data)  # a validation, too
        return model.eval(data)["loss"]

    def test_have_the_losses_of_their_batches(self):
        p = self.X @ np.array([0.1, 0.2, 0.3], "f4")[:, None]
        squares, positive = (p - self.Y) ** 2, (self.Y > 0).astype("f4")
        parts = [slice(first, first + 32) for first in range(0, 128, 32)]
        cases = {
            "a mean": (lambda p, y: (p - y).square().mean(), squares.mean()),
            "a ratio of sums": (
                lambda p, y: ((p - y).square() * (y > 0).astype(ms.float32)).sum() / (y > 0).astype(ms.float32).sum(),
                (squares * positive).sum() / positive.sum(),
            ),
            "a divisor of its own": (
                lambda p, y: (p - y).square().sum() / 64,
                np.mean([squares[part].sum() / 64 for part in parts]),
            ),
            "a deviation": (lambda p, y: p.std(0).sum(), np.mean([p[part].std(0).sum() for part in parts])),
        }
        for name, (loss, expected) in cases.items():
            with self.subTest(name):
                self.close(self.evaluated(lambda dense, x: dense(x.reshape(32, 3)), loss), expected, 1e-5)

    def test_may_hold_arrays_with_their_rows(self):
        found = self.evaluated(
            lambda dense, x: dense(x) + Tensor(np.zeros((x.shape[0], 1), "f4")), lambda p, y: (p - y).square().mean()
        )
        p = self.X @ np.array([0.1, 0.2, 0.3], "f4")[:, None]
        self.close(found, ((p - self.Y) ** 2).mean(), 1e-5)


class Trainings(Case):
    def test_lower_the_loss_and_print_it(self):
        with printed() as out:
            losses, _ = trained(epochs=8, callbacks=[train.LossMonitor(16)])
        self.assertLess(losses[-1], losses[0] * 0.6)
        lines = out.getvalue().splitlines()
        self.assertEqual(lines, [f"epoch: {4 * (i + 1)} step: 4, loss is {losses[16 * i + 15]}" for i in range(2)])

    def test_are_what_loops_of_ones_own_compute(self):
        x, y = labelled(64)
        for optimizer in (
            lambda p: nn.Momentum(p, 0.1, 0.9),
            lambda p: nn.SGD(p, 0.1, weight_decay=0.01),
            lambda p: nn.SGD(p, [0.1, 0.05, 0.01], 0.9, nesterov=True),
            lambda p: nn.Adam(p, 0.01),
            lambda p: nn.AdamWeightDecay(p, 0.01, weight_decay=0.1),
        ):
            expected, first = trained(optimizer=optimizer, norm=True)
            net, loss_fn = Small(norm=True), nn.CrossEntropyLoss()
            net.set_train()
            update = optimizer(net.trainable_params())
            grad_fn = ms.value_and_grad(lambda a, b: loss_fn(net(a), b), None, update.parameters)
            step = nn.TrainOneStepCell(nn.WithLossCell(net, loss_fn), update)
            got = []
            for i in range(8):
                data, label = Tensor(x[i % 4 * 16 :][:16]), Tensor(y[i % 4 * 16 :][:16])
                if i < 3:
                    loss, gradients = grad_fn(data, label)
                    update(gradients)
                else:
                    loss = step(data, label)
                got.append(float(loss))
            np.testing.assert_allclose(got, expected, rtol=2e-5)
            for one, other in zip(net.get_parameters(), first.get_parameters()):
                np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-3, atol=2e-5)

    def test_of_several_losses_minimise_their_sum(self):
        def after(reduction, rate, step):
            net = Small()
            loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction=reduction)
            optimizer = nn.SGD(net.trainable_params(), rate)
            if step:
                x, y = labelled(64)
                whole = nn.TrainOneStepCell(nn.WithLossCell(net, loss_fn), optimizer)
                for i in range(0, 64, 16):
                    whole(Tensor(x[i : i + 16]), Tensor(y[i : i + 16]))
                return None, net.fc1.weight.asnumpy()
            losses = Losses()
            model = train.Model(net, loss_fn, optimizer, metrics={"loss"})
            model.train(1, rows(), callbacks=[losses])
            return (losses.values, model.eval(rows())["loss"]), net.fc1.weight.asnumpy()

        expected, weights = after("mean", 0.16, step=False)
        for ranks, mode in ((1, "stand_alone"), (2, "data_parallel"), (2, "auto_parallel")):
            ms.set_context(ranks=ranks)
            ms.set_auto_parallel_context(parallel_mode=mode, gradients_mean=True)
            got, same = after("none", 0.01, step=False)
            np.testing.assert_allclose(got[0], expected[0], rtol=2e-5)  # means are reported
            np.testing.assert_allclose(got[1], expected[1], rtol=2e-5)
            np.testing.assert_allclose(same, weights, rtol=1e-4, atol=1e-6)
        ms.reset_auto_parallel_context()
        np.testing.assert_allclose(after("none", 0.01, step=True)[1], weights, rtol=1e-4, atol=1e-6)

    def test_are_the_same_on_ranks(self):
        expected, _ = trained(norm=True)
        for ranks in (2, 4):
            for mode in ("data_parallel", "semi_auto_parallel", "auto_parallel"):
                ms.set_context(ranks=ranks, batch_norm="global")
                ms.set_auto_parallel_context(parallel_mode=mode, gradients_mean=True, full_batch=True)
                got, _ = trained(norm=True)
                np.testing.assert_allclose(got, expected, rtol=2e-5, err_msg=f"{mode} on {ranks}")

    def test_refuse_norms_over_one_value(self):
        x, y = labelled(8)
        net = Small(norm=True)
        net.set_train()
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), nn.SGD(net.trainable_params(), 0.1))
        with self.refuses(ValueError, "[batch_norm] each channel has only one value", "expected a batch of at least 2"):
            step(Tensor(x[:1]), Tensor(y[:1]))
        step(Tensor(x[:2]), Tensor(y[:2]))
        ms.set_context(ranks=4)
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
        with self.refuses(ValueError, "in 4 groups of rows", "--batch-norm global"):
            trained(data=rows(8, 4), norm=True)
        ms.set_context(batch_norm="global")
        trained(data=rows(8, 4), norm=True)

    def test_have_the_settings_of_their_network(self):
        ms.set_context(ranks=2)
        net = AutoParallel(Small(), parallel_mode="semi_auto")
        net.hsdp(threshold=0, optimizer_level="level3")
        self.assertEqual(ms.get_auto_parallel_context("parallel_mode"), "stand_alone")
        model = train.Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9))
        alone = Small()
        other = train.Model(alone, nn.CrossEntropyLoss(), nn.Momentum(alone.trainable_params(), 0.1, 0.9))
        parts = [max(len(one["slices"]) for one in each.program(rows()).layouts) for each in (model, other)]
        self.assertEqual(parts, [2, 1])
        self.assertEqual(ms.get_auto_parallel_context("enable_parallel_optimizer"), False)
        with self.refuses(ValueError, "parallel_optimizer_config"):
            net._set(parallel_optimizer_config={"nonsense": 1})

    def test_give_each_rank_its_shard(self):
        ms.set_context(ranks=2)
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
        got, _ = trained(data=rows(batch=8, num_shards=2, shard_id=0))
        ms.reset_auto_parallel_context()
        x, y = labelled(64)
        order = [i for b in range(4) for shard in range(2) for i in range(16 * b + shard, 16 * b + 16, 2)]
        whole = ds.NumpySlicesDataset((x[order], y[order]), ["data", "label"], shuffle=False).batch(16)
        np.testing.assert_allclose(got, trained(data=whole)[0], rtol=2e-5)

    def test_run_in_stages_and_micro_batches(self):
        expected, _ = trained()
        for stages in (1, 2):
            ms.set_context(ranks=2)
            ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", pipeline_stages=stages, full_batch=True)
            net = Small()
            if stages == 2:
                for cell, stage in ((net.fc1, 0), (net.relu, 0), (net.fc2, 1)):
                    cell.pipeline_stage = stage
            net.relu.recompute()
            losses = Losses()
            cell = nn.PipelineCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), 4)
            train.Model(cell, optimizer=nn.Momentum(net.trainable_params(), 0.1, 0.9)).train(2, rows(), [losses])
            np.testing.assert_allclose(losses.values, expected, rtol=2e-5)

    def test_go_on_where_they_stopped(self):
        expected, _ = trained(epochs=3, optimizer=lambda p: nn.Adam(p, 0.01))
        net, losses = Small(), Losses()
        model = train.Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 0.01))
        for _ in range(3):
            model.train(1, rows(), callbacks=[losses])
        np.testing.assert_allclose(losses.values, expected, rtol=1e-5)

    def test_evaluate_and_predict(self):
        _, net = trained(epochs=10)
        x, y = labelled(64)
        model = train.Model(net, nn.CrossEntropyLoss(), metrics={"acc", "loss"})
        found, logits = model.eval(rows()), net(Tensor(x)).asnumpy()
        self.assertAlmostEqual(found["acc"], (logits.argmax(1) == y).mean(), 6)
        self.assertAlmostEqual(found["loss"], float(nn.CrossEntropyLoss()(Tensor(logits), Tensor(y))), 5)
        self.close(model.predict(Tensor(x)), logits, 1e-5)

    def test_measure_by_metrics(self):
        _, net = trained(epochs=5)
        x, y = labelled(64)
        names = {"mine": train.Accuracy(), "top": train.Top5CategoricalAccuracy(), "loss": train.Loss()}
        found = train.Model(net, nn.CrossEntropyLoss(), metrics=names).eval(rows())
        logits = net(Tensor(x))
        own = train.Accuracy()
        own.update(logits, Tensor(y))
        self.assertAlmostEqual(found["mine"], own.eval(), 6)
        own.clear()
        own.update(logits.asnumpy(), np.eye(3)[y])
        self.assertAlmostEqual(found["mine"], own.eval(), 6)
        self.assertEqual(found["top"], 1)
        two = train.Model(net, nn.CrossEntropyLoss(), metrics={"a": train.TopKCategoricalAccuracy(2)}).eval(rows())["a"]
        self.assertTrue(found["mine"] <= two <= 1)
        with self.refuses(ValueError, "bad k, got 0"):
            train.TopKCategoricalAccuracy(0)
        with self.refuses(RuntimeError, "nothing to measure"):
            train.Loss().eval()
        with self.refuses(TypeError, "unknown eval_type, got 'multi'"):
            train.Accuracy("multi")
        with self.refuses(ValueError, "bad sig, got 9"):
            train.OnRequestExit(sig=9)

    def test_train_on_files(self):
        folder = Folder(96)
        try:
            data = ds.MnistDataset(folder.path, "train")
            data = data.map([ds.vision.Rescale(1 / 255, 0), ds.vision.HWC2CHW()], "image")
            data = data.map(ds.transforms.TypeCast(ms.int32), "label").batch(32)
            net = nn.SequentialCell(nn.Flatten(), nn.Dense(784, 10))
            losses = Losses()
            model = train.Model(
                net, nn.SoftmaxCrossEntropyWithLogits(True, "mean"), nn.SGD(net.trainable_params(), 0.1)
            )
            model.train(3, data, callbacks=losses, dataset_sink_mode=True)
        finally:
            folder.close()
        self.assertEqual(len(losses.values), 3)
        self.assertLess(losses.values[-1], losses.values[0])


class Callbacks(Case):
    def test_see_the_documented_events(self):
        events = []

        class Log(train.Callback):
            def on_train_begin(self, context):
                events.append("begin")

            def on_train_epoch_begin(self, context):
                events.append(f"epoch {context.original_args().cur_epoch_num}")

            def on_train_step_begin(self, context):
                events.append("<")

            def on_train_step_end(self, context):
                events.append(context.original_args().cur_step_num)

            def on_train_epoch_end(self, context):
                events.append("end of epoch")

            def on_train_end(self, context):
                events.append("end")

        trained(epochs=2, data=rows(32), callbacks=[Log()])
        self.assertEqual(
            events,
            ["begin", "epoch 1", "<", 1, "<", 2, "end of epoch", "epoch 2", "<", 3, "<", 4, "end of epoch", "end"],
        )

    def test_can_stop_and_fail(self):
        class Stop(train.Callback):
            def step_end(self, run_context):
                if run_context.original_args().cur_step_num == 3:
                    run_context.request_stop()

        class Fail(train.Callback):
            def step_end(self, run_context):
                raise ZeroDivisionError("mine")

        self.assertEqual(len(trained(callbacks=[Stop()])[0]), 3)
        for ranks in (1, 3):
            ms.set_context(ranks=ranks)
            ms.set_auto_parallel_context(parallel_mode="hybrid_parallel")
            with self.refuses(ZeroDivisionError, "mine"):
                trained(callbacks=[Fail()])

    def test_that_fail_take_no_rates(self):
        class Fail(train.Callback):
            def step_end(self, run_context):
                if run_context.original_args().cur_step_num == 3:
                    raise ZeroDivisionError("mine")

        net = Small()
        optimizer = nn.SGD(net.trainable_params(), [0.1] * 3 + [0.0] * 50)
        model = train.Model(net, nn.CrossEntropyLoss(), optimizer)
        before = net.fc1.weight.asnumpy().copy()
        with self.refuses(ZeroDivisionError, "mine"):
            model.train(1, rows(), callbacks=[Fail()])
        self.assertEqual(optimizer.global_step, 0)
        np.testing.assert_array_equal(net.fc1.weight.asnumpy(), before)
        model.train(1, rows())
        self.assertEqual(optimizer.global_step, 4)
        self.assertTrue((net.fc1.weight.asnumpy() != before).any())

    def test_write_checkpoints(self):
        with tempfile.TemporaryDirectory() as folder:
            config = train.CheckpointConfig(save_checkpoint_steps=2, keep_checkpoint_max=2)
            _, net = trained(callbacks=[train.ModelCheckpoint("net", folder, config)])
            self.assertEqual(sorted(os.listdir(folder)), ["net-2_2.ckpt", "net-2_4.ckpt"])
            found = ms.load_checkpoint(os.path.join(folder, "net-2_4.ckpt"))
            other = Small()
            self.assertEqual(ms.load_param_into_net(other, found)[0], [])
            for one, same in zip(net.get_parameters(), other.get_parameters()):
                np.testing.assert_array_equal(one.asnumpy(), same.asnumpy())
            ms.save_checkpoint(net, os.path.join(folder, "whole"))
            self.assertEqual(set(ms.load_checkpoint(os.path.join(folder, "whole.ckpt"))), set(net.parameters_dict()))
            with self.refuses(ValueError, "bad name of a file"):
                ms.load_checkpoint(os.path.join(folder, "whole.txt"))

    def test_folders_of_hugging_face_are_read_by_their_names(self):
        made = os.path.join(os.path.dirname(__file__), "..", "hugging_face", "vit")
        found = ms.load_checkpoint("hf:" + made)
        whole = ms.load_checkpoint(os.path.join(made, "model.safetensors"))
        self.assertEqual(set(found), set(whole))
        for name, one in found.items():
            np.testing.assert_array_equal(one.asnumpy(), whole[name].asnumpy())
        # A network with the names of a part of it.
        head = ms.nn.Dense(16, 10)
        left = ms.load_param_into_net(
            head, {name.removeprefix("classifier."): one for name, one in found.items() if name.startswith("class")}
        )
        self.assertEqual(left[0], [])
        np.testing.assert_array_equal(head.bias.asnumpy(), found["classifier.bias"].asnumpy())
        with tempfile.TemporaryDirectory() as folder:
            with self.refuses(ValueError, "no weights, got neither model.safetensors nor"):
                ms.load_checkpoint("hf:" + folder)
            names, index = sorted(whole), {}
            for shard in ("a", "b"):
                part = names[:5] if shard == "a" else names[5:]
                index.update({name: f"{shard}.safetensors" for name in part})
                ms.save_checkpoint(
                    [{"name": name, "data": whole[name]} for name in part], os.path.join(folder, f"{shard}.safetensors")
                )
            path = os.path.join(folder, "model.safetensors.index.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"weight_map": index}, file)
            self.assertEqual(set(ms.load_checkpoint("hf:" + folder)), set(whole))
            os.remove(os.path.join(folder, "b.safetensors"))
            with self.refuses(ValueError, "cannot open ", "b.safetensors: No such file"):
                ms.load_checkpoint("hf:" + folder)
            shutil.copy(path, os.path.join(folder, "pytorch_model.bin"))
            os.remove(path)
            with self.refuses(ValueError, "weights as a pickle, which is a program"):
                ms.load_checkpoint("hf:" + folder)

    def test_end_by_ctrl_c(self):
        steps = []

        class Interrupt(train.Callback):
            def step_end(self, run_context):
                steps.append(1)
                if len(steps) == 2:
                    os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            trained(epochs=50, callbacks=[Interrupt()])
        self.assertLess(len(steps), 5)
        self.assertEqual(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_run_alongside_other_threads(self):
        ticks, done = [], threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(1)
                time.sleep(0.001)

        thread = threading.Thread(target=tick, daemon=True)
        thread.start()
        try:
            trained(epochs=300)  # as long as a loaded machine needs to give the other thread its turns
        finally:
            done.set()
            thread.join()
        self.assertGreater(len(ticks), 3)


class Errors(Case):
    def test_are_of_the_documented_classes(self):
        net = Small()
        optimizer = nn.SGD(net.trainable_params(), 0.1)
        with self.refuses(TypeError, "the network is not a cell, got function"):
            train.Model(labelled)
        with self.refuses(ValueError, "no optimizer"):
            train.Model(net, nn.CrossEntropyLoss()).train(1, rows())
        with self.refuses(ValueError, "expected two: data and label"):
            three = ds.NumpySlicesDataset((np.zeros(4, "f4"),) * 3, ["a", "b", "c"]).batch(2)
            train.Model(net, nn.CrossEntropyLoss(), optimizer).train(1, three)
        with self.refuses(ValueError, "unknown metric, got 'accurac'", "did you mean 'accuracy'"):
            train.Model(net, metrics={"accurac"})
        with self.refuses(ValueError, "bad number of epochs, got 0"):
            train.Model(net, nn.CrossEntropyLoss(), optimizer).train(0, rows())
        with self.refuses(TypeError, "not a callback, got str"):
            train.Model(net, nn.CrossEntropyLoss(), optimizer).train(1, rows(), "x")
        with self.refuses(ValueError, "loss is not finite"):
            trained(optimizer=lambda p: nn.SGD(p, 1e30))
        with self.refuses(TypeError, "not a parameter, got Tensor"):
            nn.SGD([Tensor(1.0)])
        with self.refuses(TypeError, "labels are not classes"):
            loss = nn.SoftmaxCrossEntropyWithLogits(True, "mean")
            train.Model(Small(), loss, optimizer).train(
                1, ds.NumpySlicesDataset((np.zeros((4, 6), "f4"), np.zeros(4, "f4")), ["a", "b"]).batch(2)
            )

    def test_name_the_line_of_the_script(self):
        class Wrong(nn.Cell):
            def construct(self, x):
                return x @ Tensor(np.ones((5, 2), "f4"))  # the line

        net = Wrong()
        import traceback

        try:
            train.Model(
                nn.SequentialCell(nn.Dense(6, 6), net), nn.CrossEntropyLoss(), nn.SGD(nn.Dense(1, 1).trainable_params())
            ).train(1, rows())
        except ValueError as error:
            lines = [frame.line for frame in traceback.extract_tb(error.__traceback__)]
            self.assertTrue(any("# the line" in line for line in lines), lines)
            self.assertEqual(error.exit_code, 64)
        else:
            self.fail("no error")

    def test_of_contexts_name_the_key(self):
        with self.refuses(ValueError, "unknown key, got 'devce_num'", "did you mean 'device_num'"):
            ms.set_auto_parallel_context(devce_num=2)
        with self.refuses(ValueError, "parallel_mode has an unknown value, got 'data'"):
            ms.set_auto_parallel_context(parallel_mode="data")
        with self.refuses(ValueError, "unknown key, got 'mod'", "did you mean 'mode'"):
            ms.set_context(mod=1)
        with self.refuses(RuntimeError, "before init()"):
            _ranks.set_begun(False)
            communication.get_rank()
        ms.set_context(ranks=4)
        ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
        net = Small()
        product = ms.ops.MatMul().shard(((3, 1), (1, 1)))
        with self.refuses(ValueError, "[MatMul.shard] the parts do not fit the ranks, got 3 in ((3,1),(1,1))"):
            cell = nn.SequentialCell(net)
            cell.construct = lambda x: product(net(x), Tensor(np.ones((3, 3), "f4")))
            trained(net=cell)
