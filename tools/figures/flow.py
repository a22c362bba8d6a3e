"""The stages of the compiler, and what --dump writes of each."""

from svg import BLUE, CARD, GREEN, INK, LINE, ORANGE, SOFT, VIOLET, Svg

STAGES = (
    ("network", "layers, functions", None, SOFT),
    ("graph", "nodes, types", "1_graph", BLUE),
    ("autodiff", "backward, update", "2_training", BLUE),
    ("plan", "a cut for every node", "3_plan", GREEN),
    ("partition", "shards, collectives", "4_partition", GREEN),
    ("schedule", "kernels, buffers, order", "5_schedule", ORANGE),
    ("execute", "numbers", None, VIOLET),
)


def draw(run):
    run("train", "mlp:layers=1,hidden=64", "--ranks", "2", "--steps", "1", "--no-eval", "--dump", "dump")
    files = sorted(path.name for path in (run.folder / "dump").rglob("*.txt"))
    svg = Svg(960, 190, "The flow of the compiler, from a network to numbers")
    svg.text(20, 30, "From a network to numbers", 16, bold=True)
    width, gap = 112, 22
    for i, (name, what, dumped, colour) in enumerate(STAGES):
        x = 20 + i * (width + gap)
        svg.labelled(x, 56, width, 40, name, colour, size=14)
        svg.text(x + width / 2, 116, what, 10.5, SOFT, "middle")
        if dumped:
            if f"{dumped}.txt" not in files:
                raise ValueError(f"--dump writes no {dumped}.txt, but {files}")
            svg.labelled(x, 132, width, 22, f"{dumped}.txt", CARD, INK, 11, mono=True, stroke=LINE)
        if i:
            svg.arrow(x - gap + 2, 76, x - 3, 76)
    svg.text(20, 176, "Each stage is a pure function; --dump DIR writes what the stages made.", 12, SOFT)
    return svg.print()
