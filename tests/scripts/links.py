"""Checks the links of Markdown pages as the repository and the site of mkdocs.yml show them.

Links lead to files and headings that are there, under the anchors that both GitHub and mkdocs make. Every page of docs/
is in the index and in the site, and a page on each subject for which readers search has it in a heading. From docs/
and from what its pages link to, links lead to files, since the site has no view of a folder (tools/site_pages.py).

usage: links.py [--root FOLDER] PAGE..     Exit code 1 and one line per fault."""

import argparse
import pathlib
import re
import sys

# Words by which readers search, each in a heading of a page of docs/guide.
SUBJECTS = ("gradient accumulation", "early stopping", "micro-batches", "mixed precision", "optimizer sharding",
            "tokens", "ubuntu", "hugging face")


def without_code(text: str) -> str:
    """The text with blocks and spans of code blanked."""
    text = re.sub(r"^```.*?^```$", lambda block: re.sub(r"[^\n]", " ", block[0]), text, flags=re.S | re.M)
    return re.sub(r"(`+)(?!`).+?\1", lambda span: " " * len(span[0]), text)


def headings(page: pathlib.Path) -> list[str]:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)
    return [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in re.findall(r"^#+ (.*)$", text, re.M)]


def numbered(names: list[str], separator: str) -> set[str]:
    """The names, each repeated one with its number."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, -1) + 1
    return {name if number == 0 else f"{name}{separator}{number}" for name, last in counts.items()
            for number in range(last + 1)}


def anchors(page: pathlib.Path) -> set[str]:
    """The anchors of a page's headings that are the same on GitHub and on the site, and those that it names itself."""
    words = [re.sub(r"[^\w\- ]", "", heading.lower()).strip() for heading in headings(page)]
    github = numbered([name.replace(" ", "-") for name in words], "-")
    site = numbered([re.sub(r"[- ]+", "-", name) for name in words], "_")
    return github & site | set(re.findall(r'<a (?:id|name)="([^"]+)"', page.read_text()))


class Checker:
    """Faults of the pages of a repository."""

    def __init__(self, root: pathlib.Path):
        self.root, self.faults = root, []

    def name(self, path: pathlib.Path) -> str:
        return path.relative_to(self.root).as_posix()

    def links(self, page: pathlib.Path):
        """(line, link) of the links, images and definitions of links of a page, those to other hosts left out."""
        text = without_code(page.read_text())
        pattern = r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)|^\[[^\]]+\]: *(\S+)|(?:href|src)=\"([^\"]*)\""
        for link in re.finditer(pattern, text, re.M):
            target = link[1] or link[2] or link[3] or ""
            if not re.match(r"[a-z]+:", target):
                yield text.count("\n", 0, link.start()) + 1, target

    def check(self, page: pathlib.Path):
        for line, link in self.links(page):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if path.startswith("/"):
                self.fault(page, line, f"a link from the root, got {link}, expected one from the page's folder")
            elif not target.exists():
                self.fault(page, line, f"no such file, got {link}")
            elif not target.is_relative_to(self.root):
                self.fault(page, line, f"a link out of the repository, got {link}")
            elif anchor and anchor not in anchors(target):
                self.fault(page, line, f"no such heading on GitHub and on the site, got {link}")

    def fault(self, page: pathlib.Path, line: int, text: str):
        self.faults.append(f"{self.name(page)}:{line}: {text}")

    def check_site(self):
        """Checks that what can be reached from the pages of docs/ can be on the site."""
        pending = sorted((self.root / "docs").rglob("*.md"))
        known = set(pending)
        while pending:
            page = pending.pop()
            for line, link in self.links(page):
                target = (page.parent / link.partition("#")[0]).resolve()
                if target.is_dir() and not link.startswith("#"):
                    self.fault(page, line, f"a folder, which the site does not show, got {link}, expected a file")
                elif target.suffix == ".md" and target.is_file() and target not in known:
                    known.add(target)
                    pending.append(target)
        text = (self.root / "mkdocs.yml").read_text()
        for entry in re.findall(r"^ +- [^:\n]+: (\S+\.md)$", text, re.M):
            if not (self.root / "docs" / entry).is_file():
                self.faults.append(f"mkdocs.yml: no such page, got {entry}")
        for page in sorted((self.root / "docs").glob("*/*.md")):
            name = page.relative_to(self.root / "docs").as_posix()
            if f": {name}\n" not in text + "\n" and not re.match(r"decisions/\d", name):
                self.faults.append(f"mkdocs.yml: does not name {name}")

    def check_index(self):
        """Checks that docs/README.md names every page, and the index of decisions each of them once."""
        index = (self.root / "docs/README.md").read_text()
        for page in sorted((self.root / "docs").glob("*/*.md")):
            name = page.relative_to(self.root / "docs").as_posix()
            if page.parent.name != "decisions" and f"]({name})" not in index:
                self.faults.append(f"docs/README.md: does not link to {name}")
        decisions = (self.root / "docs/decisions/README.md").read_text()
        for page in sorted((self.root / "docs/decisions").glob("[0-9]*.md")):
            if decisions.count(f"]({page.name})") != 1:
                self.faults.append(f"docs/decisions/README.md: expected one link to {page.name}")

    def check_subjects(self):
        pages = sorted((self.root / "docs/guide").glob("*.md"))
        found = "\n".join(heading for page in pages for heading in headings(page))
        for subject in SUBJECTS:
            if subject not in found.lower():
                self.faults.append(f"docs/guide: no heading has the words '{subject}', for which readers search")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[2])
    parser.add_argument("pages", nargs="+", type=pathlib.Path, metavar="PAGE")
    options = parser.parse_args()
    checker = Checker(options.root.resolve())
    for page in options.pages:
        checker.check(page.resolve())
    checker.check_site()
    checker.check_index()
    checker.check_subjects()
    print("\n".join(checker.faults) if checker.faults else f"links: {len(options.pages)} pages, ok")
    return 1 if checker.faults else 0


if __name__ == "__main__":
    sys.exit(main())
