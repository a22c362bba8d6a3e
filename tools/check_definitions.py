#!/usr/bin/env python3
"""Checks that no two files define the same name: a type, a constant, or a function.

Outside anonymous namespaces (types, and functions of headers with the same parameters) linkers keep one of two such
definitions and say nothing, and the other file's objects are destroyed by a stranger's code. Inside of them names are
unique, whatever the parameters of a function, among the files that may be compiled together: those of one folder
(cmake/unity_groups.cmake), tests apart from the others. A call would else find the function of another file.

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
SHARED = re.compile(r"\b(?:inline|template|constexpr)\b")
FUNCTION = re.compile(r"(~?\w+|operator\s*\S+?)\s*(\((?:[^()]|\([^()]*\))*\))(?:\s*(?:const|noexcept(?:\([^()]*\))?|->[^;{}()]*))*\s*$")
CONSTANT = re.compile(r"^\s*(?:\[\[[^\]]*\]\]\s*|inline\s+|static\s+)*(?:constexpr|const)\b")
CONSTANT_NAME = re.compile(r"\b(k[A-Z]\w*)\s*(?:\[[^\]]*\])?\s*(?==|,|$)")
UNITED = ("src", "tests")  # folders whose sources are compiled together


def code_of(text: str) -> str:
    """The text with what is no code blanked out; lines stay."""
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def types_of(parameters: str) -> str:
    """The parameters without their names and defaults, which make no other function."""
    without_defaults = re.sub(r"\s*=[^,)]*", "", " ".join(parameters.split()))
    return re.sub(r"(?<=[\w>&*\]])( |(?<=[&*]) ?)(?!const\b)\w+(?=[,)])", "", without_defaults)


def kept_names(head: str, end: str, is_private: bool) -> list[str]:
    """Returns what `head`, which `end` ends, defines for the linker or, if it is private, for the files of a folder."""
    if CONSTANT.search(head) and (end == ";" or not FUNCTION.search(head)):
        return CONSTANT_NAME.findall(head) if is_private else []
    if end != "{":
        return []
    one = TYPE.search(head)
    if one:
        return [one.group(1)]
    function = FUNCTION.search(head)
    if not function or function.group(1).startswith("TEST") or not (is_private or SHARED.search(head)):
        return []
    return [function.group(1) + ("()" if is_private else types_of(function.group(2)))]


def definitions(text: str) -> list[tuple[str, int]]:
    """Returns each name with its namespaces, "" for anonymous ones, that the file defines, and its line."""
    text = code_of(text)
    found, scopes, start = [], [], 0  # a scope: its name; "" is an anonymous namespace, None no namespace
    open_brackets = 0  # between brackets, as in default arguments, nothing is defined
    for at in (match.start() for match in re.finditer(r"[(){};]", text)):
        if text[at] in "()":
            open_brackets += 1 if text[at] == "(" else -1
        if text[at] in "()" or open_brackets > 0:
            continue
        head, start = text[start:at], at + 1
        namespace = NAMESPACE.search(head) if text[at] == "{" else None
        if text[at] != "}" and not namespace and None not in scopes:
            line = text.count("\n", 0, at) + 1
            found += [("::".join([*scopes, name]), line) for name in kept_names(head, text[at], "" in scopes)]
        if text[at] == "}" and scopes:
            scopes.pop()
        elif text[at] == "{":
            scopes.append((namespace.group(1) or "") if namespace else None)
    if open_brackets or scopes:
        raise ValueError("brackets that do not balance, so that names cannot be found")
    return found


def reach_of(name: str, path: str) -> str:
    """Returns the name, for a private one with the files that may be compiled together with this one."""
    if "" not in name.split("::")[:-1] and not name.startswith("::"):
        return name
    parts = path.split("/")[:-1]
    place = "/".join(parts[:3]) if parts and parts[0] in UNITED else path
    return f"{name} in {place}{', its tests' if path.endswith('_test.cpp') else ''}"


def main(given: list[str]) -> int:
    paths = [pathlib.Path(one).resolve() for one in given]
    if not paths:
        paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in {".h", ".cpp"}]
    places: dict[str, list[str]] = {}
    for path in paths:
        shown = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
        try:
            found = definitions(path.read_text())
        except ValueError as error:
            print(f"{shown}: {error}, expected balanced ones in each file")
            return 1
        for name, line in found:
            places.setdefault(reach_of(name, shown), []).append(f"{shown}:{line}")
    if not given and len(places) < 1000:
        print(f"definitions: found only {len(places)} names, expected at least 1000")
        return 1
    faults = [f"{at[0]}: '{name}' is defined here and at {', '.join(at[1:])}, expected one definition of a name"
              for name, at in sorted(places.items()) if len({one.split(':')[0] for one in at}) > 1]
    print("\n".join(faults) if faults else "definitions: ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
