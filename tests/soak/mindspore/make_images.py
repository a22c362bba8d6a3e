"""Writes tests/python/image_results.txt: what the calls of image_calls.txt give in MindSpore, which this needs. Calls
that it refuses are printed and left out. With --try it compares instead. Run it with PYTHONPATH of tests/python and of
the package."""

import os
import sys

import image_operands
import mindspore.dataset.vision as theirs
import numpy as np

FOLDER = os.path.dirname(os.path.abspath(image_operands.__file__))


def result(vision, call):
    """(arrays or None, error)."""
    try:
        return image_operands.evaluated(vision, call), ""
    except Exception as error:  # whatever the documented system refuses
        return None, f"{type(error).__name__}: {str(error).strip().splitlines()[0][:150]}"


def difference(got, expected):
    """A text for results that differ, else an empty one."""
    if [(one.dtype, one.shape) for one in got] != [(one.dtype, one.shape) for one in expected]:
        return f"{[(str(x.dtype), x.shape) for x in got]} is not {[(str(x.dtype), x.shape) for x in expected]}"
    far = max((float(np.abs(x.astype("f8") - y.astype("f8")).max(initial=0)) for x, y in zip(got, expected)), default=0)
    count = sum(int((x != y).sum()) for x, y in zip(got, expected))
    size = sum(one.size for one in got)
    return f"{count} of {size} elements, by at most {far:g}" if far > 1e-6 else ""


def main():
    compares, lines = "--try" in sys.argv, []
    if compares:
        import partita.dataset.vision as ours
    for call in image_operands.calls(os.path.join(FOLDER, "image_calls.txt")):
        expected, error = result(theirs, call)
        if expected is None:
            print(f"refused there: {call}: {error}")
            continue
        lines.append("\t".join([call, *map(image_operands.print_array, expected)]))
        if compares:
            got, error = result(ours, call)
            text = error if got is None else difference(got, expected)
            if text:
                print(f"differs: {call}: {text}")
    if not compares:
        with open(os.path.join(FOLDER, "image_results.txt"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    print(f"{len(lines)} calls")


main()
