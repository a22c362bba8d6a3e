#!/usr/bin/env bash
# Run by hand: single flipped bits of a checkpoint, over all its files by their sizes, and of a whole file. Each is refused,
# or what is loaded is what was saved.
#   tests/soak/bit_flips.sh [FLIPS=1000]
set -euo pipefail
cd "$(dirname "$0")/../.."
partita=$PWD/build/release/partita
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMP_NUM_THREADS=1
"$partita" train mlp:hidden=24 --batch 24 --ranks 3 --threads 1 --steps 3 --no-eval --quiet --zero 3 --zero-threshold 0 \
  --checkpoint "$folder/run" >/dev/null 2>&1
"$partita" checkpoint merge "$folder/run" --all --out "$folder/file" >/dev/null
/usr/bin/python3 - "$partita" "$folder" "${1:-1000}" <<'PY'
import os, random, subprocess, sys

partita, folder, flips = sys.argv[1], sys.argv[2], int(sys.argv[3])
random.seed(1)
step = os.path.join(folder, "run", "step_3")
kinds = {"checkpoint": ([os.path.join(step, name) for name in sorted(os.listdir(step))], step),
         "whole file": ([os.path.join(folder, "file")], os.path.join(folder, "file"))}
wrong = 0
for kind, (paths, target) in kinds.items():
    reference = os.path.join(folder, "file" if kind == "checkpoint" else "run")
    sizes = [os.path.getsize(path) for path in paths]
    refused = harmless = 0
    for flip in range(flips):
        # Half of them by the sizes of files, half in each file alike: the manifest is small.
        path = random.choices(paths, sizes)[0] if flip % 2 else random.choice(paths)
        place, bit = random.randrange(os.path.getsize(path)), random.randrange(8)
        with open(path, "r+b") as file:
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 1 << bit]))
        done = subprocess.run([partita, "checkpoint", "diff", target, reference], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode == 65 and "error" in done.stdout:
            refused += 1
        elif done.returncode == 0 and done.stdout.startswith("all "):
            harmless += 1
        else:
            wrong += 1
            print(f"{path} byte {place} bit {bit}: exit {done.returncode}\n{done.stdout}")
        with open(path, "r+b") as file:
            file.seek(place)
            file.write(bytes([byte]))
    print(f"{kind}: {flips} flips, {refused} refused, {harmless} without effect")
print(f"{wrong} loaded something else")
sys.exit(wrong != 0)
PY
