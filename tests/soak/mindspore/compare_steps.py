"""Random trainings in both systems: compare_steps.py [--seed N] [--count N] [--show] [--program N].

Each is the text of a network and a loop of steps (random_steps.py), run in both with the same numbers. Losses,
gradients and parameters of each step are compared. Counts trainings that MindSpore carries out: equal ones, those that
are refused here, and those that are silently different, which are printed. Batches run in processes of their own, so
that a crash of either system is a line of the result. Ends with 1 when one differs or less than 85 % are equal."""

import argparse
import collections
import os
import random
import re
import subprocess
import sys

import numpy as np
import random_steps

_STEP_TOLERANCE = 1e-3  # of float32 over some steps
_BATCH = 15
_KEPT = []  # so that no cell has the identity of an earlier one, by which MindSpore knows whether it ran


def outcome(system, text, seed):
    """(arrays of each step, None), or (None, the text of the error)."""
    from both import give_parameters

    names = {"__name__": __name__, "ms": system, "ops": system.ops, "nn": system.nn, "np": np, "random": random}
    names["give_parameters"] = give_parameters
    _KEPT.append(names)
    system.set_seed(1)
    try:
        exec(compile(text, f"program{seed}", "exec"), names)
        return names["run"](np.random.default_rng(seed)), None
    except Exception as error:  # of either system
        lines = [line for line in str(error).strip().splitlines() if line.strip()] or [""]
        return None, f"{type(error).__name__}: {lines[0][:200]}"


def compared(seed):
    """(kind, text) of a comparison."""
    import mindspore
    import partita
    from both import difference

    text, names = random_steps.program(seed)
    expected, refused_there = outcome(mindspore, text, seed)
    if refused_there is not None:
        return "refused there", refused_there
    got, refused = outcome(partita, text, seed)
    if refused is not None:
        return "refused", f"{names}: {refused}"
    for step, (one, other) in enumerate(zip(got, expected)):
        for i, pair in enumerate(zip(one, other)):
            found = difference([np.nan_to_num(pair[0])], [np.nan_to_num(pair[1])])
            if np.isnan(pair[0]).tolist() != np.isnan(pair[1]).tolist() or found > _STEP_TOLERANCE * (step + 1):
                return "different", f"{names}: step {step}, value {i}: {found:.1e}"
    return "equal", ""


def batch(seeds):
    """Prints a line for each program."""
    for seed in seeds:
        print(f"begin {seed}", flush=True)
        kind, text = compared(seed)
        print(f"end {seed} | {kind} | {text}", flush=True)


def results(seeds):
    """(seed, kind, text) of programs, which run in processes of their own."""
    seeds = list(seeds)
    while seeds:
        command = [sys.executable, __file__, "--batch", ",".join(map(str, seeds[:_BATCH]))]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
            output, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired as error:
            output, code = (error.stdout or b"").decode(), "none in time"
        ended = [line.split(" | ", 2) for line in output.splitlines() if line.startswith("end ")]
        for head, kind, text in ended:
            yield int(head[4:]), kind, text
        begun = re.findall(r"^begin (\d+)$", output, re.M)
        if len(begun) > len(ended):
            yield int(begun[-1]), "crashed", f"exit code {code}"
        elif not begun:
            sys.exit(f"compare_steps: the processes do not begin: exit code {code}")
        seeds = seeds[len(begun) :]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--show", action="store_true", help="print refused programs, too")
    parser.add_argument("--program", type=int, help="print the program of this seed, and end")
    parser.add_argument("--batch", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.program is not None:
        print(random_steps.program(options.program)[0])
        return
    if options.batch:
        batch([int(one) for one in options.batch.split(",")])
        sys.stdout.flush()
        os._exit(0)  # MindSpore may fail while it ends
    counts = collections.Counter()
    for seed, kind, text in results(range(options.seed, options.seed + options.count)):
        counts[kind] += 1
        if kind in ("different", "crashed") or (options.show and kind.startswith("refused")):
            print(f"{kind}: seed {seed}: {text}", flush=True)
    count = max(1, sum(counts.values()) - counts["refused there"])
    print(f"random steps from seed {options.seed}: " + ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())))
    sys.exit(counts["different"] + counts["crashed"] > 0 or counts["equal"] < 0.85 * count)


if __name__ == "__main__":
    main()
