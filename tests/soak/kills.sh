#!/usr/bin/env bash
# Run by hand: a training that is saved after every step is killed at random moments, from its start to its end: as a
# process whose ranks are threads, or one of its ranks or their launcher. There is always a whole checkpoint, of the last
# step that was reported saved or a later one, and the training that goes on ends with the same bits. What is killed goes
# on, and is killed again, until it comes to its end; beside that a copy of each goes on to the end at once.
#   tests/soak/kills.sh [KILLS=200] [threads|mpirun|launch]
set -uo pipefail
cd "$(dirname "$0")/../.."
source tests/support/containers.sh
kills=${1:-200} how=${2:-threads}
partita=$PWD/build/release/partita
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMP_NUM_THREADS=1
steps=40
job="train mlp:hidden=96 --batch 16 --threads 1 --no-eval --quiet --zero 1 --zero-threshold 0 --steps $steps --checkpoint-every 1 --keep 2"
case $how in
  threads) launch=() ranks="--ranks 2" ;;
  mpirun) launch=(mpirun -n 2 --oversubscribe) ranks="" ;;
  launch) launch=("$partita" launch -n 2 --log-dir "$folder/logs" --) ranks="" ;;
  *) echo "usage: $0 [KILLS] [threads|mpirun|launch]" >&2; exit 64 ;;
esac
command=("${launch[@]}" "$partita")
[[ $how == launch ]] && command=("${launch[@]}")

now() { date +%s%N; }
newest() { find "$1" -maxdepth 1 -name 'step_*' 2>/dev/null | sed 's/.*step_//' | sort -n | tail -1; }
ranks_of_job() { pgrep -f "^$partita train .*$folder/run( |$)"; }
equals_whole() { "$partita" checkpoint diff "$1" "$folder/whole" 2>&1 | grep -qE '^all [0-9]+ tensors are equal'; }

begin=$(now)
"${command[@]}" $job $ranks --checkpoint "$folder/whole" >/dev/null 2>&1 || { echo "the training fails"; exit 1; }
took=$(( ($(now) - begin) / 1000000 )) # milliseconds
killed=0 launchers=0 stuck=0 starting=0 improper=0 ends=0 bad=0 equal=0

# The launcher, or one of the ranks; a job that a launcher does not end within 3 s is killed as a whole.
kill_something() {
  local ranks_now victim
  if [[ $how == threads ]]; then
    kill -9 "$1" 2>/dev/null
    return
  fi
  mapfile -t ranks_now < <(ranks_of_job)
  if ((${#ranks_now[@]} == 0 || RANDOM % 4 == 0)); then
    victim=$1
    of_launcher=1
  else
    victim=${ranks_now[RANDOM % ${#ranks_now[@]}]}
  fi
  kill -9 "$victim" 2>/dev/null
  for ((i = 0; i < 150; i++)); do
    kill -0 "$1" 2>/dev/null || [[ -n $(ranks_of_job) ]] || return
    sleep 0.02
  done
  stuck=$((stuck + 1))
  mapfile -t ranks_now < <(ranks_of_job)
  kill -9 "$1" "${ranks_now[@]}" 2>/dev/null
}

while ((killed < kills)); do
  "${command[@]}" $job $ranks --checkpoint "$folder/run" --resume latest >/dev/null 2>&1 &
  process=$!
  wait_ms=$(( (RANDOM * 32768 + RANDOM) % took ))
  sleep "$((wait_ms / 1000)).$(printf '%03d' $((wait_ms % 1000)))"
  before=$(newest "$folder/run") of_launcher=0
  kill_something "$process"
  wait "$process" 2>/dev/null
  status=$?
  while [[ -n $(ranks_of_job) ]]; do sleep 0.01; done
  after=$(newest "$folder/run")
  if [[ -n $before ]] && { [[ -z $after ]] || ((after < before)); }; then
    bad=$((bad + 1)); echo "step $before was saved, and is lost: ${after:-none}"
  fi
  if [[ -n $after ]] && ! "$partita" checkpoint verify "$folder/run" >"$folder/verify" 2>&1; then
    bad=$((bad + 1)); cat "$folder/verify"
  fi
  if ((status == 0)); then # it came to its end
    ends=$((ends + 1))
    equals_whole "$folder/run" || { bad=$((bad + 1)); echo "the end differs"; }
    rm -rf "$folder/run"
    continue
  fi
  killed=$((killed + 1)) launchers=$((launchers + of_launcher))
  [[ -z $after ]] && starting=$((starting + 1))
  rm -rf "$folder/copy"
  [[ -d $folder/run ]] && cp -r "$folder/run" "$folder/copy"
  "${command[@]}" $job $ranks --checkpoint "$folder/copy" --resume latest >"$folder/out" 2>&1
  status=$?
  equals_whole "$folder/copy" && equal=$((equal + 1))
  # mpirun sometimes takes a rank that has ended for one that went away.
  if ((status != 0)) && [[ $how == mpirun ]] && grep -q 'exiting improperly' "$folder/out"; then
    improper=$((improper + 1))
  elif ((status != 0)); then
    bad=$((bad + 1)); echo "what goes on from step ${after:-0} ends with $status:"; cat "$folder/out"
  fi
done 2>/dev/null # what the shell says of killed jobs
echo "$how: $killed kills ($starting before the first checkpoint, $launchers of the launcher), $bad faults," \
  "$equal of $killed go on to equal bits ($improper of them 'exiting improperly' for mpirun)," \
  "$ends came to their end before; $stuck jobs had to be killed as a whole"
((bad == 0 && equal == killed))
