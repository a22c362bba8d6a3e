#!/usr/bin/env python3
"""Checks a trace that `partita train --trace` wrote: check_trace.py FILE RANKS STEPS [LEAST_COVERED]

The schema of Chrome's format, as Perfetto reads it; that what a rank did covers its steps (LEAST_COVERED, 0.95 when not
given, of each); that spans of a thread are nested or apart; that spans of one collective overlap on all ranks that take
part, but for the error of the clocks; that what is sent is received, and not before; that every rank has its predicted
spans, under the same names."""
import collections
import json
import statistics
import sys

# Those of which no rank is done before all have begun.
MEETING = {"all_reduce", "all_gather", "reduce_scatter"}
ROUNDING = 0.002  # microseconds: times have three decimals
faults = []


def check_schema(event):
    """Checks that an event has every field it needs, and none unknown."""
    kind = event.get("ph")
    if kind not in ("X", "M"):
        faults.append(f"ph is {kind!r}: {event}")
    for key, types in (("name", str), ("ts", (int, float)), ("pid", int), ("tid", int), ("args", dict)):
        if not isinstance(event.get(key), types) or (key == "ts" and event[key] < 0):
            faults.append(f"{key} is {event.get(key)!r}: {event}")
    if kind == "X" and (not isinstance(event.get("dur"), (int, float)) or event["dur"] < 0 or not event.get("cat")):
        faults.append(f"no duration or category: {event}")


def end(event):
    return event["ts"] + event["dur"]


def covered(step, spans):
    """The part of a step in which a span runs."""
    total, at = 0.0, step["ts"]
    for span in sorted(spans, key=lambda span: span["ts"]):
        begin, stop = max(at, span["ts"]), min(end(span), end(step))
        if stop > begin:
            total += stop - begin
            at = stop
    return total / step["dur"] if step["dur"] > 0 else 1.0


def check_nesting(spans):
    """On one thread a span lies inside of another one, or apart from it."""
    open_spans = []
    for span in sorted(spans, key=lambda span: (span["ts"], -span["dur"])):
        while open_spans and end(open_spans[-1]) <= span["ts"] + ROUNDING:
            open_spans.pop()
        if open_spans and end(span) > end(open_spans[-1]) + ROUNDING:
            faults.append(f"spans overlap: {open_spans[-1]['name']}, {span['name']}: {span}")
        open_spans.append(span)


def check_meetings(spans, error):
    """Spans of one collective overlap, what is sent is received and not before. Returns how many there are of both."""
    groups = collections.defaultdict(list)
    for span in spans:
        if span["cat"] == "collective" and span["args"].get("op") in MEETING:
            groups[span["args"]["collective"]].append(span)
    met = 0
    for name, members in groups.items():
        if len({span["pid"] for span in members}) != len(members):
            faults.append(f"collective {name}: a rank twice")
        for span in members:
            for other in members:
                slack = ROUNDING + error[span["pid"]] + error[other["pid"]]
                if span["ts"] > end(other) + slack:
                    faults.append(f"collective {name}: {span['name']} of rank {span['pid']} begins after rank "
                                  f"{other['pid']} is done")
        met += len(members) > 1

    sent, received = collections.defaultdict(list), collections.defaultdict(list)
    for span in spans:
        if span["cat"] == "transfer":
            (sent if span["name"].startswith("send") else received)[span["args"]["transfer"]].append(span)
    for name in sent.keys() | received.keys():
        if name not in sent or name not in received:
            faults.append(f"transfer {name}: {len(sent[name])} sends, {len(received[name])} receives")
            continue
        first = min(sent[name], key=lambda span: span["ts"])
        for span in received[name]:
            slack = ROUNDING + error[span["pid"]] + error[first["pid"]]
            if end(span) + slack < first["ts"]:
                faults.append(f"transfer {name}: received before it is sent")
    return met, len(sent)


