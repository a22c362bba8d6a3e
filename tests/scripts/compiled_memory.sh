#!/usr/bin/env bash
# tools/xla/compile_zoo.sh tells steps that take more or less memory than was accepted. A program of a few lines stands
# for partita and its plugins.
set -uo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "compiled_memory: $*"
  cat "$folder/told"
  exit 1
}

cat >"$folder/partita" <<'END'
#!/usr/bin/env bash
# compile MODEL ..: temporaries and the largest program are in the file that has the model's name.
[[ -e $FOLDER/$2 ]] || exit 1
read -r temporaries largest <"$FOLDER/$2"
echo "{\"pjrt\": \"${PJRT:-0.115}\", \"programs\": [{}], \"largest_program\": $largest, \"sum\": {\"ops\": 1, \"fused_kernels\": 1," \
  "\"library_calls\": 0, \"arguments\": 0, \"temporaries\": $temporaries, \"seconds\": 0.1}}"
END
chmod +x "$folder/partita"
export FOLDER=$folder GOLDEN=$folder/accepted JOBS=$'mlp\nvit' PARTITA_CUDA_PLUGIN=$folder/site/plugins/cuda.so
mkdir -p "$folder/site/plugins" "$folder/site/cuda_pjrt-0.11.2.dist-info"
echo "plugins/cuda.so,sha256=0,0" >"$folder/site/cuda_pjrt-0.11.2.dist-info/RECORD"
set_memory() { echo "$2 $3" >"$folder/$1"; }
# passes | fails [WORDS]: how a run has to end, and words that it has to tell; without words it has to tell nothing.
run() { tools/xla/compile_zoo.sh "$folder/partita" h100 >"$folder/table" 2>"$folder/told"; }
told() { if [[ -n ${1:-} ]]; then grep -qF -- "$1" "$folder/told"; else [[ ! -s $folder/told ]]; fi; }
passes() { run && told "${1:-}" || fail "expected a run that passes and tells '${1:-}'"; }
fails() { ! run && told "${1:-}" || fail "expected a run that fails and tells '${1:-}'"; }

set_memory mlp 1000 2000
set_memory vit 100000 200000
passes "[h100.txt] mlp has no accepted memory, got temporaries of 1,000 bytes (0.0 MiB) and a largest program of 2,000 bytes"
[[ ! -e $GOLDEN/h100.txt ]] || fail "a comparison wrote the file"
RENEW=yes passes "[h100.txt] written, 2 of 2 lines are new"
grep -q '^# Made with cuda_pjrt 0.11.2, PJRT 0.115$' "$GOLDEN/h100.txt" || fail "the file does not name the plugin"
grep -q '^| mlp | h100 | 1 | 1 | 1 | 0 | 0.0 | 0.0 | 0.0 | 0.1 |$' "$folder/table" || fail "the table has no row of mlp"
passes

# 5 % more or less is still right. One byte further is told, and is a fault if it is more.
set_memory mlp 1050 2100
passes
set_memory mlp 1051 2000
fails "[h100.txt] temporaries of mlp grew, got 1,051 bytes (0.0 MiB), expected at most 5 % above 1,000 bytes (0.0 MiB)"
told "accept it with RENEW=yes JOBS=mlp tools/xla/compile_zoo.sh PARTITA h100" || fail "no word on what to do"
set_memory mlp 1000 2101
fails "[h100.txt] the largest program of mlp grew, got 2,101 bytes (0.0 MiB), expected at most 5 % above 2,000 bytes"
set_memory mlp 950 1900
passes
set_memory mlp 949 2000
passes "[h100.txt] temporaries of mlp shrank, got 949 bytes (0.0 MiB), accepted were 1,000 bytes (0.0 MiB)"

# A run of some models renews their lines alone.
RENEW=yes JOBS=mlp passes "[h100.txt] written, 1 of 2 lines are new"
[[ $(grep -v '^#' "$GOLDEN/h100.txt" | tr -s ' ') == $' 949 2000 mlp\n 100000 200000 vit' ]] || fail "other lines: $(<"$GOLDEN/h100.txt")"
PJRT=0.116 passes "[h100.txt] the numbers are of another plugin, got PJRT 0.116, expected 0.115"
PJRT=0.116 RENEW=yes JOBS=mlp fails "[h100.txt] a file has the numbers of one plugin"
passes

# A model that does not compile has no number to compare. For a GPU that is a fault.
rm "$folder/vit"
fails
RENEW=yes JOBS=vit fails "[h100.txt] not written, as no model was compiled"
unset JOBS
fails "[h100.txt] vit was not compared"
export JOBS=mlp
echo "many bytes mlp" >>"$GOLDEN/h100.txt"
fails "a line is not understood, got 'many bytes mlp'"
echo "compiled_memory: passed"
