"""A simulated step of two groups of ranks, layer by layer: computation and overlapped communication."""

import re

from svg import BLUE, GREEN, LIME, ORANGE, SOFT, VIOLET, Svg

COLOURS = {"forward": BLUE, "backward": GREEN, "weight": LIME, "comm": ORANGE, "update": VIOLET}


def draw(run):
    run("plan", "gpt:layers=24,hidden=2048,heads=16,seq=2048,vocab=51200", "--cluster", "a100-80:4", "--batch", "64",
        "--dtype", "bf16", "--fixed", "data=4,tensor=4,pipeline=2,micro_batch=4,zero=1", "--html", "plan.html")  # fmt: skip
    page = (run.folder / "plan.html").read_text()
    chart = re.search(r'<svg viewBox="0 0 1080 (\d+)"[^>]*>(.*?)</svg>', page, re.S)
    step = re.search(r"<div><b>(.*?)</b><span>a step", page)[1]
    svg = Svg(1100, 96 + int(chart[1]), "A simulated step")
    svg.text(20, 30, f"A step of {step}, simulated event by event", 16, bold=True)
    svg.text(20, 50, "data=4, tensor=4, pipeline=2 on 32 devices of a100-80; order 1f1b", 12, SOFT)
    idle = r'<rect class="idle" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"'
    for place in re.findall(idle, chart[2]):
        left, top, width, height = map(float, place)
        svg.box(left, top + 60, width, height, "#eef0f2", radius=0)
    boxes = {}
    pattern = r'<rect class="s-(\w+)[^"]*" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"'
    for kind, *place in re.findall(pattern, chart[2]):
        left, top, width, height = map(float, place)
        boxes.setdefault(kind, []).append((left, top + 60, width, height))
    for kind, places in boxes.items():
        svg.rectangles(places, COLOURS[kind])
    labels = r'<text class="(label|slot)" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">(.*?)</text>'
    for kind, left, top, anchor, text in re.findall(labels, chart[2]):
        svg.text(float(left), float(top) + 60, text, 11, SOFT if kind == "label" else "#ffffff", anchor)
    svg.legend(78, 88 + int(chart[1]),
               [(BLUE, "forward"), (GREEN, "backward"), (ORANGE, "overlapped communication"), (VIOLET, "update")])
    return svg.print()
