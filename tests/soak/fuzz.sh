#!/usr/bin/env bash
# Run by hand: the readers of tests/fuzz/targets by libFuzzer, which is led by what inputs reach, under the address and
# undefined behaviour sanitizers. Needs clang 16 with its runtime (clang-16 libclang-rt-16-dev libomp-16-dev). No crash, no
# input that takes a second, no allocation above 64 MiB. Inputs that reach something new are kept in build/corpus.
#   tests/soak/fuzz.sh [SECONDS OF EACH=600] [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-600}
shift || true
targets=("$@")
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target fuzz_readers
readers=$PWD/build/fuzz/tests/fuzz_readers
corpus=$PWD/build/corpus
findings=$PWD/build/findings
[[ ${#targets[@]} -gt 0 ]] || mapfile -t targets < <(PARTITA_FUZZ_TARGET=--list "$readers")
[[ ${#targets[@]} -gt 0 ]] || exit 1
mkdir -p "$findings"
# one TARGET
one() {
  mkdir -p "$corpus/$1"
  export PARTITA_FUZZ_TARGET=$1
  PARTITA_FUZZ_SEEDS=$corpus/$1 "$readers"
  if "$readers" -max_total_time="$seconds" -timeout="${PARTITA_FUZZ_TIMEOUT:-1}" -malloc_limit_mb=64 -rss_limit_mb=2048 \
    -detect_leaks=1 -print_final_stats=1 -dict="$corpus/$1.words" -artifact_prefix="$findings/$1-" "$corpus/$1" \
    >"$findings/$1.log" 2>&1; then
    echo "$1: $(grep -oE 'cov: [0-9]+ ft: [0-9]+' "$findings/$1.log" | tail -n 1)," \
      "$(grep -oE 'number_of_executed_units: *[0-9]+' "$findings/$1.log" | tr -s ' '), no finding"
  else
    echo "FINDING in $1: $findings/$1.log"
    return 1
  fi
}
export -f one
export readers corpus findings seconds
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I {} bash -c 'one "$1"' one {}
