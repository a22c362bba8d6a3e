"""Programs of functions: what calls share, the order of results, options that are refused."""

import unittest

import numpy as np
from support import Case

import partita as ms
from partita import Tensor, nn, train


class Signatures(Case):
    def test_tell_cells_apart(self):
        first, second = nn.Dense(2, 1), nn.Dense(2, 1)
        second.weight.set_data(Tensor(first.weight.asnumpy() + 1))

        @ms.jit
        def called(cell, x):
            return cell(x)

        x = Tensor(np.ones((1, 2), "f4"))
        for cell in (first, second, first):
            np.testing.assert_allclose(called(cell, x).asnumpy(), cell(x).asnumpy(), rtol=1e-6)

    def test_tell_large_arrays_apart(self):
        @ms.jit
        def added(x, array):
            return x + Tensor(array)

        x, array = Tensor(np.zeros(2000, "f4")), np.zeros(2000, "f4")
        added(x, array)
        array = array.copy()
        array[1000] = 1
        self.assertEqual(added(x, array).asnumpy()[1000], 1)

    def test_know_equal_arguments(self):
        calls = []

        @ms.jit
        def scaled(x, by):
            calls.append(by)
            return x * by

        x = Tensor(np.ones(2, "f4"))
        for by in (2.0, 2.0, 3.0):
            scaled(x, by)
        self.assertEqual(len(set(calls)), 2)
        self.assertEqual(calls.count(2.0), calls.count(3.0))


class Results(Case):
    def test_of_predict_are_in_their_order(self):
        class Many(nn.Cell):
            def construct(self, x):
                return tuple(x + float(i) for i in range(12))

        made = train.Model(Many()).predict(Tensor(np.zeros((2, 1), "f4")))
        self.assertEqual([one.asnumpy()[0, 0] for one in made], list(range(12)))


class Refusals(Case):
    def test_of_loss_scales(self):
        with self.refuses(NotImplementedError, "loss_scale is not there, got 1024"):
            nn.SGD(nn.Dense(1, 1).trainable_params(), loss_scale=1024)

    def test_names_of_parallel(self):
        from partita.parallel import load_distributed_checkpoint, transform_checkpoints

        self.assertIs(load_distributed_checkpoint, ms.load_distributed_checkpoint)
        self.assertIs(transform_checkpoints, ms.transform_checkpoints)


if __name__ == "__main__":
    unittest.main()
