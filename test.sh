#!/usr/bin/env bash
# Installs, builds and runs every test; ends with "N passed, N failed" and, where tests cannot run,
# ", N skipped".
#   ./test.sh [--sanitizers]   also clang-tidy on what changed, the unit tests under the address and
#                              undefined behaviour sanitizers, so readers of files and messages with random
#                              changes of right ones, ranks as threads under the thread sanitizer
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
cmake --preset release -DPARTITA_TESTS=ON -DPARTITA_BENCH=OFF -DPARTITA_PYTHON=ON >/dev/null || exit 1
cmake --build --preset release || exit 1
echo "built: $SECONDS s"

# Real data beside the checkout are used when they are there; generated ones otherwise.
[[ -d ../shared/data ]] && export PARTITA_DATA="$(cd ../shared/data && pwd)"

source tools/test_pool.sh

check layers tools/check_layers.py
check headers tools/count_headers.py
check op_names tools/check_op_names.py
check calls tools/check_calls.py
check definitions tools/check_definitions.py
check sizes tools/check_size.py
check prose tools/check_prose.py
building=
if [[ ${1:-} == --sanitizers ]]; then
  # Many tests wait more than they compute: the other builds take what they leave.
  (
    cmake --preset asan && nice cmake --build --preset asan --target unit_tests fuzz_readers &&
      cmake --preset tsan && nice cmake --build --preset tsan --target thread_tests && touch "$results/built"
  ) >"$results/build" 2>&1 &
  building=$!
  check clang-tidy tools/tidy.sh
fi
run_tests 6 build/release/tests/dist_tests
for script in check examples; do check "python/$script.sh" bash "tests/python/$script.sh"; done
if [[ -d ../shared/tutorials ]]; then check python/tutorials.sh bash tests/python/tutorials.sh; fi
for program in search laws unit errors commands golden; do run_tests 2 "build/release/tests/${program}_tests"; done
# Programs of users set locales, under which readers and printers stay the same; also one whose decimal point has two
# bytes. Without localedef only streams have another locale.
locales=(de_DE ps_AF)
command -v localedef >/dev/null || locales=(c++)
for locale in "${locales[@]}"; do
  PARTITA_TEST_LOCALE=$locale run_tests 1 build/release/tests/unit_tests \
    'Calibrate.*:Cluster*:Presets.*:Plan*:Price*:Job*:Callbacks.*:EarlyStopping.*:Resume.*:Manifest.*:CheckpointManifest.*:WeightsTest.*:JsonTexts.*:ParseGraph.*:ScheduleText.*:SequenceText.*:Page.*:Recorder.*:Configuration.*:Findings.*:MachineFacts.*:CompiledPrograms.*:Strategy.*:RankTable.*:Orders.*:Npy.*'
done
for script in tests/scripts/*.sh; do check "$(basename "$script")" bash "$script"; done
# oneDNN chooses kernels and layouts by the processor. Where it has more than AVX2, also with what the least has.
if grep -q avx512 /proc/cpuinfo; then
  export DNNL_MAX_CPU_ISA=AVX2 ONEDNN_MAX_CPU_ISA=AVX2
  # Those whose kernels the processor chooses: the reference kernels are the same everywhere.
  run_tests 1 build/release/tests/unit_tests \
    'OneDnn*:Formats*:*Kernel*:*Catalog*:Model*:Schedule*:DataPosition*:Zoo*:Rank*:Evaluation*:Stepper*:Recompute*'
  run_tests 2 build/release/tests/dist_tests 'Promise.*:Allocations.*:LineOrder.*'
  unset DNNL_MAX_CPU_ISA ONEDNN_MAX_CPU_ISA
fi

if [[ -n $building ]]; then
  # The last of the tests above run on beside the rest of the build and the first tests of the sanitizers.
  wait "$building" 2>/dev/null  # its status is lost if a later process got the same number
  [[ -e $results/built ]] || { tail -n 40 "$results/build"; exit 1; }
  echo "built for the sanitizers: $SECONDS s"
  export UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp"
  # What trains, measures or prices for long, tests of the other kinds do under no sanitizer; the texts of plans are
  # changed below.
  slow='Calibrate.*:Zoo/Recipes.*:*PlannedMemory*:SearchConfigurations.*:NamedCuts.Make*:Software.*:ReshardStates.*'
  slow+=':NetworkPlanner.*:SimulateProgram.Without*:SimulateStep.Grows*'
  slow+=':IdleRanks.*:ObeyedOptions.Force*'
  slow+=':NetworkCosts.MixedRecomputation*:CostProblem.Wide*:ChooseKernels.KernelsOf*:Orders.ManyStages*:Staging.*'
  slow+=':RankTable.ManyServers*:PlanFile.MutationsAre*:Planner.SaysWhatWouldFit:NetworkPlanner.FindsWhatFits*'
  slow+=':PlainGraph.PlansCommunicate*'
  run_tests 4 build/asan/tests/unit_tests "-$slow"
  # Small models only: this sanitizer makes everything ten times as slow. Nor what one thread does.
  run_tests 4 build/tsan/tests/thread_tests \
    '-*GoOnUnderAnyPlan/*:*Resnet*:*Lenet*:*Gpt*:*Llama*:*Moe*:MicroBatches.Are*:MicroBatches.Run*:*OfFastKernels*:StageText.*:Modes.*'
  # Files that users exchange and messages that strangers can send, 20 s each; less on a slow machine, so that all of it
  # ends in 25 minutes. tests/soak/fuzz.sh is for all readers, and longer.
  readers=(manifest safetensors_header name_table config_json hugging_face ckpt strategy_file rank_table hostfile hello frames mnist cifar10 npy image csv documents tokens tokenizer graph plan schedule strategy)
  each=$((((1500 - SECONDS) * $(nproc) - 60) / ${#readers[@]}))
  [[ $each -le 20 ]] || each=20
  [[ $each -ge 5 ]] || each=5
  # Other questions than the tests ask: the longest first, so that no core waits for it at the end.
  check "claims of the planner" tests/soak/planner.sh 10000 20 10000 60
  echo "random changes: $each s for each of ${#readers[@]} readers"
  for reader in "${readers[@]}"; do PARTITA_FUZZ_SEED=1 check "fuzz $reader" tests/fuzz/run.sh "$each" "$reader"; done
fi
finish_tests

echo "all of it: $SECONDS s"
if [[ $skipped -eq 0 ]]; then
  echo "$passed passed, $failed failed"
else
  echo "$passed passed, $failed failed, $skipped skipped"
fi
[[ $failed -eq 0 && $passed -gt 0 ]]
