"""Subclasses of ModelCheckpoint that write files themselves, as monitors of client libraries do, and names of
`append_dict` that are taken."""

import os
import tempfile
import time
import unittest

import numpy as np
from support import Case, Small, labelled

import partita as ms
from partita import Tensor, nn, train
from partita import dataset as ds


class Monitor(train.ModelCheckpoint):
    """Writes files by a method of its own, with the number of the step."""

    def _save_ckpt(self, cb_params, force_to_save=False):
        if cb_params.cur_step_num == self._last_triggered_step or not self._check_save_ckpt(cb_params, force_to_save):
            return
        self._manager.update_ckpoint_filelist(self._directory, self._prefix)
        if 0 < self._config.keep_checkpoint_max <= self._manager.ckpoint_num:
            self._manager.remove_oldest_ckpoint_file()
        self._last_triggered_step = cb_params.cur_step_num
        self._append_dict["step_num"] = self._append_step_num + cb_params.cur_step_num
        path = os.path.join(self._directory, f"{self._prefix}-1_{cb_params.cur_step_num}.ckpt")
        ms.save_checkpoint(cb_params.train_network, path, append_dict=self._append_dict)
        self._latest_ckpt_file_name = path
        time.sleep(0.01)  # so that times of files differ


class Monitors(Case):
    def written(self, folder, by_steps, **config):
        """(names of files, the monitor, the network) after seven steps."""
        net, x_y = Small(), labelled(56)
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        monitor = Monitor("net", folder, train.CheckpointConfig(append_info=[{"step_num": 100}], **config))
        data = ds.NumpySlicesDataset(x_y, ["data", "label"], shuffle=False).batch(8)
        if by_steps:
            model = train.Model(nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer))
        else:
            model = train.Model(net, nn.CrossEntropyLoss(), optimizer)
        model.train(1, data, callbacks=[monitor])
        return sorted(one for one in os.listdir(folder) if one.endswith(".ckpt")), monitor, net

    def test_write_and_remove_files(self):
        for by_steps in (True, False):
            with tempfile.TemporaryDirectory() as folder:
                config = {"save_checkpoint_steps": 3, "keep_checkpoint_max": 2}
                names, monitor, net = self.written(folder, by_steps, **config)
                self.assertEqual(names, ["net-1_6.ckpt", "net-1_7.ckpt"])  # the last one at the end
                self.assertEqual(monitor.latest_ckpt_file_name, os.path.join(folder, "net-1_7.ckpt"))
                found = ms.load_checkpoint(monitor.latest_ckpt_file_name)
                self.assertEqual(int(found["step_num"]), 107)
                np.testing.assert_array_equal(found["fc1.weight"].asnumpy(), net.fc1.weight.asnumpy())

    def test_write_by_seconds(self):
        with tempfile.TemporaryDirectory() as folder:
            names, _, _ = self.written(folder, True, save_checkpoint_steps=0, save_checkpoint_seconds=1000)
            self.assertEqual(names, ["net-1_7.ckpt"])

    def test_keep_one_of_some_minutes(self):
        files = Monitor("net", ".", train.CheckpointConfig())._manager
        with tempfile.TemporaryDirectory() as folder:
            for i, age in enumerate((500, 100, 50, 1)):
                path = os.path.join(folder, f"net-1_{i}.ckpt")
                open(path, "w").close()
                os.utime(path, (1e6 - age, 1e6 - age))
            files.update_ckpoint_filelist(folder, "net")
            files.keep_one_ckpoint_per_minutes(2, 1e6)
            self.assertEqual(sorted(os.listdir(folder)), ["net-1_0.ckpt", "net-1_1.ckpt"])
            self.assertEqual(files.ckpoint_num, 2)


class Appended(Case):
    def test_numbers_take_the_place_of_numbers(self):
        net = Small()
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.ckpt")
            ms.save_checkpoint(step, path, append_dict={"global_step": 7, "epoch": 2})
            found = ms.load_checkpoint(path)
            self.assertEqual((found["global_step"].asnumpy().tolist(), int(found["epoch"])), ([7], 2))
            self.assertEqual(found["global_step"].dtype, ms.int32)
            for taken in ({"fc1.weight": 1}, {"global_step": "seven"}, {"global_step": Tensor([1, 2])}):
                with self.refuses(ValueError, "append_dict has a name that is taken, got"):
                    ms.save_checkpoint(step, path, append_dict=taken)


if __name__ == "__main__":
    unittest.main()
