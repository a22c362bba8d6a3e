#!/usr/bin/env bash
# Jobs of `partita launch`: the numbers of threads, on one host and on two; ranks that are killed, frozen, cut off, that
# return early or run something else; signals to jobs that start; strangers. Times are bounds for a machine that is
# busy; tests/soak/faults.sh has those of an idle one.
set -uo pipefail
partita=$PWD/build/release/partita
folder=$(mktemp -d)
source tests/support/faults.sh
source tests/support/two_namespaces.sh
finish() {
  remove_namespaces
  rm -rf "$folder"
}
trap finish EXIT
export OMP_NUM_THREADS=1
fail() {
  echo "FAILED: $*"
  exit 1
}
endless="train mlp --batch 48 --epochs 100000 --threads 1 --per-print-times 100"

# The same bits as threads have, on one host.
"$partita" train mlp --ranks 3 --batch 48 --steps 20 --no-eval --save "$folder/threads.st" >/dev/null 2>&1 || fail "threads"
begin_job equal -n 3 -- train mlp --batch 48 --steps 20 --no-eval --save "$folder/launched.st"
end_job equal $job "$(now)" 0 "saved to" 60 || fail "a launch"
cmp "$folder/threads.st" "$folder/launched.st" || fail "weights of threads and of a launch differ"
"$partita" train mlp --ranks 3 --batch 48 --steps 20 --precision bf16 --reduce-dtype bf16 --no-eval --save "$folder/threads_bf16.st" \
  >/dev/null 2>&1 || fail "threads in 16 bits"
begin_job equal_bf16 -n 3 -- train mlp --batch 48 --steps 20 --precision bf16 --reduce-dtype bf16 --no-eval --save "$folder/launched.st"
end_job equal_bf16 $job "$(now)" 0 "saved to" 60 || fail "a launch in 16 bits"
cmp "$folder/threads_bf16.st" "$folder/launched.st" || fail "weights in 16 bits of threads and of a launch differ"

# data_of FILE: its weights, without the header, which names the configuration of rank 0
data_of() { tail -c +$((9 + $(od -An -t u8 -N 8 "$1"))) "$1"; }
# Ranks with different numbers of compute threads, as hosts with different slots have them: the same bits in f64. Where
# ranks compute the same products in f32 they are refused.
mine='threads=$1; [ "$PARTITA_RANK" = 1 ] && threads=$2; shift 2; exec "$@" --threads "$threads"'
for threads in "2 2" "2 1" "1 2"; do
  begin_job "threads_${threads/ /_}" -n 2 -- sh -c "$mine" sh $threads "$partita" train lenet --dtype f64 --batch 16 \
    --steps 4 --no-eval --log "$folder/threads_$threads.jsonl" --save "$folder/threads_$threads.st"
  end_job "$job_name" $job "$(now)" 0 "saved to" 60 || fail "ranks with $threads threads"
  cmp <(data_of "$folder/threads_2 2.st") <(data_of "$folder/threads_$threads.st") ||
    fail "weights with $threads threads differ"
  diff <(grep -o '"loss":[^,}]*' "$folder/threads_2 2.jsonl") <(grep -o '"loss":[^,}]*' "$folder/threads_$threads.jsonl") ||
    fail "losses with $threads threads differ"
done
[[ $(grep -c '"loss":' "$folder/threads_2 1.jsonl") -ge 4 ]] || fail "no losses: $(cat "$folder/threads_2 1.jsonl")"
begin_job threads_f32 -n 2 -- sh -c "$mine" sh 2 1 "$partita" train mlp --batch 16 --steps 2 --no-eval
end_job threads_f32 $job "$(now)" 0 "epoch time" 60 || fail "ranks with different threads in f32"
begin_job threads_none -n 2 -- sh -c "$mine" sh 2 1 "$partita" train mlp --batch 16 --steps 2 --no-eval --parallel none
end_job threads_none $job "$(now)" 78 "got ranks.threads=1 on rank 1, expected ranks.threads=2" 60 ||
  fail "products of several ranks with different threads"

# Kills, five jobs at a time: some while they start, some while they train.
kills() {
  local jobs=() times=() i
  for i in 0 1 2 3 4; do
    begin_job "kill_$1_$i" -n 3 --stall-timeout 5 -- $endless
    jobs+=("$job")
  done
  for i in 0 1 2 3 4; do
    [[ $i -eq 0 ]] || await_text "kill_$1_$i" 'epoch: ' || fail "no step of kill_$1_$i"
    times+=("$(now)")
    kill -9 "$(pid_of "kill_$1_$i" $(((i + $1) % 3)))"
    end_job "kill_$1_$i" "${jobs[i]}" "${times[i]}" 76 "rank $(((i + $1) % 3)) on .* was killed by signal 9" 8 || fail "kill $1 $i"
  done
}
for round in 0 1 2 3; do kills $round; done

