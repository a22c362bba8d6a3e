# Sourced by scripts that start mpirun.

# launched SECONDS OUT COMMAND...: runs a command with a time limit, what it prints in a file; its exit code, or 124.
# The mpirun of Open MPI 4.1 can wait for ever in its own finalisation after processes that failed have ended. It is
# killed when it has done so for five seconds, and `launcher_hung` is then 1: there is no exit code to look at.
launched() {
  local seconds=$1 out=$2 job states ended=0
  shift 2
  launcher_hung=0
  "$@" >"$out" 2>&1 &
  job=$!
  for ((tick = 0; tick < 10 * seconds; tick++)); do
    if ! kill -0 $job 2>/dev/null; then
      wait $job
      return $?
    fi
    states=$(ps -o stat= --ppid $job)
    [[ -n $states && -z $(grep -v '^Z' <<<"$states") ]] && ended=$((ended + 1)) || ended=0
    if [[ $ended -ge 50 ]]; then
      launcher_hung=1
      break
    fi
    sleep 0.1
  done
  kill -9 $job
  wait $job 2>/dev/null
  [[ $launcher_hung -eq 1 ]] || return 124
}
