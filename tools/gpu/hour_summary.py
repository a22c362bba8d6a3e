#!/usr/bin/env python3
"""Writes OUT/summary.md from the logs of first_hour.sh.

    tools/gpu/hour_summary.py OUT DEVICE

OUT/STEP.status has the outcome of a step, its seconds and a message, with tabs between them, and OUT/STEP.txt its log. A
line "evidence: ROW | TEXT" of a log says that a row of the table "What has run where" was shown.
"""
import collections
import pathlib
import re
import sys

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide" / "accelerators.md"
ONE, SEVERAL, FUSED = "a training on one rank", "several ranks, messages through the host", "fused attention"
HALF, PRICES = "products of 16 bits", "prices of `partita plan`"
# The step that shows a row, None where none can.
STEP_OF = {ONE: "equality", SEVERAL: "equality", "ZeRO, tensor parallelism, micro-batches": "plans", "pipeline stages": "plans",
           "recomputation": "plans", HALF: "plans", "collectives in programs, ranks as threads": "several",
           "the same, ranks as processes": "several", FUSED: "equality", "programs that are kept": "kept",
           "a lost device, exit code 76": None, "`--deterministic`": "deterministic", PRICES: "speed"}
STEPS = "facts equality deterministic plans kept speed torch jax recompute several fsdp laws".split()


