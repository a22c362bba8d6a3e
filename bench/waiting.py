#!/usr/bin/env python3
"""Compares ways for idle compute threads to wait: the bound that Partita sets, active and passive waiting.

    bench/waiting.py [MODEL=lenet] [BATCH=32] [PAIRS=20] [SPINS=2000]

Prints, for the mean and the median step of `bench_train_step` on all cores, the median over pairs of the ratio of
bounded to active waiting on a quiet machine, and of bounded to passive waiting next to six processes that compute.
"""

import os
import statistics
import subprocess
import sys

BENCH = os.path.join(os.path.dirname(__file__), "..", "build/release/bench/bench_train_step")
BUSY = 6


def steps(model, batch, count, **waiting):
    """Returns the median and the mean step in milliseconds."""
    kept = {k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OMP_NUM_THREADS")}
    command = [BENCH, model, str(batch), "1", str(os.cpu_count()), str(count)]
    words = subprocess.run(command, env=kept | waiting, check=True, capture_output=True, text=True).stdout.split()
    return tuple(float(words[words.index(name) + 1]) for name in ("median", "mean"))


def compare(name, other, pairs, measure, bounded):
    rows = []
    for pair in range(pairs):
        order = [bounded, other] if pair % 2 == 0 else [other, bounded]
        times = {id(waiting): measure(**waiting) for waiting in order}
        rows.append((times[id(bounded)], times[id(other)]))
    for at, what in enumerate(("median", "mean")):
        own, peer = ([row[side][at] for row in rows] for side in (0, 1))
        ratios = sorted(a / b for a, b in zip(own, peer))
        print(
            f"{name}, {what} step: bounded {statistics.median(own):.2f} ms, {next(iter(other.values()))} "
            f"{statistics.median(peer):.2f} ms, ratio {statistics.median(ratios):.3f} "
            f"({ratios[len(ratios) // 4]:.3f} to {ratios[-1 - len(ratios) // 4]:.3f})",
            flush=True,
        )


def main():
    words = sys.argv[1:]
    model, batch = (words + ["lenet"])[0], (words[1:] + ["32"])[0]
    pairs, spins = int((words[2:] + ["20"])[0]), (words[3:] + ["2000"])[0]
    bounded, active, passive = {"GOMP_SPINCOUNT": spins}, {"OMP_WAIT_POLICY": "active"}, {"OMP_WAIT_POLICY": "passive"}
    compare("quiet", active, pairs, lambda **waiting: steps(model, batch, 400, **waiting), bounded)
    compare("quiet", passive, pairs, lambda **waiting: steps(model, batch, 400, **waiting), bounded)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    try:
        compare("busy", passive, pairs, lambda **waiting: steps(model, batch, 100, **waiting), bounded)
    finally:
        for process in busy:
            process.kill()


if __name__ == "__main__":
    main()
