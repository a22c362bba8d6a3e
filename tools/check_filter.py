#!/usr/bin/env python3
"""Checks that each pattern of a filter names a test. One that is left behind by a renamed test changes what runs unseen.

Usage: check_filter.py PROGRAM FILTER, with a filter as googletest reads it."""

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
    """Prints the patterns without a test; returns 1 if there is one."""
    names = tests_of(program)
    patterns = [pattern for pattern in text.replace("-", ":").split(":") if pattern]
    stale = [pattern for pattern in patterns if not fnmatch.filter(names, pattern)]
    for pattern in stale:
        print(f"{program} has no test for the pattern {pattern}")
    return 1 if stale or not names else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
