#!/usr/bin/env bash
# Run by hand: trainings on an accelerator next to one rank of the CPU.
#   tests/soak/accelerators.sh [DEVICE=xla:cpu] [JOBS=2]
# Small models of the zoo: in cut mode on 1, 2, 3, 4, 6 and 8 ranks with 13 rows, which these cut unevenly; in whole mode
# on 2, 4 and 8 ranks with 16 rows; in cut mode on 3 and 4 ranks as processes, too. On xla:cpu also in whole mode on 2 and
# 4 ranks as processes ("joined"), by the plugin for tests that JOINED names (build/release/tests/libjoined_plugin.so).
# Prints a line for each model, type and mode: per number of ranks the largest relative distance of a weight after 5
# steps, over the largest weight of its tensor. Fails if one is more than 1e-9 in f64 or 1e-5 in f32, or if weights of
# processes have other bits than those of threads. In f32, rounding may change the sign of an input of a relu, after which
# trainings move apart. So a distance above the limit is no fault in f32 if the same number of ranks of the CPU exceeds the
# limit, too. MODELS (one a line), TYPES and MODES (cut, processes, whole, joined) replace what is run.
set -euo pipefail
partita=$(realpath "${PARTITA:-$(dirname "$0")/../../build/release/partita}")
device=${1:-xla:cpu} jobs=${2:-2}
[[ $device != xla:cpu ]] || export PARTITA_PJRT_PLUGIN=${PARTITA_PJRT_PLUGIN:-$("$(dirname "$0")/../../tools/xla/get_plugin.sh")}
joined=${JOINED:-$(dirname "$0")/../../build/release/tests/libjoined_plugin.so}
modes=${MODES:-cut processes whole joined}
if [[ $device != xla:cpu ]]; then
  modes=${modes/joined/}
elif [[ $modes == *joined* && ! -e $joined ]]; then
  modes=${modes/joined/}
  echo "no joined processes, as there is no $joined" >&2
elif [[ -e $joined ]]; then
  joined=$(realpath "$joined")
fi
export PARTITA_CACHE=off OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

models=(mlp:hidden=24 lenet resnet18:width=8,size=16 gpt:layers=2,hidden=24,heads=4,seq=16,vocab=32
  llama:layers=2,hidden=24,heads=4,kv_heads=2,intermediate=32,seq=16,vocab=32
  moe:layers=2,hidden=24,heads=4,seq=16,vocab=32,experts=8)
[[ -z ${MODELS:-} ]] || mapfile -t models <<<"$MODELS"
list() {
  for model in "${models[@]}"; do
    for type in ${TYPES:-f64 f32}; do
      printf '%s %s %s %s\n' "$model" "$type" cpu 1 "$model" "$type" even 1
      for mode in $modes; do
        case $mode in
          cut) counts="1 2 3 4 6 8" ;;
          processes) counts="3 4" ;;
          whole) counts="2 4 8" ;;
          joined) counts="2 4" ;;
        esac
        for ranks in $counts; do printf '%s %s %s %s\n' "$model" "$type" "$mode" "$ranks"; done
      done
    done
  done
}

# run MODEL TYPE MODE RANKS: writes the weights to a file of that name. Modes cpu and even are the CPU's, with 13 and 16 rows.
run() {
  local name="$folder/$1 $2 $3 $4" rows=(--batch 13 --parallel hybrid) where=(--device "$device" --collectives cut) start=() ranks=(--ranks "$4")
  case $3 in
    cpu) where=() ;;
    even) where=() rows=(--batch 16) ;;
    whole) where=(--device "$device" --collectives whole) rows=(--batch 16) ;;
    processes) start=("$partita" launch -n "$4" --) ranks=() ;;
    joined)
      start=(env "PARTITA_JOINED_PLUGIN=$PARTITA_PJRT_PLUGIN" "PARTITA_PJRT_PLUGIN=$joined" "$partita" launch -n "$4" --)
      where=(--device "$device" --collectives whole) rows=(--batch 16) ranks=()
      ;;
  esac
  "${start[@]}" "$partita" train "$1" --dtype "$2" "${where[@]}" "${rows[@]}" "${ranks[@]}" --steps 5 --threads 1 --no-eval \
    --batch-norm global --save "$name.safetensors" >"$name.log" 2>&1 || echo "failed" >>"$name.log"
}
export -f run
export partita folder device joined
list | xargs -n 4 -P "$jobs" bash -c 'run "$@"' run

python3 - "$folder" <<'END'
import array, collections, json, pathlib, struct, subprocess, sys

folder = pathlib.Path(sys.argv[1])
faults = 0

def weights(name):
    bytes_ = (folder / f"{name}.safetensors").read_bytes()
    size = struct.unpack("<Q", bytes_[:8])[0]
    found = {}
    for key, entry in json.loads(bytes_[8 : 8 + size]).items():
        if key == "__metadata__" or entry["dtype"] not in ("F64", "F32"):
            continue
        begin, end = entry["data_offsets"]
        found[key] = array.array({"F64": "d", "F32": "f"}[entry["dtype"]], bytes_[8 + size + begin : 8 + size + end])
    return found

def distance(one, other):
    assert one.keys() == other.keys() and one, "other tensors"
    def relative(key):
        most = max(map(abs, other[key])) or 1
        return max(abs(a - b) if a == a else float("inf") for a, b in zip(one[key], other[key], strict=True)) / most
    return max(map(relative, other))

def apart_on_cpu(model, dtype, mode, ranks):
    subprocess.run(["bash", "-c", 'run "$@"', "run", model, dtype, mode, ranks], check=True)
    return distance(weights(f"{model} {dtype} {mode} {ranks}"), weights(f"{model} {dtype} {mode} 1"))

rows = collections.defaultdict(dict)  # by model, type and mode: a text by ranks
for log in sorted(folder.glob("*.log")):
    model, dtype, mode, ranks = log.stem.split()
    if mode in ("cpu", "even"):
        continue
    limit = 1e-9 if dtype == "f64" else 1e-5
    try:
        own, reference = weights(log.stem), "even" if mode in ("whole", "joined") else "cpu"
        apart = distance(own, weights(f"{model} {dtype} {reference} 1"))
        text = f"{apart:.1e}"
        if not apart <= limit:
            on_cpu = apart_on_cpu(model, dtype, reference, ranks)
            faults += dtype == "f64" or on_cpu <= limit
            text += f" (beyond; {ranks} ranks of the CPU: {on_cpu:.1e})"
        threads = {"processes": "cut", "joined": "whole"}.get(mode)
        if threads and own != weights(f"{model} {dtype} {threads} {ranks}"):
            faults += 1
            text += " (other bits than threads)"
    except (OSError, AssertionError, struct.error) as error:
        faults += 1
        text = "none"
        print(f"{log.stem}: {error}; {log.read_text()[-600:]}", file=sys.stderr)
    rows[model, dtype, mode][int(ranks)] = text
for (model, dtype, mode), found in rows.items():
    print(f"{model.split(':')[0]:9} {dtype} {mode:9}", ", ".join(f"{ranks}: {found[ranks]}" for ranks in sorted(found)))
print(f"{faults} faults")
sys.exit(faults > 0)
END
