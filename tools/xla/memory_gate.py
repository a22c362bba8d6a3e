#!/usr/bin/env python3
"""Compares the memory of compiled steps with accepted numbers; tools/xla/compile_zoo.sh calls it.

    memory_gate.py row JOB TARGET JSON NUMBERS     prints a row of the table, appends what is compared to NUMBERS
    memory_gate.py gate TARGET NUMBERS PLUGIN      compares NUMBERS with the accepted ones; exits with 1 at a fault

The accepted numbers of a target are in GOLDEN/TARGET.txt (GOLDEN: tools/xla/memory). More than 5 % above one of them is
a fault. More than 5 % below it, and a model without a number, are told. RENEW=yes writes the file anew: a run of all
models replaces it, a run of some (JOBS) replaces their lines. Models that did not compile keep their lines as long as
the version of PJRT stays the same.
"""
import json
import os
import pathlib
import re
import shlex
import sys
from typing import NamedTuple

TOLERANCE = 5  # percent
HEADER = """\
# Accepted memory of the training steps of the zoo in bf16, compiled for {target}: bytes of temporaries, summed over the
# programs of a step, and of its largest program. tools/xla/compile_zoo.sh compares with them. To accept others:
#   RENEW=yes [JOBS="MODEL FLAGS"] tools/xla/compile_zoo.sh PARTITA {target}
# Made with {package}, PJRT {pjrt}
# temporaries  largest program  model and flags
"""


class Memory(NamedTuple):
    temporaries: int  # bytes, summed over programs
    largest: int  # bytes of the largest program


def row(job, target, path, numbers):
    made = json.loads(pathlib.Path(path).read_text())
    total = made["sum"]

    def mib(count):
        return f"{count / 2**20:,.1f}"

    print(f"| {job} | {target} | {len(made['programs'])} | {total['ops']:,} | {total['fused_kernels']:,} "
          f"| {total['library_calls']:,} | {mib(total['arguments'])} | {mib(total['temporaries'])} "
          f"| {mib(made['largest_program'])} | {total['seconds']:.1f} |", flush=True)
    with open(numbers, "a") as file:
        print(total["temporaries"], made["largest_program"], total["library_calls"], made["pjrt"], job, sep="\t", file=file)


def package_of(plugin):
    """Returns "NAME VERSION" of the Python package that installed the plugin, else the name of its file."""
    if not plugin:
        return "a plugin of the installed packages"
    path = pathlib.Path(plugin).resolve()
    for folder in list(path.parents)[:4]:
        for record in folder.glob("*.dist-info/RECORD"):
            if any(line.split(",")[0] == path.relative_to(folder).as_posix() for line in record.read_text().splitlines()):
                return " ".join(record.parent.name.removesuffix(".dist-info").split("-"))
    return path.name


def read_accepted(path):
    """Returns the version of PJRT and the memory of each job; "" and nothing if there is no file."""
    if not path.exists():
        return "", {}
    text = path.read_text()
    version = re.search(r"^# Made with .*PJRT (\S+)$", text, re.MULTILINE)
    accepted = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        words = line.split(maxsplit=2)
        if len(words) < 3 or not (words[0].isdigit() and words[1].isdigit()) or words[2] in accepted:
            sys.exit(f"[{path}:{number}] a line is not understood, got '{line}', expected bytes of temporaries, "
                     "bytes of the largest program and a model that has no other line")
        accepted[words[2]] = Memory(int(words[0]), int(words[1]))
    return version[1] if version else "", accepted


def read_numbers(path):
    """Returns the version of PJRT and the memory of each job that compiled."""
    version, made = "", {}
    for line in pathlib.Path(path).read_text().splitlines():
        temporaries, largest, _, version, job = line.split("\t")
        made[job] = Memory(int(temporaries), int(largest))
    return version, made


def print_bytes(count):
    return f"{count:,} bytes ({count / 2**20:,.1f} MiB)"


def compare(name, target, accepted, made):
    """Tells how the jobs differ from what is accepted. Returns whether one takes too much."""
    is_fault = False
    for job, memory in sorted(made.items()):
        renew = f"RENEW=yes JOBS={shlex.quote(job)} tools/xla/compile_zoo.sh PARTITA {target}"
        if job not in accepted:
            print(f"[{name}] {job} has no accepted memory, got temporaries of {print_bytes(memory.temporaries)} and a largest "
                  f"program of {print_bytes(memory.largest)}: accept them with {renew}", file=sys.stderr)
            continue
        for what, got, expected in zip(("temporaries", "the largest program"), memory, accepted[job]):
            if 100 * got > (100 + TOLERANCE) * expected:
                is_fault = True
                print(f"[{name}] {what} of {job} grew, got {print_bytes(got)}, expected at most {TOLERANCE} % above "
                      f"{print_bytes(expected)}: find what is kept longer, or accept it with {renew}", file=sys.stderr)
            elif 100 * got < (100 - TOLERANCE) * expected:
                print(f"[{name}] {what} of {job} shrank, got {print_bytes(got)}, accepted were {print_bytes(expected)}: "
                      f"keep the gain with {renew}", file=sys.stderr)
    return is_fault


def write(path, target, package, version, accepted):
    lines = [f"{memory.temporaries:13} {memory.largest:16}  {job}\n" for job, memory in sorted(accepted.items())]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADER.format(target=target, package=package, pjrt=version) + "".join(lines))


def gate(target, numbers, plugin):
    folder = os.environ.get("GOLDEN") or pathlib.Path(__file__).resolve().parent / "memory"
    path = pathlib.Path(folder) / f"{target}.txt"
    name = path.name if os.environ.get("GOLDEN") else f"tools/xla/memory/{path.name}"
    all_models = not os.environ.get("JOBS")
    accepted_version, accepted = read_accepted(path)
    version, made = read_numbers(numbers)
    is_same = version == accepted_version
    if os.environ.get("RENEW") == "yes":
        if not made:
            sys.exit(f"[{name}] not written, as no model was compiled")
        if not is_same and not all_models and accepted:
            sys.exit(f"[{name}] a file has the numbers of one plugin, got some of PJRT {version} for those of PJRT "
                     f"{accepted_version}, expected all: renew them without JOBS")
        lines = {**(accepted if is_same else {}), **made}
        write(path, target, package_of(plugin), version, lines)
        print(f"[{name}] written, {len(made)} of {len(lines)} lines are new", file=sys.stderr)
        return False
    if made and accepted and not is_same:
        print(f"[{name}] the numbers are of another plugin, got PJRT {version}, expected {accepted_version}: they may differ",
              file=sys.stderr)
    for job in sorted(set(accepted) - set(made)) if all_models else []:
        print(f"[{name}] {job} was not compared, as it did not compile or is no model of the zoo", file=sys.stderr)
    return compare(name, target, accepted, made)


if sys.argv[1:2] == ["row"] and len(sys.argv) == 6:
    row(*sys.argv[2:])
elif sys.argv[1:2] == ["gate"] and len(sys.argv) == 5:
    sys.exit(gate(*sys.argv[2:]))
else:
    sys.exit(__doc__)
