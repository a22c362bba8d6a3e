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
hour --steps equality "$partita" xla:cpu "$folder/out" || fail "more steps, exit code $?"
has '^\| kept \| passed \| '
has '^\| a training on one rank \| plugin \| plugin: cpu \| 1 model, f64 within '
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

# Logs as a GPU would leave them: ratios, and rows by what the lines of equality.sh and steps.sh say.
mkdir "$folder/gpu"
for step in facts equality speed torch jax recompute several fsdp; do printf 'passed\t1\t-\n' > "$folder/gpu/$step.status"; done
echo "device: 2 of NVIDIA H200, PJRT 0.115, plugin /somewhere/xla_cuda_plugin.so" > "$folder/gpu/facts.txt"
cat > "$folder/gpu/equality.txt" << 'END'
gpt:layers=2 f64 cuda ranks 1: loss 4.1, f64 cpu 1 4.1, apart 1.0e-16
gpt:layers=2 f32 cuda ranks 1: loss 4.1, f32 cpu 1 4.1, apart 1.0e-08
gpt:layers=2 f64 cuda ranks 2: loss 4.1, f64 cpu 1 4.1, apart 2.0e-16
gpt:layers=2 f32 cuda ranks 2: loss 4.1, f32 cpu 1 4.1, apart 2.0e-08
resnet18:width=16 f64 cuda ranks 2: loss 4.1, f64 cpu 1 4.1, apart 0.0e+00
resnet18:width=16 f32 cuda ranks 2: loss 4.2, f32 cpu 1 4.1, apart 8.0e-04
gpt:layers=2 fused cuda ranks 1: loss none, bf16 cuda 1 4.1, apart inf
END
cat > "$folder/gpu/speed.txt" << 'END'
gpt2 batch 8 bf16 partita plan: 22.20 ms
gpt2 batch 8 bf16 partita: 50.00 ms, 12.00 GiB (60 s in all)
gpt2 batch 8 bf16 --attention fused partita: 25.00 ms, 9.00 GiB (60 s in all)
resnet50 batch 256 bf16 partita: error: it failed (60 s in all)
END
echo "gpt2 batch 8 bf16 torch.compile: 20.00 ms, 8.00 GiB" > "$folder/gpu/torch.txt"
echo "gpt2 batch 8 bf16 JAX: 12.50 ms" > "$folder/gpu/jax.txt"
echo "gpt2 batch 8 bf16 --recompute full partita: 60.00 ms, 7.00 GiB (60 s in all)" > "$folder/gpu/recompute.txt"
echo "gpt2 batch 16 bf16 --ranks 2 --collectives whole --zero 3 partita: 30.00 ms, 7.00 GiB (60 s in all)" > "$folder/gpu/several.txt"
echo "gpt2 batch 16 bf16 ranks 2 level 3 torch: 20.00 ms, 5.00 GiB" > "$folder/gpu/fsdp.txt"
tools/gpu/hour_summary.py "$folder/gpu" cuda || fail "a summary of logs of a GPU"
mkdir -p "$folder/out" && cp "$folder/gpu/summary.md" "$folder/out/summary.md"
has '^\| gpt2, 8 rows, bf16 \| 50.00 \| 12.00 GiB \| 20.00 \(ratio 2.50\) \| 12.50 \(ratio 4.00\) \| 22.20 \|$'
has '^\| gpt2, 8 rows, bf16 --attention fused \| 25.00 \| 9.00 GiB \| 20.00 \(ratio 1.25\) \| 12.50 \(ratio 2.00\) \| - \|$'
has '^\| 8 rows, bf16 --recompute full \| 60.00 \| 7.00 GiB \|$'
has '^\| 16 rows --ranks 2 --collectives whole --zero 3 \| 30.00 \| 7.00 GiB \| 20.00 at level 3 \(ratio 1.50\) \|$'
has '^\| a training on one rank \| .* \| hardware: NVIDIA H200 \| 1 model, f64 within 1.0e-16, f32 within 1.0e-08 '
has '^\| several ranks, .* \| hardware: NVIDIA H200 \| 2 models, .*; beyond the limit: resnet18 on 2 '
has '^\| prices of .* \| hardware: NVIDIA H200 \| a step of gpt2 is predicted as 22.2 ms and took 50.0 '
has '^\| fused attention \| [^|]* \| the step equality passed, but'
sed -i 's/f64 cpu 1 4.1, apart 2.0e-16/f64 cpu 1 4.1, apart 2.0e-08/' "$folder/gpu/equality.txt"
tools/gpu/hour_summary.py "$folder/gpu" cuda && cp "$folder/gpu/summary.md" "$folder/out/summary.md"
has '^\| several ranks, messages through the host \| [^|]* \| the step equality passed'
echo "evidence: a row of nothing | losses" >> "$folder/gpu/speed.txt"
tools/gpu/hour_summary.py "$folder/gpu" cuda 2> /dev/null && fail "evidence for a row that the table does not have"

hour --steps facts,fact "$partita" xla:cpu "$folder/out"
[[ $? -eq 64 ]] || fail "an unknown step is accepted"
echo "first_hour: passed"
