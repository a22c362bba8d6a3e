#!/usr/bin/env python3
"""Compares optimizers on a small GPT after equal steps: the same sweep of learning rates and the same seeds for each.

    bench/optimizers.py TEXT CURVES [STEPS=1000] [MODEL=gpt:layers=6,hidden=96,heads=4,seq=64] [OPTIMIZER..=adamw muon]

TEXT is a file, whose last part is kept for the test. Trains with every rate and one seed, then with the best rate of
each optimizer and two more seeds. Prints the test loss of every training, and for each optimizer the mean over the
seeds. Writes CURVES, a table (CSV) of training losses under the best rates, each the mean of 25 steps. PARTITA_FLAGS
has further flags, such as "--ranks 8 --precision bf16". With 3 seeds and 6 rates that is 8 trainings per optimizer."""

import csv
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

COMMAND = os.path.join(os.path.dirname(__file__), "..", "build/release/partita")
RATES = (5e-4, 1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2)
SEEDS = (1, 2, 3)
WINDOW = 25  # steps whose losses are one point of a curve
DEFAULT_MODEL = "gpt:layers=6,hidden=96,heads=4,seq=64"


def train(text, model, steps, optimizer, rate, seed):
    """Returns the test loss, infinity if the training diverges, and the training losses of all steps."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as log:
        command = [COMMAND, "train", model, "--data", f"text:{text}", "--optimizer", optimizer, "--lr", f"{rate:g}"]
        command += ["--steps", str(steps), "--seed", str(seed), "--validate", "--no-eval", "--log", log.name]
        command += ["--lr-schedule", "cosine", "--warmup-steps", str(steps // 20)]
        command += shlex.split(os.environ.get("PARTITA_FLAGS", ""))
        done = subprocess.run(command, capture_output=True, text=True)
        losses = [step["loss"] for step in map(json.loads, log) if "loss" in step]
    found = re.findall(r"test loss is ([0-9.]+)", done.stdout)
    if not found and "not finite" not in done.stderr:
        raise SystemExit(f"{shlex.join(command)} failed:\n{done.stderr}")
    loss = float(found[-1]) if found else float("inf")
    print(f"{optimizer} rate {rate:g} seed {seed}: test loss {loss:.4f}", flush=True)
    return loss, losses


def compare(text, steps, model, optimizers):
    """Returns the mean test loss of each optimizer, and the rows of the table of curves."""
    means, rows = {}, []
    for optimizer in optimizers:
        swept = {rate: train(text, model, steps, optimizer, rate, SEEDS[0]) for rate in RATES}
        best = min(swept, key=lambda rate: swept[rate][0])
        trained = [swept[best]] + [train(text, model, steps, optimizer, best, seed) for seed in SEEDS[1:]]
        tests = [test for test, _ in trained]
        means[optimizer] = statistics.mean(tests)
        spread = f"{min(tests):.4f} to {max(tests):.4f}"
        print(f"{optimizer}: best rate {best:g}, test loss {means[optimizer]:.4f} ({spread})", flush=True)
        for seed, (_, losses) in zip(SEEDS, trained):
            for first in range(0, len(losses) - WINDOW + 1, WINDOW):
                loss = statistics.mean(losses[first:first + WINDOW])
                rows.append((optimizer, f"{best:g}", seed, first + WINDOW, f"{loss:.4f}"))
    return means, rows


def main(words):
    if len(words) < 2:
        raise SystemExit(__doc__)
    text, curves = words[:2]
    steps = int(words[2]) if len(words) > 2 else 1000
    model = words[3] if len(words) > 3 else DEFAULT_MODEL
    means, rows = compare(text, steps, model, words[4:] or ["adamw", "muon"])
    with open(curves, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("optimizer", "rate", "seed", "step", "loss"), *rows])
    for optimizer, mean in sorted(means.items(), key=lambda one: one[1]):
        print(f"{mean:.4f} {optimizer}")


if __name__ == "__main__":
    main(sys.argv[1:])