# Signals before there are ranks, while these start, and shortly after.
/usr/bin/python3 tests/support/signals.py "$partita" 3 7 || fail "signals to a job that starts"

# Freezes, all at once. Each survivor names the rank, and what waited for it.
jobs=() times=()
for i in 0 1 2 3 4; do
  begin_job "freeze_$i" -n 3 --stall-timeout 1.5 -- $endless
  jobs+=("$job")
done
for i in 0 1 2 3 4; do
  [[ $i -eq 4 ]] || await_text "freeze_$i" 'epoch: ' || fail "no step of freeze_$i"
  times+=("$(now)")
  kill -STOP "$(pid_of "freeze_$i" $((i % 3)))"
done
for i in 0 1 2 3 4; do
  end_job "freeze_$i" "${jobs[i]}" "${times[i]}" 77 "rank $((i % 3)) on .* did not answer" 12 || fail "freeze $i"
  [[ $i -eq 4 ]] || grep -qE "\[(all_reduce|broadcast)\] .* of step [0-9]+: rank $((i % 3)) on" "$folder/freeze_$i"/rank_*/stderr ||
    fail "nobody says what waited for the frozen rank: $(cat "$folder/freeze_$i"/rank_*/stderr)"
done
grep -q '^behind: rank 1$' <<<"$("$partita" diagnose "$folder/freeze_1")" || fail "diagnose: $("$partita" diagnose "$folder/freeze_1")"

# An agent that is stopped is noticed, and so is a launcher, by its agents. Pauses that are shorter are none, and longer
# ones neither, of all processes at once. All at the same time.
agent_of() { pgrep -P "$(pgrep -P "$1")" -f launch-agent; }
jobs=() times=()
for name in agent launcher short whole; do
  stall=1.5
  [[ $name == short ]] && stall=30
  begin_job "stopped_$name" -n 2 --stall-timeout $stall -- $endless
  jobs+=("$job")
done
for name in agent launcher short whole; do await_text "stopped_$name" 'epoch: ' || fail "no step of stopped_$name"; done
# Nor is a launcher lost whose output nobody reads for a while.
mine='[ "$PARTITA_RANK" = 1 ] || head -c 3000000 /dev/zero | tr "\0" x'
{ "$partita" launch -n 2 --stall-timeout 1.5 -- sh -c "$mine" || echo "exit $?"; } | { sleep 7 && wc -c; } >"$folder/unread" &
unread=$!
agent=$(agent_of "${jobs[0]}") launcher=$(pgrep -P "${jobs[1]}")
short=("$(pgrep -P "${jobs[2]}")" "$(agent_of "${jobs[2]}")")
whole=("$(pgrep -P "${jobs[3]}")" "$(agent_of "${jobs[3]}")" "$(pid_of stopped_whole 0)" "$(pid_of stopped_whole 1)")
begin=$(now)
kill -STOP "$agent" "$launcher" "${short[@]}" "${whole[@]}"
end_job stopped_agent "${jobs[0]}" "$begin" 77 "localhost has been silent for .* no sign of life of its agent" 15 ||
  fail "a stopped agent"
for ((tick = 0; tick < 600; tick++)); do [[ -z $(leftovers stopped_launcher) ]] && break || sleep 0.02; done
[[ -z $(leftovers stopped_launcher) ]] || fail "ranks of a stopped launcher: $(leftovers stopped_launcher)"
kill -CONT "$launcher" "${short[@]}" "${whole[@]}"
end_job stopped_launcher "${jobs[1]}" "$begin" 76 "can no longer be reached" 25 || fail "a stopped launcher"
sleep 2
for i in 2 3; do kill -0 "${jobs[i]}" || fail "a pause ended a job: $(cat "$folder"/stopped_{short,whole}.out)"; done
kill -TERM "${short[0]}" "${whole[0]}"
wait $unread
[[ $(cat "$folder/unread") -eq 3000000 ]] || fail "output that nobody read for a while: $(cat "$folder/unread")"
end_job stopped_short "${jobs[2]}" "$begin" 143 "interrupted" 40 || fail "a pause of the launcher and its agent"
end_job stopped_whole "${jobs[3]}" "$begin" 143 "interrupted" 40 || fail "a pause of a whole job"

