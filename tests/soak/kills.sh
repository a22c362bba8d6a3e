#!/usr/bin/env bash
# Run by hand: a training that is saved after every step is killed at random moments. There is always a whole checkpoint,
# of the last step that was reported saved or a later one, and the training that goes on ends with the same bits.
#   tests/soak/kills.sh [KILLS=200] [threads|mpirun]
set -uo pipefail
cd "$(dirname "$0")/../.."
kills=${1:-200} how=${2:-threads}
partita=$PWD/build/release/partita
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMP_NUM_THREADS=1
steps=40
job="train mlp:hidden=96 --batch 16 --threads 1 --no-eval --quiet --zero 1 --zero-threshold 0 --steps $steps --checkpoint-every 1 --keep 2"
case $how in
  threads) launch=() ranks="--ranks 2" ;;
  # mpirun may wait for ever for a rank that was killed while it started.
  mpirun) launch=(timeout -k 5 30 mpirun -n 2 --oversubscribe) ranks="" ;;
  *) echo "usage: $0 [KILLS] [threads|mpirun]" >&2; exit 64 ;;
esac

"${launch[@]}" "$partita" $job $ranks --checkpoint "$folder/whole" >/dev/null 2>&1 || { echo "the training fails"; exit 1; }
newest() { find "$1" -maxdepth 1 -name 'step_*' 2>/dev/null | sed 's/.*step_//' | sort -n | tail -1; }
killed=0 bad=0 ends=0 equal=0
while ((killed < kills)); do
  "${launch[@]}" "$partita" $job $ranks --checkpoint "$folder/run" --resume latest >/dev/null 2>&1 &
  process=$!
  sleep "0.$(printf '%03d' $((RANDOM % 400 + 20)))"
  before=$(newest "$folder/run")
  if [[ $how == mpirun ]]; then
    # One of the ranks; mpirun then ends the other.
    rank=$(pgrep -f "^$partita train .*$folder/run" | shuf -n 1)
    [[ -n $rank ]] && kill -9 "$rank" 2>/dev/null
  else
    kill -9 "$process" 2>/dev/null
  fi
  wait "$process" 2>/dev/null
  status=$?
  after=$(newest "$folder/run")
  if [[ -n $before ]] && { [[ -z $after ]] || ((after < before)); }; then
    bad=$((bad + 1)); echo "step $before was saved, and is lost: ${after:-none}"
  fi
  if [[ -n $after ]] && ! "$partita" checkpoint verify "$folder/run" >"$folder/verify" 2>&1; then
    bad=$((bad + 1)); cat "$folder/verify"
  fi
  if ((status == 0)); then # it came to its end
    ends=$((ends + 1))
    if "$partita" checkpoint diff "$folder/run" "$folder/whole" | grep -qE '^all [0-9]+ tensors are equal'; then
      equal=$((equal + 1))
    else
      bad=$((bad + 1)); echo "the end differs"
    fi
    rm -rf "$folder/run"
  else
    killed=$((killed + 1))
  fi
done
# What was killed last goes on to its end.
"${launch[@]}" "$partita" $job $ranks --checkpoint "$folder/run" --resume latest >/dev/null 2>&1 && ends=$((ends + 1)) &&
  "$partita" checkpoint diff "$folder/run" "$folder/whole" | grep -qE '^all [0-9]+ tensors are equal' && equal=$((equal + 1))
echo "$how: $killed kills, $bad faults, $equal of $ends ends equal to that of no kill"
[[ $bad -eq 0 && $equal -eq $ends ]]
