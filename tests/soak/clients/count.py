"""Counts models of mindcv that were built, trained and equal to those of the documented system, from lines of
one_model.py: `count.py LINES`, and writes a table of them."""

import json
import sys

from one_model import FORWARD, WEIGHTS


def judged(line):
    """(what became of a model, why)."""
    if "error" in line:
        return ("built" if "build" in line.get("seconds", {}) else "stopped"), line["error"][:90]
    if "forward" not in line:
        return "trained", "there are no numbers to compare with"
    if line["forward"] <= FORWARD and line["weights"] <= WEIGHTS:
        return "equal", ""
    moved = [line.get(name, 0) for name in ("moved_forward", "moved")]
    if all(own <= max(limit, 3 * far) for own, limit, far in zip(_numbers(line), (FORWARD, WEIGHTS), moved)):
        return "ill-conditioned", f"the sixth digit of images moves them by {moved[0]:.0e} and {moved[1]:.0e}"
    return "differs", f"{line['where']}; the sixth digit of images moves them by {moved[0]:.0e} and {moved[1]:.0e}"


def _numbers(line):
    return line["forward"], line["weights"]


def main():
    with open(sys.argv[1]) as file:
        lines = [json.loads(one) for one in file if one.startswith("{")]
    counts = {}
    print("| model | result | weights | steps, s | what |\n|---|---|---|---|---|")
    for line in lines:
        kind, why = judged(line)
        counts[kind] = counts.get(kind, 0) + 1
        numbers = [f"{line[name]:.1e}" if name in line else "" for name in ("forward", "weights")]
        seconds = line.get("seconds", {}).get("steps", "")
        print(f"| {line['name']} | {' | '.join(numbers)} | {seconds} | {kind}{': ' + why if why else ''} |")
    trained = sum(n for kind, n in counts.items() if kind not in ("stopped", "built"))
    built = len(lines) - counts.get("stopped", 0)
    print(f"\n{len(lines)} models: {built} built, {trained} trained;", ", ".join(f"{n} {k}" for k, n in counts.items()))
    return 1 if counts.get("differs") else 0


if __name__ == "__main__":
    sys.exit(main())
