#!/usr/bin/env bash
# Finds the flags of a plugin's compiler that decide numbers: runs laws of special numbers with each flag that is a bool
# on and off, in programs as trainings have them, and prints those under which a law fails. Each of these must be one
# that number_flags() sets (runtime/device/xla/plugin_search.h), or have the other value by default.
#   PARTITA_PJRT_PLUGIN=$(tools/xla/get_plugin.sh) tests/soak/number_flags.sh [PATTERN]
# PATTERN: a regular expression of names, by default of those that say how a CPU computes. About 20 s for each value.
set -uo pipefail
cd "$(dirname "$0")/../.."
pattern=${1:-'^xla_(cpu_(enable|fast|strict|use|disable)_.*|allow_excess_precision|enable_fast_math)$'}
plugin=${PARTITA_PJRT_PLUGIN:?a plugin, as of tools/xla/get_plugin.sh}
laws=build/release/tests/laws_tests
ops='reduce argmax max_pool softmax maximum relu sigmoid silu gelu exp log pow div mul tanh erf cast round matmul
  layer_norm cross_entropy adam'
filter=
for op in $ops; do filter+="Ops/SpecialNumbers.PassAlikeThroughPlugins/$op:"; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# laws FLAGS: runs the laws; 0 if they hold
laws() {
  XLA_FLAGS=$1 OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=3 timeout 600 "$laws" --gtest_brief=1 --gtest_filter="$filter" \
    >"$work/out" 2>&1
}

laws --xla_backend_optimization_level=3 || { tail -n 20 "$work/out"; echo "the laws do not hold without flags" >&2; exit 1; }
names=$(strings -n 6 "$plugin" | grep -E "$pattern" | grep -xE '[a-z0-9_]+' | sort -u)
count=0 decide=0
for name in $names; do
  for value in true false; do
    laws "--$name=$value"
    status=$?
    # XLA ends the process for a flag that it does not know, or that is no bool.
    if grep -qE 'Unknown flag|Failed to parse|no such option|Couldn.t interpret' "$work/out"; then continue 2; fi
    count=$((count + 1))
    [[ $status -eq 0 ]] && continue
    decide=$((decide + 1))
    echo "$name=$value: $(grep -c '^Failed' "$work/out") laws fail, the first: $(grep -A1 -m1 '^Failed' "$work/out" | tail -n 1 | cut -c 1-150)"
  done
done
echo "$count values of flags tried, $decide under which a law fails"
