#!/usr/bin/env python3
"""Counts the headers of the project that a header includes, directly or through others.

    tools/count_headers.py [HEADER...]     of these, each with its number; without any, checks the limits below

Exit code 1 when a header includes more than its limit allows: whoever edits one of those compiles all that includes it."""
import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "src"
LIMITS = {"job/config.h": 30, "training/model.h": 79}


def included(header: str) -> set[str]:
    """Returns the headers that `header` includes, itself left out."""
    found: set[str] = set()
    pending = [header]
    while pending:
        for name in re.findall(r'^#include "([^"]+)"', (SOURCES / pending.pop()).read_text(), re.M):
            if name not in found and (SOURCES / name).exists():
                found.add(name)
                pending.append(name)
    return found - {header}


def main() -> int:
    if sys.argv[1:]:
        for header in sys.argv[1:]:
            print(f"{header}: {len(included(header))}")
        return 0
    counts = {header: len(included(header)) for header in LIMITS}
    faults = [f"{header}: includes {counts[header]} headers, expected at most {limit}"
              for header, limit in LIMITS.items() if counts[header] > limit]
    print("\n".join(faults) if faults else "headers: ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
