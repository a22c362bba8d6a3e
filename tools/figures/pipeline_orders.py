"""Orders of pipeline stages, as `partita schedule` draws them."""

import re

from svg import BLUE, GREEN, GREY, INK, LIME, SOFT, Svg

MODEL = ["schedule", "gpt:layers=4,hidden=64,heads=4,seq=32", "--micro-batches", "8"]
ORDERS = (
    ("gpipe", ["--ranks", "4", "--stages", "4"]),
    ("1f1b", ["--ranks", "4", "--stages", "4"]),
    ("interleaved", ["--ranks", "2", "--stages", "4", "--interleave", "2"]),
    ("zero_bubble", ["--ranks", "4", "--stages", "4"]),
)
COLOURS = {"F": BLUE, "B": GREEN, "W": LIME}


def drawing(text):
    """Returns the rows of the drawing as lists of (slot, begin, end) in characters, and the bubble."""
    rows = []
    for line in text.splitlines():
        found = re.match(r"group (\d+): (.*?)  bubble", line)
        if found:
            cells = found[2]
            rows.append([(m[0], m.start(), m.end()) for m in re.finditer(r"[FBW]\d+(?:\.\d+)?-*", cells)])
    return rows, re.search(r"^bubble ([\d.]+) %", text, re.M)[1]


def draw(run):
    drawn = [(name, *drawing(run(*MODEL, *flags, "--order", name))) for name, flags in ORDERS]
    height = sum(50 + 26 * len(rows) for _, rows, _ in drawn) + 70
    svg = Svg(960, height, "Orders of pipeline stages")
    svg.text(20, 30, "Eight micro-batches through four stages", 16, bold=True)
    y = 58
    for name, rows, bubble in drawn:
        longest = max(end for row in rows for _, _, end in row)
        scale = 780 / longest
        svg.text(20, y, name, 14, bold=True)
        svg.text(940, y, f"bubble {bubble} %", 13, SOFT, "end")
        for i, row in enumerate(rows):
            top = y + 10 + 26 * i
            svg.text(20, top + 16, f"group {i}", 12, SOFT)
            svg.box(90, top, 850, 22, "#eef0f2", radius=0)
            for slot, begin, end in row:
                left, width = 90 + begin * scale * 850 / 780, (end - begin + 0.6) * scale * 850 / 780
                svg.box(left, top, min(width, 940 - left), 22, COLOURS[slot[0]], radius=1)
                number = slot.rstrip("-")[1:].split(".")[0]
                svg.text(left + width / 2, top + 15, number, 10, "#ffffff", "middle")
        y += 50 + 26 * len(rows)
    svg.legend(90, y - 2, [(BLUE, "forward"), (GREEN, "backward"), (LIME, "gradients of weights"), (GREY, "idle")])
    svg.text(940, y - 2, "gpt, times by floating-point operations", 12, INK, "end")
    return svg.print()
