#!/usr/bin/env python3
"""Seconds of calls that Python makes one by one, outside of steps: with a second Python, one that has MindSpore, those
of MindSpore next to them, in turns.

    bench/python_calls.py [DOCUMENTED_PYTHON [ROUNDS]]    least of the rounds, in ms, and the ratio
"""
import json
import os
import subprocess
import sys
import time

ROUNDS = 3


def calls(ms, np):
    """(name, call) of each measured call."""
    ops, nn, draw = ms.ops, ms.nn, np.random.default_rng(1)

    def tensor(*shape):
        return ms.Tensor(draw.standard_normal(shape).astype("f4"))

    images, filters, square, few = tensor(16, 32, 28, 28), tensor(32, 32, 3, 3), tensor(512, 512), tensor(8)
    wide, grouped = tensor(8, 256, 28, 28), tensor(256, 32, 1, 1)
    block = nn.SequentialCell([nn.Conv2d(32, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 32, 3)])
    block.set_train(False)
    yield "conv2d 16 x 32 x 28 x 28, 3 x 3", lambda: ops.conv2d(images, filters, padding=1, pad_mode="pad")
    yield "conv2d 8 x 256 x 28 x 28, 1 x 1, 8 groups", lambda: ops.conv2d(wide, grouped, groups=8)
    yield "two convolutions and a norm", lambda: block(images)
    yield "matmul 512 x 512", lambda: ops.matmul(square, square)
    yield "exp of 262144", lambda: ops.exp(square)
    yield "softmax of 512 rows", lambda: ops.softmax(square)
    yield "sum of 262144", lambda: ops.sum(square)
    yield "add of 262144", lambda: square + square
    yield "add of 8", lambda: few + few


def measure():
    """Prints {name: least milliseconds} of one process."""
    import mindspore
    import numpy as np

    if hasattr(mindspore, "PYNATIVE_MODE"):
        mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    found = {}
    for name, call in calls(mindspore, np):
        call().asnumpy()
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            call().asnumpy()
            times.append(time.perf_counter() - begin)
        found[name] = min(times) * 1e3
    print(json.dumps(found))


def main():
    if sys.argv[1:] == ["--measure"]:
        return measure()
    package = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "release", "python")
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    systems = {"Partita": ([sys.executable, "-m", "partita.msrun"], {"PYTHONPATH": package})}
    if len(sys.argv) > 1:
        systems["MindSpore"] = ([sys.argv[1]], {"GLOG_v": "3"})
    least = {}
    for _ in range(rounds):
        for system, (command, more) in systems.items():
            command = [*command, os.path.abspath(__file__), "--measure"]
            lines = subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True, check=True)
            for name, one in json.loads(lines.stdout.splitlines()[-1]).items():
                key = name, system
                least[key] = min(one, least.get(key, one))
    for name in dict.fromkeys(name for name, _ in least):
        own, other = least[name, "Partita"], least.get((name, "MindSpore"))
        compared = "" if other is None else f"{other:10.3f} {own / other:8.3f}"
        print(f"{name:44} {own:10.3f}{compared}")


if __name__ == "__main__":
    main()
