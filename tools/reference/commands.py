#!/usr/bin/env python3
"""Writes docs/reference/commands.md from what --help prints.

usage: commands.py PARTITA [--check]     --check: says whether the page is what the program prints now"""

import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "commands.md"
HEAD = """# Commands

This page lists every command and flag, as `partita COMMAND --help` prints them. It is written by
`tools/reference/commands.py`.
"""


def help_of(program, *words):
    """Returns what --help prints; it has 80 columns where no terminal is."""
    text = subprocess.run([program, *words, "--help"], text=True, check=True, stdout=subprocess.PIPE).stdout
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def subcommands(text):
    part = re.search(r"^Subcommands:\n((?:  .*\n?)+)", text, re.M)
    return re.findall(r"^  ([a-z-]+)", part[1], re.M) if part else []


def page(program):
    first = help_of(program)
    text = HEAD + f"\n```\n{first}\n```\n"
    for command in subcommands(first):
        words = help_of(program, command)
        text += f"\n## partita {command}\n\n```\n{words}\n```\n"
        for action in subcommands(words):
            text += f"\n### partita {command} {action}\n\n```\n{help_of(program, command, action)}\n```\n"
    return text + "\n## See also\n\n- [Configuration](configuration.md): the same options as keys of a file\n"


def main():
    text = page(sys.argv[1])
    if sys.argv[2:] == ["--check"]:
        if PAGE.read_text() == text:
            print("commands: ok")
            return 0
        print(f"docs/reference/commands.md is not what --help prints: run tools/reference/commands.py {sys.argv[1]}")
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
