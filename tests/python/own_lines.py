"""Whether files repeat lines of documents: own_lines.py DOCUMENTS PATH.., whatever the spaces and the package's name.

A line counts from 24 characters without spaces. Imports and the first line of a call
whose arguments follow are in any script, and do not count; nor does the generated page of Python, which lists names
and signatures that both packages have."""

import glob
import os
import sys

SIGNATURES = "docs/reference/python.md"
COMMON = "from "


def packed(text):
    return "".join(text.replace("partita", "mindspore").split())


def files_of(path):
    if os.path.isfile(path):
        return [path]
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)


def main(documents, *paths):
    known = ""
    for name in sorted(glob.glob(os.path.join(documents, "*.txt"))):
        with open(name) as file:
            known += packed(file.read()) + "\n"
    repeated = 0
    for path in (one for given in paths for one in files_of(given) if not one.endswith(SIGNATURES)):
        with open(path, errors="replace") as file:
            for number, line in enumerate(file, 1):
                line = line.strip()
                common = line.startswith(COMMON) or line.endswith("(")
                if len(packed(line)) >= 24 and not common and packed(line) in known:
                    print(f"{path}:{number}: a line of a document: {line}")
                    repeated += 1
    return repeated > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
