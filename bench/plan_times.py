#!/usr/bin/env python3
"""How long `partita plan` takes, the whole command: plan_times.py [build/release/partita] [--runs 20].

Of each case the 95th percentile of the wall-clock and of the processor's seconds, on one core, the largest resident
memory, and what was found."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

CASES = {
    "GPT-3 175B on 1,024": "gpt:175b --cluster a100-80:128 --batch 1536 --dtype bf16",
    "LLaMA 8B on 64": "llama:8b --cluster h100:8 --batch 512 --dtype bf16",
    "GPT of 1,024 layers on 8": "gpt:layers=1024,hidden=1024,heads=16,seq=1024 --cluster a100-80 --batch 64",
    "64 experts, 61 layers on 2,048": "moe:layers=61,hidden=4096,heads=32,seq=2048,experts=64,vocab=51200 "
    "--cluster h100:256 --batch 4096 --dtype bf16",
    "ResNet-50 on 8": "resnet50 --cluster h100",
    "ResNet-50 on 64": "resnet50 --cluster h100:8",
    "ResNet-50 on 1,024": "resnet50 --cluster h100:128",
    "1,000 convolutions, none alike": "{distinct} --cluster h100",
    "GPT of 1T parameters on 3,072": "gpt:1t --cluster a100-80:384 --batch 3072 --dtype bf16",
}


def run(command):
    """Wall-clock and processor's seconds, MiB, and what was printed."""
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        if status != 0:
            raise SystemExit(f"failed: {' '.join(command)}")
        output.seek(0)
        return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, json.load(output)


def percentile(values, part):
    return sorted(values)[max(0, int(part * len(values) + 0.5) - 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", nargs="?", default="build/release/partita")
    parser.add_argument("--partita", dest="program", default=argparse.SUPPRESS, help="the same")
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(f"{'case':<32} {'p95 s':>8} {'cpu s':>8} {'MiB':>6}  plan")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as distinct:
        script = pathlib.Path(__file__).with_name("distinct_layers.py")
        subprocess.run([sys.executable, script], stdout=distinct, check=True)
        for name, flags in CASES.items():
            words = flags.format(distinct=distinct.name).split()
            runs = [run([options.program, "plan", *words, "--json"]) for _ in range(options.runs)]
            wall, cpu, memory, found = zip(*runs)
            times = f"{percentile(wall, 0.95):8.3f} {percentile(cpu, 0.95):8.3f}"
            print(f"{name:<32} {times} {max(memory):6.0f}  {found[0]['plan']}", flush=True)


if __name__ == "__main__":
    main()
