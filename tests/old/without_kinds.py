"""Writes a file of a whole training as older programs did: without kinds of states, or with an empty text of them.

    without_kinds.py FILE COPY none|empty
"""

import json
import sys

source, copy, kinds = sys.argv[1:]
with open(source, "rb") as file:
    data = file.read()
length = int.from_bytes(data[:8], "little")
header = json.loads(data[8 : 8 + length])
metadata = header["__metadata__"]
del metadata["partita.checksums"], metadata["partita.kinds"]
if kinds == "empty":
    metadata["partita.kinds"] = ""
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)  # data begin at a multiple of 8
with open(copy, "wb") as file:
    file.write(len(text).to_bytes(8, "little") + text + data[8 + length :])
