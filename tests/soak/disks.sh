#!/usr/bin/env bash
# Run by hand, as root for disks that are mounted: trainings whose disk is full, fails, is slow or goes away while they
# are saved every ten steps, by one rank, three ranks as threads and three processes, asynchronously and at once. A row
# for each: what was broken, what was expected, what was seen. The training goes on with a warning that says what could
# not be written, and ends with exit 73 when that holds for the last checkpoint; older ones are whole, nothing unfinished
# stays, and when the disk is mended the training goes on to the bits of one that nothing happened to.
#   tests/soak/disks.sh
set -uo pipefail
cd "$(dirname "$0")/../.."
partita=$PWD/build/release/partita
folder=$(mktemp -d)
disk=$folder/disk run=$folder/disk/run
finish() {
  umount -l "$disk" 2>/dev/null
  rm -rf "$folder"
}
trap finish EXIT
export OMP_NUM_THREADS=1
job="train mlp:hidden=96 --batch 24 --threads 1 --no-eval --quiet --zero 1 --zero-threshold 0 --steps 400 --checkpoint-every 10 --keep 2"
gcc -shared -fPIC -O1 -o "$folder/bad_disk.so" tests/support/bad_disk.c -ldl || exit 1
is_root=0 rows=0 bad=0
[[ $(id -u) == 0 ]] && mkdir "$disk" && mount -t tmpfs -o size=64m none "$disk" 2>/dev/null && is_root=1
mkdir -p "$disk"

command_of() { # FORM
  case $1 in
    one) echo "$partita $job --ranks 1" ;;
    threads) echo "$partita $job --ranks 3" ;;
    launch) echo "$partita launch -n 3 --log-dir $folder/logs -- $job" ;;
  esac
}
newest() { find "$run" -maxdepth 1 -name 'step_*' 2>/dev/null | sed 's/.*step_//' | sort -n | tail -1; }
await_step() { # N: a checkpoint of it or a later one is there
  for ((i = 0; i < 10000; i++)); do
    local step
    step=$(newest)
    [[ -n $step ]] && ((step >= $1)) && return 0
    kill -0 "$process" 2>/dev/null || return 1
    sleep 0.002
  done
  return 1
}
for form in one threads; do
  $(command_of $form) --checkpoint "$folder/whole_$form" >/dev/null 2>&1 || { echo "the training fails"; exit 1; }
done
ln -s "$folder/whole_threads" "$folder/whole_launch"
printf '%-16s %-8s %-6s %-42s %s\n' fault form saves expected seen

