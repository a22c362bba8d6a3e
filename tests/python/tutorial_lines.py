"""Whether scripts are the tutorials' but for imports and what they say they mend: tutorial_lines.py TUTORIALS SCRIPTS.

A line of a script is one of the tutorials when the text has it, whatever the spaces; with another name of the package;
an import; a comment or a string that says what the script is; or mended: it, or a comment above its block, says
`mended`, or it is the `if __name__` of a script. Files without TUTORIALS: nothing is compared."""

import glob
import os
import re
import sys

tutorials, scripts = sys.argv[1:]
# Pages that the tutorials link to, or that others of this folder need.
OWN = {"resnet.py", "hybrid_parallel_checkpoint.py", "merge_checkpoints.py", "group_calls.py"}


def packed(text):
    return re.sub(r"\s+", "", text)


def unknown_lines(path, known):
    with open(path) as file:
        text = re.sub(r'^""".*?"""', "", file.read(), flags=re.S)
    mended, found = False, []
    for line in text.split("\n"):
        if not line.strip():
            mended = False
        mended = mended or "mended" in line
        code = line.split("  #")[0].replace("partita", "mindspore")
        plain = code.strip()
        if mended or plain.startswith(("import ", "from ", "#")) or packed(code) in known:
            continue
        found.append(line)
    return found


if not os.path.isdir(tutorials):
    print("tutorial lines: no tutorials here")
    sys.exit(0)
known = ""
for name in sorted(glob.glob(os.path.join(tutorials, "*.txt"))):
    with open(name) as file:
        known += packed(file.read())
bad = 0
for path in sorted(glob.glob(os.path.join(scripts, "*.py"))):
    if os.path.basename(path) in OWN:
        continue
    for line in unknown_lines(path, known):
        print(f"{path}: not of a tutorial, and not said to be mended: {line}")
        bad += 1
sys.exit(bad > 0)