# A rank that returns early, one that runs another program, numbers that are not finite on all ranks and on one, one
# with too little memory.
mine='[ "$PARTITA_RANK" = 1 ] && exit 0; exec "$0" train mlp --steps 2 --no-eval'
begin_job early -n 2 --stall-timeout 1.5 -- sh -c "$mine" "$partita"
end_job early $job "$(now)" 77 "waiting for rank 1, got 1 of 2 ranks" 12 || fail "a rank that returns early"
mine='steps=4; [ "$PARTITA_RANK" = 1 ] && steps=2; exec "$0" train mlp --steps $steps --no-eval'
begin_job other -n 2 -- sh -c "$mine" "$partita"
end_job other $job "$(now)" 78 "got training.steps=2 on rank 1, expected training.steps=4 as on rank 0" 12 || fail "another program"
begin_job nan -n 2 -- train mlp --lr 1e30 --steps 5 --no-eval
end_job nan $job "$(now)" 79 "the loss is not finite" 12 || fail "numbers that are not finite"
/usr/bin/python3 - "$folder/rows.npz" <<'END' || fail "rows with a NaN"
import sys
import numpy as np
numbers = np.random.default_rng(1)
rows = numbers.random((64, 1, 28, 28), "f4")
rows[37, 0, 3, 3] = np.nan  # of the second rank
np.savez(sys.argv[1], x_train=rows, y_train=numbers.integers(0, 10, 64))
END
begin_job nan_of_one -n 2 -- train mlp:hidden=64 --data "npz:$folder/rows.npz" --batch 64 --steps 3 --no-eval
end_job nan_of_one $job "$(now)" 79 "got nan, expected a number: first made by matmul" 12 || fail "a NaN on one rank"
mine='[ "$PARTITA_RANK" = 1 ] && ulimit -v 300000; exec "$@"'
begin_job memory -n 2 -- sh -c "$mine" sh "$partita" train mlp:hidden=4096,layers=2 --batch 48 --steps 2 --no-eval
end_job memory $job "$(now)" 71 "rank 1: \[memory\]" 12 || fail "too little memory on one rank"

