"""One network under three plans, and its losses, which are the same."""

import re

from svg import BLUE, CARD, GREEN, INK, LINE, ORANGE, RANKS, SOFT, Svg

MODEL = ["gpt:layers=2,hidden=32,heads=4,seq=16,vocab=64", "--batch", "32", "--dtype", "f64", "--steps", "120",
         "--lr", "0.003", "--per-print-times", "1", "--no-eval", "--threads", "1"]  # fmt: skip
PLANS = (
    ("data=4", ["--ranks", "4"]),
    ("data=2, tensor=2", ["--ranks", "4", "--parallel", "auto", "--tensor-parallel", "2"]),
    ("pipeline=2, data=2", ["--ranks", "4", "--stages", "2", "--micro-batches", "4"]),
)


def losses(run, flags):
    return [float(loss) for loss in re.findall(r"loss is ([\d.]+)", run("train", *MODEL, *flags))]


def draw_plan(svg, x, y, which):
    """Draws a network of four blocks; the colour says which rank holds what."""
    width, height = 150, 88
    svg.box(x, y, width, height, CARD, LINE, 6)
    for block in range(2):
        for part in range(4):
            column, row = part % 2, part // 2
            rank = {0: part, 1: 2 * row + column, 2: 2 * block + row}[which]
            left, top = x + 10 + 66 * block, y + 10 + 34 * row
            if which == 1:
                svg.box(left + 32 * column, top, 30, 32, RANKS[rank], radius=2)
            elif which == 0:
                svg.box(left, y + 10 + 17 * part, 62, 15, RANKS[rank], radius=2)
            elif column == 0:
                svg.box(left, top, 62, 32, RANKS[rank], radius=2)


def draw(run):
    single = losses(run, [])
    runs = [losses(run, flags) for _, flags in PLANS]
    largest = max(abs(a - b) for other in runs for a, b in zip(single, other))
    svg = Svg(900, 330, "One network under three plans on four ranks, with one loss")
    svg.text(20, 30, "One network, three plans on four ranks", 16, bold=True)
    for i, (name, _) in enumerate(PLANS):
        top = 50 + 94 * i
        svg.labelled(20, top + 34, 54, 26, "GPT", CARD, INK, 12, stroke=LINE)
        svg.arrow(76, top + 47, 94, top + 47)
        draw_plan(svg, 98, top + 3, i)
        svg.text(258, top + 42, name, 13, bold=True)
        svg.text(258, top + 60, ("rows of the batch", "rows, and columns of weights", "layers, and rows")[i], 11, SOFT)
    left, right, top, bottom = 470, 880, 60, 280
    svg.text(left, 30, "One loss", 16, bold=True)
    low, high = min(single), max(single)
    for step in range(0, len(single) + 1, 20):
        x = left + (right - left) * step / len(single)
        svg.line(x, top, x, bottom)
        svg.text(x, bottom + 16, step, 11, SOFT, "middle")
    for k in range(5):
        loss = low + (high - low) * k / 4
        y = bottom - (bottom - top) * k / 4
        svg.line(left, y, right, y)
        svg.text(left - 6, y + 4, f"{loss:.2f}", 11, SOFT, "end")

    def points(values):
        return [(left + (right - left) * i / len(single), bottom - (bottom - top) * (v - low) / (high - low))
                for i, v in enumerate(values)]  # fmt: skip

    svg.polyline(points(runs[0]), BLUE, 7)
    svg.polyline(points(runs[1]), GREEN, 4)
    svg.polyline(points(runs[2]), ORANGE, 1.5)
    svg.text(left, 314, f"{len(single)} steps; no loss differs from that of one rank by more than {largest:.0e}", 12)
    return svg.print()