# A row. fault_NAME breaks the disk while the training runs, or begin_NAME before it; mend_NAME mends it.
check() { # NAME CODE TEXT FORM ON|OFF
  local name=$1 code=$2 text=$3 form=$4 asynchronous=$5 seen="" before after status
  local -a environment=()
  mkdir -p "$run"
  declare -F "begin_$name" >/dev/null && "begin_$name"
  [[ $name == call_* || $name == slow ]] &&
    environment=(LD_PRELOAD="$folder/bad_disk.so" BAD_DISK_FOLDER="$run")
  [[ $name == slow ]] && environment+=(BAD_DISK_DELAY_MS=5)
  [[ $name == call_* ]] && environment+=(BAD_DISK_CALL="${name#call_}" BAD_DISK_NTH=40)
  timeout -k 5 120 env "${environment[@]}" $(command_of "$form") --checkpoint "$run" --checkpoint-async "$asynchronous" >"$folder/out" 2>&1 &
  process=$!
  if declare -F "fault_$name" >/dev/null; then
    await_step 20 || seen+=" no step_20;"
    before=$(newest)
    "fault_$name" || seen+=" the fault could not be made;"
  fi
  wait $process
  status=$?
  [[ $form == launch ]] && cat "$folder"/logs/rank_*/stderr >>"$folder/out"
  ((status == code)) || seen+=" exit $status, not $code;"
  [[ -z $text ]] || grep -qE "$text" "$folder/out" || seen+=" no message '$text';"
  declare -F "mend_$name" >/dev/null && "mend_$name"
  after=$(newest)
  [[ $name == deleted ]] || [[ -z ${before:-} ]] || ((${after:-0} >= before - 10)) || seen+=" step $before, then ${after:-none};"
  if [[ -n $after ]]; then
    "$partita" checkpoint verify "$run" >"$folder/verify" 2>&1 || seen+=" $(tail -1 "$folder/verify");"
  fi
  [[ -z $(find "$run" -mindepth 1 -maxdepth 1 -not -name 'step_*') ]] || [[ $name == read_only || $name == file ]] || seen+=" leftovers: $(ls -A "$run" | tr '\n' ' ');"
  $(command_of "$form") --checkpoint "$run" --resume latest >"$folder/again" 2>&1 || seen+=" it does not go on: $(tail -1 "$folder/again");"
  "$partita" checkpoint diff "$run" "$folder/whole_$form" 2>&1 | grep -qE '^all [0-9]+ tensors are equal' || seen+=" the end differs;"
  rows=$((rows + 1))
  [[ -z $seen ]] || { bad=$((bad + 1)); cat "$folder/out"; }
  printf '%-16s %-8s %-6s %-42s %s\n' "$name" "$form" "$([[ $asynchronous == on ]] && echo async || echo sync)" "exit $code ${text:0:34}" "${seen:-ok, step ${after:-none} stayed}"
  rm -rf "$folder/logs"
  find "$disk" -mindepth 1 -delete
}
everywhere() { # NAME CODE TEXT
  local form asynchronous
  for form in one threads launch; do
    for asynchronous in on off; do check "$1" "$2" "$3" $form $asynchronous; done
  done
}

fault_deleted() { mv "$run" "$disk/gone" && rm -rf "$disk/gone"; }
# Both change places at once.
fault_file() {
  touch "$disk/away"
  /usr/bin/python3 -c 'import ctypes, os, sys
a, b = (os.fsencode(path) for path in sys.argv[1:])
sys.exit(ctypes.CDLL(None).renameat2(-100, a, -100, b, 2) != 0)' "$run" "$disk/away"
}
mend_file() { rm "$run" && mv "$disk/away" "$run"; }
everywhere deleted 0 'the training continues without this checkpoint|^$|checkpoint in'
everywhere file 73 '\[checkpoint\] .*(not a folder|Not a directory|No such file).*; the training continues'
for call in pwrite write fsync rename mkdir; do everywhere call_$call 73 'cannot write .*Input/output error; the training continues'; done
everywhere call_short 0 ''
everywhere slow 0 ''

if ((is_root)); then
  # From no room for one checkpoint to some more than two, between which the failure meets every write once.
  for kib in 300 700 900 1100 1300; do
    eval "begin_full_$kib() { mount -o remount,size=${kib}k '$disk'; }; mend_full_$kib() { mount -o remount,size=64m '$disk'; }"
    everywhere full_$kib 73 'cannot write .*No space left on device; the training continues'
  done
  begin_inodes() { mount -o remount,nr_inodes=8 "$disk"; }
  mend_inodes() { mount -o remount,nr_inodes=1000 "$disk"; }
  everywhere inodes 73 'cannot write .*No space left on device; the training continues'
  # Refused by the system while a file is open for writing.
  fault_read_only() {
    for ((i = 0; i < 2000; i++)); do mount -o remount,ro "$disk" 2>/dev/null && return; sleep 0.001; done
    return 1
  }
  mend_read_only() { mount -o remount,rw "$disk"; }
  everywhere read_only 73 'cannot write .*Read-only file system; the training continues'
else
  echo "no root: disks that are full or become read-only are left out"
  fault_permission() { chmod 500 "$run"; }
  mend_permission() { chmod 700 "$run"; }
  everywhere permission 73 'cannot write .*Permission denied; the training continues'
fi
echo "$rows rows, $bad bad"
((bad == 0))
