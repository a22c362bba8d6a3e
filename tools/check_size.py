#!/usr/bin/env python3
"""Checks that source files stay readable: at most 600 lines a file (tests 800), 250 a C++ class, 80 a C++ function, 120
columns a line."""
import pathlib
import re
import sys

LIMIT, TEST_LIMIT, CLASS, FUNCTION, COLUMNS = 600, 800, 250, 80, 120


def long_functions(lines: list[str]) -> list[tuple[int, int]]:
    """(first line, lines) of functions that are too long; their braces end where they began, as clang-format puts them."""
    found = []
    for i, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip())]
        scope = re.match(r"(namespace|class|struct|enum|extern|union|const|static|constexpr|#)\b", line.lstrip())
        if len(indent) > 2 or not line.endswith("{") or line.endswith(" = {") or "(" not in line or (scope and ") {" not in line):
            continue
        end = next((j for j in range(i + 1, len(lines)) if lines[j].startswith(indent + "}")), i)
        if end - i + 1 > FUNCTION:
            found.append((i + 1, end - i + 1))
    return found


def long_classes(lines: list[str]) -> list[tuple[int, int]]:
    """(first line, lines) of bodies of classes, structs and unions that are too long, at any depth; as above."""
    found = []
    for i, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip())]
        if not re.match(r"(template <.*> )?(class|struct|union)\b(?!.*;)", line.lstrip()):
            continue
        start = i  # of the body: bases may take lines of their own
        while start < len(lines) and not lines[start].endswith(("{", ";", "}")):
            start += 1
        if start == len(lines) or not lines[start].endswith("{") or ") {" in lines[start]:
            continue
        end = next((j for j in range(start + 1, len(lines)) if lines[j].startswith(indent + "}")), start)
        if end - i + 1 > CLASS:
            found.append((i + 1, end - i + 1))
    return found


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    faults = []
    for folder in ("src", "python", "tests", "bench", "examples"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".cu", ".py"):
                continue
            lines = path.read_text().splitlines()
            limit = TEST_LIMIT if folder == "tests" or path.name.endswith("_test.cpp") else LIMIT
            name = path.relative_to(root)
            if len(lines) > limit:
                faults.append(f"{name}: {len(lines)} lines, at most {limit}")
            faults += [f"{name}:{i}: {len(line)} columns" for i, line in enumerate(lines, 1) if len(line) > COLUMNS]
            if path.suffix != ".py":
                faults += [f"{name}:{i}: a class of {n} lines, at most {CLASS}" for i, n in long_classes(lines)]
                faults += [f"{name}:{i}: a function of {n} lines, at most {FUNCTION}" for i, n in long_functions(lines)]
    print("\n".join(faults) if faults else "sizes: ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
