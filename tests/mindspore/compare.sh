#!/usr/bin/env bash
# Checkpoints of trainings, exchanged with MindSpore in both directions: of 72 networks and optimizers each side trains
# 3 steps, saves its cell, and the other side goes on. All losses are those of an uninterrupted training within 1e-5.
# Then both cut files of ranks anew, by strategy files of MindSpore, and must write the same; and both read the
# MindRecord files of each other, and must give the same rows in the same order.
#   MINDSPORE_PYTHON=python3 tests/mindspore/compare.sh     a Python that has MindSpore
set -euo pipefail
cd "$(dirname "$0")/../.."
theirs=${MINDSPORE_PYTHON:-python3}
"$theirs" -c 'import mindspore' 2>/dev/null || { echo "skipped: no MindSpore (MINDSPORE_PYTHON=$theirs)"; exit 0; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export OMP_NUM_THREADS=1
ours=(env "PYTHONPATH=$PWD/build/release/python" /usr/bin/python3)
exchange=tests/mindspore/exchange.py
"$theirs" $exchange mindspore "$out" write >"$out/mindspore.whole" 2>/dev/null
"${ours[@]}" $exchange partita "$out" write >"$out/partita.whole"
"${ours[@]}" $exchange partita "$out" go_on mindspore >"$out/partita.resumed" 2>"$out/notes"
"$theirs" $exchange mindspore "$out" go_on partita >"$out/mindspore.resumed" 2>>"$out/notes"
if grep -E 'missing \[|Warning' "$out/notes"; then
  echo "names without a counterpart" >&2
  exit 1
fi
strategies=tests/mindspore/compare_strategies.py
mkdir "$out/strategies"
"$theirs" $strategies mindspore "$out/strategies" >"$out/theirs" 2>/dev/null
"${ours[@]}" $strategies partita "$out/strategies" >"$out/ours"
diff "$out/theirs" "$out/ours" || { echo "files that were cut anew differ" >&2; exit 1; }
echo "$(grep -c rank_ "$out/ours") files that were cut anew are equal"
records=tests/mindspore/compare_records.py
mkdir "$out/records"
"$theirs" $records mindspore "$out/records" write 2>/dev/null
"${ours[@]}" $records partita "$out/records" write
for writer in mindspore partita; do
  "$theirs" $records mindspore "$out/records" $writer >"$out/theirs" 2>/dev/null
  "${ours[@]}" $records partita "$out/records" $writer >"$out/ours"
  cmp "$out/theirs" "$out/ours" || { echo "rows of MindRecord files differ" >&2; exit 1; }
  echo "$(grep -c '^  ' "$out/ours") rows of files of $writer are equal"
done
/usr/bin/python3 tests/mindspore/near.py "$out"/{mindspore,partita}.{whole,resumed}
