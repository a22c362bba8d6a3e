"""Checks the links of Markdown pages: files that are there, headings that are there, every page in the index.

usage: links.py PAGE..     Exit code 1 and one line per fault."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def without_code(text: str) -> str:
    """The text with blocks and spans of code blanked."""
    text = re.sub(r"^```.*?^```$", lambda block: re.sub(r"[^\n]", " ", block[0]), text, flags=re.S | re.M)
    return re.sub(r"(`+)(?!`).+?\1", lambda span: " " * len(span[0]), text)


def anchors(page: pathlib.Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub and mkdocs make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found |= {anchor, re.sub(r"-+", "-", anchor).strip("-")}
    return found


def faults_of(page: pathlib.Path) -> list[str]:
    text, faults = without_code(page.read_text()), []
    for link in re.finditer(r"\[[^\]]*\]\(([^)\s]+)\)", text):
        where = f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, link.start()) + 1}"
        path, _, anchor = link[1].partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            faults.append(f"{where}: no such file, got {link[1]}")
        elif anchor and anchor not in anchors(target):
            faults.append(f"{where}: no such heading, got {link[1]}")
    return faults


def unlisted() -> list[str]:
    """Pages that docs/README.md does not name, and decisions that their index does not name once."""
    index, faults = (ROOT / "docs/README.md").read_text(), []
    for page in sorted((ROOT / "docs").glob("*/*.md")):
        name = page.relative_to(ROOT / "docs").as_posix()
        if page.parent.name != "decisions" and f"]({name})" not in index:
            faults.append(f"docs/README.md: does not link to {name}")
    decisions = (ROOT / "docs/decisions/README.md").read_text()
    for page in sorted((ROOT / "docs/decisions").glob("[0-9]*.md")):
        if decisions.count(f"]({page.name})") != 1:
            faults.append(f"docs/decisions/README.md: expected one link to {page.name}")
    site = (ROOT / "mkdocs.yml").read_text()
    for page in sorted((ROOT / "docs").glob("*/*.md")):
        name = page.relative_to(ROOT / "docs").as_posix()
        if name not in site and not re.match(r"decisions/\d", name):
            faults.append(f"mkdocs.yml: does not name {name}")
    return faults


def main() -> int:
    pages = [pathlib.Path(page).resolve() for page in sys.argv[1:]]
    faults = [fault for page in pages for fault in faults_of(page)] + unlisted()
    print("\n".join(faults) if faults else f"links: {len(pages)} pages, ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
