#!/usr/bin/env python3
"""Checks that no two files define the same name differently: a type, or an inline function with the same parameters,
outside anonymous namespaces. Linkers keep one of two such definitions and say nothing, and the other file's objects are
destroyed by a stranger's code.

Exit code 1 and one line per fault. `check_definitions.py PATH..` checks these files alone."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("src", "include", "tests", "bench", "python/bindings")
# Comments, literals and lines of the preprocessor, in the order in which they can start.
NOT_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|R\"(\w*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])+'"
                      r"|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)
NAMESPACE = re.compile(r"(?:^|[\s;}])(?:inline\s+)?namespace(?:\s+([\w:]+))?\s*$")
TYPE = re.compile(r"(?:^|[\s>;}])(?:class|struct|union|enum(?:\s+class)?)\s+(?:\[\[[^\]]*\]\]\s*|alignas\([^)]*\)\s*)?"
                  r"(\w+)(?:\s+final)?\s*(?::(?!:)[^;{}]*)?$")
FUNCTION = re.compile(r"\b(?:inline|template|constexpr)\b.*?(~?\w+|operator\s*\S+?)\s*(\([^;{}]*\))[^;{}()]*$", re.S)


def code_of(text: str) -> str:
    """The text with what is no code blanked out; lines stay."""
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def kept_name(head: str) -> str | None:
    """Returns what a definition of `head` is called for the linker, or nothing where it is none of these."""
    one = TYPE.search(head)
    function = FUNCTION.search(head)
    if one or not function:
        return one.group(1) if one else None
    return function.group(1) + " ".join(function.group(2).split())


def definitions(text: str) -> list[tuple[str, int]]:
    """Returns each name with its namespaces that the file defines for the whole program, and its line."""
    text = code_of(text)
    found, scopes, start = [], [], 0  # a scope: its name; "" is an anonymous namespace, None no namespace
    for at in (match.start() for match in re.finditer(r"[{};]", text)):
        head, start = text[start:at], at + 1
        if text[at] == "}" and scopes:
            scopes.pop()
        elif text[at] == "{":
            namespace = NAMESPACE.search(head)
            if not namespace and all(scopes):
                name = kept_name(head)
                if name:
                    found.append(("::".join([*scopes, name]), text.count("\n", 0, at) + 1))
            scopes.append((namespace.group(1) or "") if namespace else None)
    return found


def main(given: list[str]) -> int:
    paths = [pathlib.Path(one).resolve() for one in given]
    if not paths:
        paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in {".h", ".cpp"}]
    places: dict[str, list[str]] = {}
    for path in paths:
        shown = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
        for name, line in definitions(path.read_text()):
            places.setdefault(name, []).append(f"{shown}:{line}")
    if not given and len(places) < 1000:
        print(f"definitions: found only {len(places)} names, expected at least 1000")
        return 1
    faults = [f"{at[0]}: '{name}' is defined here and at {', '.join(at[1:])}, expected one definition of a name"
              for name, at in sorted(places.items()) if len({one.split(':')[0] for one in at}) > 1]
    print("\n".join(faults) if faults else "definitions: ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
