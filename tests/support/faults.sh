# Sourced by scripts that break jobs of `partita launch`: starts them, finds their processes, and looks at how they end.
# $partita is the program, $folder a folder of the script.

# begin_job NAME FLAGS... -- COMMAND...: in the background, its logs in $folder/NAME. $job is its process, and what it
# prints goes to $folder/NAME.out.
begin_job() {
  job_name=$1
  shift
  timeout -k 5 "${job_limit:-90}" "$partita" launch --log-dir "$folder/$job_name" "$@" >"$folder/$job_name.out" 2>&1 &
  job=$!
}

# await_text NAME TEXT [SECONDS]: until the job has printed it
await_text() {
  for ((tick = 0; tick < ${3:-30} * 50; tick++)); do
    grep -qe "$2" "$folder/$1.out" 2>/dev/null && return 0
    sleep 0.02
  done
  return 1
}

# pid_of NAME RANK: of a rank that runs
pid_of() {
  for ((tick = 0; tick < 500; tick++)); do
    [[ -s $folder/$1/rank_$2/pid ]] && cat "$folder/$1/rank_$2/pid" && return 0
    sleep 0.01
  done
  echo 2147483647  # nobody
}

now() { date +%s.%N; }
# seconds_since TIME: with two digits
seconds_since() { awk -v from="$1" -v to="$(now)" 'BEGIN { printf "%.2f", to - from }'; }
at_most() { awk -v got="$1" -v most="$2" 'BEGIN { exit !(got <= most) }'; }

# leftovers NAME: processes of the job that still run, and what it left in shared memory
leftovers() {
  local file process
  for file in "$folder/$1"/rank_*/pid; do
    [[ -s $file ]] || continue
    process=$(cat "$file")
    grep -qsE '^State:\s+[^ZX]' "/proc/$process/status" && echo "process $process"
    ls /dev/shm | grep "^partita-$process-"
  done
}

# end_job NAME JOB SINCE CODE TEXT MOST: waits for the job and prints one row: what was expected and what was seen. False
# unless it ended with the code and the text within the time, and left nothing.
end_job() {
  local name=$1 process=$2 since=$3 code=$4 text=$5 most=$6 got=0 seconds left verdict=ok
  wait "$process" || got=$?
  seconds=$(seconds_since "$since")
  left=$(leftovers "$name")
  [[ $got -eq $code ]] || verdict="exit code $got, not $code"
  grep -qEe "$text" "$folder/$name.out" "$folder/$name"/rank_*/stderr 2>/dev/null || verdict="$verdict; no '$text'"
  at_most "$seconds" "$most" || verdict="$verdict; too late, expected $most s"
  [[ -z $left ]] || verdict="$verdict; left: $left"
  printf '%-34s exit %-3s %-44s %6s s  %s\n' "$name" "$code" "${text:0:44}" "$seconds" "$verdict"
  [[ $verdict == ok ]] && return 0
  tail -n 6 "$folder/$name.out"
  return 1
}
