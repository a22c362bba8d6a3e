"""Training losses of a GPT under AdamW and Muon, three seeds each, from the table of bench/optimizers.py."""

import csv
import pathlib

from svg import BLUE, INK, LINE, ORANGE, SOFT, Svg

TABLE = pathlib.Path(__file__).resolve().parents[2] / "bench" / "results" / "2026-11-optimizers.csv"
NAMES = {"adamw": ("AdamW", BLUE), "muon": ("Muon", ORANGE)}
LEFT, TOP, WIDTH, HEIGHT = 60, 70, 620, 280


def draw(run):
    del run  # the losses are measured
    curves, rates = {}, {}
    with open(TABLE, newline="") as file:
        for row in csv.DictReader(file):
            curves.setdefault((row["optimizer"], row["seed"]), []).append((int(row["step"]), float(row["loss"])))
            rates[row["optimizer"]] = row["rate"]
    steps = max(step for curve in curves.values() for step, _ in curve)
    low, high = 1.0, 4.0
    svg = Svg(720, 410, "Losses of a GPT under AdamW and Muon")
    svg.text(20, 30, "A GPT of 6 layers on text, three seeds each", 16, bold=True)
    svg.text(20, 50, "training loss (mean of 25 steps), each under the best of six learning rates", 12, SOFT)

    def place(step, loss):
        return LEFT + WIDTH * step / steps, TOP + HEIGHT * (high - min(loss, high)) / (high - low)

    for loss in (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0):
        y = place(0, loss)[1]
        svg.line(LEFT, y, LEFT + WIDTH, y, LINE)
        svg.text(LEFT - 8, y + 4, f"{loss:.1f}", 11, SOFT, "end")
    for part in range(5):
        x = LEFT + WIDTH * part / 4
        svg.text(x, TOP + HEIGHT + 18, f"{steps * part // 4}", 11, SOFT, "middle")
    svg.text(LEFT + WIDTH / 2, TOP + HEIGHT + 36, "step", 12, INK, "middle")
    for (optimizer, _), curve in sorted(curves.items()):
        svg.polyline([place(*point) for point in curve], NAMES[optimizer][1], 1.6)
    shown = [(NAMES[name][1], f"{NAMES[name][0]}, rate {rates[name]}") for name in sorted(rates)]
    svg.legend(LEFT + 300, TOP + 20, shown)
    return svg.print()
