#!/usr/bin/env python3
"""Checks that source files stay readable: at most 600 lines a file (tests 800), 300 a class with its members outside of
its body, 60 a function, 120 columns a line.

C++ is read by its braces. A definition `Name::member(...) {...}` counts to the class `Name` of the same file, else of
the header in the same folder whose stem begins the stem of the file (`model_rows.cpp` counts to `model.h`), provided
that both stand in the same namespace. A nested class counts to the class around it as well.
"""
import ast
import bisect
import pathlib
import re
import sys
from typing import NamedTuple

LIMIT, TEST_LIMIT, CLASS, FUNCTION, COLUMNS = 600, 800, 300, 60, 120
FOLDERS = ("include", "src", "python", "tests", "bench", "examples")

HIDDEN = re.compile(  # raw strings, comments, strings, characters, preprocessor lines: braces in them are none
    r"""R"([^()\\ ]{0,16})\([\s\S]*?\)\1"|//[^\n]*|/\*[\s\S]*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'"""
    r"""|^[ \t]*\#(?:\\\n|[^\n])*""", re.M)
TOKENS = re.compile(r"[(){};]")
ATTRIBUTES = re.compile(r"\[\[.*?\]\]|alignas\([^)]*\)")
BEFORE = re.compile(r"\s*(?:(?:public|protected|private)\s*:(?!:)\s*)*")  # a declaration
CLASS_HEAD = re.compile(r"(?:export |static |typedef )*(?:class|struct|union)\s+((?:\w+::)*\w+)?")
BODY = re.compile(r"(?:\)|\b(?:const|noexcept|override|final|mutable|try)|[^&]&{1,2})$"
                  r"|\)[^()]*->[^()]*(?:\([^()]*\)[^()]*)?$|\)\s*(?:noexcept\s*)?:[^:][\s\S]*\}$")
MEMBER = re.compile(r"([\w:]+)::(?:operator[^(]*|~?\w+)$")


class Found(NamedTuple):
    kind: str  # "class" or "function"
    name: str  # with the namespace and the classes around it; of a function, as it is written
    scope: str  # the namespace
    line: int
    lines: int


def without_template(head: str) -> str:
    """`head` without `template <...>` before it and without `requires` of one line."""
    while match := re.match(r"template\s*<", head):
        depth, at = 1, match.end()
        while at < len(head) and depth > 0:
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            at += 1
        head = head[at:].lstrip()
    return head


def name_of_function(head: str) -> str:
    """`Name::member` of the head of a definition: what stands before its first parenthesis outside <>."""
    depth = 0
    plain = []
    for i, letter in enumerate(head):
        if head.startswith("operator", i):
            plain.append(head[i : head.find("(", i)])
            break
        if letter == "(" and depth == 0:
            break
        depth += (letter == "<") - (letter == ">" and depth > 0)
        if depth == 0 and letter != ">":
            plain.append(letter)
    return "".join(plain).rstrip().split(" ")[-1].lstrip("*&")


def kind_of(head: str, inside: str) -> tuple[str, str]:
    """("namespace" | "class" | "function" | "other", name) of the brace after `head`, in a block of kind `inside`."""
    head = without_template(ATTRIBUTES.sub(" ", head).strip())
    if inside not in ("namespace", "class"):
        return "other", ""
    if match := re.match(r"(?:inline )?namespace\b\s*([\w:]*)$", head):
        return "namespace", match[1] or "(unnamed)"
    if re.match(r'extern\s*$', head):
        return "namespace", ""
    if (match := CLASS_HEAD.match(head)) and "(" not in head:
        return "class", match[1] or "(unnamed)"
    if "(" in head and BODY.search(head):
        return "function", name_of_function(head)
    return "other", ""


