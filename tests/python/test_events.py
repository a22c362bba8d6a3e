"""Values that callbacks read and change while a model is trained."""

import contextlib
import io
import os
import signal
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np
from support import Case, labelled

import partita as ms
from partita import Tensor, nn, train
from partita import dataset as ds


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Dense(6, 8), nn.Dense(8, 3)

    def construct(self, x):
        return self.fc2(ms.ops.relu(self.fc1(x)))


class AtEvents(train.Callback):
    """Calls a function with the name of each event and its arguments."""

    def __init__(self, function):
        super().__init__()
        self._function = function

    def _tell(self, name, run_context):
        self._function(name, run_context.original_args())

    def on_train_begin(self, run_context):
        self._tell("begin", run_context)

    def on_train_step_end(self, run_context):
        self._tell("step", run_context)

    def on_train_epoch_end(self, run_context):
        self._tell("epoch", run_context)

    def on_train_end(self, run_context):
        self._tell("end", run_context)


def rows(count=24):
    return ds.NumpySlicesDataset(labelled(count), ["data", "label"], shuffle=False).batch(12)


class Events(Case):
    def train(self, function, net=None, optimizer=None, epochs=2, ranks=1, **options):
        """Two steps of each epoch."""
        ms.set_context(ranks=ranks)
        ms.set_auto_parallel_context(parallel_mode="data_parallel" if ranks > 1 else "stand_alone", gradients_mean=True)
        net = net or Net()
        optimizer = optimizer or nn.Momentum(net.trainable_params(), 0.1, 0.9)
        self.model = train.Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"loss"})
        self.model.train(epochs, rows(), callbacks=[AtEvents(function)], **options)
        return net

    def test_read_parameters_as_they_are(self):
        for ranks in (1, 2, 3, 4, 6):
            ms.set_seed(1)
            seen = []
            net = Net()

            def read(name, args):
                seen.append((name, net.fc1.weight.asnumpy().copy()))

            self.train(read, net, ranks=ranks)
            names = ["begin", "step", "step", "epoch", "step", "step", "epoch", "end"]
            self.assertEqual([name for name, _ in seen], names)
            for before, (name, after) in zip(seen, seen[1:]):
                self.assertEqual((before[1] != after).any(), name == "step")
            self.close(seen[-1][1], net.fc1.weight, 0)

    def test_early_stopping_has_a_number_to_monitor(self):
        """The default is the loss of the evaluation, whatever the metrics."""
        for metrics in (None, {"acc"}, {"loss"}):
            net, seen = Net(), []
            optimizer = nn.SGD(net.trainable_params(), 0.0)
            model = train.Model(net, nn.CrossEntropyLoss(), optimizer, metrics=metrics)
            keep = AtEvents(lambda name, args: seen.append(args.eval_results) if name == "epoch" else None)
            model.fit(5, rows(), rows(), callbacks=[keep, train.EarlyStopping()])
            self.assertEqual(len(seen), 2)
            self.assertEqual(set(seen[0]), {"eval_loss", *(metrics or ())})
            loss = float(nn.CrossEntropyLoss()(net(Tensor(labelled(24)[0])), Tensor(labelled(24)[1])))
            self.assertAlmostEqual(seen[0]["eval_loss"], loss, 5)
            with self.assertRaisesRegex(
                ValueError, r"got 'eval_loss', expected one of \['loss'\], or an evaluation after each epoch: Model.fit"
            ):
                model.train(5, rows(), callbacks=[train.EarlyStopping()])

    def test_monitors_wait_for_the_next_evaluation(self):
        """Epochs without an evaluation do not count, as there."""
        net, epochs = Net(), []
        model = train.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.0), metrics={"acc"})
        keep = AtEvents(lambda name, args: epochs.append(args.cur_epoch_num) if name == "epoch" else None)
        stop = train.EarlyStopping("acc", patience=2)
        plateau = train.ReduceLROnPlateau("eval_loss", patience=1, factor=0.5)
        model.fit(9, rows(), rows(), valid_frequency=2, callbacks=[keep, stop, plateau])
        self.assertEqual((epochs[-1], stop.stopped_epoch), (6, 6))  # evaluated after 2, 4 and 6
        with self.assertRaisesRegex(ValueError, "got 'f1', expected one of"):
            model.fit(4, rows(), rows(), valid_frequency=2, callbacks=[train.EarlyStopping("f1")])

    def test_read_parameters_that_are_cut(self):
        net, seen = Net(), []
        zero = {"parallel_optimizer_threshold": 0, "optimizer_level": "level3"}
        ms.set_auto_parallel_context(enable_parallel_optimizer=True, parallel_optimizer_config=zero)
        self.train(lambda name, args: seen.append(net.fc2.weight.asnumpy().copy()), net, ranks=3)
        self.close(seen[-1], net.fc2.weight, 0)
        self.assertTrue((seen[1] != seen[0]).any())

    def test_evaluate_and_save(self):
        """Callbacks that keep the best weights evaluate and save in each epoch."""
        for ranks in (1, 3):
            with tempfile.TemporaryDirectory() as folder:
                path, losses, net = os.path.join(folder, "best.ckpt"), [], Net()

                def evaluate(name, args):
                    if name == "epoch":
                        losses.append(self.model.eval(rows())["loss"])
                        ms.save_checkpoint(net, path)
                        losses.append(float(nn.CrossEntropyLoss()(net(data), label)))

                data, label = (Tensor(one) for one in labelled(24))
                self.train(evaluate, net, ranks=ranks)
                self.assertEqual(len(losses), 4)
                self.assertLess(losses[2], losses[0])
                for evaluated, computed in zip(losses[::2], losses[1::2]):
                    self.assertAlmostEqual(evaluated, computed, 5)
                self.close(ms.load_checkpoint(path)["fc1.weight"], net.fc1.weight, 0)

    def test_threads_do_not_read_while_ranks_train(self):
        net, found, ended = Net(), [], threading.Event()

        def read():
            while not ended.is_set():
                try:
                    net.fc1.weight.asnumpy()
                except (ValueError, RuntimeError) as error:
                    found.append(str(error))
                    return

        def begin(name, args):
            if name == "begin":
                thread.start()

        for ranks in (1, 2):
            thread = threading.Thread(target=read)
            self.train(begin, net, epochs=200, ranks=ranks)
            ended.set()
            thread.join()
            ended.clear()
        self.assertEqual(len(found), 2)
        for one in found:
            self.assertRegex(one, r"\[train\] .*expected one within")

    def test_a_control_ends_with_its_training(self):
        kept = []
        self.train(lambda name, args: kept.append(args.set_learning_rate))
        with self.assertRaisesRegex(ValueError, r"\[train\] a training answers only during the events of callbacks"):
            kept[0](0.1)

    def test_run_programs_of_the_parameters(self):
        net, seen = Net(), []
        program = ms.jit(lambda x: net(x).sum())
        x = Tensor(np.ones((2, 6), "f4"))
        self.train(lambda name, args: seen.append((float(program(x)), float(net(x).sum()))), net)
        for one, other in seen:
            self.assertAlmostEqual(one, other, 5)
        self.assertGreater(len({one for one, _ in seen}), 4)

    def test_epochs_of_so_many_steps(self):
        """A pass through the rows has two steps."""
        for ranks, epochs, size in ((1, 2, 3), (1, 1, 5), (2, 3, 1), (1, 2, 2)):
            seen, net, other = [], Net(), Net()
            ms.load_param_into_net(other, {one.name: one for one in net.get_parameters()})
            one = lambda name, args: seen.append((name, args.cur_epoch_num, args.cur_step_num, args.batch_num))
            self.train(one, net, epochs=epochs, ranks=ranks, dataset_sink_mode=True, sink_size=size)
            expected = [("begin", 1, 0, size)]
            for epoch in range(1, epochs + 1):
                expected += [(name, epoch, epoch * size, size) for name in ("step", "epoch")]
            self.assertEqual(seen, [*expected, ("end", epochs, epochs * size, size)])

            class Stops(train.Callback):
                def on_train_step_end(self, run_context):
                    if run_context.original_args().cur_step_num == epochs * size:
                        run_context.request_stop()

            optimizer = nn.Momentum(other.trainable_params(), 0.1, 0.9)
            train.Model(other, nn.CrossEntropyLoss(), optimizer).train(9, rows(), callbacks=[Stops()])
            self.assertEqual(int(optimizer.global_step), epochs * size)
            self.close(net.fc1.weight, other.fc1.weight, 0)

    def test_a_signal_within_an_epoch_of_so_many_steps_leaves_a_file(self):
        """The signal may follow any step of a pass, which has two."""
        for last in (1, 2, 4):
            with tempfile.TemporaryDirectory() as folder:
                seen, net = [], Net()

                class Watch(train.Callback):
                    def on_train_epoch_end(self, run_context):
                        seen.append(run_context.original_args().cur_step_num)

                optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
                saver = train.ModelCheckpoint("x", folder, train.CheckpointConfig(save_checkpoint_steps=100))
                model = train.Model(net, nn.CrossEntropyLoss(), optimizer)
                events = train.events.Events

                class Interrupted(events):
                    def step_end(self, info):
                        super().step_end(info)
                        if info.global_step == last:
                            os.kill(os.getpid(), signal.SIGINT)

                with mock.patch.object(train.model, "Events", Interrupted), self.assertRaises(KeyboardInterrupt):
                    model.train(9, rows(), [Watch(), saver], dataset_sink_mode=True, sink_size=3)
                self.assertEqual(seen[-1], last)
                self.assertEqual(len(os.listdir(folder)), 1, os.listdir(folder))

    def test_the_time_of_a_step_is_that_of_steps_that_were_taken(self):
        """The time is also right for an epoch that ends early. An epoch has four steps, 1.2 s by the clock."""
        for last, sink, expected in ((4, False, 300), (3, False, 400), (1, False, 1200), (2, True, 600)):

            class Stop(train.Callback):
                def on_train_step_end(self, run_context):
                    if run_context.original_args().cur_step_num == last:
                        run_context.request_stop()

            net, printed = Net(), io.StringIO()
            model = train.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1))
            sinks = {"dataset_sink_mode": True, "sink_size": 2} if sink else {}
            clock = mock.Mock(time=mock.Mock(side_effect=(10, 11.2, 12, 13.2)))
            with mock.patch.object(train.callback, "time", clock), contextlib.redirect_stdout(printed):
                model.train(1, rows(48), [Stop(), train.TimeMonitor()], **sinks)
            line = f"Train epoch time: 1200.000 ms, per step time: {expected}.000 ms"
            self.assertEqual(printed.getvalue().splitlines()[0], line, last)

    def test_a_signal_ends_epochs_of_so_many_steps(self):
        seen, net = [], Net()

        def end(name, args):
            seen.append(name)
            if name == "epoch":
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            self.train(end, net, epochs=9, dataset_sink_mode=True, sink_size=3)
        self.assertEqual(seen, ["begin", "step", "epoch", "end"])

    def test_set_the_learning_rate(self):
        for set_rate in (
            lambda args, rate: args.optimizer.learning_rate.set_data(Tensor(rate)),
            lambda args, rate: ms.ops.assign(args.optimizer.learning_rate, Tensor(rate)),
            lambda args, rate: setattr(args.optimizer, "learning_rate", rate),
        ):
            rates, weights, net = [], [], Net()

            def change(name, args):
                if name == "step":
                    rates.append(args.learning_rate)
                    weights.append(net.fc2.bias.asnumpy().copy())
                    if len(rates) == 2:
                        set_rate(args, 0.0)  # noqa: B023
                    if len(rates) == 3:
                        set_rate(args, 0.5)  # noqa: B023

            self.train(change, net, nn.SGD(net.trainable_params(), 0.25))
            self.close(rates, [0.25, 0.25, 0.0, 0.5])
            self.close(weights[2], weights[1], 0)
            self.assertTrue((weights[3] != weights[2]).any())

    def test_what_they_may_not_change(self):
        net = Net()
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9, weight_decay=0.1)
        zeros = Tensor(np.zeros((8, 6), "f4"))
        changes = (
            (lambda: net.fc1.weight.set_data(zeros), "'fc1.weight' cannot be changed while Model trains"),
            (lambda: net.fc1.weight.__setitem__(0, 1.0), "got item assignment"),
            (lambda: optimizer([ms.ops.ones_like(one) for one in net.trainable_params()]), "a step of another program"),
            (lambda: setattr(optimizer, "weight_decay", 0.0), "expected learning_rate only"),
        )
        for change, text in changes:
            before = net.fc1.weight.asnumpy().copy()
            with self.refuses(RuntimeError, text):
                self.train(lambda name, args: name == "step" and change(), net, optimizer)  # noqa: B023
            self.close(net.fc1.weight, before, 0)
            net.fc1.weight.set_data(Tensor(before))  # is free again


if __name__ == "__main__":
    unittest.main()
