#!/usr/bin/env bash
# Published client libraries of the documented system, unchanged: clients.sh FOLDER [DOCUMENTED_PYTHON].
# FOLDER gets the libraries and what they import. With the Python of a virtual environment that has mindspore 2.10 and
# NumPy 1.26, models and trainings of mindcv and mindnlp are compared with it (three hours on two cores). Run by hand; it
# needs a network and mpirun.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mkdir -p "${1:?clients.sh FOLDER [DOCUMENTED_PYTHON]}" && cd "$1" && pwd)
documented=${2:-}
python=${PYTHON:-/usr/bin/python3}
package=$PWD/build/release/python own=$PWD/tests/soak/clients
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 GLOG_v=3

fetch() { # NAME PACKAGES..: into a folder of its own, once
  [ -e "$folder/$1" ] || "$python" -m pip install -q --target "$folder/$1" "${@:2}"
}
fetch mindcv --no-deps mindcv==0.3.0
fetch mindformers --no-deps mindformers==1.3.2
fetch mindyolo --no-deps mindyolo==0.5.0
fetch mindnlp --no-deps mindnlp==0.2.4
fetch images numpy==1.26.4 pillow tqdm scipy
fetch texts numpy==1.26.4 pyyaml regex ftfy jieba rouge_chinese nltk pyarrow==12.0.1 tokenizers==0.15.0 datasets==2.18.0 \
  tiktoken jinja2 setproctitle safetensors sentencepiece addict ml-dtypes opencv-python-headless==4.9.0.80 mindpet==1.0.4
[ -e "$folder/mindcv_repository" ] ||
  git clone -q --depth 1 --branch v0.3.0 https://github.com/mindspore-lab/mindcv "$folder/mindcv_repository"
with() { # LIBRARY COMMAND..: with the library, what it imports, and the package
  PYTHONPATH=$package:$folder/$1:$folder/texts:$folder/images "${@:2}"
}

mkdir -p "$folder/numbers"
: > "$folder/lines.json"
while read -r name edge; do
  [ "${name:0:1}" = "#" ] && continue
  if [ -n "$documented" ] && [ ! -e "$folder/numbers/$name.npz" ]; then
    (cd "$folder" && PYTHONPATH=$folder/mindcv:$folder/images timeout 1200 "$documented" "$own/one_model.py" "$name" \
      "$edge" numbers documented) > /dev/null 2> "$folder/numbers/$name.txt" || echo "not by the documented system: $name"
  fi
  with mindcv timeout 600 "$python" -m partita.msrun "$own/one_model.py" "$name" "$edge" "$folder/numbers" own \
    2> /dev/null >> "$folder/lines.json" ||
    echo "{\"name\": \"$name\", \"error\": \"ended or took 600 s\", \"seconds\": {}}" >> "$folder/lines.json"
done < "$own/mindcv_models.txt"
status=0
"$python" "$own/count.py" "$folder/lines.json" || status=1

echo "mindcv, in graph mode, the data set sunk:"
with mindcv "$python" -m partita.msrun "$own/train_mindcv.py" "$own/train_mindcv.yaml" "$folder/training"
echo "mindcv, train.py with each file of settings, by its own model if that ends in 90 s:"
with mindcv "$python" "$own/mindcv_yamls.py" "$folder/mindcv_repository" "$folder/yamls" --every --own 90 || status=1
if [ -n "$documented" ]; then
  with mindcv "$python" "$own/mindcv_compare.py" "$folder/mindcv_repository" "$folder/compared" "$documented" \
    "$folder/mindcv:$folder/images:$folder/texts"
fi
echo "mindnlp, 43 trainings:"
if [ -n "$documented" ] && [ ! -e "$folder/mindnlp_documented.npz" ]; then
  PYTHONPATH=$folder/mindnlp:$folder/texts:$folder/images timeout 3600 "$documented" "$own/train_mindnlp.py" "$folder" \
    documented > /dev/null 2> "$folder/mindnlp_documented.txt" || echo "mindnlp not by the documented system"
