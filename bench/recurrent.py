#!/usr/bin/env python3
"""Milliseconds of a training step of recurrent layers: one layer, 32 steps of 64 rows of 128 numbers, 256 states, the
mean of squares as the loss, SGD.

    PYTHONPATH=build/release/python python3 bench/recurrent.py [PYTHON_WITH_TORCH [ROUNDS]]

Prints the least of the rounds, in turns with PyTorch where its Python is given, on as many threads as OMP_NUM_THREADS
says, and the ratio."""
import json
import os
import subprocess
import sys
import time

KINDS = ("LSTM", "GRU", "RNN")
STEPS, ROWS, WIDTH, SIZE = 32, 64, 128, 256
CALLS = 10


def partita_step(kind):
    import numpy as np

    import partita as ms
    from partita import Tensor, nn

    layer = getattr(nn, kind)(WIDTH, SIZE)
    x = Tensor(np.random.default_rng(1).standard_normal((STEPS, ROWS, WIDTH)).astype("f4"))
    optimizer = nn.SGD(layer.trainable_params(), learning_rate=0.01)

    def loss(x):
        y, _ = layer(x)
        return (y * y).mean()

    gradient = ms.value_and_grad(loss, None, optimizer.parameters)

    def step():
        value, gradients = gradient(x)
        optimizer(gradients)
        return float(value.asnumpy())

    return step


def torch_step(kind):
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
    layer, x = getattr(torch.nn, kind)(WIDTH, SIZE), torch.randn(STEPS, ROWS, WIDTH)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        y, _ = layer(x)
        value = (y * y).mean()
        value.backward()
        optimizer.step()
        return value.item()

    return step


def measured(made):
    """{kind: least milliseconds}."""
    found = {}
    for kind in KINDS:
        step, times = made(kind), []
        for _ in range(CALLS):
            begin = time.perf_counter()
            step()
            times.append((time.perf_counter() - begin) * 1e3)
        found[kind] = min(times[2:])
    return found


def main():
    if sys.argv[1:2] == ["--part"]:
        print(json.dumps(measured({"partita": partita_step, "torch": torch_step}[sys.argv[2]])))
        return
    pythons = {"partita": sys.executable} | ({"torch": sys.argv[1]} if sys.argv[1:] else {})
    least = {}
    for _ in range(int(sys.argv[2]) if sys.argv[2:] else 3):
        for name, python in pythons.items():
            out = subprocess.run([python, __file__, "--part", name], check=True, capture_output=True, text=True).stdout
            for kind, value in json.loads(out.strip().splitlines()[-1]).items():
                least[name, kind] = min(value, least.get((name, kind), value))
    for kind in KINDS:
        ours, theirs = least["partita", kind], least.get(("torch", kind))
        print(f"{kind:6} {ours:8.2f}" + (f" {theirs:8.2f} {ours / theirs:6.2f}" if theirs else ""))


if __name__ == "__main__":
    main()
