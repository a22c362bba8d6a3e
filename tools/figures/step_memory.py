"""The memory of a rank under the options that make it smaller, as the schedule places it."""

import re

from svg import BLUE, GREEN, INK, LINE, ORANGE, SOFT, VIOLET, Svg

MODEL = ["gpt:layers=6,hidden=384,heads=6,seq=256", "--optimizer", "adamw", "--batch", "16"]
BARS = (
    ("one rank", [], SOFT),
    ("--micro-batches 4", ["--micro-batches", "4"], BLUE),
    ("--micro-batches 16", ["--micro-batches", "16"], BLUE),
    ("--recompute selective", ["--recompute", "selective"], ORANGE),
    ("--recompute full", ["--recompute", "full"], ORANGE),
    ("--ranks 4", ["--ranks", "4"], VIOLET),
    ("--ranks 4 --micro-batches 4", ["--ranks", "4", "--micro-batches", "4"], GREEN),
    ("  and --zero 1", ["--ranks", "4", "--micro-batches", "4", "--zero", "1"], GREEN),
    ("  and --zero 2", ["--ranks", "4", "--micro-batches", "4", "--zero", "2"], GREEN),
    ("  and --zero 3", ["--ranks", "4", "--micro-batches", "4", "--zero", "3"], GREEN),
)


def arena(run, flags):
    """Returns the MiB of a rank's arena."""
    found = re.search(r"arena +([\d.]+) (KiB|MiB|GiB)", run("schedule", *MODEL, *flags))
    return float(found[1]) * {"KiB": 1 / 1024, "MiB": 1, "GiB": 1024}[found[2]]


def draw(run):
    sizes = [arena(run, flags) for _, flags, _ in BARS]
    svg = Svg(860, 90 + 30 * len(BARS), "The memory of a rank under options that make it smaller")
    svg.text(20, 30, "Memory of a rank, MiB", 16, bold=True)
    svg.text(20, 50, "GPT of 6 layers, width 384, 256 tokens; AdamW; 16 rows a step", 12, SOFT)
    for i, ((name, _, colour), size) in enumerate(zip(BARS, sizes)):
        y = 68 + 30 * i
        svg.text(230, y + 15, name.strip(), 12, INK, "end", mono=True)
        svg.box(240, y, 540 * size / max(sizes), 20, colour, radius=2)
        svg.text(248 + 540 * size / max(sizes), y + 15, f"{size:,.0f}", 12, SOFT)
    svg.line(240, 62, 240, 70 + 30 * len(BARS), LINE)
    return svg.print()
