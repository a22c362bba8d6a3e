#!/usr/bin/env python3
"""Checks that results do not depend on what they should not: no call but the named ones counts cores, and none reads or
prints numbers or looks at letters by the locale of the program, which users set.

Unit tests are free. Exit code 1 and one line per fault. `check_calls.py PATH..` checks these files alone."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ("src", "include", "examples", "python/bindings", "python/partita")
CPP = {".h", ".cpp"}

CORES = "usable_cores() of base/usable_cores.h"
NUMBERS = "from_chars, or parse_number of base/plain_text.h"
TEXTS = "fmt::format or fmt::to_string"
STREAMS = "fmt, and split_words or split_lines of base/plain_text.h"
LETTERS = "the functions of base/plain_text.h"

# What is refused in C++, what to use instead, and the files that may use it.
RULES = [
    (r"hardware_concurrency|_SC_NPROCESSORS_\w+|\bget_nprocs\w*|\bsched_getaffinity|pthread_getaffinity_np|"
     r"\bomp_get_num_procs", CORES, {"src/base/usable_cores.cpp"}),
    (r"\bstrto(?:d|f|ld|l|ll|ul|ull|imax|umax)(?:_l)?\s*\(|\b(?:std::|::)sto(?:i|l|ll|ul|ull|f|d|ld)\s*\(|"
     r"\bato(?:i|f|l|ll)\s*\(|\bv?[sf]?scanf\s*\(", NUMBERS, set()),
    (r"\bv?(?:s|sn|f|d|as)?printf\s*\(|\bstd::to_string\s*\(|\bstrftime\s*\(|\bput_time\b|\bput_money\b|:[^}\"]*L\}",
     TEXTS, set()),
    (r"<sstream>|\b(?:i|o)?stringstream\b|\bstd::(?:setprecision|fixed|scientific|get_time)\b", STREAMS, set()),
    (r"\bis(?:alnum|alpha|digit|space|upper|lower|punct|print|xdigit|cntrl|graph|blank)\s*\(|\bto(?:lower|upper)\s*\(|"
     r"<cctype>|<ctype\.h>|\bstd::regex\b|<regex>", LETTERS, set()),
    (r"\bsetlocale\b|\bstd::locale\b|<locale>|<clocale>|\buselocale\b", "none: a locale belongs to the user's program",
     {"src/base/plain_numbers.cpp"}),
]
# A number that is read from a stream, or written to one that is no text of fmt.
READS = re.compile(r">>\s*(?:number|count|value|size|pages|quota|period)\b")
# Parsers of libraries, which call strtod: the line before has a PlainNumbers.
PARSERS = re.compile(r"\b(?:json|Json)::(?:parse|sax_parse)\s*\(|\btoml::parse\s*\(")
PYTHON = [(r"\bcpu_count\b|\bsched_getaffinity\b", "the threads that the library chooses"),
          (r"\blocale\.|\bimport locale\b|:n\}", "texts that depend on no locale")]


def without_comments(text: str) -> str:
    """The text with comments blanked out; lines stay."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda match: re.sub(r"[^\n]", " ", match.group()), text, flags=re.S)


def faults_of_cpp(name: str, text: str) -> list[tuple[int, str]]:
    text = without_comments(text)
    faults = []
    for pattern, expected, owners in RULES:
        if name not in owners:
            faults += [(m.start(), f"got '{m.group().strip()}', expected {expected}") for m in re.finditer(pattern, text)]
    faults += [(m.start(), f"got a number from a stream, expected {NUMBERS}") for m in READS.finditer(text)]
    for match in PARSERS.finditer(text):
        before = text[: match.start()]
        body = before[before.rfind("\n}\n") + 1:]  # of the function, up to the call
        if "PlainNumbers" not in body:
            faults.append((match.start(), f"got '{match.group()}', expected a PlainNumbers before it"))
    return faults


def faults_of_python(text: str) -> list[tuple[int, str]]:
    text = re.sub(r"#[^\n]*", "", text)
    return [(m.start(), f"got '{m.group()}', expected {expected}")
            for pattern, expected in PYTHON for m in re.finditer(pattern, text)]


def faults_of(path: pathlib.Path, name: str) -> list[str]:
    text = path.read_text()
    faults = faults_of_python(text) if path.suffix == ".py" else faults_of_cpp(name, text)
    return [f"{name}:{text.count(chr(10), 0, at) + 1}: {what}" for at, what in sorted(faults)]


def is_checked(path: pathlib.Path) -> bool:
    is_test = path.name.endswith("_test.cpp") or path.name.startswith("test_")
    return (path.suffix in CPP or path.suffix == ".py") and not is_test


def main(given: list[str]) -> int:
    paths = [pathlib.Path(one).resolve() for one in given]
    if not paths:
        paths = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*")) if is_checked(path)]
        if len(paths) < 300:
            print(f"calls: found only {len(paths)} files, expected at least 300")
            return 1
    faults = []
    for path in paths:
        name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
        faults += faults_of(path, name)
    print("\n".join(faults) if faults else "calls: ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
