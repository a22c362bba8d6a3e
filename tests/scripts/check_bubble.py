#!/usr/bin/env python3
"""Checks the order that ranks ran, by a trace: check_bubble.py FILE STAGES MICRO_BATCHES ORDER

The sections of each rank, in the order in which a step of the trace has them, take one second for a forward pass, one
for a backward pass and one for weights (two for a backward pass that makes both), and begin when the rank and what they
need are ready. The idle part of that time is (S - 1) / (M + S - 1) for 1f1b and gpipe, and at most half of it for
zero_bubble."""
import json
import re
import sys


def sections_of(events, rank):
    """[("F", 0), ("B", 0), ...] of the first step."""
    spans = [event for event in events if event.get("ph") == "X" and event["pid"] == rank and event["cat"] == "section"]
    runs = []
    for span in sorted(spans, key=lambda span: span["ts"]):
        found = re.match(r"([FBW])(\d+)", span["name"])
        if found and (found[1], int(found[2])) in runs:
            break  # the next step
        if found:
            runs.append((found[1], int(found[2])))
    return runs


def replay(queues, seconds):
    """The end of the last section; fails for queues that wait for one another."""
    ends, at, free = {}, [0] * len(queues), [0.0] * len(queues)
    while any(place < len(queue) for place, queue in zip(at, queues)):
        moved = False
        for stage, queue in enumerate(queues):
            while at[stage] < len(queue):
                kind, micro_batch = queue[at[stage]]
                needs = []
                if kind == "F" and stage > 0:
                    needs.append(("F", stage - 1, micro_batch))
                if kind == "B":
                    needs.append(("F", stage, micro_batch))
                    if stage + 1 < len(queues):
                        needs.append(("B", stage + 1, micro_batch))
                if kind == "W":
                    needs.append(("B", stage, micro_batch))
                if any(need not in ends for need in needs):
                    break
                start = max([free[stage]] + [ends[need] for need in needs])
                free[stage] = ends[kind, stage, micro_batch] = start + seconds[kind]
                at[stage] += 1
                moved = True
        if not moved:
            sys.exit("the ranks wait for one another")
    return max(free)


def main():
    path, stages, micro_batches, order = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    queues = [sections_of(events, rank) for rank in range(stages)]
    apart = order == "zero_bubble"
    expected = {(kind, m) for kind in ("FBW" if apart else "FB") for m in range(micro_batches)}
    for rank, queue in enumerate(queues):
        if set(queue) != expected or len(queue) != len(expected):
            sys.exit(f"rank {rank} ran {queue}")
    total = replay(queues, {"F": 1.0, "B": 1.0 if apart else 2.0, "W": 1.0})
    bubble = 1 - 3.0 * micro_batches / total
    plain = (stages - 1) / (micro_batches + stages - 1)
    print(f"{order}: bubble {bubble:.6f}, of 1f1b {plain:.6f}")
    if bubble > plain / 2 if apart else abs(bubble - plain) > 1e-9:
        sys.exit("the bubble is not that of the order")


main()
