#!/usr/bin/env bash
# tools/gpu/first_hour.sh in tiny sizes on the plugin for CPUs: its summary names the rows that it shows, a failure stops
# nothing, and a run that is cut off leaves what it found.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
if [[ -z ${PARTITA_PJRT_PLUGIN:-} ]]; then
  echo "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh"
  exit 77
fi
partita=$PWD/build/release/partita
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMP_NUM_THREADS=1 PARTITA_CACHE=$folder/programs
fail() {
  echo "first_hour: $*"
  cat "$folder"/out/*.txt "$folder/printed" 2> /dev/null
  exit 1
}
hour() { tools/gpu/first_hour.sh --small "$@" > "$folder/printed" 2>&1; }
has() { grep -qE -- "$1" "$folder/out/summary.md" || fail "no line '$1' in $(cat "$folder/out/summary.md")"; }
proven() { sed -n '/^## Rows of the status/,/^## Rows without/p' "$folder/out/summary.md"; }

hour --steps facts,kept,torch "$partita" xla:cpu "$folder/out" || fail "a run, exit code $?"
has '^\| facts \| passed \| [0-9]+ \| device: [0-9]+ of cpu, '
has '^\| kept \| passed \| '
has '^\| torch \| skipped \| [0-9]+ \| peers run on GPUs of NVIDIA, got xla:cpu \|$'
has '^\| equality \| not run \| '
has '^\| programs that are kept \| plugin \| plugin: cpu \| the second start loaded all [0-9]+ programs'
has '^\| pipeline stages \| plugin \| the step plans was not run \|$'

# A second command adds to the first one.
hour --steps equality,several "$partita" xla:cpu "$folder/out" || fail "more steps, exit code $?"
has '^\| kept \| passed \| '
has '^\| a training on one rank \| plugin \| plugin: cpu \| 1 model, f64 within '
has '^\| collectives in programs, ranks as threads \| .* \| plugin: cpu \| losses within 1e-9 of one rank: '
has '^\| 16 rows --ranks 2 --collectives whole --zero 0 \| [0-9.]+ \| '
has '^\| a lost device, exit code 76 \| .* \| no step provokes it'

# A partita that fails in all trainings, and one that computes other losses on the device.
cat > "$folder/partita" << 'END'
#!/usr/bin/env bash
case "$FAULT $*" in
  "loss train "*"--device xla:cpu"*) "$PARTITA" "$@" | sed -E 's/loss is [0-9]/loss is 9/' ;;
  "ends train "*) echo "partita: error: [planted] a fault" >&2; exit 70 ;;
  "hangs train "*) echo "it hangs"; sleep 60 ;;
  *) exec "$PARTITA" "$@" ;;
esac
END
chmod +x "$folder/partita"
export PARTITA=$partita
rm -r "$folder/out"
FAULT=ends hour --steps kept,facts,equality,speed "$folder/partita" xla:cpu "$folder/out"
code=$?
[[ $code -eq 1 ]] || fail "a run with a fault ends with $code"
has '^\| kept \| failed \| [0-9]+ \| partita: error: \[planted\] a fault \|$'
has '^\| facts \| passed \| '
has '^\| equality \| failed \| [0-9]+ \| 4 runs beyond the limits \|$'
has '^\| speed \| failed \| [0-9]+ \| 3 runs failed \|$'
has '^\| programs that are kept \| plugin \| the step kept failed: partita: error: \[planted\] a fault \|$'
! proven | grep -q plugin: || fail "rows are proven in spite of faults: $(proven)"

FAULT=loss hour --steps equality "$folder/partita" xla:cpu "$folder/out" && fail "other losses pass"
has '^\| equality \| failed \| [0-9]+ \| 4 runs beyond the limits \|$'
! proven | grep -q plugin: || fail "rows are proven by other losses: $(proven)"

# A step that runs past its limit, and a command that is killed.
FAULT=hangs FIRST_HOUR_LIMIT=2 hour --steps kept "$folder/partita" xla:cpu "$folder/out" && fail "a step past its limit passes"
has '^\| kept \| failed \| [0-9]+ \| ran past 2 s; '
FAULT=hangs tools/gpu/first_hour.sh --small --steps kept "$folder/partita" xla:cpu "$folder/out" > "$folder/printed" 2>&1 &
hour=$!
for _ in {1..200}; do
  sleep 0.1
  grep -q '^| kept | cut off |' "$folder/out/summary.md" && break
done
kill "$hour"
wait "$hour"
code=$?
[[ $code -eq 143 ]] || fail "a run that is ended exits with $code"
has '^\| facts \| passed \| '
has '^\| kept \| cut off \| 0 \| began at [0-9:]+ and did not end \|$'

hour --steps facts,fact "$partita" xla:cpu "$folder/out"
[[ $? -eq 64 ]] || fail "an unknown step is accepted"
echo "first_hour: passed"
