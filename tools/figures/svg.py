"""A drawing as SVG: boxes, lines, texts and arrows in the colours of the figures."""

from xml.sax.saxutils import escape

INK, SOFT, LINE, BACK, CARD = "#1c2330", "#5b6472", "#c9ced6", "#fbfbfa", "#ffffff"
BLUE, GREEN, ORANGE, VIOLET, LIME, GREY, RED = (
    "#3b76c4", "#2f9e8f", "#e0873a", "#8d6cc4", "#8fbf5a", "#b9bfc8", "#c93c3c")  # fmt: skip
RANKS = (BLUE, GREEN, ORANGE, VIOLET, LIME, RED, GREY, SOFT)
FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"
MONO = "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace"


def number(value):
    """Prints a coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


class Svg:
    def __init__(self, width, height, title):
        self.width, self.height, self.title = width, height, title
        self.parts = []

    def add(self, text):
        self.parts.append(text)

    def box(self, x, y, width, height, fill=CARD, stroke=None, radius=4):
        """Draws a rectangle; `stroke` is the colour of its border."""
        border = f' stroke="{stroke}"' if stroke else ""
        self.add(f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" '
                 f'rx="{radius}" fill="{fill}"{border}/>')

    def text(self, x, y, text, size=13, fill=INK, anchor="start", bold=False, mono=False):
        """Writes one line whose baseline is at y."""
        family = f' font-family="{MONO}"' if mono else ""
        weight = ' font-weight="600"' if bold else ""
        self.add(f'<text x="{number(x)}" y="{number(y)}" font-size="{size}" fill="{fill}" text-anchor="{anchor}"'
                 f'{weight}{family}>{escape(str(text))}</text>')

    def labelled(self, x, y, width, height, text, fill=BLUE, ink="#ffffff", size=13, mono=False, stroke=None):
        """Draws a box with a text in its middle."""
        self.box(x, y, width, height, fill, stroke)
        self.text(x + width / 2, y + height / 2 + size * 0.36, text, size, ink, "middle", mono=mono)

    def line(self, x1, y1, x2, y2, stroke=LINE, width=1.0, dashed=False):
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self.add(f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" stroke="{stroke}" '
                 f'stroke-width="{width}"{dash}/>')

    def arrow(self, x1, y1, x2, y2, stroke=SOFT, width=1.4):
        """Draws a line with a head at its end."""
        self.add(f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" stroke="{stroke}" '
                 f'stroke-width="{width}" marker-end="url(#head)"/>')

    def polyline(self, points, stroke=BLUE, width=2.0):
        where = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self.add(f'<polyline points="{where}" fill="none" stroke="{stroke}" stroke-width="{width}" '
                 f'stroke-linejoin="round"/>')

    def rectangles(self, boxes, fill):
        """Draws many (x, y, width, height) of one colour as one path."""
        path = "".join(f"M{number(x)} {number(y)}h{number(w)}v{number(h)}h-{number(w)}z" for x, y, w, h in boxes)
        self.add(f'<path d="{path}" fill="{fill}"/>')

    def legend(self, x, y, entries, size=12):
        """Writes (colour, name) pairs from left to right."""
        for colour, name in entries:
            self.box(x, y - 10, 11, 11, colour, radius=2)
            self.text(x + 16, y, name, size, SOFT)
            x += 30 + 0.56 * size * len(name)

    def print(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {number(self.height)}" '
                f'width="{self.width}" height="{number(self.height)}" role="img" aria-label="{escape(self.title)}" '
                f'font-family="{FONT}">\n<title>{escape(self.title)}</title>\n'
                f'<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
                f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{SOFT}"/></marker></defs>\n'
                f'<rect width="{self.width}" height="{number(self.height)}" rx="8" fill="{BACK}"/>\n'
                + "\n".join(self.parts) + "\n</svg>\n")
