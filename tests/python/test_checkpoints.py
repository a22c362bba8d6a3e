"""Checkpoints of trainings: when they are written, whole or in parts, strategy files, files that are none."""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from support import Case, Losses, Small, labelled

import partita as ms
from partita import Parameter, Tensor, nn, train
from partita import dataset as ds
from partita.train.strategy import coalesced


def rows(batch=16):
    return ds.NumpySlicesDataset(labelled(64), ["data", "label"], shuffle=False).batch(batch)


class Folders(Case):
    def setUp(self):
        super().setUp()
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = self._folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def trained(self, *callbacks, epochs=1, net=None):
        net = net or Small()
        model = train.Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9))
        model.train(epochs, rows(), callbacks=list(callbacks))
        return net


class Saving(Folders):
    def saved(self, epochs=1, **config):
        config.setdefault("save_checkpoint_steps", 1)
        self.trained(train.ModelCheckpoint("net", self.folder, train.CheckpointConfig(**config)), epochs=epochs)
        return sorted(os.listdir(self.folder))

    def test_keeps_the_newest(self):
        self.assertEqual(self.saved(2, keep_checkpoint_max=3), ["net-2_2.ckpt", "net-2_3.ckpt", "net-2_4.ckpt"])

    def test_sees_the_ends_of_epochs_in_sink_mode(self):
        net = Small()
        model = train.Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9))
        config = train.CheckpointConfig(save_checkpoint_steps=3)
        model.train(3, rows(), [train.ModelCheckpoint("net", self.folder, config)], dataset_sink_mode=True)
        self.assertEqual(sorted(os.listdir(self.folder)), ["net-1_4.ckpt", "net-2_4.ckpt", "net-3_4.ckpt"])

    def test_keeps_one_in_some_minutes(self):
        names = self.saved(keep_checkpoint_max=0, keep_checkpoint_per_n_minutes=1)
        self.assertEqual(names, ["net-1_4.ckpt"])

    def test_goes_by_seconds(self):
        saved = []
        config = train.CheckpointConfig(save_checkpoint_steps=0, save_checkpoint_seconds=10)
        callback = train.ModelCheckpoint("net", self.folder, config)
        args = train.callback.InternalCallbackParam(batch_num=5, last_step=10)
        args.save_checkpoint = lambda path, own_part, background: saved.append(os.path.basename(path))
        context = train.RunContext(args)
        callback.on_train_begin(context)
        self.addCleanup(callback.give_back)
        for step, elapsed in enumerate((0, 4, 9.9, 10, 12, 19, 20.1, 25, 26, 27), 1):
            args.cur_step_num, args.cur_epoch_num, args.elapsed = step, 1 + (step - 1) // 5, elapsed
            callback.on_train_step_end(context)
        self.assertEqual(saved, ["net-1_4.ckpt", "net-2_2.ckpt", "net-2_5.ckpt"])

    def test_writes_during_the_training(self):
        self.assertEqual(self.saved(async_save=True, keep_checkpoint_max=0), [f"net-1_{i}.ckpt" for i in range(1, 5)])
        same = Folders.trained(self)
        for name, one in ms.load_checkpoint(self.path("net-1_4.ckpt")).items():
            if name in same.parameters_dict():
                np.testing.assert_array_equal(one.asnumpy(), same.parameters_dict()[name].asnumpy())

    def test_leaves_files_of_others(self):
        self.saved()
        self.assertIn("net_1-1_4.ckpt", self.saved())

    def test_tells_what_cannot_be_written(self):
        for background in (False, True):
            config = train.CheckpointConfig(async_save=background)
            callback = train.ModelCheckpoint("net", self.path("gone"), config)
            callback.on_train_step_end = lambda context: (
                context.original_args().save_checkpoint(self.path("no", "such", "file.ckpt"), False, background)
            )
            with self.refuses(RuntimeError, "cannot write"):
                self.trained(callback)

    def test_refuses_bad_configurations(self):
        with self.refuses(ValueError, "bad save_checkpoint_steps, got -1"):
            train.CheckpointConfig(save_checkpoint_steps=-1)
        with self.refuses(ValueError, "nothing to save"):
            train.CheckpointConfig(0, 0, 0, 0)
        with self.refuses(ValueError, "unknown format, got 'pt'"):
            train.CheckpointConfig(format="pt")
        with self.refuses(NotImplementedError, "got enc_key"):
            train.CheckpointConfig(enc_key=b"0")
        with self.refuses(NotImplementedError, "saved_network=Small"):
            train.CheckpointConfig(saved_network=Small())
        with self.refuses(ValueError, "bad prefix"):
            train.ModelCheckpoint("a/b")
        with self.refuses(TypeError, "not a configuration, got int"):
            train.ModelCheckpoint("a", ".", 1)

    def test_of_a_training_that_is_stopped_at_the_begin_of_an_epoch(self):
        class Stop(train.Callback):
            def __init__(self, epoch):
                self.epoch = epoch

            def on_train_epoch_begin(self, run_context):
                if run_context.original_args().cur_epoch_num == self.epoch:
                    run_context.request_stop()

        rows = np.random.default_rng(2).random((8, 2), "f4")
        data = ms.dataset.NumpySlicesDataset((rows, rows[:, :1]), ["x", "y"], shuffle=False).batch(2)
        for sink in (False, True):
            for epoch in (1, 2, 3):
                with tempfile.TemporaryDirectory() as folder:
                    net = nn.Dense(2, 1)
                    saves = train.ModelCheckpoint("net", folder, train.CheckpointConfig(100))
                    model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
                    model.train(4, data, callbacks=[saves, Stop(epoch)], dataset_sink_mode=sink)
                    self.assertEqual(os.listdir(folder), [] if epoch == 1 else [f"net-{epoch - 1}_4.ckpt"])

    def test_of_a_training_that_is_stopped(self):
        class Stop(train.Callback):
            def on_train_step_end(self, run_context):
                if run_context.original_args().cur_step_num == 3:
                    run_context.request_stop()

        net = nn.Dense(2, 1)
        rows = np.random.default_rng(2).random((8, 2), "f4")
        data = ms.dataset.NumpySlicesDataset((rows, rows[:, :1]), ["x", "y"], shuffle=False).batch(2)
        saves = train.ModelCheckpoint("net", self.folder, train.CheckpointConfig(2, keep_checkpoint_max=1))
        model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
        model.train(2, data, callbacks=[saves, Stop()])
        self.assertEqual(os.listdir(self.folder), ["net-1_3.ckpt"])
        seen = []

        class Keep(train.Callback):
            def on_train_step_end(self, run_context):
                seen.append(run_context.original_args().cur_epoch_num)

        model.train(3, data, callbacks=[Keep()], initial_epoch=1)
        self.assertEqual(seen, [2] * 4 + [3] * 4)

    def test_parts_need_folders_of_their_own(self):
        from partita.train.checkpoints import _OwnFolder

        holds = (
            "import fcntl, os; f = open({!r}, 'a'); fcntl.flock(f, fcntl.LOCK_EX); "
            "print(os.getpid(), file=f, flush=True)"
        )
        own = _OwnFolder(self.folder, "net")
        own.take()
        own.take()  # again, as of a second training
        own.give_back()
        script = holds.format(self.path(".net.process")) + "; print('locked', flush=True); input()"
        other = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.assertEqual(other.stdout.readline(), b"locked\n")
            with self.refuses(ValueError, f"{other.pid}", "expected a folder for each"):
                own.take()
        finally:
            other.communicate(b"\n")
        own.take()  # of a process that is gone
        own.give_back()
        self.assertEqual(os.listdir(self.folder), [])


    def test_one_job_at_a_time_saves_to_a_folder(self):
        script = self.path("job.py")
        with open(script, "w") as file:
            file.write(_SAVING_JOB)
        folder = self.path("run")
        command = [sys.executable, script, folder]
        first = subprocess.Popen([*command, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.assertEqual(first.stdout.readline(), b"training\n")
            second = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(second.returncode, 73, second.stderr)
            self.assertIn(f"another job writes to it, got '{folder}' held by process {first.pid} on ", second.stderr)
            # A job that is started again waits for the attempt before.
            again = subprocess.Popen(command, env={**os.environ, "PARTITA_RUN": "1"}, stdout=subprocess.PIPE)
        finally:
            first.communicate(b"\n")
        self.assertEqual(first.returncode, 0)
        again.communicate()
        self.assertEqual(again.returncode, 0)
        names = [f"net-1_{step}.ckpt" for step in (1, 2)] + [f"net_1-1_{step}.ckpt" for step in (1, 2)]
        self.assertEqual(sorted(os.listdir(folder)), sorted(names))

    def test_without_locks_there_is_a_warning(self):
        from unittest import mock
        from partita.train import checkpoints

        own = checkpoints._OwnFolder(self.folder, "net")
        no_locks = OSError(95, "Operation not supported")
        with mock.patch.object(checkpoints.fcntl, "flock", side_effect=no_locks):
            with mock.patch.object(checkpoints, "warn") as warn:
                own.take()
        own.give_back()
        self.assertIn("Operation not supported; another job that writes there", warn.call_args[0][0])


_SAVING_JOB = """
import sys
import numpy as np
import partita as ms
from partita import nn, train


class Wait(train.Callback):
    def on_train_begin(self, run_context):
        if len(sys.argv) > 2:
            print("training", flush=True)
            input()


net = nn.Dense(2, 1)
rows = np.random.default_rng(2).random((4, 2), "f4")
data = ms.dataset.NumpySlicesDataset((rows, rows[:, :1]), ["x", "y"], shuffle=False).batch(2)
saves = train.ModelCheckpoint("net", sys.argv[1], train.CheckpointConfig(1))
model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
model.train(1, data, callbacks=[saves, Wait()])
"""


class Strategies(Folders):
    def test_axes_that_cut_together_are_one(self):
        axes = [("a", 2), ("b", 3), ("c", 4)]
        self.assertEqual(coalesced(axes, [[0, 1], []]), ([6, 4], [[0], []]))
        self.assertEqual(coalesced(axes, [[1], [0]]), ([2, 3, 4], [[1], [0]]))
        self.assertEqual(coalesced(axes, [[1, 0], [2]]), ([2, 3, 4], [[1, 0], [2]]))
        self.assertEqual(coalesced([], [[]]), ([], [[]]))

    def product(self, strategy):
        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.weight = Parameter(Tensor(np.full((6, 8), 0.1, "f4")), name="weight")
                self.product, self.head = ms.ops.MatMul(), nn.Dense(8, 3)
                if strategy:
                    self.product.shard(strategy)

            def construct(self, x):
                return self.head(self.product(x, self.weight))

        return Net()

    def model(self, strategy, mode="semi_auto_parallel", **context):
        ms.reset_auto_parallel_context()
        ms.set_context(ranks=4)
        ms.set_auto_parallel_context(parallel_mode=mode, full_batch=True, **context)
        net, losses = self.product(strategy), Losses()
        model = train.Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9))
        return model, losses

    def test_say_how_parameters_are_cut(self):
        model, _ = self.model(((2, 1), (1, 2)))
        layout = model.infer_train_layout(rows())["weight"]
        self.assertEqual(layout[:3], ([2, 2], [-1, 0], [6, 4]))
        file = self.path("own", "strategy.json")
        model, _ = self.model(((2, 1), (1, 2)), strategy_ckpt_save_file=file)
        model.infer_train_layout(rows())
        inferred = ms.build_searched_strategy(file)
        os.remove(file)
        model.train(1, rows())
        strategy = ms.build_searched_strategy(file)
        self.assertEqual(inferred, strategy)
        self.assertEqual(strategy["weight"]["tensor_shape"], [6, 8])
        self.assertEqual(strategy["weight"]["dev_matrix"], [2, 2])
        self.assertEqual([rank for rank, _ in strategy["weight.momentum"]["slices"]], [0, 1, 2, 3])
        with open(self.path("usual"), "w"):
            self.assertEqual(os.stat(file).st_mode, os.stat(self.path("usual")).st_mode)

    def test_are_run_again(self):
        file = self.path("strategy.json")
        model, losses = self.model(((2, 1), (1, 2)), strategy_ckpt_config={"save_file": file})
        plan = str(model.program(rows()).plan)
        model.train(1, rows(), callbacks=[losses])
        model, again = self.model(None, strategy_ckpt_config={"load_file": file})
        self.assertEqual(str(model.program(rows()).plan).split("\n")[3:], plan.split("\n")[3:])
        model.train(1, rows(), callbacks=[again])
        self.assertEqual(again.values, losses.values)
        model, _ = self.model(None, strategy_ckpt_load_file=file)
        ms.set_context(ranks=2)
        with self.refuses(ValueError, "another number of ranks"):
            model.train(1, rows())

    def test_of_parts_join(self):
        whole = np.arange(48, dtype="f4").reshape(6, 8)
        entry = {
            "tensor_shape": [6, 8],
            "slices": [[0, [[0, 6], [0, 3]]], [1, [[0, 6], [3, 8]]]],
        }
        strategy = {"w": entry}
        parts = [Parameter(Tensor(whole[:, :3].copy()), "w"), Parameter(Tensor(whole[:, 3:].copy()), "w")]
        np.testing.assert_array_equal(ms.merge_sliced_parameter(parts, strategy).asnumpy(), whole)
        lines = [Parameter(Tensor(whole[i : i + 3].copy()), "w") for i in (0, 3)]
        np.testing.assert_array_equal(ms.merge_sliced_parameter(lines).asnumpy(), whole)
        with self.refuses(TypeError, "not a list, got Parameter"):
            ms.merge_sliced_parameter(parts[0])
        with self.refuses(ValueError, "an empty list"):
            ms.merge_sliced_parameter([])
        with self.refuses(TypeError, "not a parameter, got int"):
            ms.merge_sliced_parameter([1])
        with self.refuses(ValueError, "the parts belong to several parameters, got 'v'"):
            ms.merge_sliced_parameter([parts[0], Parameter(Tensor(1.0), "v")])
        with self.refuses(ValueError, "parts of different shapes"):
            ms.merge_sliced_parameter(parts)
        with self.refuses(ValueError, "wrong number of parts of 'w', got 1, expected 2"):
            ms.merge_sliced_parameter(parts[:1], strategy)
        with self.refuses(ValueError, "a part of 'w' is of another shape"):
            ms.merge_sliced_parameter(parts[::-1], strategy)
        with self.refuses(KeyError, "'w' is not in the strategy", "did you mean 'ww'"):
            ms.merge_sliced_parameter(parts, {"ww": entry})

    def test_cut_files_anew(self):
        numbers = np.random.default_rng(1)
        values = {"w": numbers.random((6, 8), "f4"), "step": np.array([4], "i4")}
        for name, cut in (("columns", 1), ("lines", 0)):
            slices = []
            for rank in range(2):
                box = [[0, 6], [0, 8]]
                size = (6, 8)[cut] // 2
                box[cut] = [size * rank, size * rank + size]
                slices.append([rank, box])
            with open(self.path(f"{name}.json"), "w") as file:
                json.dump({"parallel_layout_item": {"w": {"tensor_shape": [6, 8], "slices": slices}}}, file)
        ms.save_checkpoint({name: Tensor(one) for name, one in values.items()}, self.path("net.ckpt"))
        os.makedirs(self.path("whole", "rank_0"))
        os.rename(self.path("net.ckpt"), self.path("whole", "rank_0", "net.ckpt"))
        ways = [("whole", "columns"), ("columns", "lines"), ("lines", None)]
        for source, target in ways:
            strategies = [None if one in (None, "whole") else self.path(f"{one}.json") for one in (source, target)]
            ms.transform_checkpoints(self.path(source), self.path(str(target)), "net", *strategies)
        part = ms.load_checkpoint(self.path("lines", "rank_1", "net1.ckpt"))["w"]
        self.assertEqual(part.box, (((3, 6), (0, 8)), (6, 8)))
        np.testing.assert_array_equal(part.asnumpy(), values["w"][3:])
        for name, one in ms.load_checkpoint(self.path("None", "rank_0", "net0.ckpt")).items():
            np.testing.assert_array_equal(one.asnumpy(), values[name])
        self.assertEqual(ms.rank_list_for_transform(1, self.path("columns.json"), self.path("lines.json")), [0, 1])
        self.assertEqual(ms.rank_list_for_transform(1, self.path("lines.json"), self.path("lines.json")), [1])
        files = {rank: self.path("columns", f"rank_{rank}", f"net{rank}.ckpt") for rank in range(2)}
        ms.transform_checkpoint_by_rank(1, files, self.path("one.ckpt"), None, self.path("lines.json"))
        np.testing.assert_array_equal(ms.load_checkpoint(self.path("one.ckpt"))["w"].asnumpy(), values["w"][3:])
        ms.unified_safetensors(self.path("lines"), self.path("lines.json"), self.path("unified"))
        net = nn.Cell()
        net.w = Parameter(Tensor(np.zeros((6, 8), "f4")), name="w")
        self.assertEqual(ms.load_distributed_checkpoint(net, unified_safetensors_dir=self.path("unified")), [])
        np.testing.assert_array_equal(net.w.asnumpy(), values["w"])
        with self.refuses(RuntimeError, "'w' is a part, got 0:6,0:4 of 6,8", "load_distributed_checkpoint"):
            ms.load_param_into_net(net, ms.load_checkpoint(files[0]))
        with self.refuses(ValueError, "parts of 'w' are missing, got 24 of 48 elements"):
            ms.load_distributed_checkpoint(net, [files[0]])
        with self.refuses(ValueError, "there is not one file for each rank of the training, got 1, expected 2"):
            ms.load_distributed_checkpoint(net, [files[0]], train_strategy_filename=self.path("columns.json"))

    def test_refuse_what_is_none(self):
        with self.refuses(ValueError, "cannot read strategy file /no/file"):
            ms.build_searched_strategy("/no/file")
        for text in ("", "{}", "[]", '{"parallel_layout_item": {"w": 1}}', "\xff\xfe", "[" * 9000,
                     '{"parallel_layout_item": {"w": {"tensor_shape": [4], "slices": [[0, [[3, 1]]]]}}}'):  # fmt: skip
            with open(self.path("bad"), "w", encoding="latin-1") as file:
                file.write(text)
            with self.refuses(ValueError, "is not a strategy file"):
                ms.build_searched_strategy(self.path("bad"))
        with self.refuses(TypeError, "the strategy file is not a path, got int"):
            ms.build_searched_strategy(1)
        with self.refuses(ValueError, "no folder"):
            ms.transform_checkpoints("/no/folder", self.folder, "net")
        with self.refuses(ValueError, "no files of ranks"):
            ms.transform_checkpoints(self.folder, self.folder, "net")
        with self.refuses(ValueError, "unknown output_format, got 'pt'"):
            ms.transform_checkpoints(self.folder, self.folder, "net", output_format="pt")
        with self.refuses(TypeError, "not a list of files, got str"):
            ms.load_distributed_checkpoint(Small(), "a")
        with self.refuses(ValueError, "no files, got an empty list"):
            ms.load_distributed_checkpoint(Small(), [])
        with self.refuses(NotImplementedError, "got name_map"):
            ms.load_distributed_checkpoint(Small(), ["a"], name_map={})
        with self.refuses(TypeError, "not a dict, got list"):
            ms.transform_checkpoint_by_rank(0, [], "a")
        with open(self.path("stages"), "w") as file:
            file.write('{"parallel_layout_item": {}}')
        ms.set_auto_parallel_context(parallel_mode="auto_parallel", strategy_ckpt_load_file=self.path("stages"))
        with self.refuses(NotImplementedError, "cuts of a training with stages"):
            self.trained()

    def test_of_several_files_merge(self):
        os.makedirs(self.path("all"))
        entry = {"tensor_shape": [4], "slices": [[0, [[0, 4]]]]}
        for name in ("a", "b"):
            with open(self.path("all", name), "w") as file:
                json.dump({"parallel_layout_item": {name: entry}}, file)
        ms.merge_pipeline_strategys(self.path("all"), self.path("merged"))
        self.assertEqual(set(ms.build_searched_strategy(self.path("merged"))), {"a", "b"})
        with open(self.path("all", "b"), "w") as file:
            json.dump({"parallel_layout_item": {"a": {"tensor_shape": [5], "slices": []}}}, file)
        with self.refuses(ValueError, "'a' is cut differently"):
            ms.merge_pipeline_strategys(self.path("all"), self.path("merged"))
        with self.refuses(ValueError, "no folder"):
            ms.merge_pipeline_strategys("/no/folder", self.path("merged"))
