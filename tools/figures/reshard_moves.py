"""The moves between shardings, and the bytes that a rank receives."""

import re

from svg import CARD, INK, LINE, RANKS, SOFT, Svg

BASE = ["partition", "mlp:layers=1,hidden=64", "--batch", "32", "--ranks", "4", "--parallel", "semi", "--forward"]
EXAMPLES = (
    ("rows", "columns", ["--shard", "net/fc1/matmul=((4,1),(1,1))", "--shard", "net/relu1/relu=((1,4))"]),
    ("partial", "rows", ["--shard", "net/fc1/matmul=((1,4),(1,4))"]),
    ("partial", "whole", ["--shard", "net/fc1/matmul=((1,4),(1,4))->((1,1))"]),
    ("rows", "whole", ["--shard", "net/fc1/matmul=((4,1),(1,1))->((1,1))"]),
)
RECEIVED = {"all_to_all": 0.75, "reduce_scatter": 0.75, "all_reduce": 1.5, "all_gather": 3.0}


def first_move(run, flags):
    """Returns the move after the first product and the bytes that a rank holds before it."""
    text = run(*BASE, *flags)
    for line in text.splitlines():
        found = re.match(r"%(?:matmul|bias_add)\.(\w+):.*bytes (\d+)", line)
        if found:
            return found[1], int(found[2])
    raise ValueError(f"no move in {flags}")


def value(svg, x, y, kind):
    side = 80
    for rank in range(4):
        if kind == "rows":
            svg.box(x, y + rank * side / 4, side, side / 4 - 1, RANKS[rank], radius=2)
        elif kind == "columns":
            svg.box(x + rank * side / 4, y, side / 4 - 1, side, RANKS[rank], radius=2)
        else:
            fill = RANKS[rank] if kind == "partial" else "#dfe6ef"
            svg.box(x + 6 * rank, y + 6 * rank, side - 18, side - 18, fill, "#ffffff", 2)
    svg.text(x + side / 2, y + side + 18, {"partial": "partial sums"}.get(kind, kind), 12, SOFT, "middle")


def draw(run):
    svg = Svg(900, 276, "Moves between shardings of f32[32,64] on four ranks")
    svg.text(20, 30, "From one sharding to another: f32[32,64], 8,192 bytes, on four ranks", 16, bold=True)
    for i, (before, after, flags) in enumerate(EXAMPLES):
        move, held = first_move(run, flags)
        x, y = 24 + 440 * (i % 2), 56 + 112 * (i // 2)
        value(svg, x, y, before)
        svg.labelled(x + 104, y + 14, 136, 28, move, CARD, INK, 13, mono=True, stroke=LINE)
        svg.arrow(x + 92, y + 52, x + 254, y + 52)
        svg.text(x + 172, y + 72, f"{RECEIVED[move] * held:,.0f} bytes received", 12, SOFT, "middle")
        value(svg, x + 266, y, after)
    return svg.print()