# A restart, also from a crash loop to its end.
begin_job restart -n 2 --max-restarts 2 -- train mlp --batch 48 --epochs 100000 --steps 400 --threads 1 --no-eval --per-print-times 20
await_text restart 'epoch: ' || fail "no step before a restart"
kill -9 "$(pid_of restart 1)"
end_job restart $job "$(now)" 0 "restart 1 of 2 on 2 ranks" 60 || fail "a restart"
# From its newest checkpoint, to the bits of a training that nobody killed.
saved="train mlp --batch 48 --steps 300 --schedule-steps 300 --threads 1 --no-eval --per-print-times 20"
"$partita" $saved --ranks 3 --save "$folder/unbroken.st" >/dev/null 2>&1 || fail "a training of threads"
begin_job again -n 3 --max-restarts 2 -- $saved --checkpoint "$folder/again_run" --checkpoint-every 20 --save "$folder/again.st"
for ((tick = 0; tick < 1500; tick++)); do [[ -e $folder/again_run/step_40 ]] && break || sleep 0.02; done
kill -9 "$(pid_of again 2)"
end_job again $job "$(now)" 0 "restart 1 of 2 on 3 ranks" 60 || fail "a restart from a checkpoint"
grep -q 'epoch: .* step: 20,' <(sed -n '/restart 1 of 2/,$p' "$folder/again.out") && fail "a restart that began anew"
cmp "$folder/unbroken.st" "$folder/again.st" || fail "weights of a training that was killed differ"
# From the one before, where somebody damages the newest.
export run=$folder/damaged_run
mine='[ -e "$run/damaged" ] && exec "$0" "$@" --steps 300
"$0" "$@" --steps 100 || exit 1
[ "$PARTITA_RANK" = 2 ] || exec sleep 20
for file in "$run"/step_100/*.safetensors; do printf x | dd of="$file" bs=1 seek=9000 conv=notrunc; break; done
touch "$run/damaged"
kill -9 $$'
begin_job damaged -n 3 --max-restarts 2 -- sh -c "$mine" "$partita" ${saved/--steps 300/} --save "$folder/damaged.st" \
  --checkpoint "$run" --checkpoint-every 20
end_job damaged $job "$(now)" 0 "restart 1 of 2 on 3 ranks" 60 || fail "a restart with a damaged checkpoint"
restarted=$(sed -n '/restart 1 of 2/,$p' "$folder/damaged.out")
[[ $restarted == *damaged* && $restarted == *"step: 100,"* && $restarted != *"step: 80,"* ]] || fail "not from step 80: $restarted"
cmp "$folder/unbroken.st" "$folder/damaged.st" || fail "weights after a damaged checkpoint differ"
begin_job loop -n 2 --max-restarts 9 -- sh -c 'kill -9 $$'
end_job loop $job "$(now)" 76 "a crash loop, got 3 attempts" 20 || fail "a crash loop"
begin_job fewer -n 3 --max-restarts 9 --min-ranks 2 -- sh -c '[ "$PARTITA_SIZE" = 3 ] && [ "$PARTITA_RANK" = 2 ] &&
  kill -9 $$; [ "$PARTITA_SIZE" = 3 ] && sleep 5; exec "$0" train mlp --batch 48 --steps 2 --no-eval' "$partita"
end_job fewer $job "$(now)" 0 "restart 2 of 9 on 2 ranks" 60 || fail "fewer ranks"

# Loops of scripts for rank tables of both forms, as published, with the name of the program changed.
mkdir "$folder/tables"
cat >"$folder/tables/rank_table.json" <<'TABLE'
{"board_id": "0x0000", "chip_info": "910", "deploy_mode": "lab", "group_count": "1", "group_list": [{"device_num": "2",
 "server_num": "1", "group_name": "", "instance_count": "2", "instance_list": [
  {"devices": [{"device_id": "0", "device_ip": "192.1.27.6"}], "rank_id": "0", "server_id": "10.155.111.140"},
  {"devices": [{"device_id": "1", "device_ip": "192.1.27.7"}], "rank_id": "1", "server_id": "10.155.111.140"}]}],
 "para_plane_nic_location": "device", "para_plane_nic_name": ["eth0", "eth1"], "para_plane_nic_num": "2", "status": "completed"}
TABLE
cat >"$folder/tables/rank_table_2pcs.json" <<'TABLE'
{"version": "1.0", "server_count": "1", "server_list": [{"server_id": "10.155.111.140", "device": [
  {"device_id": "0", "device_ip": "192.1.27.6", "rank_id": "0"}, {"device_id": "1", "device_ip": "192.2.27.6", "rank_id": "1"}],
  "host_nic_ip": "reserve"}], "status": "completed"}
TABLE
for form in "MINDSPORE_HCCL_CONFIG_PATH=./rank_table.json" "RANK_TABLE_FILE=\$(pwd)/rank_table_2pcs.json"; do
  (
    cd "$folder/tables" || exit 1
    export HOME=$folder PARTITA_PORT=$((20000 + $$ % 9000)) RANK_SIZE=2
    eval "export $form"
    for ((i = 0; i < RANK_SIZE; i++)); do
      rm -rf device$i
      mkdir device$i
      cd ./device$i || exit 1
      export RANK_ID=$i DEVICE_ID=$i
      timeout 60 "$partita" train mlp --steps 5 --no-eval >train.log$i 2>&1 &
      cd ../
    done
    wait
  )
  grep -q 'epoch time' "$folder/tables/device0/train.log0" && [[ ! -s $folder/tables/device1/train.log1 ]] ||
    fail "$form: $(cat "$folder"/tables/device*/train.log*)"
done
[[ $(stat -c %a "$folder/.config/partita/secret") == 600 ]] || fail "a secret that others may read"

# Strangers, while the ranks still find one another: the job ends as if they were not there, and nobody listens then.
begin_job strangers -n 3 -- sh -c '[ "$PARTITA_RANK" = 2 ] && sleep 2; exec "$0" train mlp --batch 48 --steps 20 --no-eval \
  --save "$1"' "$partita" "$folder/strangers.st"
/usr/bin/python3 tests/support/strangers.py "$folder/strangers" 300 1 >"$folder/seen" || fail "strangers: $(cat "$folder/seen")"
end_job strangers $job "$(now)" 0 "saved to" 60 || fail "a job among strangers"
grep -qE '^([0-9]+) connections, \1 without an answer' "$folder/seen" || fail "strangers: $(cat "$folder/seen")"
cmp "$folder/threads.st" "$folder/strangers.st" || fail "strangers changed the weights"

/usr/bin/python3 tests/support/flood.py "$partita" 3 4 || fail "starts among strangers that only connect"

# Two hosts: the same bits, and links that are cut, all at once.
two_namespaces
on_two=(--ssh "$folder/rsh" --hosts 10.77.0.1:2,10.77.0.2:2)
"$partita" train mlp --ranks 4 --batch 48 --steps 20 --no-eval --save "$folder/threads.st" >/dev/null 2>&1 || fail "threads"
begin_job hosts "${on_two[@]}" -- train mlp --batch 48 --steps 20 --no-eval --save "$folder/hosts.st"
end_job hosts $job "$(now)" 0 "saved to" 60 || fail "two hosts"
cmp "$folder/threads.st" "$folder/hosts.st" || fail "weights of threads and of two hosts differ"
# Hosts with different slots, of which each rank takes its share of the cores.
begin_job uneven --ssh "$folder/rsh" --hosts 10.77.0.1:2,10.77.0.2:1 -- train mlp --batch 48 --steps 20 --no-eval \
  --dtype f64 --save "$folder/uneven.st"
