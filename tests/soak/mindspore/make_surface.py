"""Records MindSpore's surface. Writes tests/python/mindspore_names.txt, the parameters and defaults of the names of
used_names.txt, sample_names.txt and client_names.txt. Writes tests/python/surface/AREA.results, results of the calls
of surface/AREA.txt, of all areas or of those that are given; the names are left as they are then.

make_surface.py [AREA ..], with the Python of an environment that compare.sh describes, in the folder of the
repository."""

import inspect
import sys

import count_names
import mindspore
import numpy as np
import surface_calls

FOLDER = "tests/python/"


def write(file, lines):
    with open(FOLDER + file, "w") as out:
        out.write(
            f"# Of MindSpore {mindspore.__version__} on a CPU, NumPy {np.__version__}: made by make_surface.py.\n"
        )
        out.writelines(line + "\n" for line in lines)


def write_names():
    names = []
    wanted = [count_names.names_in(f"{FOLDER}{kind}_names.txt") for kind in ("used", "sample", "client")]
    for one in sorted(set().union(*wanted)):
        if not count_names.is_there(one, count_names.SYSTEM):
            continue  # of older versions
        found = count_names.resolved(one, count_names.SYSTEM)
        if not inspect.ismodule(found):
            names.append(f"{one}{surface_calls.parameters_of(found)}")
    write("mindspore_names.txt", names)


def write_results(area, path):
    results = []
    for call in surface_calls.lines_of(path):
        text = surface_calls.result_of(mindspore, call)
        if text.startswith("refused"):
            print(f"{call}: {text}")
        else:
            results.append(f"{call}\t{text}")
    write(f"surface/{area}.results", results)


mindspore.set_context(mode=mindspore.PYNATIVE_MODE, device_target="CPU", pynative_synchronize=True)
if not sys.argv[1:]:
    write_names()
for area, path in surface_calls.lists(".txt").items():
    if not sys.argv[1:] or area in sys.argv[1:]:
        write_results(area, path)
