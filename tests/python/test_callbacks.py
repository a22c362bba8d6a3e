"""Callbacks that follow a number, and files that a training goes on from."""

import os
import tempfile

import numpy as np
from support import Case, printed, rng

import partita as ms
from partita import dataset as ds
from partita import mint, nn, train


def rows(seed=3, count=16):
    x = rng(seed).standard_normal((count, 4)).astype("f4")
    return ds.NumpySlicesDataset((x, (x @ rng(9).standard_normal((4, 1))).astype("f4")), shuffle=False).batch(8)


def model(rate=0.1, kind=nn.SGD, by_steps=False, **options):
    ms.set_seed(2)
    net = nn.Dense(4, 1)
    optimizer = kind(net.trainable_params(), rate)
    if by_steps:
        return train.Model(nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)), net
    return train.Model(net, nn.MSELoss(), optimizer, **options), net


class Stop(train.Callback):
    """Fails in an epoch, when the file of the one before is written."""

    def on_train_step_end(self, run_context):
        if run_context.original_args().cur_epoch_num == 3:
            raise OSError("stopped")


class Callbacks(Case):
    def test_reduce_the_rate_on_a_plateau(self):
        """The rates of epochs are those of a loop over what the epochs measured."""
        one, _ = model(0.5, metrics={"loss"})
        losses, rates = [], []

        def note(run):
            args = run.original_args()
            losses.append(args.eval_results["eval_loss"])
            rates.append(float(args.optimizer.learning_rate))

        options = {"factor": 0.5, "patience": 2, "min_delta": 0.5, "cooldown": 1, "min_lr": 0.01}
        reduce = train.ReduceLROnPlateau(**options)
        with printed():
            one.fit(12, rows(), rows(), callbacks=[reduce, train.LambdaCallback(on_train_epoch_end=note)])
        rate, best, wait, cool, expected = 0.5, np.inf, 0, 0, []
        for loss in losses:
            if cool > 0:
                cool, wait = cool - 1, 0
            if loss < best - 0.5:
                best, wait = loss, 0
            elif cool <= 0:
                wait += 1
                if wait >= 2:
                    rate, cool, wait = max(rate * 0.5, 0.01), 1, 0
            expected.append(rate)
        self.close(rates, expected)
        self.assertLess(rates[-1], 0.1)

    def test_restore_the_best_weights(self):
        for by_steps in (False, True):
            kept, losses = [], []
            one, net = model(3.0 if by_steps else 0.9, by_steps=by_steps)  # rates at which the loss rises

            def note(run):
                kept.append(net.weight.asnumpy().copy())
                losses.append(run.original_args().loss_value)

            stop = train.EarlyStopping("loss", patience=2, restore_best_weights=True)
            one.train(9, rows(), callbacks=[train.LambdaCallback(on_train_epoch_end=note), stop])
            if stop.stopped_epoch:
                self.close(net.weight, kept[int(np.argmin(losses))], 0)
                self.assertEqual(stop.stopped_epoch, len(losses))
            else:
                self.assertEqual(len(losses), 9)
            self.assertTrue(stop.stopped_epoch or not by_steps)

    def test_goes_on_from_a_backup(self):
        whole, expected = model(0.05, nn.Adam)
        whole.train(4, rows())
        with tempfile.TemporaryDirectory() as folder:
            one, _ = model(0.05, nn.Adam)
            with self.assertRaises(OSError):
                one.train(4, rows(), callbacks=[train.BackupAndRestore(folder), Stop()])
            self.assertEqual(os.listdir(folder), ["backup.ckpt"])
            again, net = model(0.05, nn.Adam)
            net.weight.set_data(net.weight * 0)
            again.train(2, rows(), callbacks=[train.BackupAndRestore(folder, 1)])
            self.close(net.weight, expected.weight, 0)
            self.assertEqual(os.listdir(folder), [])

    def test_files_have_what_is_appended(self):
        with tempfile.TemporaryDirectory() as folder:
            infos = ["epoch_num", "step_num", {"epoch_num": 10, "lr": 0.5, "who": "me"}]
            config = train.CheckpointConfig(append_info=infos, keep_checkpoint_max=2)
            one, net = model(0.05, nn.Adam)
            one.train(3, rows(), callbacks=[train.ModelCheckpoint("net", folder, config)])
            self.assertEqual(sorted(os.listdir(folder)), ["net-3_1.ckpt", "net-3_2.ckpt"])
            found = ms.load_checkpoint(os.path.join(folder, "net-3_2.ckpt"))
            self.assertEqual((int(found["epoch_num"]), int(found["step_num"])), (13, 6))
            self.assertEqual((float(found["lr"]), found["who"]), (0.5, "me"))
            self.close(found["weight"], net.weight.asnumpy(), 0)
            self.assertIn("weight.exp_avg", found)  # the file is still one of a training
        for infos in (["epochs"], "epoch_num"):
            with self.refuses((ValueError, TypeError), "append_info"):
                train.CheckpointConfig(append_info=infos)

    def test_say_what_is_wrong(self):
        cases = {
            "bad factor, got 2.0": lambda: train.ReduceLROnPlateau(factor=2.0),
            "unknown mode, got 'up'": lambda: train.EarlyStopping(mode="up"),
            "bad patience, got -1": lambda: train.EarlyStopping(patience=-1),
            "bad save_freq, got 0": lambda: train.BackupAndRestore(".", 0),
            "backup_dir is no path": lambda: train.BackupAndRestore(3),
        }
        for text, make in cases.items():
            with self.refuses(ValueError, text):
                make()
        one, _ = model([0.1, 0.2])
        with self.refuses(ValueError, "the learning rate has to be one number"):
            one.train(2, rows(), callbacks=[train.ReduceLROnPlateau("loss")])
        for callback in (train.ReduceLROnPlateau("loss"), train.LearningRateScheduler(lambda rate, step: rate / 2)):
            one, _ = model(kind=mint.optim.Adam)
            with self.refuses(NotImplementedError, type(callback).__name__, "got Adam", "lr_scheduler"):
                one.train(1, rows(), callbacks=[callback])
