#!/usr/bin/env bash
# Faults of ranks and links, a row for each: what was broken, how the job ended, after how many seconds, and whether that
# is what was expected. tests/soak/faults.sh [REPEATS [STRANGERS]], default 10 and 10000; as root for the rows of links.
set -uo pipefail
cd "$(dirname "$0")/../.."
partita=$PWD/build/release/partita
folder=$(mktemp -d)
source tests/support/faults.sh
source tests/support/two_namespaces.sh
source tests/support/containers.sh
trap 'remove_namespaces; rm -rf "$folder"' EXIT
export OMP_NUM_THREADS=1
repeats=${1:-10} strangers=${2:-10000}
endless="train mlp --batch 48 --epochs 100000 --threads 1 --per-print-times 20"
rows=0 bad=0
row() {
  rows=$((rows + 1))
  end_job "$@" || bad=$((bad + 1))
}
between() { awk -v least="$1" -v most="$2" -v seed="$RANDOM" 'BEGIN { srand(seed); printf "%.2f", least + rand() * (most - least) }'; }

echo "fault                              code     expected                                       time  seen"
# R1, R2: a rank is killed, or frozen, at any moment of its start and its training.
for ((i = 0; i < repeats; i++)); do
  for rank in 0 5; do
    begin_job "R1_kill_rank${rank}_$i" -n 8 --stall-timeout 5 -- $endless
    sleep "$(between 0.05 1.5)"
    begin=$(now)
    kill -9 "$(pid_of "$job_name" $rank)"
    row "$job_name" $job "$begin" 76 "rank $rank on .* was killed by signal 9" 2
    begin_job "R2_stop_rank${rank}_$i" -n 8 --stall-timeout 3 -- $endless
    sleep "$(between 0.05 1.5)"
    begin=$(now)
    kill -STOP "$(pid_of "$job_name" $rank)"
    row "$job_name" $job "$begin" 77 "rank $rank on .* did not answer|waiting for rank $rank|rank $rank .*(does not answer|silent)" 8
  done
done
# R3: somebody interrupts the launcher; R4: it is killed, and nothing stays.
begin_job R3_interrupt -n 4 -- $endless
await_text R3_interrupt 'epoch: '
begin=$(now)
kill -INT "$(pgrep -P $job)"
row R3_interrupt $job "$begin" 130 "interrupted" 5
for ((i = 0; i < 3; i++)); do
  begin_job "R4_kill_launcher_$i" -n 4 -- $endless
  sleep "$(between 0.1 1.0)"
  launcher=$(pgrep -P $job)
  kill -9 "$launcher"
  wait $job
  sleep 1
  left=$(leftovers "R4_kill_launcher_$i")
  rows=$((rows + 1))
  printf '%-34s %s\n' "R4_kill_launcher_$i" "${left:-ok, nothing is left after 1 s}"
  [[ -z $left ]] || bad=$((bad + 1))
done
# R21: pauses of half the stall timeout end nothing: of the launcher and its agent, and of the whole job.
for what in launcher whole; do
  begin_job "R21_pause_$what" -n 4 -- $endless
  await_text "$job_name" 'epoch: '
  launcher=$(pgrep -P $job)
  paused=("$launcher" "$(pgrep -P "$launcher" -f launch-agent)")
  [[ $what == launcher ]] || for rank in 0 1 2 3; do paused+=("$(pid_of "$job_name" $rank)"); done
  kill -STOP "${paused[@]}"
  sleep 15
  kill -CONT "${paused[@]}"
  sleep 2
  begin=$(now)
  kill -TERM "$launcher"
  row "$job_name" $job "$begin" 143 "interrupted" 5
done
# R12: one rank is about to do something else.
for what in '--seed 2' '--lr 0.5' '--batch 96' '--steps 5' '--optimizer sgd' '--zero 1' '--parallel hybrid' '--uneven error' '--loss dense'; do
  mine='[ "$PARTITA_RANK" = 1 ] && set -- "$@" '"$what"'; exec "$@"'
  begin_job "R12_$(tr -dc 'a-z0-9' <<<"$what")" -n 4 -- sh -c "$mine" sh "$partita" train mlp --no-eval
  row "$job_name" $job "$(now)" 78 "on rank 1" 4
