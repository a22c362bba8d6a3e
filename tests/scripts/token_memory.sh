#!/usr/bin/env bash
# 20 GB of token ids in a million documents are not kept in memory: a training needs at most 64 MB more than on generated
# rows. The file takes no place on the disk, as it has only zeros.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$PWD/build/release/partita
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
/usr/bin/python3 - <<'PYTHON'
import struct
import numpy as np
count, length = 1_000_000, 10_000
with open("big.idx", "wb") as file:
    file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, count, count + 1))
    file.write(np.full(count, length, "i4").tobytes())
    file.write((2 * length * np.arange(count, dtype="i8")).tobytes())
    file.write(np.arange(count + 1, dtype="i8").tobytes())
PYTHON
truncate -s 20000000000 big.bin flat.u16
# peak DATA: the most memory of a training of two steps, in MB
peak() {
  /usr/bin/python3 - "$program" "$1" <<'PYTHON'
import resource
import subprocess
import sys
program, data = sys.argv[1:]
subprocess.run([program, "train", "gpt:layers=1,hidden=16,heads=2,seq=128,vocab=256", "--batch", "8", "--steps", "2",
                "--no-eval", "--threads", "1", "--data", data], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1000)
PYTHON
}
generated=$(peak synthetic)
for data in tokens:big tokens:flat.u16; do
  tokens=$(peak "$data")
  echo "$data: $tokens MB, generated rows: $generated MB"
  if ((tokens > generated + 64)); then
    echo "FAILED: $data needs more memory than expected"
    exit 1
  fi
done
echo "tokens: passed"
