#!/usr/bin/env python3
"""Checks that source files stay readable: at most 600 lines a file (tests 800), 120 columns a line."""
import pathlib
import sys

LIMIT, TEST_LIMIT, COLUMNS = 600, 800, 120


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    faults = []
    for folder in ("src", "tests", "bench", "examples"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".cu", ".py"):
                continue
            lines = path.read_text().splitlines()
            limit = TEST_LIMIT if folder == "tests" or path.name.endswith("_test.cpp") else LIMIT
            name = path.relative_to(root)
            if len(lines) > limit:
                faults.append(f"{name}: {len(lines)} lines, at most {limit}")
            faults += [f"{name}:{i}: {len(line)} columns" for i, line in enumerate(lines, 1) if len(line) > COLUMNS]
    print("\n".join(faults) if faults else "sizes: ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
