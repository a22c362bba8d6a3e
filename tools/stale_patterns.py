#!/usr/bin/env python3
"""Prints the patterns of a filter that match no test of a program. When a test is renamed, a pattern with its old name
stays in the filter, and nobody notices that other tests run than before.

Usage: stale_patterns.py PROGRAM FILTER, with a filter as googletest reads it."""

import fnmatch
import subprocess
import sys


def tests_of(program):
    """Returns the full names of the program's tests."""
    listed = subprocess.run([program, "--gtest_list_tests"], stdout=subprocess.PIPE, text=True, check=True).stdout
    names, suite = [], ""
    for line in (line.split("#")[0].rstrip() for line in listed.splitlines()):
        if not line.startswith(" "):
            suite = line
        else:
            names.append(suite + line.strip())
    return names


def main(program, text):
    """Prints the patterns without a test. Returns 1 if there is one, or if there are no tests."""
    names = tests_of(program)
    patterns = [pattern for pattern in text.replace("-", ":").split(":") if pattern]
    stale = [pattern for pattern in patterns if not fnmatch.filter(names, pattern)]
    for pattern in stale:
        print(f"{program} has no test for the pattern {pattern}")
    return 1 if stale or not names else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
