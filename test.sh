#!/usr/bin/env bash
# Installs, builds and runs every test; ends with "N passed, N failed".
#   ./test.sh [--sanitizers]   also clang-tidy on what changed, the unit tests under the address and
#                              undefined behaviour sanitizers, ranks as threads under the thread sanitizer
set -uo pipefail
cd "$(dirname "$0")"
case "${1:-}" in
  "" | --sanitizers) ;;
  *)
    echo "usage: ./test.sh [--sanitizers]" >&2
    exit 64
    ;;
esac

kind=test
[[ ${1:-} == --sanitizers ]] && kind=all
tools/install.sh "$kind" || exit 1
cmake --preset release -DPARTITA_TESTS=ON -DPARTITA_BENCH=OFF >/dev/null || exit 1
cmake --build --preset release || exit 1

# Real data beside the checkout are used when they are there; generated ones otherwise.
[[ -d ../shared/data ]] && export PARTITA_DATA="$(cd ../shared/data && pwd)"

# A shell ignores interrupts for what runs in the background; tests send them.
usual_signals=(env --default-signal=INT,HUP)
passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# check NAME COMMAND...: one test that is a program
check() {
  local name=$1 begin=$SECONDS
  shift
  if "${usual_signals[@]}" "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "passed: $name, $((SECONDS - begin)) s"
  else
    failed=$((failed + 1))
    echo "FAILED: $name, $((SECONDS - begin)) s"
    tail -n 30 "$log"
  fi
}

# run_tests PROGRAM [FILTER]: all tests of a program, each counted, a part of them on each core; a part that dies, or that
# a sanitizer ends badly, counts as a failure
run_tests() {
  local program=$1 parts=$(($(nproc) < 4 ? $(nproc) : 4)) begin=$SECONDS all_good=0 all_bad=0 part good bad status
  local running=()
  for ((part = 0; part < parts; part++)); do
    OMP_NUM_THREADS=1 GTEST_TOTAL_SHARDS=$parts GTEST_SHARD_INDEX=$part "${usual_signals[@]}" "$program" --gtest_brief=1 \
      --gtest_filter="${2:-*}" --gtest_output="xml:$log.$part.xml" >"$log.$part" 2>&1 &
    running+=($!)
  done
  for ((part = 0; part < parts; part++)); do
    good=0 bad=0 status=0
    wait "${running[part]}" || status=$?
    [[ -s $log.$part.xml ]] && read -r good bad < <(/usr/bin/python3 tools/count_tests.py "$log.$part.xml")
    [[ $status -ne 0 && $bad -eq 0 ]] && bad=1
    [[ $bad -ne 0 ]] && tail -n 40 "$log.$part"
    all_good=$((all_good + good)) all_bad=$((all_bad + bad))
    rm -f "$log.$part" "$log.$part.xml"
  done
  passed=$((passed + all_good)) failed=$((failed + all_bad))
  echo "$program: $all_good passed, $all_bad failed, $((SECONDS - begin)) s"
}

check layers tools/check_layers.py
check sizes tools/check_size.py
for program in unit laws dist search golden errors commands; do run_tests "build/release/tests/${program}_tests"; done
# oneDNN chooses kernels and layouts by the processor. Where it has more than AVX2, also with what the least has.
if grep -q avx512 /proc/cpuinfo; then
  export DNNL_MAX_CPU_ISA=AVX2 ONEDNN_MAX_CPU_ISA=AVX2
  run_tests build/release/tests/unit_tests '-Calibrate.*'
  # Of the others those whose kernels the processor chooses: the reference kernels are the same everywhere.
  run_tests build/release/tests/dist_tests \
    'Promise.*:Allocations.*:LineOrder.*'
  unset DNNL_MAX_CPU_ISA ONEDNN_MAX_CPU_ISA
fi
for script in tests/scripts/*.sh; do check "$(basename "$script")" bash "$script"; done

if [[ ${1:-} == --sanitizers ]]; then
  check clang-tidy tools/tidy.sh
  export UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp"
  cmake --preset asan >/dev/null && cmake --build --preset asan --target unit_tests || exit 1
  # What trains, measures or prices for long, tests of the other kinds do under no sanitizer.
  run_tests build/asan/tests/unit_tests \
    '-Calibrate.*:Zoo/Recipes.*:*PlannedMemory*:Planner.FindsWhat*:SearchConfigurations.*:NamedCuts.Make*:Software.*:SimulateProgram.Without*:ChooseKernels.KernelsOf*:Orders.ManyStages*:ReshardStates.*:Staging.*'
  cmake --preset tsan >/dev/null && cmake --build --preset tsan --target thread_tests || exit 1
  # Small models only: this sanitizer makes everything ten times as slow.
  run_tests build/tsan/tests/thread_tests \
    '-*GoOnUnderAnyPlan/*:*Resnet*:*Lenet*:*Gpt*:*Llama*:*Moe*:MicroBatches.Are*:MicroBatches.Run*'
fi

echo "all of it: $SECONDS s"
echo "$passed passed, $failed failed"
[[ $failed -eq 0 && $passed -gt 0 ]]