done
# R14: numbers that are not finite; R18: too little memory on one rank.
begin_job R14_nan -n 4 -- train mlp --lr 1e30 --no-eval
row R14_nan $job "$(now)" 79 "the loss is not finite" 4
begin_job R18_memory -n 4 -- sh -c '[ "$PARTITA_RANK" = 2 ] && ulimit -v 700000; exec "$@"' sh "$partita" train mlp:hidden=8192 --batch 48
row R18_memory $job "$(now)" 71 "rank 2 on" 8
# R19: a rank that is late, one that is missing, one of another job, a port that is taken, jobs side by side.
begin_job R19_late -n 4 -- sh -c '[ "$PARTITA_RANK" = 2 ] && sleep 5; exec "$@"' sh "$partita" train mlp --batch 48 --steps 5 --no-eval
row R19_late $job "$(now)" 0 "epoch" 15
begin_job R19_missing -n 4 --stall-timeout 2 -- sh -c '[ "$PARTITA_RANK" = 2 ] && exit 0; exec "$@"' sh "$partita" train mlp
row R19_missing $job "$(now)" 77 "waiting for rank 2, got 3 of 4 ranks" 5
begin_job R19_secret -n 4 --stall-timeout 3 -- sh -c '[ "$PARTITA_RANK" = 2 ] && PARTITA_SECRET=another-secret-here; exec "$@"' sh "$partita" train mlp
row R19_secret $job "$(now)" 78 "got another secret or run" 6
begin_job R19_size -n 4 --stall-timeout 3 -- sh -c '[ "$PARTITA_RANK" = 2 ] && PARTITA_SIZE=5; exec "$@"' sh "$partita" train mlp --batch 60
row R19_size $job "$(now)" 78 "another number of ranks, got 5" 6
jobs=()
for ((i = 0; i < 8; i++)); do
  begin_job "R19_beside_$i" -n 3 -- train mlp --batch 48 --steps 20 --no-eval
  jobs+=("$job")
done
for ((i = 0; i < 8; i++)); do row "R19_beside_$i" "${jobs[i]}" "$(now)" 0 "epoch" 30; done
# R21: nothing is wrong: the processors are busy, and a rank is stopped for a second now and then.
for _ in 1 2; do timeout 60 sh -c 'while :; do :; done' & done
begin_job R21_false_alarms -n 4 --stall-timeout 3 -- train mlp --batch 48 --epochs 100000 --steps 2000 --threads 1 --no-eval
for ((i = 0; i < 8; i++)); do
  sleep 2
  victim=$(pid_of R21_false_alarms $((i % 4)))
  kill -STOP "$victim" && sleep 1
  kill -CONT "$victim"
done 2>/dev/null
row R21_false_alarms $job "$(now)" 0 "epoch" 80
# Strangers, while the ranks wait for one another.
"$partita" train mlp --ranks 3 --batch 48 --steps 20 --no-eval --save "$folder/threads.st" >/dev/null 2>&1
job_limit=400 begin_job strangers -n 3 --stall-timeout 300 -- sh -c '[ "$PARTITA_RANK" = 2 ] && while [ ! -e "$2" ]; do sleep 0.1; done
  exec "$0" train mlp --batch 48 --steps 20 --no-eval --save "$1"' "$partita" "$folder/strangers.st" "$folder/attacked"
/usr/bin/python3 tests/support/strangers.py "$folder/strangers" "$strangers" 1 | tee "$folder/seen"
touch "$folder/attacked"
row strangers $job "$(now)" 0 "saved to" 20
grep -qE '^([0-9]+) connections, \1 without an answer' "$folder/seen" && cmp "$folder/threads.st" "$folder/strangers.st" || bad=$((bad + 1))

