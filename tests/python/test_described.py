"""Texts that `repr` gives of optimizers, losses, data sets, samplers, callbacks and maps."""

import unittest

import numpy as np

from partita import dataset as ds
from partita import nn, train
from partita.common.initializer import Constant
from partita.dataset import vision


class Described(unittest.TestCase):
    def test_options_that_have_not_their_defaults(self):
        for one, expected in (
            (train.LossMonitor(2), "LossMonitor(per_print_times=2)"),
            (train.LossMonitor(), "LossMonitor()"),
            (ds.DistributedSampler(4, 1), "DistributedSampler(num_shards=4, shard_id=1)"),
            (ds.RandomSampler(replacement=True), "RandomSampler(replacement=True)"),
            (vision.Normalize([1.0], [2.0]), "Normalize(mean=[1.0], std=[2.0])"),
            (nn.MSELoss(), "MSELoss()"),
            (nn.MSELoss("sum"), "MSELoss(reduction=sum)"),
        ):
            self.assertEqual(repr(one).replace("'", ""), expected)

    def test_optimizers_say_how_many_parameters_they_have(self):
        net = nn.Dense(2, 3)
        self.assertEqual(repr(nn.Adam(net.trainable_params(), 0.25)), "Adam(parameters=2, learning_rate=0.25)")
        text = repr(nn.Momentum(net.trainable_params(), 0.5, 0.75, weight_decay=0.125))
        self.assertEqual(text, "Momentum(parameters=2, learning_rate=0.5, momentum=0.75, weight_decay=0.125)")

    def test_layers_say_their_options(self):
        windows = "kernel_size=(1, 3), stride=(1, 2), pad_mode=same, padding=(0, 0, 0, 0), dilation=(1, 1)"
        for one, expected in (
            (nn.Conv1d(2, 4, 3, 2), f"Conv1d(input_channels=2, output_channels=4, {windows}, group=1, has_bias=False)"),
            (nn.MaxPool2d(2, 2), "MaxPool2d(kernel_size=2, stride=2, pad_mode=valid)"),
            (nn.AvgPool1d(2), "AvgPool1d(kernel_size=(1, 2), stride=(1, 1), pad_mode=valid)"),
            (nn.Dropout(p=0.25), "Dropout(p=0.25)"),
            (nn.Dropout2d(p=0.25), "Dropout2d(p=0.25)"),
            (nn.WarmUpLR(0.5, 3), "WarmUpLR(learning_rate=0.5, warmup_steps=3)"),
            (nn.ExponentialDecayLR(0.5, 0.75, 4, True), "ExponentialDecayLR(learning_rate=0.5, decay_rate=0.75, "
             "decay_steps=4, is_stair=True)"),
            (nn.Embedding(5, 2), "Embedding(vocab_size=5, embedding_size=2, use_one_hot=False, padding_idx=None)"),
            (nn.SequentialCell(nn.ReLU()), "SequentialCell(\n  (0): ReLU()\n)"),
            (
                nn.Dense(2, 3, activation="relu"),
                "Dense(\n  input_channels=2, output_channels=3, has_bias=True\n  (activation): ReLU()\n)",
            ),
        ):
            self.assertEqual(repr(one), expected)

    def test_classes_of_scripts_are_described(self):
        class Mine(train.Callback):
            def __init__(self, often, *others, log=None, **more):
                self.often, self.log = often, log

        self.assertEqual(repr(Mine(3, 4, log=print)), "Mine(often=3, log=print)")
        self.assertEqual(repr(Mine(np.zeros((40, 40)))), "Mine(often=<ndarray>)")
        self.assertIn("Constant", repr(Constant(2)))

    def test_views_of_data_sets_have_names_and_columns(self):
        rows = ds.NumpySlicesDataset((np.zeros((8, 2)), np.zeros(8)), ["x", "y"])
        self.assertEqual(repr(rows.batch(2)), "<BatchDataset: columns x, y, in batches of 2>")
        self.assertNotIn("<_", repr(rows.map(lambda x: x, "x")))


if __name__ == "__main__":
    unittest.main()