def definitions(text: str) -> list[Found]:
    """The classes and functions of a C++ file, without functions inside functions."""
    text = HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    ends = [match.start() for match in re.finditer("\n", text)]
    line_at = lambda at: bisect.bisect_left(ends, at) + 1
    found, blocks = [], [("namespace", "", 0, 0)]  # kind, name, where its head begins, open parentheses around it
    begin, depth, inside = 0, 0, 0  # of the head; parentheses; braces inside a function or an initialiser
    for token in TOKENS.finditer(text):
        letter, at = token[0], token.start()
        if inside > 0:
            inside += (letter == "{") - (letter == "}")
            if inside > 0:
                continue
            kind, name, first, depth = blocks.pop()
            if kind == "function":
                scope = "::".join(part for of, part, *_ in blocks if of == "namespace" and part)
                found.append(Found(kind, name, scope, line_at(first), line_at(at) - line_at(first) + 1))
                begin = at + 1
        elif letter == "{":
            first = min(at, BEFORE.match(text, begin).end())
            kind, name = kind_of(text[first:at], blocks[-1][0]) if depth == 0 else ("other", "")
            blocks.append((kind, name, first, depth))
            if kind in ("namespace", "class"):
                begin, depth = at + 1, 0
            else:
                inside = 1
        elif letter == "}" and len(blocks) > 1:
            kind, name, first, depth = blocks.pop()
            begin = at + 1
            if kind == "class":
                scope = "::".join(part for of, part, *_ in blocks if of == "namespace" and part)
                name = "::".join([part for of, part, *_ in blocks if of == "class"] + [name])
                found.append(Found(kind, name, scope, line_at(first), line_at(at) - line_at(first) + 1))
        elif letter == ";" and depth == 0:
            begin = at + 1
        elif letter in "()":
            depth += 1 if letter == "(" else -1
    return found


def long_classes(files: dict[str, list[Found]]) -> list[tuple[str, int, str, int]]:
    """(path, line, name, lines) of the classes that are too long, counted with their members outside the body."""
    headers: dict[tuple[str, str, str], list[str]] = {}  # by folder, namespace and class: stems
    lines: dict[tuple[str, str, str], list] = {}  # by path, namespace and class: [line, lines]
    for path, found in files.items():
        folder, _, file = path.rpartition("/")
        for one in found:
            if one.kind == "class":
                lines.setdefault((path, one.scope, one.name), [one.line, 0])[1] += one.lines
                if file.endswith((".h", ".cuh")):
                    headers.setdefault((folder, one.scope, one.name), []).append(path)
    for path, found in files.items():
        folder, _, file = path.rpartition("/")
        stem = file.rpartition(".")[0]
        for one in found:
            owner = one.kind == "function" and MEMBER.match(one.name)
            while owner:  # a member of Outer::Inner counts to both
                name = owner[1]
                homes = [home for home in headers.get((folder, one.scope, name), ())
                         if stem.startswith(home.rpartition("/")[2].rpartition(".")[0])]
                home = (path, one.scope, name) if (path, one.scope, name) in lines else None
                if home is None and homes:
                    home = (max(homes, key=len), one.scope, name)
                if home is not None:
                    lines[home][1] += one.lines
                owner = re.match(r"([\w:]+)::\w+$", name)
    return [(path, line, name, count) for (path, _, name), (line, count) in lines.items() if count > CLASS]


def long_python(text: str) -> list[str]:
    """`line: what` of the functions and classes of a Python file that are too long."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            is_class = isinstance(node, ast.ClassDef)
            count, most = node.end_lineno - node.lineno + 1, CLASS if is_class else FUNCTION
            if count > most:
                kind = "class" if is_class else "function"
                found.append(f"{node.lineno}: {kind} {node.name} of {count} lines, at most {most}")
    return found


def faults_of(texts: dict[str, str]) -> list[str]:
    """Returns the faults of files, given as their texts by path: lines, functions and files that are too long."""
    faults, files = [], {}
    for path, text in texts.items():
        lines = text.splitlines()
        limit = TEST_LIMIT if path.startswith("tests/") or path.endswith("_test.cpp") else LIMIT
        if len(lines) > limit:
            faults.append(f"{path}: {len(lines)} lines, at most {limit}")
        faults += [f"{path}:{i}: {len(line)} columns, at most {COLUMNS}"
                   for i, line in enumerate(lines, 1) if len(line) > COLUMNS]
        if path.endswith(".py"):
            faults += [f"{path}:{fault}" for fault in long_python(text)]
            continue
        files[path] = definitions(text)
        faults += [f"{path}:{one.line}: function {one.name} of {one.lines} lines, at most {FUNCTION}"
                   for one in files[path] if one.kind == "function" and one.lines > FUNCTION]
    faults += [f"{path}:{line}: class {name} of {count} lines with its members outside, at most {CLASS}"
               for path, line, name, count in long_classes(files)]
    return faults


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*"))
             if path.suffix in (".h", ".cpp", ".cu", ".cuh", ".py")]
    faults = faults_of({str(path.relative_to(root)): path.read_text() for path in paths})
    print("\n".join(faults) if faults else "sizes: ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
