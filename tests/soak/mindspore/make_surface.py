"""Records MindSpore's surface. Writes tests/python/mindspore_names.txt, the parameters and defaults of the names of
used_names.txt, sample_names.txt and client_names.txt. Writes mindspore_calls.txt, results of the calls of
surface_calls.txt.

make_surface.py, with the Python of an environment that compare.sh describes, in the folder of the repository."""

import inspect

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


names = []
wanted = [count_names.names_in(f"{FOLDER}{kind}_names.txt") for kind in ("used", "sample", "client")]
for one in sorted(set().union(*wanted)):
    if not count_names.is_there(one, count_names.SYSTEM):
        continue  # of older versions
    found = count_names.resolved(one, count_names.SYSTEM)
    if not inspect.ismodule(found):
        names.append(f"{one}{surface_calls.parameters_of(found)}")
write("mindspore_names.txt", names)

mindspore.set_context(mode=mindspore.PYNATIVE_MODE, device_target="CPU", pynative_synchronize=True)
results = []
for call in surface_calls.calls():
    text = surface_calls.result_of(mindspore, call)
    if not text.startswith("refused"):
        results.append(f"{call}\t{text}")
write("mindspore_calls.txt", results)
