"""One all-reduce of a bucket of gradients on four ranks: who adds what."""

import re

from svg import CARD, RANKS, SOFT, Svg

WORDS = ["train", "mlp:layers=1,hidden=25", "--batch", "32", "--ranks", "4", "--steps", "1", "--no-eval",
         "--threads", "1", "--dump", "dump"]  # fmt: skip


def draw(run):
    run(*WORDS)
    path = next((run.folder / "dump").rglob("5_schedule.txt"))
    size = int(re.search(r"^bucket 0 sum f32 .*? bytes=(\d+)", path.read_text(), re.M)[1])
    svg = Svg(900, 290, "One all-reduce on four ranks")
    svg.text(20, 30, f"An all-reduce of {size:,} bytes on four ranks: each owns a share and adds in rank order", 16,
             bold=True)  # fmt: skip
    for rank in range(4):
        y = 58 + 50 * rank
        svg.text(20, y + 22, f"rank {rank}", 13, bold=True)
        for share in range(4):
            svg.labelled(90 + 62 * share, y, 58, 34, f"x{rank}", RANKS[share], size=12)
            svg.labelled(590 + 72 * share, y, 68, 34, "sum", RANKS[share], size=12)
        svg.labelled(390, y, 150, 34, "((x0+x1)+x2)+x3", CARD, RANKS[rank], 13, mono=True, stroke=RANKS[rank])
        svg.arrow(344, y + 17, 386, y + 17)
        svg.arrow(544, y + 17, 586, y + 17)
    svg.text(216, 276, "contributions", 12, SOFT, "middle")
    svg.text(465, 276, "the owner of a share adds it", 12, SOFT, "middle")
    svg.text(730, 276, "every rank gets all shares", 12, SOFT, "middle")
    return svg.print()
