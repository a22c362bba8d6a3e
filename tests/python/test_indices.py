"""Indices of tensors against NumPy: random ones of bools, numbers, slices, None and `...`."""

import random

import numpy as np
from support import Case

import partita as ms
from partita import Tensor


class Indices(Case):
    def test_of_bools_are_as_in_numpy(self):
        choose = random.Random(5)
        kinds = (True, False, True, None, 0, 1, -1, slice(None), slice(1, None), ..., np.True_)
        values = np.arange(24, dtype="f4").reshape(2, 3, 4)
        seen = 0
        for _ in range(600):
            index = tuple(choose.choice(kinds) for _ in range(choose.randint(1, 4)))
            if sum(one is ... for one in index) > 1:
                continue
            try:
                expected = values[index]
            except IndexError:
                with self.subTest(index), self.assertRaises(IndexError):
                    Tensor(values)[index]
                continue
            with self.subTest(index):
                got = Tensor(values)[index]
                self.assertEqual(got.shape, expected.shape)
                np.testing.assert_array_equal(got.asnumpy(), expected)
                seen += any(isinstance(one, bool) for one in index)
        self.assertGreater(seen, 200)

    def test_of_bools_alone_are_as_in_numpy(self):
        one = Tensor(np.float32(3))
        for index, shape in ((True, (1,)), (False, (0,)), (None, (1,)), (..., ()), ((), ()), (Tensor(True), (1,))):
            self.assertEqual(one[index].shape, shape)
        values, ids = np.arange(6, dtype="f4").reshape(2, 3), np.array([1, 0, 1], "i4")
        self.close(Tensor(values)[Tensor(ids), True], values[ids, True])
        self.close(Tensor(values)[True, Tensor(ids)], values[True, ids])
        with self.refuses(IndexError, "[index] False takes no elements of a tensor's, got both, expected one"):
            Tensor(values)[Tensor(ids), False]

    def test_of_bools_have_gradients(self):
        found = ms.grad(lambda x: (x[True] * x[1, True]).sum())(Tensor([[1.0, 2.0], [3.0, 4.0]]))
        self.close(found, [[3, 4], [7, 10]])
