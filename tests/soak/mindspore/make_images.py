"""Writes tests/python/image_results.txt and audio_results.txt: what the calls of image_calls.txt and audio_calls.txt
give in MindSpore, which this needs. Calls that it refuses are printed and left out. With --try it compares instead. Run
it with PYTHONPATH of tests/python and of the package, and perhaps with `image` or `audio`."""

import os
import sys

import image_operands
import mindspore.dataset as theirs
import mindspore.dataset.audio
import mindspore.dataset.vision
import numpy as np

FOLDER = os.path.dirname(os.path.abspath(image_operands.__file__))


def result(dataset, call):
    """(arrays or None, error)."""
    try:
        return image_operands.evaluated(dataset, call), ""
    except Exception as error:  # whatever the documented system refuses
        return None, f"{type(error).__name__}: {str(error).strip().splitlines()[0][:150]}"


def difference(got, expected):
    """A text for results that differ, else an empty one."""
    if [(one.dtype, one.shape) for one in got] != [(one.dtype, one.shape) for one in expected]:
        return f"{[(str(x.dtype), x.shape) for x in got]} is not {[(str(x.dtype), x.shape) for x in expected]}"
    scale = max([1.0, *(float(np.abs(one.astype("f8")).max(initial=0)) for one in expected)])
    far = max((float(np.abs(x.astype("f8") - y.astype("f8")).max(initial=0)) for x, y in zip(got, expected)), default=0)
    count = sum(int((x != y).sum()) for x, y in zip(got, expected))
    size = sum(one.size for one in got)
    return f"{count} of {size} elements, by at most {far:g}" if not far <= 4e-5 * scale else ""


def compare(kind, compares):
    """Writes the results of a list of calls, or compares them."""
    lines = []
    if compares:
        import partita.dataset as ours
    for call in image_operands.calls(os.path.join(FOLDER, f"{kind}_calls.txt")):
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
        with open(os.path.join(FOLDER, f"{kind}_results.txt"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    print(f"{kind}: {len(lines)} calls")


for one in ("image", "audio"):
    if one in sys.argv or not {"image", "audio"} & set(sys.argv):
        compare(one, "--try" in sys.argv)
