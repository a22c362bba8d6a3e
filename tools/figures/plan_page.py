"""The page of a plan: the head of `partita plan --html`, and its timeline."""

import re

from svg import BLUE, CARD, GREEN, GREY, INK, LINE, ORANGE, SOFT, VIOLET, LIME, Svg

COLOURS = {"forward": BLUE, "backward": GREEN, "weight": LIME, "comm": ORANGE, "bubble": GREY, "update": VIOLET}


def draw(run):
    run("plan", "gpt:175b", "--cluster", "a100-80:128", "--batch", "1536", "--dtype", "bf16", "--html", "plan.html")
    page = (run.folder / "plan.html").read_text()
    title = re.search(r"<h1>(.*?)</h1>", page)[1]
    chart = re.search(r'<svg viewBox="0 0 1080 (\d+)"[^>]*>(.*?)</svg>', page, re.S)
    svg = Svg(1120, 286 + int(chart[1]), f"The page of a plan: {title}")
    svg.text(20, 38, title, 20, bold=True)
    svg.text(20, 58, "1536 rows a step", 12, SOFT)
    x = 20
    for chip in re.findall(r'<span class="chip">(.*?)</span>', page)[:9]:
        width = 14 + 6.5 * len(chip)
        svg.box(x, 70, width, 20, "#eaf0f8", radius=10)
        svg.text(x + width / 2, 84, chip, 11.5, INK, "middle")
        x += width + 6
    x = 20
    for value, what in re.findall(r"<div><b>(.*?)</b><span>(.*?)</span></div>", page):
        width = max(130, 24 + 6.2 * len(what), 24 + 11 * len(value))
        svg.box(x, 102, width, 54, CARD, LINE, 8)
        svg.text(x + 12, 126, value, 18, bold=True)
        svg.text(x + 12, 145, what, 11, SOFT)
        x += width + 10
    svg.text(20, 184, "Where the step goes", 14, bold=True)
    parts = re.findall(r'<i class="c-(\w+)" style="width:([\d.]+)%" title="([a-z_]+) ([^"]+)"', page)
    x, names = 20.0, []
    for kind, share, name, seconds in parts:
        width = 1080 * float(share) / 100
        svg.box(x, 194, max(width, 0.5), 22, COLOURS[kind], radius=0)
        x += width
        if float(share) >= 1:
            names.append((COLOURS[kind], f"{name} {float(share):.1f} %"))
    svg.legend(20, 236, names)
    svg.text(20, 266, "Timeline of the groups of ranks", 14, bold=True)
    repeated = re.search(r"Without ([\d.]+ \w+) in which", page)
    if repeated:
        svg.text(1100, 266, f"without {repeated[1]} in which the order repeats itself", 11, SOFT, "end")
    boxes = {}
    pattern = r'<rect class="s-(\w+)[^"]*" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"'
    for kind, *place in re.findall(pattern, chart[2]):
        left, top, width, height = map(float, place)
        boxes.setdefault(kind, []).append((left, top + 272, width, height))
    for left, top, width, height in re.findall(
        r'<rect class="idle" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', chart[2]
    ):
        svg.box(float(left), float(top) + 272, float(width), float(height), "#eef0f2", radius=0)
    for kind, places in boxes.items():
        svg.rectangles(places, COLOURS[kind])
    for left, top, anchor, text in re.findall(
        r'<text class="label" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">(.*?)</text>', chart[2]
    ):
        svg.text(float(left), float(top) + 272, text, 11, SOFT, anchor)
    return svg.print()
