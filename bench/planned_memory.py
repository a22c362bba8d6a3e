#!/usr/bin/env python3
"""Compares planned with compiled memory of training steps, for levels of optimizer sharding and micro-batches.

    bench/planned_memory.py [build/release/partita] [--target CHIP] [--collectives whole] [--levels 0123]
                            [--rounds 1,4] [--models 20] [--ranks 4]

Prints a row per network: for each level and number of micro-batches the memory of the compiled program and, in percent,
what it is beyond the estimate. Without a chip the programs are those of processors; on a chip PARTITA_PJRT_PLUGIN names
its plugin.
"""
import argparse
import json
import statistics
import subprocess
import sys

# Network, rows of the batch, type, and how attention runs on a chip.
NETWORKS = (
    ("gpt:layers=4,hidden=256,heads=8,seq=128,vocab=2048", 16, "f32", "composed"),
    ("gpt:layers=4,hidden=256,heads=8,seq=128,vocab=2048", 16, "bf16", "composed"),
    ("gpt:layers=4,hidden=256,heads=8,seq=128,vocab=2048", 16, "bf16", "fused"),
    ("gpt:layers=8,hidden=512,heads=8,seq=16,vocab=512", 16, "f32", "composed"),
    ("gpt:layers=8,hidden=512,heads=8,seq=16,vocab=512", 16, "bf16", "composed"),
    ("gpt:layers=2,hidden=512,heads=8,seq=512,vocab=4096", 16, "bf16", "fused"),
    ("llama:layers=4,hidden=256,heads=8,kv_heads=4,intermediate=512,seq=128,vocab=2048", 16, "f32", "composed"),
    ("llama:layers=4,hidden=256,heads=8,kv_heads=4,intermediate=512,seq=128,vocab=2048", 16, "bf16", "composed"),
    ("llama:layers=4,hidden=512,heads=8,kv_heads=4,intermediate=1024,seq=256,vocab=2048", 16, "bf16", "fused"),
    ("bert:layers=4,hidden=256,heads=8,seq=128,vocab=2048", 16, "f32", "composed"),
    ("bert:layers=4,hidden=256,heads=8,seq=128,vocab=2048", 16, "bf16", "composed"),
    ("vit:layers=4,hidden=256,heads=8", 16, "f32", "composed"),
    ("vit:layers=4,hidden=256,heads=8", 16, "bf16", "composed"),
    ("mlp:layers=8,hidden=1024", 256, "f32", "composed"),
    ("mlp:layers=8,hidden=1024", 256, "bf16", "composed"),
    ("mlp:layers=3,hidden=4096", 64, "f32", "composed"),
    ("lenet", 256, "f32", "composed"),
    ("resnet18:width=32,size=32", 64, "f32", "composed"),
    ("resnet18:width=32,size=32", 64, "bf16", "composed"),
    ("recommender", 256, "f32", "composed"),
)


def compiled(options, network, batch, dtype, attention, level, rounds):
    """Returns the memory that a plan prints, (planned, compiled) in bytes, or the reason why there is none."""
    ranks = options.ranks
    fixed = f"data={ranks},micro_batch={batch // ranks // rounds},zero={level}"
    words = [options.program, "plan", network, "--batch", str(batch), "--dtype", dtype, "--fixed", fixed]
    words += ["--check", "--json"]
    if options.target:
        words += ["--target", options.target, "--attention", attention, "--collectives", options.collectives]
    else:
        words += ["--cluster", "cpu"]
    try:
        run = subprocess.run(words, capture_output=True, text=True, timeout=1200, check=False)
    except subprocess.TimeoutExpired:
        return "more than 20 minutes"
    if run.returncode != 0:
        return run.stderr.strip().splitlines()[-1] if run.stderr.strip() else f"exit {run.returncode}"
    memory = json.loads(run.stdout)["compiled_memory"]
    return memory["planned_bytes"], memory["bytes"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default="build/release/partita")
    parser.add_argument("--target", default="")
    parser.add_argument("--collectives", default="whole")
    parser.add_argument("--levels", default="0123")
    parser.add_argument("--rounds", default="1,4")
    parser.add_argument("--models", type=int, default=len(NETWORKS))
    parser.add_argument("--ranks", type=int, default=4)
    return parser.parse_args()


def main():
    options = parse()
    cases = [(int(level), int(rounds)) for level in options.levels for rounds in options.rounds.split(",")]
    print("network, rows, type, attention | " + " | ".join(f"zero={level}, {rounds} micro" for level, rounds in cases))
    excess = []
    for network, batch, dtype, attention in NETWORKS[: options.models]:
        if not options.target and attention == "fused":
            continue
        cells = []
        for level, rounds in cases:
            found = compiled(options, network, batch, dtype, attention, level, rounds)
            if isinstance(found, str):
                cells.append(found[:60])
                continue
            planned, bytes_ = found
            excess.append(100 * (bytes_ / planned - 1))
            cells.append(f"{bytes_ / 2**20:.1f} MiB {excess[-1]:+.1f} %")
        print(f"{network}, {batch}, {dtype}, {attention} | " + " | ".join(cells), flush=True)
    if not excess:
        sys.exit("nothing was compiled")
    size = [abs(one) for one in excess]
    near = sum(one <= 3 for one in size)
    print(f"{near} of {len(size)} within 3 %, median {statistics.median(size):.1f} %, at most {max(size):.1f} %")


if __name__ == "__main__":
    main()
