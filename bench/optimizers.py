#!/usr/bin/env python3
"""Compares optimizers on a small GPT after equal steps: the same sweep of learning rates and the same seeds for each.

    bench/optimizers.py TEXT [STEPS=2000] [MODEL=gpt:layers=6,hidden=192,heads=6,seq=128] [OPTIMIZER..=adamw muon]

TEXT is a file, whose last part is kept for the test. Trains with every rate and one seed, then with the best rate of
each optimizer and two more seeds. Prints the test loss of every training, and for each optimizer the mean over the
seeds. PARTITA_FLAGS has further flags, such as "--ranks 8 --precision bf16". With 3 seeds and 6 rates these are 8
trainings per optimizer."""

import os
import re
import shlex
import statistics
import subprocess
import sys

COMMAND = os.path.join(os.path.dirname(__file__), "..", "build/release/partita")
RATES = (3e-4, 6e-4, 1e-3, 2e-3, 4e-3, 8e-3)
SEEDS = (1, 2, 3)
DEFAULT_MODEL = "gpt:layers=6,hidden=192,heads=6,seq=128"


def test_loss(text, model, steps, optimizer, rate, seed):
    """Trains and returns the test loss, infinity if the training diverges."""
    command = [COMMAND, "train", model, "--data", f"text:{text}", "--optimizer", optimizer, "--lr", f"{rate:g}"]
    command += ["--steps", str(steps), "--seed", str(seed), "--validate", "--no-eval"]
    command += ["--lr-schedule", "cosine", "--warmup-steps", str(steps // 20)]
    command += shlex.split(os.environ.get("PARTITA_FLAGS", ""))
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.findall(r"test loss is ([0-9.]+)", done.stdout)
    if not found and "not finite" not in done.stderr:
        raise SystemExit(f"{shlex.join(command)} failed:\n{done.stderr}")
    loss = float(found[-1]) if found else float("inf")
    print(f"{optimizer} rate {rate:g} seed {seed}: test loss {loss:.4f}", flush=True)
    return loss


def compare(text, steps, model, optimizers):
    means = {}
    for optimizer in optimizers:
        swept = {rate: test_loss(text, model, steps, optimizer, rate, SEEDS[0]) for rate in RATES}
        best = min(swept, key=swept.get)
        losses = [swept[best]] + [test_loss(text, model, steps, optimizer, best, seed) for seed in SEEDS[1:]]
        means[optimizer] = statistics.mean(losses)
        spread = f"{min(losses):.4f} to {max(losses):.4f}"
        print(f"{optimizer}: best rate {best:g}, test loss {means[optimizer]:.4f} ({spread})", flush=True)
    return means


def main(words):
    if not words:
        raise SystemExit(__doc__)
    steps = int(words[1]) if len(words) > 1 else 2000
    model = words[2] if len(words) > 2 else DEFAULT_MODEL
    means = compare(words[0], steps, model, words[3:] or ["adamw", "muon"])
    for optimizer, mean in sorted(means.items(), key=lambda one: one[1]):
        print(f"{mean:.4f} {optimizer}")


if __name__ == "__main__":
    main(sys.argv[1:])