# R1 under MPI: every rank says which one it misses.
for ((i = 0; i < 3; i++)); do
  rm -f "$folder"/pid_* "$folder"/code_*
  timeout -k 5 30 mpirun --enable-recovery -n 4 sh -c '"$1" train mlp --batch 64 --epochs 100000 --threads 1 --per-print-times 20 &
    echo $! >"$0/pid_$OMPI_COMM_WORLD_RANK"; wait $!; echo $? >"$0/code_$OMPI_COMM_WORLD_RANK"' "$folder" "$partita" >"$folder/mpi.out" 2>&1 &
  job=$!
  await_text mpi 'epoch: 1 step'
  if [[ ! -s $folder/pid_$i && ${starts:-0} -lt 3 ]]; then  # mpirun has started no process
    starts=$((${starts:-0} + 1))
    echo "R1_mpirun_$i: nothing was started within 30 s, again"
    wait $job
    i=$((i - 1))
    continue
  fi
  begin=$(now)
  kill -9 "$(cat "$folder/pid_$i")"
  wait $job
  named=$(grep -c "a rank was lost.*: the process of rank $i .*ended" "$folder/mpi.out")
  rows=$((rows + 1))
  printf '%-34s %s ranks name rank %s, codes %s, %s s\n' "R1_mpirun_$i" "$named" $i "$(cat "$folder"/code_* | tr '\n' ' ')" "$(seconds_since "$begin")"
  [[ $named -eq 3 ]] || bad=$((bad + 1))
done

# R15: the link between two hosts.
two_namespaces
on_two=(--ssh "$folder/rsh" --hosts 10.77.0.1:2,10.77.0.2:2)
shape() { ip netns exec "$near" tc qdisc replace dev "near-$$" root "$@" 2>/dev/null; }
heal() { ip netns exec "$near" tc qdisc del dev "near-$$" root 2>/dev/null; }
"$partita" train mlp --ranks 4 --batch 48 --steps 20 --no-eval --save "$folder/threads.st" >/dev/null 2>&1
for how in "netem loss 20%" "netem delay 200ms" "netem duplicate 20% reorder 20% delay 5ms" "tbf rate 20mbit burst 64kb latency 100ms"; do
  name=R15_$(tr -dc 'a-z0-9' <<<"$how")
  if ! shape $how; then
    echo "$name: skipped, the kernel has no such queue"
    continue
  fi
  begin_job "$name" "${on_two[@]}" --stall-timeout 10 -- train mlp --batch 48 --steps 20 --no-eval --save "$folder/hosts.st"
  row "$name" $job "$(now)" 0 "saved to" 80
  cmp "$folder/threads.st" "$folder/hosts.st" || bad=$((bad + 1))
  heal
done
for ((i = 0; i < repeats; i++)); do
  begin_job "R15_cut_$i" "${on_two[@]}" --stall-timeout 3 -- $endless
  sleep "$(between 0.2 2)"
  begin=$(now)
  cut_link
  row "R15_cut_$i" $job "$begin" 77 "rank [0-3] on .* (has been silent|did not answer)|\[rendezvous\]" 12
  mend_link
  begin_job "R1_far_kill_$i" "${on_two[@]}" --stall-timeout 5 -- $endless
  await_text "R1_far_kill_$i" 'epoch: '
  begin=$(now)
  kill -9 "$(pid_of "R1_far_kill_$i" 3)"
  row "R1_far_kill_$i" $job "$begin" 76 "rank 3 on 10.77.0.2 was killed" 3
done
if shape netem loss 100%; then
  heal
  begin_job R15_one_direction "${on_two[@]}" --stall-timeout 3 -- $endless
  await_text R15_one_direction 'epoch: '
  begin=$(now)
  shape netem loss 100%
  row R15_one_direction $job "$begin" 77 "has been silent|did not answer" 12
  heal
fi
echo "$rows rows, $bad not as expected"
[[ $bad -eq 0 ]]
