#!/usr/bin/env bash
# Ranks as processes: the same numbers as threads, and errors that end all ranks.
set -uo pipefail
source tests/support/launched.sh
partita=$PWD/build/release/partita
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source tests/support/containers.sh
export OMP_NUM_THREADS=1
fail() {
  echo "FAILED: $*"
  exit 1
}

# expect RC PART COMMAND...: the exit code, and a part of what the command prints
expect() {
  local code=$1 part=$2 got=0
  shift 2
  launched 120 "$folder/out" "$@" || got=$?
  [[ $got -eq $code || $launcher_hung -eq 1 ]] || fail "exit code $got, not $code, of: $* $(tail -n 5 "$folder/out")"
  grep -qF -- "$part" "$folder/out" || fail "no '$part' from: $* $(tail -n 5 "$folder/out")"
}

losses() { grep -o 'epoch: .*' "$1" | grep -v time; }

"$partita" train quickstart --ranks 8 >"$folder/threads" 2>/dev/null || fail "quickstart on threads"
expect 0 "epoch: 5 step: 4" mpirun -n 8 "$partita" train quickstart --dump "$folder/dump"
losses "$folder/out" >"$folder/processes"
[[ $(wc -l <"$folder/processes") -eq 20 ]] || fail "another number of lines than one rank prints"
diff <(losses "$folder/threads") "$folder/processes" >/dev/null || fail "processes and threads differ"
grep -q 'relu.*in_strategy: ((2, 4))' "$folder/dump/rank_7/partition.txt" || fail "no strategy in the dump"

expect 0 "epoch: 1 step: 1" mpirun -n 2 "$partita" train quickstart --parallel data --epochs 1 --console all \
  --log-dir "$folder/logs"
[[ $(grep -c 'epoch: 1 step: 1,' "$folder/out") -eq 2 ]] || fail "--console all is not heard from every rank"
grep -q 'epoch: 1 step: 4' "$folder/logs/rank_1.log" || fail "no log of rank 1"

"$partita" train mlp --ranks 3 --batch 48 --steps 20 --save "$folder/threads.st" >/dev/null 2>&1 || fail "mlp on threads"
expect 0 "test accuracy" mpirun -n 3 "$partita" train mlp --batch 48 --steps 20 --save "$folder/processes.st"
cmp "$folder/threads.st" "$folder/processes.st" || fail "weights of processes and threads differ"

# Pipelines give the same bits, on stages of equal size and others, and say what they do once.
for ranks in 2 3 4; do
  for model in mlp:hidden=16 gpt:layers=2,hidden=16,heads=2,seq=16,dropout=0.1; do
    for order in "1f1b --zero 1" "zero_bubble --zero 0 --ignore-index 3"; do
      job="$model --stages 2 --micro-batches 4 --batch 48 --steps 4 --parallel hybrid --order $order"
      "$partita" train $job --ranks "$ranks" --save "$folder/pipeline.st" >/dev/null 2>&1 || fail "on threads: $job"
      expect 0 "saved to" mpirun -n "$ranks" "$partita" train $job --save "$folder/pipelines.st"
      [[ $(grep -c 'saved to' "$folder/out") -eq 1 ]] || fail "more than one rank speaks: $job"
      cmp "$folder/pipeline.st" "$folder/pipelines.st" || fail "weights of processes and threads differ: $job"
    done
  done
done

# A saved plan gives the same bits, and is refused on other numbers of ranks.
gpt=gpt:layers=4,hidden=16,heads=2,seq=16
"$partita" plan $gpt --batch 24 --cluster cpu --fixed data=1,tensor=2,pipeline=2,micro_batch=6 --out "$folder/plan.txt" \
  >/dev/null || fail "a plan"
"$partita" train --plan "$folder/plan.txt" --steps 4 --no-eval --save "$folder/plan.st" >/dev/null 2>&1 ||
  fail "a plan on threads"
expect 0 "saved to" mpirun -n 4 "$partita" train --plan "$folder/plan.txt" --steps 4 --no-eval --save "$folder/plans.st"
cmp "$folder/plan.st" "$folder/plans.st" || fail "weights of a plan on processes and threads differ"
expect 64 "is for another number of ranks, got 3 started by" mpirun -n 3 "$partita" train --plan "$folder/plan.txt"
expect 0 "plan auto: " mpirun -n 2 "$partita" train $gpt --plan auto --batch 24 --steps 2 --no-eval

# Every rank that prints has the true result of an evaluation.
"$partita" eval mlp --load "$folder/threads.st" --ranks 4 2>/dev/null | grep '^test' >"$folder/result"
[[ $(wc -l <"$folder/result") -eq 2 ]] || fail "no result of eval on threads"
expect 0 "test accuracy" mpirun -n 4 "$partita" eval mlp --load "$folder/threads.st" --console all --log-dir "$folder/eval"
[[ $(grep -cxFf "$folder/result" "$folder/out") -eq 8 ]] || fail "ranks print other results: $(cat "$folder/out")"
for rank in 0 1 2 3; do
  diff "$folder/result" <(grep '^test' "$folder/eval/rank_$rank.log") || fail "another result in the log of rank $rank"
