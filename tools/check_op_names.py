#!/usr/bin/env python3
"""Checks that no op is recognised by its name: what a pass needs to know of an op is in its OpDef (`OpTraits`).

Ops are known by name in the folders OWNERS. Anywhere else under src a comparison of an op's name with a literal is a
fault, and so is any literal that is the name of an op unless it is an argument of `apply` or `apply_all`, which make
nodes, or stands in WORDS. Unit tests are free. Exit code 1 and one line per fault."""
import pathlib
import re
import sys

OWNERS = {"ops", "optimizers", "device", "network"}
MAKERS = {"zoo"}  # models make nodes, and have options that are called as ops are; comparisons are faults there, too

# Literals that are names of ops and mean something else, or that make an op or a description of one, by file name.
WORDS = {
    "software.cpp": {"sub", "exp", "cross_entropy_grad", "bias_add"},  # constants of a cluster's software, by op
    "collectives.cpp": {"add", "maximum", "minimum"},  # the op that accumulates a reduction
    "step_prices.cpp": {"add"},  # the work of an accumulation
    "channel_block.cpp": {"conv2d"},  # a question to the catalog of kernels
    "optimizer_options.h": {"momentum", "sgd", "adam"}, "optimizer_options.cpp": {"momentum", "dampening", "biased_epsilon"},
    "graph.h": {"constant"}, "lr_schedule.h": {"constant"},  # kinds of initial values, and of learning rates
    "options.cpp": {"log", "batch_norm", "attention"}, "jsonl.cpp": {"log"},  # options
    "charts.cpp": {"reduce"}, "parse.cpp": {"reduce"},  # kinds of spans, and of instructions
    "collectives.h": {"reduce"},  # a field
    "work.h": {"attention"},  # a kind of work
    "sweep_file.h": {"random"},  # a kind of search
    "compiled_programs.cpp": {"attention"},  # a key
    "recompute.cpp": {"attention"}, "alternatives.cpp": {"less"},  # words of a message
}

LITERAL = r'"(\w+)"'
COMPARED = re.compile(r'(\bop(_name)?(\(\))?\s*[!=]=\s*"|"\w*"\s*[!=]=\s*(\w+(\.|->))*op\b|'
                      r'\bop\.(starts_with|ends_with|find|compare|contains)\()')


def op_names(src: pathlib.Path) -> set[str]:
    names = set()
    for path in src.rglob("*.cpp"):
        if {"ops", "optimizers"} & set(path.relative_to(src).parts):
            text = path.read_text()
            names.update(re.findall(r'\.name = ' + LITERAL, text))
            names.update(re.findall(r'_op(?:<\w+>)?\(\s*' + LITERAL, text))
            names.update(re.findall(r'constexpr auto k\w+ = ' + LITERAL, text))
            names.update(re.findall(r'apply(?:_all)?\(' + LITERAL, text))
    return names


def faults_of(path: pathlib.Path, names: set[str], any_literal: bool) -> list[str]:
    faults = []
    text = re.sub(r"//[^\n]*", "", path.read_text())
    for match in COMPARED.finditer(text):
        faults.append((match.start(), "the name of an op is compared"))
    for match in re.finditer(LITERAL, text) if any_literal else ():
        name = match.group(1)
        made = re.search(r"\bapply(_all)?\(\s*$", text[: match.start()])
        if name in names and not made and name not in WORDS.get(path.name, ()):
            faults.append((match.start(), f"'{name}' is the name of an op"))
    lines = sorted({(text.count("\n", 0, at) + 1, what) for at, what in faults})
    return [f"{number}: {what}, expected a member of OpTraits" for number, what in lines]


def main() -> int:
    src = pathlib.Path(__file__).resolve().parent.parent / "src"
    names = op_names(src)
    if len(names) < 50:
        print(f"op names: found only {len(names)} ops, expected at least 50")
        return 1
    faults = []
    for path in sorted(src.rglob("*")):
        parts = set(path.relative_to(src).parts)
        is_test = path.name.endswith("_test.cpp") or path.name.startswith("test_")
        if path.suffix in (".h", ".cpp", ".cu") and not is_test and not parts & OWNERS:
            found = faults_of(path, names, any_literal=not parts & MAKERS)
            faults += [f"{path.relative_to(src)}:{fault}" for fault in found]
    print("\n".join(faults) if faults else "op names: ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
