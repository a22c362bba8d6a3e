"""Plants faults in a small repository of pages, and checks that tests/scripts/links.py finds each and nothing else."""

import importlib.util
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
CHECKER = ROOT / "tests/scripts/links.py"
SUBJECTS = """## Gradient accumulation by micro-batches
## Early stopping
## Mixed precision of models of Hugging Face
## Optimizer sharding of tokens
## Ubuntu
"""
MINE = '<a id="mine"></a>[m](#mine)\n'
RIGHT = {
    "README.md": "# Home\n[docs](docs/README.md)\n",
    "mkdocs.yml": "nav:\n  - Home: README.md\n  - Guide:\n      - One: guide/one.md\n  - All: decisions/README.md\n",
    "docs/README.md": "# Index\n[One](guide/one.md) [notes](../notes/results.md#numbers)\n",
    "docs/decisions/README.md": "# Decisions\n- [first](001-first.md)\n",
    "docs/decisions/001-first.md": "# 001: first\n[to one](../guide/one.md#early-stopping)\n",
    "docs/guide/one.md": "# One\n" + SUBJECTS + "`[no](link.md)` ![drawn](../figures/a.svg) [self](#ubuntu)\n" + MINE,
    "docs/figures/a.svg": "<svg/>",
    "notes/results.md": "# Results\n## Numbers\n[data](data.csv) [home](../README.md) [out](https://example.org/x)\n",
    "notes/data.csv": "1\n",
}
# What is planted: a file, what is added to it, and the fault that is expected.
NO_HEADING = "no such heading on GitHub and on the site, got"
ONE, RESULTS = "docs/guide/one.md", "notes/results.md"
PLANTED = [
    (ONE, "[x](two.md)\n", f"{ONE}:9: no such file, got two.md"),
    (ONE, "![x](../figures/b.svg)\n", f"{ONE}:9: no such file, got ../figures/b.svg"),
    (ONE, "[x]: two.md\n", f"{ONE}:9: no such file, got two.md"),
    (ONE, '<img src="b.svg">\n', f"{ONE}:9: no such file, got b.svg"),
    (ONE, "[x](#nowhere)\n", f"{ONE}:9: {NO_HEADING} #nowhere"),
    (RESULTS, "[x](../docs/guide/one.md#late)\n", f"{RESULTS}:4: {NO_HEADING} ../docs/guide/one.md#late"),
    (ONE, "## A - b\n[x](#a---b)\n", f"{ONE}:10: {NO_HEADING} #a---b"),
    (ONE, "## A\n## A\n[x](#a-1)\n", f"{ONE}:11: {NO_HEADING} #a-1"),
    (ONE, "[x](/data.csv)\n", f"{ONE}:9: a link from the root, got /data.csv, expected one from the page's folder"),
    (ONE, "[x](../../..)\n", f"{ONE}:9: a link out of the repository, got ../../.."),
    (RESULTS, "[x](../docs)\n", f"{RESULTS}:4: a folder, which the site does not show, got ../docs, expected a file"),
    ("docs/guide/two.md", "# Two\n", "docs/README.md: does not link to guide/two.md"),
    ("docs/guide/two.md", "# Two\n", "mkdocs.yml: does not name guide/two.md"),
    ("mkdocs.yml", "  - Two: guide/two.md\n", "mkdocs.yml: no such page, got guide/two.md"),
    ("docs/decisions/002-second.md", "# 002\n", "docs/decisions/README.md: expected one link to 002-second.md"),
    (ONE, None, "docs/guide: no heading has the words 'early stopping', for which readers search"),
]


def faults_of(files: dict[str, str]) -> tuple[int, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        pages = sorted(str(path) for path in pathlib.Path(folder).rglob("*.md"))
        run = subprocess.run([sys.executable, str(CHECKER), "--root", folder, *pages], text=True, capture_output=True)
        return run.returncode, run.stdout.splitlines() + run.stderr.splitlines()


def check_hook():
    """Links of pages as they are on the site."""
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "tools/site_pages.py")
    site = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(site)
    for page, link, expected in [
        ("docs/guide/memory.md", "[a](../../CONTRIBUTING.md#x)", "[a](../CONTRIBUTING.md#x)"),
        ("docs/README.md", "[a](../src/README.md)", "[a](src/README.md)"),
        ("docs/guide/memory.md", "[a](pipelines.md#x)", "[a](pipelines.md#x)"),
        ("src/README.md", "[a](../docs/guide/memory.md)", "[a](../guide/memory.md)"),
        ("CHANGELOG.md", "[a](README.md)", "[a](README.md)"),
        ("src/README.md", "[a](../README.md) [b](https://example.org/)", "[a](../README.md) [b](https://example.org/)"),
        ("docs/guide/memory.md", "[a](nowhere.md) f[0](x)", "[a](nowhere.md) f[0](x)"),
    ]:
        got = site.rewritten(page, link)
        assert got == expected, f"{page}: {link} becomes {got}, expected {expected}"


def main():
    code, printed = faults_of(RIGHT)
    assert code == 0, printed
    for name, text, expected in PLANTED:
        planted = RIGHT.get(name, "") + (text or "")
        if text is None:  # the heading is an anchor alone
            planted = planted.replace("## Early stopping\n", '<a id="early-stopping"></a>\n')
        code, printed = faults_of(dict(RIGHT, **{name: planted}))
        assert code == 1 and expected in printed and len(printed) <= 2, f"expected {expected}, got {printed}"
    check_hook()
    print(f"links: {len(PLANTED)} planted faults found")


if __name__ == "__main__":
    main()
