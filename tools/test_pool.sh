# Sourced by test.sh: tests side by side, one for each core. Each reports when it ends; $passed, $failed and $skipped
# count them after finish_tests.
passed=0
failed=0
skipped=0
export PARTITA_CACHE=${PARTITA_CACHE:-off}  # the user's compiled programs are neither used nor added to
results=$(mktemp -d)
test_parts=0
running_tests=()

# end_processes PROCESS...: with all that they started
end_processes() {
  local process
  for process in "$@"; do
    end_processes $(pgrep -P "$process")
    kill "$process" 2>/dev/null
  done
}

# What still runs ends with this script.
end_tests() {
  end_processes $(jobs -rp)
  rm -rf "$results"
}
trap end_tests EXIT

# A shell ignores interrupts for what runs in the background; tests send them.
usual_signals=(env --default-signal=INT,HUP)

# Waits until fewer than $1 of the tests run.
await_fewer_tests() {
  local process still
  while :; do
    still=()
    for process in "${running_tests[@]}"; do kill -0 "$process" 2>/dev/null && still+=("$process"); done
    running_tests=("${still[@]}")
    [[ ${#running_tests[@]} -lt $1 ]] && return
    sleep 0.1
  done
}

# start_test FUNCTION ARGUMENTS...: in the background, when a core is free. It gets the name of a file for its log first
# and writes "passed failed skipped" into $log.count.
start_test() {
  local function=$1
  shift
  await_fewer_tests "$(nproc)"
  test_parts=$((test_parts + 1))
  "$function" "$results/$test_parts" "$@" &
  running_tests+=($!)
}

# check NAME COMMAND...: one test that is a program. It ends with 77 and a line that says why if it cannot run here.
check() { start_test check_now "$@"; }
check_now() {
  local log=$1 name=$2 begin=$SECONDS status=0
  shift 2
  "${usual_signals[@]}" "$@" >"$log" 2>&1 || status=$?
  if [[ $status -eq 0 ]]; then
    echo "1 0 0" >"$log.count"
    echo "passed: $name, $((SECONDS - begin)) s"
  elif [[ $status -eq 77 ]]; then
    echo "0 0 1" >"$log.count"
    echo "skipped: $name: $(tail -n 1 "$log")"
  else
    echo "0 1 0" >"$log.count"
    printf 'FAILED: %s, %s s\n%s\n' "$name" $((SECONDS - begin)) "$(tail -n 30 "$log")"
  fi
}

# run_tests PARTS PROGRAM [FILTER]: all tests of a program, each counted, in so many parts; a part that dies, or that a
# sanitizer ends badly, counts as a failure, and so does a pattern of the filter that names no test any more
run_tests() {
  local part
  [[ -z ${3:-} ]] || start_test check_now "patterns for $2" /usr/bin/python3 tools/stale_patterns.py "$2" "$3"
  for ((part = 0; part < $1; part++)); do start_test run_part "$1" $part "${@:2}"; done
}
run_part() {
  local log=$1 parts=$2 part=$3 program=$4 begin=$SECONDS good=0 bad=0 status=0
  # Compute threads that wait for each other leave the core to other tests. Processes of the command do so by themselves.
  local waiting=(OMP_WAIT_POLICY=passive)
  [[ $program != */commands_tests && $program != */errors_tests ]] || waiting=()
  OMP_NUM_THREADS=1 GTEST_TOTAL_SHARDS=$parts GTEST_SHARD_INDEX=$part "${usual_signals[@]}" "${waiting[@]}" "$program" \
    --gtest_filter="${5:-*}" --gtest_output="xml:$log.xml" >"$log" 2>&1 || status=$?
  [[ -s $log.xml ]] && read -r good bad < <(/usr/bin/python3 tools/count_tests.py "$log.xml")
  [[ $status -ne 0 && $bad -eq 0 ]] && bad=1
  echo "$good $bad 0" >"$log.count"
  if [[ $bad -ne 0 ]]; then
    [[ -s $log.xml ]] || echo "it ended in the test $(grep -aoP '^\[ RUN      \] \K.*' "$log" | tail -n 1)"
    grep -aE -A12 ': Failure$' "$log" | grep -av ': warning: ' | cut -c1-300 | head -n 60
    grep -aE '^\[  FAILED  \]|ERROR: |WARNING: Thread' "$log" | cut -c1-300 | head -n 20
    grep -avE '^\[ ( +OK|RUN     ) \]|^\[-+\]|^$' "$log" | tail -n 12 | cut -c1-300
  fi
  echo "$program, part $((part + 1)) of $parts: $good passed, $bad failed, $((SECONDS - begin)) s"
}

# finish_tests: waits for all and counts them; one that left no count has failed
finish_tests() {
  local part good bad omitted
  await_fewer_tests 1
  for ((part = 1; part <= test_parts; part++)); do
    good=0 bad=1 omitted=0
    [[ -s $results/$part.count ]] && read -r good bad omitted <"$results/$part.count"
    passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + omitted))
  done
  rm -f "$results"/*.count "$results"/*.xml
  test_parts=0
}