end_job uneven $job "$(now)" 0 "saved to" 60 || fail "hosts with different slots"
"$partita" train mlp --ranks 3 --dtype f64 --batch 48 --steps 20 --no-eval --save "$folder/three.st" >/dev/null 2>&1 ||
  fail "threads"
cmp <(data_of "$folder/three.st") <(data_of "$folder/uneven.st") || fail "weights of threads and of hosts with different slots differ"
# Hosts whose own names lead back to them, started by the launcher and by a script.
begin_job names --ssh "$folder/rsh" --hosts near-host:1,far-host:2 --stall-timeout 10 -- train mlp --batch 48 --steps 20 \
  --no-eval --dtype f64 --save "$folder/names.st"
end_job names $job "$(now)" 0 "saved to" 60 || fail "hosts whose names lead back to them"
cmp <(data_of "$folder/three.st") <(data_of "$folder/names.st") ||
  fail "weights of threads and of hosts with such names differ"
script='PARTITA_RANK=$0 PARTITA_LOCAL_RANK=$1 PARTITA_LOCAL_SIZE=$2 exec "$3" train mlp --batch 48 --steps 20 --no-eval'
(
  export PARTITA_SIZE=3 PARTITA_MASTER=near-host:29517 PARTITA_SECRET=0123456789abcdef PARTITA_START_TIMEOUT=10
  timeout 60 ip netns exec "$near" sh -c "$script" 0 0 2 "$partita" >"$folder/script_0" 2>&1 &
  timeout 60 ip netns exec "$near" sh -c "$script" 1 1 2 "$partita" >"$folder/script_1" 2>&1 &
  timeout 60 ip netns exec "$far" sh -c "$script" 2 0 1 "$partita" >"$folder/script_2" 2>&1 &
  wait
)
grep -q 'epoch time' "$folder/script_0" || fail "a script on hosts with such names: $(cat "$folder"/script_[012])"
ip -n "$near" link set "near-$$" down
begin_job alone --ssh "$folder/rsh" --hosts near-host:1,far-host:2 --stall-timeout 10 -- train mlp --steps 2 --no-eval
end_job alone $job "$(now)" 64 "no address of near-host for other hosts, got only loopback" 5 || fail "no address for others"
mend_link
begin_job far_kill "${on_two[@]}" --stall-timeout 5 -- $endless
await_text far_kill 'epoch: ' || fail "no step on two hosts"
kill -9 "$(pid_of far_kill 3)"
end_job far_kill $job "$(now)" 76 "rank 3 on 10.77.0.2 was killed by signal 9" 12 || fail "a kill on the other host"
# With --min-ranks the job goes on without a host whose link is cut, although its agent answers; also one that starts.
again=(--stall-timeout 1.5 --max-restarts 5 --min-ranks 2)
begin_job cut_min "${on_two[@]}" "${again[@]}" -- train mlp --batch 48 --steps 2000 --no-eval --per-print-times 20 \
  --checkpoint "$folder/cut_run" --checkpoint-every 100
cut_min=$job
await_text cut_min 'epoch: ' || fail "no step of cut_min"
begin=$(now)
ip -n "$far" link set "far-$$" down
begin_job cut_start "${on_two[@]}" "${again[@]}" -- train mlp --batch 48 --steps 2 --no-eval
end_job cut_min $cut_min "$begin" 0 "restart 1 of 5 on 2 ranks" 60 || fail "a cut link with --min-ranks"
end_job cut_start $job "$begin" 0 "restart 1 of 5 on 2 ranks" 60 || fail "a start with a cut link and --min-ranks"
ip -n "$far" link set "far-$$" up
jobs=() times=()
for i in 0 1 2 3 4; do
  begin_job "cut_$i" "${on_two[@]}" --stall-timeout 1.5 -- $endless
  jobs+=("$job")
done
for i in 0 1 2 3 4; do await_text "cut_$i" 'epoch: ' || fail "no step of cut_$i"; done
begin=$(now)
cut_link
for i in 0 1 2 3 4; do
  end_job "cut_$i" "${jobs[i]}" "$begin" 77 "rank [0-3] on .* has been silent for" 15 || fail "cut $i"
done
echo "jobs of partita launch: passed"