def table_rows(device):
    """Returns the cells of the column of a device by the names of rows."""
    lines = GUIDE.read_text().split("## What has run where", 1)[1].split("\n## ", 1)[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    names = (device, device.split(":")[0])
    column = next(at for at, head in enumerate(cells[0]) if any(f"`{name}`" in head for name in names))
    return {row[0]: row[column] for row in cells[2:]}


def read_states(out):
    states = {}
    for step in STEPS:
        path = out / f"{step}.status"
        if path.exists():
            states[step] = (path.read_text().rstrip("\n").split("\t", 2) + ["", ""])[:3]
    return states


def log_of(out, step):
    path = out / f"{step}.txt"
    return path.read_text(errors="replace") if path.exists() else ""


def equality_evidence(log, device):
    """Yields rows and texts that the lines of equality.sh show. Sums in f32 may move apart at a relu, so f64 decides."""
    runs = re.findall(r"^(\S+) +(f64|f32|fused) (\S+) ranks (\d+): loss (\S+), .*, apart (\S+)$", log, re.M)
    limits = {"f64": 1e-9, "f32": 1e-5, "fused": 1e-4}
    runs = [(model.split(":")[0], kind, int(ranks), float(apart), float(apart) <= limits[kind])
            for model, kind, where, ranks, _, apart in runs if where == device]
    for row, is_own in ((ONE, lambda kind, ranks: kind != "fused" and ranks == 1),
                        (SEVERAL, lambda kind, ranks: kind != "fused" and ranks > 1), (FUSED, lambda kind, _: kind == "fused")):
        own = [run for run in runs if is_own(run[1], run[2])]
        if not own or not all(run[4] for run in own if run[1] != "f32"):
            continue
        text = ", ".join(f"{kind} within {max(run[3] for run in own if run[1] == kind):.1e}" for kind in limits
                         if any(run[1] == kind for run in own))
        apart = [f"{run[0]} on {run[2]}" for run in own if not run[4]]
        if apart and len(apart) == sum(run[1] == "f32" for run in own):
            continue
        models = len({run[0] for run in own})
        yield row, f"{models} model{'s' if models > 1 else ''}, {text}" + (f"; beyond the limit: {', '.join(apart)}" if apart else "")


TIME = re.compile(r"^(\S+) batch (\d+) (\S+)(.*?) (partita|partita plan|torch\.compile|JAX|torch): ([\d.]+) ms(?:, ([\d.]+ GiB[a-z ]*))?",
                  re.M)


def times_of(log):
    """Returns times and memory of a log by model, rows, precision, flags and program."""
    return {found[:5]: (float(found[5]), found[6].strip()) for found in TIME.findall(log)}


def speed_table(out):
    own = times_of(log_of(out, "speed"))
    peers = times_of(log_of(out, "torch")) | times_of(log_of(out, "jax"))
    lines = []
    for (model, rows, precision, flags, program), (took, memory) in own.items():
        if program != "partita":
            continue
        cells = [f"{model}, {rows} rows, {precision}{flags}", f"{took:.2f}", memory or "-"]
        for peer in ("torch.compile", "JAX"):
            found = peers.get((model, rows, precision, "", peer))
            cells.append(f"{found[0]:.2f} (ratio {took / found[0]:.2f})" if found else "-")
        planned = own.get((model, rows, precision, flags, "partita plan"))
        cells.append(f"{planned[0]:.2f}" if planned else "-")
        lines.append("| " + " | ".join(cells) + " |")
    if lines:
        lines = ["", "## Time of a step", "", "Medians in ms. A ratio above 1 says that Partita takes longer.", "",
                 "| model | Partita | memory | torch.compile | JAX | predicted |", "|---|---:|---:|---:|---:|---:|"] + lines
    return lines


def flags_table(out):
    lines = [f"| {rows} rows, {precision}{flags} | {took:.2f} | {memory or '-'} |"
             for (_, rows, precision, flags, _), (took, memory) in times_of(log_of(out, "recompute")).items()]
    return ["", "## Recomputation and micro-batches of GPT-2", "", "| run | ms | memory |", "|---|---:|---:|"] + lines if lines else []


def ranks_table(out):
    peers = {}
    for (_, rows, _, flags, _), (took, _) in times_of(log_of(out, "fsdp")).items():
        peers[rows, flags.split()[-1]] = took  # "ranks N level L"
    lines = []
    for (_, rows, _, flags, _), (took, memory) in times_of(log_of(out, "several")).items():
        level = re.search(r"--zero (\d)", flags)[1]
        other = {"0": "0", "1": "2", "3": "3"}[level]
        found = peers.get((rows, other))
        lines.append(f"| {rows} rows{flags} | {took:.2f} | {memory or '-'} | " +
                     (f"{found:.2f} at level {other} (ratio {took / found:.2f})" if found else "-") + " |")
    return ["", "## Several devices, GPT-2", "", "| run | ms | memory | PyTorch |", "|---|---:|---:|---:|"] + lines if lines else []


def find_evidence(out, device, rows):
    found = collections.defaultdict(list)
    for step in STEPS:
        for row, text in re.findall(r"^evidence: (.*?) \| (.*)$", log_of(out, step), re.M):
            row = row if row in rows else f"`{row}`"
            if row not in rows:
                sys.exit(f"[hour_summary] evidence for no row of the table, got {row}, expected one of {', '.join(rows)}")
            found[row].append(f"{text} (`{step}.txt`)")
    for row, text in equality_evidence(log_of(out, "equality"), device):
        found[row].append(f"{text} (`equality.txt`)")
    for (model, count, precision, flags, program), (took, _) in times_of(log_of(out, "speed")).items():
        if program == "partita plan":
            measured = times_of(log_of(out, "speed")).get((model, count, precision, flags, "partita"))
            if measured:
                found[PRICES].append(f"a step of {model} is predicted as {took:.1f} ms and took {measured[0]:.1f} (`speed.txt`)")
        elif precision == "bf16" and "fused" not in flags and found[HALF]:
            found[HALF].append(f"a step of {model} took {took:.1f} ms")
        elif "fused" in flags and found[FUSED]:
            found[FUSED].append(f"a step of {model} took {took:.1f} ms")
    return {row: texts for row, texts in found.items() if texts}


def missing_reason(row, states, device):
    step = STEP_OF.get(row, "")
    if step is None:
        return "no step provokes it: a device would have to be lost during a training"
    if step == "":
        return "no step of this script tries it"
    if row == FUSED and not device.startswith("cuda"):
        return "it is for GPUs of NVIDIA"
    if step not in states:
        return f"the step {step} was not run"
    state, _, message = states[step]
    if state == "passed":
        return f"the step {step} passed, but did not try it on this device"
    return f"the step {step} {'was ' if state != 'failed' else ''}{state}: {message}"


def summary(out, device):
    rows, states = table_rows(device), read_states(out)
    unknown = [row for row in STEP_OF if row not in rows]
    if unknown:
        sys.exit(f"[hour_summary] rows that the table does not have, got {', '.join(unknown)}, expected those of {GUIDE}")
    kind = re.search(r"^device: (\d+) of (.*?), PJRT (.*?), plugin (.*)$", log_of(out, "facts"), re.M)
    word = "plugin" if device == "xla:cpu" else "hardware"
    lines = [f"# What ran on {device}", "", f"Device: {kind[1]} of {kind[2]}, PJRT {kind[3]}." if kind else "Device: not known."]
    for found in re.findall(r"^\d+, .*MiB.*$", log_of(out, "facts"), re.M):
        lines.append(f"GPU {found}.")
    lines += ["", "| step | outcome | seconds | last line |", "|---|---|---:|---|"]
    for step in STEPS:
        state, seconds, message = states.get(step, ("not run", "", ""))
        lines.append(f"| {step} | {state} | {seconds} | {message.replace('|', '/')} |")
    lines += speed_table(out) + flags_table(out) + ranks_table(out)
    evidence = find_evidence(out, device, rows)
    lines += ["", "## Rows of the status table that this run proves", "", f"| row | the table says | now: {word} | evidence |", "|---|---|---|---|"]
    where = kind[2] if kind else device
    for row, cell in rows.items():
        if row in evidence:
            lines.append(f"| {row} | {cell} | {word}: {where} | {'; '.join(evidence[row])} |")
    lines += ["", "## Rows without evidence", "", "| row | the table says | what is missing |", "|---|---|---|"]
    lines += [f"| {row} | {cell} | {missing_reason(row, states, device).replace('|', '/')} |" for row, cell in rows.items() if row not in evidence]
    if word == "plugin":
        lines += ["", "This device is the processor: the run shows that the script works, and nothing about hardware."]
    return "\n".join(lines) + "\n"


def main():
    out, device = pathlib.Path(sys.argv[1]), sys.argv[2]
    text = summary(out, device)
    written = out / "summary.md.new"
    written.write_text(text)
    written.replace(out / "summary.md")


if __name__ == "__main__":
    main()