done
expect 0 "test accuracy" mpirun -n 3 "$partita" train mlp --batch 48 --steps 20 --console all
[[ $(grep '^test accuracy' "$folder/out" | sort -u | wc -l) -eq 1 ]] || fail "ranks print other accuracies after training"

# Evaluations during and after a training share its stages and its sharded states; the rows do not fill their batches.
# Checkpoints hold what all processes have.
staged="mlp:hidden=64 --batch 48 --epochs 1 --steps 20 --stages 2 --micro-batches 2 --zero 3 --zero-threshold 0 --eval-batch 333"
"$partita" train $staged --ranks 4 --validate --log "$folder/threads.jsonl" --checkpoint "$folder/threads.ckpt" \
  >"$folder/staged" 2>/dev/null || fail "stages on threads"
grep -q validation_loss "$folder/threads.jsonl" || fail "no validation: $(tail -n 1 "$folder/threads.jsonl")"
expect 0 "test accuracy" mpirun -n 4 "$partita" train $staged --validate --log "$folder/processes.jsonl" \
  --checkpoint "$folder/processes.ckpt"
validations() { grep -o '"validation[a-z_]*":[^,}]*' "$1"; }
diff <(validations "$folder/threads.jsonl") <(validations "$folder/processes.jsonl") || fail "validations differ"
diff <(grep "^test accuracy" "$folder/staged") <(grep '^test accuracy' "$folder/out") || fail "evaluations differ"
grep -qE '^all [0-9]+ tensors are equal' <<<"$("$partita" checkpoint diff "$folder/threads.ckpt" "$folder/processes.ckpt")" ||
  fail "checkpoints of processes and threads differ"
"$partita" eval mlp:hidden=64 --load "$folder/threads.ckpt" --eval-batch 333 2>/dev/null | grep '^test acc' >"$folder/one"
grep -qF "$(grep "^test accuracy" "$folder/staged")" "$folder/one" || fail "one rank finds another accuracy than four in stages"

# The program of the tests on ranks runs them as processes, too.
tests='Ranks.*:Promise.MlpInF64:Promise.LenetInF32:RandomPlans.Gpt:RandomPlans.ReshardsMoveBits'
tests+=':Modes.*:ContextParallel.Of*:TensorParallel.K*:Experts.*:StageGraphs.AreOneRankUnder*:Prologue.*'
tests+=':StageOrders.*:StageFailures.*:RandomPipelines.Mlp:RandomPipelines.Gpt'
python3 tools/stale_patterns.py build/release/tests/dist_tests "$tests" || fail "a pattern names no test"
timeout -k 5 400 mpirun -n 4 build/release/tests/dist_tests --gtest_brief=1 --gtest_filter="$tests" \
  >"$folder/out" 2>&1 || fail "dist_tests on processes: $(tail -n 20 "$folder/out")"
[[ $(grep -c PASSED "$folder/out") -eq 4 ]] || fail "not every rank passed: $(tail -n 20 "$folder/out")"

expect 78 "ranks were started differently, got training.seed=2 on rank 4, expected training.seed=1 as on rank 0" \
  mpirun -n 4 "$partita" train quickstart --seed 1 : -n 4 "$partita" train quickstart --seed 2
one="$partita train quickstart --parallel data"
expect 78 "got schedule.learning_rate=0.1 on rank 1, expected schedule.learning_rate=0.2 as on rank 0" mpirun -n 1 $one : -n 1 $one --lr 0.1
"$partita" train mlp --steps 2 --save "$folder/a.st" >/dev/null 2>&1
two="$partita train mlp --steps 2"
# Every part of the configuration, and what files hold whose names are the same.
expect 78 "got files.load=" mpirun -n 1 $two : -n 1 $two --load "$folder/a.st"
mkdir "$folder/other"
"$partita" train mlp --steps 3 --save "$folder/other/a.st" >/dev/null 2>&1
expect 78 "got weights=" mpirun -n 1 -wdir "$folder" $two --load a.st : -n 1 -wdir "$folder/other" $two --load a.st
expect 78 "got training.validate=true on rank 1" mpirun -n 1 $two : -n 1 $two --validate
annotated="$partita train mlp:layers=1,hidden=12 --batch 8 --steps 2 --parallel auto --shard net/fc1/matmul=((1,2),(1,2))->((1,1))"
expect 78 "got plan.no_pass=partial_sums" mpirun -n 1 $annotated : -n 1 $annotated --no-pass partial_sums
expect 78 "got plan.order=gpipe on rank 1, expected plan.order=1f1b as on rank 0" \
  mpirun -n 1 $two --stages 2 : -n 1 $two --stages 2 --order gpipe
