#!/usr/bin/env python3
"""Writes docs/reference/cpp.md from the public headers: what each declares, with the first sentence of its comment.

usage: headers.py [--check]"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "cpp.md"
HEAD = """# C++ headers

This page lists what the public headers declare. A program includes them as `<partita/model.h>` and the like
([Install](../guide/install.md#a-c-program-of-your-own)). It is written by `tools/reference/headers.py`; the comments of
the headers say more.
"""
FIRST = re.compile(r"(.*?[.:])(?:\s|$)", re.S)


def sentence(lines):
    """Returns the first sentence of a comment, for a cell of a table."""
    text = " ".join(line.strip().removeprefix("///").removeprefix("//").strip() for line in lines)
    found = FIRST.match(text)
    return (found[1] if found else text).replace("|", "\\|").rstrip(".:")


def name_of(line):
    """Returns the name that a line declares at the top of a namespace, or None."""
    kind = re.match(r"(?:template <.*> )?(?:class|struct|enum class|using) (\w+)(?! *;)", line)
    if kind:
        return kind[1]
    function = re.match(r"(?:\[\[nodiscard\]\] |inline |constexpr |explicit )*[\w:<>,&* ]+?[ &*](\w+|operator\S+)\(", line)
    return f"{function[1]}()" if function else None


def declarations(path):
    """Returns (name, sentence) of what a header declares with a comment, each name once."""
    found, comment, depth = {}, [], 0
    for line in path.read_text().splitlines():
        if re.match(r"namespace \w+", line) or line.startswith("}  // namespace"):
            comment = []
            continue
        if line.startswith("///"):
            comment.append(line)
            continue
        name = name_of(line) if depth == 0 and not line.startswith((" ", "#", "//", "}")) else None
        if name and comment:
            found.setdefault(name, sentence(comment))
        depth = max(0, depth + line.count("{") - line.count("}"))
        if not line.startswith("template"):
            comment = []
    return found


def page():
    text = HEAD
    for header in sorted((ROOT / "include" / "partita").glob("*.h")):
        lines = header.read_text().splitlines()
        about = [line for line in lines[1:] if line.startswith("//")]
        text += f"\n## `partita/{header.name}`\n\n{sentence(about)}.\n"
        for included in re.findall(r'#include "([^"]+)"', header.read_text()):
            found = declarations(ROOT / "src" / included)
            if not found:
                continue
            text += f"\n### `{included}`\n\n| name | what it is |\n|---|---|\n"
            text += "".join(f"| `{name}` | {what} |\n" for name, what in found.items())
    return text + "\n## See also\n\n- [Your first network](../guide/first_network.md#write-a-network-in-c)\n"


def main():
    if sys.argv[1:] == ["--check"]:
        if PAGE.read_text() == page():
            print("headers: ok")
            return 0
        print("docs/reference/cpp.md is not what the headers declare: run tools/reference/headers.py")
        return 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
