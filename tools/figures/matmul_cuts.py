"""One matrix product on four ranks, cut along each of its three factors."""

from svg import CARD, INK, LINE, RANKS, SOFT, Svg

CUTS = (("i", "rows", "nothing is sent"), ("j", "columns", "nothing is sent"), ("k", "the sum", "results are added"))
BATCH = ["--batch", "32", "--ranks", "4", "--parallel", "semi", "--forward"]
ANNOTATIONS = {"i": "((4,1),(1,1))", "j": "((1,1),(4,1))", "k": "((1,4),(1,4))"}


def type_of_product(run, factor):
    """Returns the type that `partita partition` prints for the first product under a cut."""
    text = run("partition", "mlp:layers=1,hidden=64", *BATCH, "--shard", f"net/fc1/matmul={ANNOTATIONS[factor]}")
    line = next(line for line in text.splitlines() if line.startswith("%matmul:"))
    return line.split(": ", 1)[1].split(" = ")[0].replace("ranks.0,ranks.1", "ranks").replace(" here", ", here")


def matrix(svg, x, y, name, cut, partial=False):
    """Draws a square matrix cut along "rows" or "columns" over four ranks, or whole."""
    side = 72
    if cut is None and not partial:
        svg.labelled(x, y, side, side, name, CARD, INK, 15, stroke=LINE)
        return
    for part in range(4):
        if partial:
            svg.box(x + 5 * part, y + 5 * part, side - 15, side - 15, RANKS[part], "#ffffff", 2)
        elif cut == "rows":
            svg.box(x, y + part * side / 4, side, side / 4 - 1, RANKS[part], radius=2)
        else:
            svg.box(x + part * side / 4, y, side / 4 - 1, side, RANKS[part], radius=2)
    svg.text(x + side / 2, y + side / 2 + 5, name, 15, "#ffffff", "middle", bold=True)


def draw(run):
    svg = Svg(900, 370, "A matrix product cut along each of its factors")
    svg.text(20, 30, "y[i,j] = sum over k of x[i,k] w[k,j], on four ranks", 16, bold=True)
    shapes = {"i": ("rows", None, "rows"), "j": (None, "columns", "columns"), "k": ("columns", "rows", None)}
    for row, (factor, what, sent) in enumerate(CUTS):
        y = 52 + 102 * row
        svg.text(20, y + 34, f"cut of {factor}", 15, bold=True)
        svg.text(20, y + 54, what, 12, SOFT)
        x_cut, w_cut, y_cut = shapes[factor]
        matrix(svg, 130, y, "x", x_cut)
        svg.text(220, y + 42, "×", 18, SOFT, "middle")
        matrix(svg, 238, y, "w", w_cut)
        svg.text(328, y + 42, "=", 18, SOFT, "middle")
        matrix(svg, 346, y, "y", y_cut, partial=factor == "k")
        svg.text(450, y + 34, type_of_product(run, factor), 12, mono=True)
        svg.text(450, y + 54, sent + (": y is partial until a node needs the sum" if factor == "k" else ""), 12, SOFT)
    svg.legend(130, 358, [(RANKS[rank], f"rank {rank}") for rank in range(4)])
    return svg.print()