expect 78 "got plan.parallel=hybrid" mpirun -n 1 $two : -n 1 $two --parallel hybrid
cp "$partita" "$folder/other/partita"
echo >>"$folder/other/partita"
expect 78 "got program file=" mpirun -n 1 $two : -n 1 "$folder/other/partita" train mlp --steps 2
# Ranks that part at the end of a job: nobody waits for who is done. Both folders hold the same training set.
mkdir "$folder/with" "$folder/without"
/usr/bin/python3 - "$folder" <<'PY'
import struct, sys
for place, kinds in (("with", ("train", "t10k")), ("without", ("train",))):
    for kind in kinds:
        path = f"{sys.argv[1]}/{place}/{kind}"
        open(path + "-images-idx3-ubyte", "wb").write(struct.pack(">4I", 0x803, 96, 28, 28) + bytes(i % 251 for i in range(96 * 784)))
        open(path + "-labels-idx1-ubyte", "wb").write(struct.pack(">2I", 0x801, 96) + bytes(i % 10 for i in range(96)))
PY
here="$partita train mlp --batch 32 --data mnist:."
expect 0 "test accuracy" mpirun -wdir "$folder/with" -n 2 $here
expect 78 "got test rows=0 on rank 1, expected test rows=96 as on rank 0" \
  mpirun -wdir "$folder/with" -n 1 $here : -wdir "$folder/without" -n 1 $here
expect 78 "got test rows=96 on rank 1, expected test rows=0 as on rank 0" \
  mpirun -wdir "$folder/without" -n 1 $here : -wdir "$folder/with" -n 1 $here
expect 64 "[launch] srun and MPI disagree, got rank 0 of 1 from MPI, expected 0 of 8" \
  env SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=8 "$partita" train quickstart
# More processes than one process may have threads.
expect 64 "[launch] srun and MPI disagree, got rank 0 of 1 from MPI, expected 0 of 300" \
  env SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=300 "$partita" train quickstart --parallel auto --batch 600
expect 64 "[--ranks] too many for one process, got 300, expected 1 to 256" "$partita" train quickstart --ranks 300
expect 64 "[--ranks] mpirun started another number of ranks, got 4, expected 2 or no --ranks" \
  mpirun -n 2 "$partita" train quickstart --ranks 4
expect 64 "the global batch does not divide" mpirun -n 3 "$partita" train quickstart --parallel data
# Where the launcher goes on without a process that was killed, each of the others ends and says which it was. The first
# that does so may have the launcher end the rest before these have written their exit codes.
# after_a_loss FLAGS: of a training with these flags.
after_a_loss() {
  rm -f "$folder"/pid_* "$folder"/code_*
  timeout -k 5 60 mpirun --enable-recovery -n 4 sh -c '"$1" train mlp --batch 64 --epochs 100000 --per-print-times 50 $2 &
  echo $! >"$0/pid_$OMPI_COMM_WORLD_RANK"; wait $!; echo $? >"$0/code_$OMPI_COMM_WORLD_RANK"' "$folder" "$partita" "$1" \
    >"$folder/out" 2>&1 &
  for _ in $(seq 300); do
    grep -q 'epoch: 1 step' "$folder/out" && break
    sleep 0.1
  done
  kill -9 "$(cat "$folder/pid_2")"
  wait $!
  ended=0
  for rank in 0 1 3; do
    [[ -s $folder/code_$rank ]] || continue
    [[ $(cat "$folder/code_$rank") -eq 76 ]] || fail "rank $rank did not end for the lost one: $(tail -n 5 "$folder/out")"
    ended=$((ended + 1))
  done
  [[ $ended -ge 1 ]] || fail "no rank ended for the lost one: $(tail -n 5 "$folder/out")"
  grep -q "a rank was lost.*: the process of rank 2 .*ended" "$folder/out" ||
    fail "nobody says which rank was lost: $(tail -n 5 "$folder/out")"
}
after_a_loss ''
after_a_loss '--stages 2 --micro-batches 4'
expect 79 "rank 0: [train] the loss is not finite" mpirun -n 2 "$partita" train mlp --lr 1e30
expect 79 " on stage " mpirun -n 2 "$partita" train mlp --lr 1e30 --stages 2 --micro-batches 4
# Too little memory for MPI is reported before MPI starts.
limited="ulimit -v \$0; exec $partita train mlp:hidden=16 --steps 2 --threads 1"
expect 71 "[memory] out of memory for MPI" mpirun -n 2 bash -c "$limited" 90000
expect 71 "[memory] out of memory for MPI" mpirun -n 2 bash -c "$limited" 250000
expect 0 "test accuracy" mpirun -n 2 bash -c "$limited" 600000
echo "ranks as processes: passed"
