"""Element types of results of operands of different floats: those of MindSpore 2.10, which are in mixed_types.txt."""

import os

import mixed_cases
import numpy as np
from support import Case

import partita as ms
from partita import Tensor, nn, ops


class Mixed(Case):
    def test_gives_the_types_of_mindspore(self):
        with open(os.path.join(os.path.dirname(__file__), "mixed_types.txt")) as file:
            expected = {line.rpartition(": ")[0]: line.split()[-1] for line in file if not line.startswith("#")}
        checked = 0
        for name in mixed_cases.cases(ms):
            for types, got in mixed_cases.results(ms, name).items():
                wanted = expected.pop(f"{name}: {types}")
                if wanted != "-":
                    checked += 1
                    self.assertEqual(got, wanted, (name, types))
        self.assertEqual(expected, {})
        self.assertGreaterEqual(checked, 200)

    def test_of_norms_keep_the_digits_of_float32_within(self):
        x = (np.random.default_rng(1).random((4, 8)) + 100).astype("f2")
        wide = x.astype("f4")
        expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
        ones, zeros = Tensor(np.ones(8, "f4")), Tensor(np.zeros(8, "f4"))
        self.close(ops.layer_norm(Tensor(x), (8,), ones, zeros), expected, 2e-3)
        rms = wide / np.sqrt(np.square(wide).mean(1, keepdims=True) + 1e-6)
        self.assertEqual(ops.rms_norm(Tensor(x), ones)[0].dtype, ms.float16)
        self.close(ops.rms_norm(Tensor(x), ones)[0], rms, 2e-3)
        layer = nn.BatchNorm1d(8).set_train()
        batch = (wide - wide.mean(0)) / np.sqrt(wide.var(0) + 1e-5)
        self.close(layer(Tensor(x)), batch, 2e-3)
        self.close(layer.moving_mean, 0.1 * wide.mean(0), 1e-4)
