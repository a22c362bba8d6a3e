#!/usr/bin/env bash
# The examples run, and their losses fall.
set -uo pipefail
source tests/support/containers.sh
export OMP_NUM_THREADS=1
folder=build/release/examples
falls() {
  awk -F'loss is ' '/loss is/ { if (first == "") first = $2; last = $2 } END { exit !(last + 0 < 0.95 * first) }'
}
"$folder/example_quickstart" | falls || exit 1
"$folder/example_layerwise" | falls || exit 1
"$folder/example_plan_and_train" | falls || exit 1
"$folder/example_megatron_gpt" | tail -n 1 || exit 1
losses=$("$folder/example_pipeline" | grep "loss is") || exit 1
falls <<<"$losses" || exit 1
if command -v mpirun >/dev/null; then  # processes print the same losses, and once
  [[ $(mpirun -n 8 "$folder/example_pipeline" | grep "loss is") == "$losses" ]] || exit 1
fi
"$folder/example_llama_3d" | tail -n 1 || exit 1
part=$(build/release/partita partition quickstart --ranks 8 --rank 5) || exit 1
[[ $part == *'ranks (4, 5, 6, 7)'* ]] || exit 1
build/release/partita graph examples/softmax_regression.txt --run >/dev/null || exit 1
echo "examples: passed"
