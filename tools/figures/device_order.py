"""The parts of a tensor, assigned to the ranks of a mesh a=2 b=2 in two orders."""

from svg import INK, RANKS, SOFT, Svg


def draw(run):
    text = run("partition", "mlp:layers=1,hidden=64", "--batch", "32", "--ranks", "4", "--parallel", "semi",
               "--forward", "--shard", "net/fc1/matmul=[a=2,b=2]((a+b,None),(None,None))", "--shard",
               "net/relu1/relu=[a=2,b=2]((b+a,None))")  # fmt: skip
    if "%bias_add.permute: f32[32{b,a},64]" not in text:
        raise ValueError("the change of order is no permute")
    svg = Svg(640, 250, "The order of axes decides which rank has which part")
    svg.text(20, 30, "{a,b} and {b,a}: the same parts on other ranks", 16, bold=True)
    for i, (name, order) in enumerate((("32{a,b}", (0, 1, 2, 3)), ("32{b,a}", (0, 2, 1, 3)))):
        x = 40 + 330 * i
        svg.text(x + 60, 60, name, 14, INK, "middle", mono=True)
        for part, rank in enumerate(order):
            svg.labelled(x, 72 + 36 * part, 120, 32, f"rank {rank}", RANKS[rank])
            svg.text(x + 130, 92 + 36 * part, f"rows {8 * part} to {8 * part + 7}", 12, SOFT)
    svg.arrow(258, 148, 360, 148)
    svg.text(309, 138, "permute", 13, INK, "middle", mono=True)
    svg.text(20, 236, "Ranks 1 and 2 exchange their shards of 2,048 bytes; ranks 0 and 3 keep theirs.", 12, SOFT)
    return svg.print()