def check_prediction(predicted, measured, ranks, metadata):
    """Checks the predicted spans of each rank, which are a process of their own after the measured ones: the same names
    in the same steps. Returns the factor by which the longest step was missed."""
    worst = 1.0
    for rank in range(ranks):
        name = metadata.get((ranks + rank, 0, "process_name"), {}).get("name")
        if name != f"rank {rank} predicted":
            faults.append(f"rank {rank}: what is predicted is called {name!r}")
        own = [span for span in predicted if span["pid"] == ranks + rank]
        taken = [span for span in measured if span["pid"] == rank]
        # A start takes no time, and of a check or a wait for rows nothing is predicted.
        kinds = ("compute", "collective", "transfer", "section", "step")
        names = {(s["name"], s["args"]["step"], s["args"].get("micro_batch", 0))
                 for s in taken if s["cat"] in kinds and not s["name"].startswith("start ")
                 and s["name"] != "agreement" and s["dur"] > 0}
        said = {(s["name"], s["args"]["step"], s["args"].get("micro_batch", 0)) for s in own if s["cat"] != "wait"}
        for lost in sorted(names - said)[:3]:
            faults.append(f"rank {rank}: {lost} is not predicted")
        done = {(s["name"], s["args"]["step"], s["args"].get("micro_batch", 0)) for s in taken}
        for wrong in sorted(said - done)[:3]:
            faults.append(f"rank {rank}: {wrong} is predicted and not measured")
        for step in (span for span in own if span["cat"] == "step"):
            real = [s["dur"] for s in taken if s["cat"] == "step" and s["name"] == step["name"]]
            if real and step["dur"] > 0:
                worst = max(worst, max(real) / step["dur"], step["dur"] / max(real))
            for span in own:
                if span["args"]["step"] == step["args"]["step"] and (
                        span["ts"] < step["ts"] - ROUNDING or end(span) > end(step) + ROUNDING):
                    faults.append(f"rank {rank}: {span['name']} is predicted outside of its step")
    return worst


def main():
    path, ranks, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    least = float(sys.argv[4]) if len(sys.argv) > 4 else 0.95
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    for event in events:
        check_schema(event)
    spans = [event for event in events if event["ph"] == "X" and event["pid"] < ranks]
    predicted = [event for event in events if event["ph"] == "X" and event["pid"] >= ranks]
    metadata = {(event["pid"], event["tid"], event["name"]): event["args"] for event in events if event["ph"] == "M"}
    if {event["pid"] for event in spans} != set(range(ranks)):
        faults.append(f"ranks: {sorted({event['pid'] for event in spans})}")
    for rank, thread in {(span["pid"], span["tid"]) for span in spans}:
        for name, where in (("process_name", 0), ("thread_name", thread)):
            if "name" not in metadata.get((rank, where, name), {}):
                faults.append(f"rank {rank} thread {thread}: no {name}")
        check_nesting([span for span in spans if (span["pid"], span["tid"]) == (rank, thread)])

    # What a rank did in a step: sections and what stands between them; then what is inside of the sections, of the
    # median step, since between two short spans a thread may lose its core.
    lowest = {"section": 1.0, "leaf": 1.0}
    for rank in range(ranks):
        own = [span for span in spans if span["pid"] == rank and span["tid"] == 0]
        taken = [span for span in own if span["cat"] == "step"]
        if len(taken) != steps:
            faults.append(f"rank {rank}: {len(taken)} steps")
        parts = {"section": [], "leaf": []}
        for step in taken:
            inside = [s for s in own if s["cat"] != "step" and s["args"]["step"] == step["args"]["step"]]
            parts["section"].append(covered(step, inside))
            parts["leaf"].append(covered(step, [span for span in inside if span["cat"] != "section"]))
        for level, part in (("section", min(parts["section"], default=0)),
                            ("leaf", statistics.median(parts["leaf"] or [0]))):
            lowest[level] = min(lowest[level], part)
            if part < least:
                faults.append(f"rank {rank}: spans of level {level} cover {part:.3f} of a step")

    error = {rank: metadata[rank, 0, "process_labels"]["clock_error"] for rank in range(ranks)}
    met, sent = check_meetings(spans, error)
    check_meetings(predicted, collections.defaultdict(float))
    worst = check_prediction(predicted, spans, ranks, metadata)

    print("\n".join(faults[:20]))
    print(f"{path}: {len(spans)} spans of {ranks} ranks, {met} collectives, {sent} transfers; sections cover "
          f"{lowest['section']:.4f}, what is inside of them {lowest['leaf']:.4f}; predicted within a factor of "
          f"{worst:.2f}; {len(faults)} faults")
    return bool(faults) or not spans


sys.exit(main())