fi
with mindnlp "$python" -m partita.msrun "$own/train_mindnlp.py" "$folder" own 2> /dev/null || status=1
if [ -n "$documented" ]; then
  echo "mindcv, its optimizers:"
  rm -f "$folder/optimizers.npz"
  PYTHONPATH=$folder/mindcv:$folder/images "$documented" "$own/optimize_mindcv.py" "$folder/optimizers.npz" \
    > /dev/null 2>&1
  with mindcv "$python" -m partita.msrun "$own/optimize_mindcv.py" "$folder/optimizers.npz" || status=1
fi
for version in x 3 4 5 7 8; do
  echo "mindyolo, version $version:"
  with mindyolo "$python" -m partita.msrun "$own/train_mindyolo.py" $version | grep losses || status=1
  [ -z "$documented" ] || (cd "$folder" && PYTHONPATH=$folder/mindyolo:$folder/texts:$folder/images "$documented" \
    "$own/train_mindyolo.py" $version 2> /dev/null | grep losses || echo "not by the documented system")
done

on_ranks() { # NUMBER SCRIPT ARGUMENTS..: prints the losses; the library writes logs where it runs
  (cd "$folder" && with mindformers mpirun --oversubscribe --allow-run-as-root --bind-to none -n "$1" "$python" \
    -m partita.msrun "$own/$2.py" "${@:3}" < /dev/null 2> /dev/null | grep "losses") || status=1
}
# Ranks of data, of the model and of pipelines; parts of a batch.
for kind in llama gpt2; do
  for cut in "1 1 1 1" "2 1 1 1" "1 2 1 1" "2 2 1 1" "1 1 1 2" "2 1 1 2" "1 1 2 2" "2 1 2 2" "1 2 2 2"; do
    read -r rows columns stages parts <<< "$cut"
    echo "mindformers, $kind, $rows x $columns x $stages ranks, $parts parts:"
    on_ranks $((rows * columns * stages)) train_mindformers "$kind" $cut
  done
done
for cut in "1 1 1 1" "1 1 1 2" "1 1 2 2" "1 1 2 4" "2 1 2 2"; do
  read -r rows columns stages parts <<< "$cut"
  echo "mindformers, loss of tokens, $rows x $columns x $stages ranks, $parts parts:"
  on_ranks $((rows * columns * stages)) train_mindformers llama $cut tokens
done
while read -r optimizer rate; do
  for cut in "1 1" "2 1" "2 2"; do
    read -r rows columns <<< "$cut"
    echo "mindformers, $rows x $columns ranks:"
    on_ranks $((rows * columns)) optimize_mindformers "$optimizer" "$rate" $cut
  done
done << PAIRS
AdamW CosineWithWarmUpLR
AdamW ConstantWarmUpLR
FusedAdamWeightDecay LinearWithWarmUpLR
FP32StateAdamWeightDecay PolynomialWithWarmUpLR
FusedCastAdamWeightDecay CosineWithRestartsAndWarmUpLR
Came CosineAnnealingLR
Came:Ascend CosineAnnealingWarmRestarts
AdamW layers
FusedAdamWeightDecay layers
FP32StateAdamWeightDecay layers
PAIRS
on_ranks 4 optimize_mindformers AdamW CosineWithWarmUpLR 2 1 2 2
echo "mindformers, its Trainer:"
rm -rf "$folder/trainer" && mkdir "$folder/trainer"
(cd "$folder/trainer" && with mindformers "$python" -m partita.msrun "$own/trainer_mindformers.py" 2> /dev/null |
  grep "losses\|checkpoints") || status=1
for cut in "2 1 1 1" "1 1 2 2" "2 1 2 2"; do
  read -r rows columns stages parts <<< "$cut"
  on_ranks $((rows * columns * stages)) trainer_mindformers $cut
done
exit $status
