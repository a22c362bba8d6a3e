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
