"""The plan that one annotation leads to: the cuts of an MLP with two layers on four ranks."""

import re

from svg import BLUE, CARD, GREEN, GREY, INK, LINE, ORANGE, SOFT, Svg

COMMAND = ["partition", "mlp:layers=1,hidden=64,classes=16", "--batch", "32", "--ranks", "4", "--parallel", "auto",
           "--dataset-strategy", "full_batch", "--shard", "net/fc1/matmul=((1,1),(4,1))"]  # fmt: skip
NODES = ("reshape", "matmul", "bias_add", "relu", "matmul2", "bias_add2", "cross_entropy", "reduce")


def draw(run):
    plan = run(*COMMAND, "--print-plan")
    local = run(*COMMAND)
    cuts = dict(re.findall(r"^node (\w+) (\w+)=", plan, re.M))
    sent = {}
    for value, kind, size in re.findall(r"= (\w+)\(%(\w+)\).*?bytes (\d+) reason forward", local):
        sent.setdefault(kind, (value, size))
    svg = Svg(900, 214, "One annotation, propagated through an MLP")
    svg.text(20, 30, "One annotation decides a network", 16, bold=True)
    width, gap = 96, 14
    for i, node in enumerate(NODES):
        x = 20 + i * (width + gap)
        cut = cuts.get(node)
        colour = ORANGE if node == "matmul" else GREEN if cut else GREY
        svg.labelled(x, 62, width, 36, node, colour, size=12.5)
        svg.text(x + width / 2, 116, f"cut of {cut}" if cut else "not cut", 12, INK, "middle", mono=True)
        if i:
            svg.arrow(x - gap + 1, 80, x - 2, 80)
        if node in sent:
            kind, size = sent[node]
            svg.labelled(x + width - 66, 134, 148, 24, f"{kind} {size} B", CARD, BLUE, 11, stroke=BLUE)
            svg.line(x + width + gap / 2, 82, x + width + gap / 2, 134, BLUE, 1.2, dashed=True)
    svg.legend(20, 194, [(ORANGE, "annotated: ((1,1),(4,1))"), (GREEN, "propagated"), (GREY, "whole on every rank")])
    svg.line(20, 172, 880, 172, LINE)
    svg.text(880, 194, "ranks=4, every rank reads the whole batch", 12, SOFT, "end")
    return svg.print()
