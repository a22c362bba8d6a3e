#!/usr/bin/env bash
# Gives every reader random changes of right inputs under the address and undefined behaviour sanitizers, one reader on
# each core at a time. No crash, no hang, no allocation above 64 MiB; what is accepted is consistent (fuzz/targets).
#   tests/fuzz/run.sh [SECONDS OF EACH=20] [TARGET...]
# An input with which something is wrong stays in build/findings, with what was said of it. PARTITA_FUZZ_SEED=N gives
# the inputs of the run that printed this number, as far as it comes in the time.
set -uo pipefail
cd "$(dirname "$0")/../.."
readers=$PWD/build/asan/tests/fuzz_readers
findings=$PWD/build/findings
seed=${PARTITA_FUZZ_SEED:-$RANDOM}
seconds=${1:-20}
shift || true
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || mapfile -t targets < <("$readers" --list)
[[ ${#targets[@]} -gt 0 ]] || exit 1
mkdir -p "$findings"
cd "$findings" || exit 1
# one TARGET: its log stays when something is wrong
one() {
  rm -f "finding_$1"
  "$readers" "$1" "$seconds" "$seed" >"$1.log" 2>&1 || return
  cat "$1.log"
  rm -f "$1.log"
}
export -f one
export readers seconds seed
echo "${#targets[@]} readers, $seconds s each, seed $seed"
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I {} bash -c 'one "$1"' one {} && exit 0
for target in "${targets[@]}"; do
  [[ -e $target.log ]] || continue
  echo "FINDING in $target, seed $seed: fuzz_readers $target --input $findings/finding_$target"
  grep -E '^FINDING|^\[|ERROR|runtime error|^ +#[0-9]+ .* (src|tests)/' "$target.log" | head -n 12
done
exit 1
