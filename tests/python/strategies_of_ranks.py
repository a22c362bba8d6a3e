"""Primitives with strategies on ranks that are processes: strategies_of_ranks.py FILE writes what one process computes
there, or compares with it on two or four."""

import os
import sys

import numpy as np
from strategy_cases import PRIMITIVES
from test_strategies import primitive, trained_as_set

import partita as ms
from partita.communication import get_group_size, get_rank, init

init()
ranks, found = get_group_size(), {}
for name, (_, _, _, documented) in PRIMITIVES.items():
    ms.set_seed(1)
    if ranks > 1:
        ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
    strategy = None if ranks == 1 else documented[0 if ranks == 2 else 1]
    losses, weights = trained_as_set(primitive(name, strategy))
    found[name] = np.concatenate([losses, *[one.ravel() for one in weights]])
if ranks == 1 and not os.path.exists(sys.argv[1]):
    np.savez(sys.argv[1], **found)
else:
    expected = np.load(sys.argv[1])
    for name, values in found.items():
        np.testing.assert_allclose(values, expected[name], rtol=2e-5, atol=1e-6, err_msg=name)
    if get_rank() == 0:
        print(f"strategies on {ranks} processes: ok", flush=True)
