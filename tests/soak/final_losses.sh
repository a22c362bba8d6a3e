#!/usr/bin/env bash
# Run by hand: final losses in 16 bits next to those in f32, on real data.
#   tests/soak/final_losses.sh DATA [SEEDS=3] [MODELS=all: lenet, gpt or resnet18] [PRECISION=bf16] [EPOCHS]
# DATA has the folders mnist, cifar10 and tinyshakespeare. JOBS trainings run at a time (2). Prints, per model, seed and
# precision, the mean training loss of the last epoch and the loss on the test rows. Then prints their means over the
# seeds with their ranges, and how far the mean in 16 bits is from that in f32, with the standard error that differences
# of one seed give. (A mean of ratios would be too high: losses of seeds vary by some percent, and so do divisors.)
# Fails if a training loss in 16 bits is higher than in f32 by more than 1 % and two standard errors.
set -euo pipefail
partita=${PARTITA:-$(dirname "$0")/../../build/release/partita}
data=$1 seeds=${2:-3} models=${3:-all} half=${4:-bf16} own_epochs=${5:-}
[[ $models == all ]] && models="lenet gpt resnet18"
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Arguments and epochs of a model: minutes at one thread.
arguments() {
  case $1 in
    lenet) echo "3 lenet --data mnist:$data/mnist" ;;
    gpt) echo "3 gpt:layers=4,hidden=128,heads=4,seq=64 --data text:$data/tinyshakespeare/input.txt" ;;
    resnet18) echo "4 resnet18:width=16 --data cifar10:$data/cifar10 --batch 64" ;;
    *) echo "unknown model, got '$1', expected lenet, gpt or resnet18" >&2; return 1 ;;
  esac
}

# Prints "MODEL SEED PRECISION TRAINING-LOSS TEST-LOSS" of a training.
train() {
  local model=$1 seed=$2 precision=$3 epochs given log
  read -r epochs given <<<"$(arguments "$model")"
  epochs=${own_epochs:-$epochs}
  log=$logs/$model.$seed.$precision
  # shellcheck disable=SC2086  # words of their own
  "$partita" train $given --precision "$precision" --seed "$seed" --epochs "$epochs" --validate --no-eval --threads 1 \
    --quiet --log "$log" >/dev/null
  grep "\"epoch\":$epochs," "$log" | awk -v run="$model $seed $precision" '
    match($0, /"validation_loss":[^,}]*/) { test = substr($0, RSTART + 18, RLENGTH - 18); next }
    match($0, /"loss":[^,}]*/) { sum += substr($0, RSTART + 7, RLENGTH - 7); ++steps }
    END { if (!steps || test == "") exit 1; printf "%s %.6f %.6f\n", run, sum / steps, test }'
}

# Prints the means of a model's runs. Fails as the header says.
summary() {
  awk -v half="$1" '
    { model = $1; seed[$2]; for (k = 4; k <= 5; ++k) loss[$3, k, $2] = $k }
    function mean_of(precision, k,    s, n, sum, low, high) {
      for (s in seed) {
        one = loss[precision, k, s]; sum += one
        if (++n == 1 || one < low) low = one
        if (n == 1 || one > high) high = one
      }
      return sprintf("%s %.4f (%.4f to %.4f)", precision, sum / n, low, high)
    }
    function show(k, name,    s, n, base, sum, squares, one, error) {
      for (s in seed) {
        one = loss[half, k, s] - loss["f32", k, s]
        ++n; base += loss["f32", k, s]; sum += one; squares += one * one
      }
      error = n > 1 ? 100 * sqrt((squares - sum * sum / n) / (n - 1) * n) / base : 0
      printf "%s, %d seeds, %s loss: %s, %s, %+.2f +- %.2f %%\n", model, n, name, mean_of("f32", k), mean_of(half, k),
             100 * sum / base, error
      return 100 * sum / base - 2 * error
    }
    END { worse = show(4, "training"); show(5, "test"); exit worse > 1 }'
}

export partita data half own_epochs logs
export -f arguments train

failed=0
for model in $models; do
  arguments "$model" >/dev/null
  runs=$(for ((seed = 1; seed <= seeds; ++seed)); do printf '%s\n' "$model $seed f32" "$model $seed $half"; done |
    xargs -P "${JOBS:-2}" -L 1 bash -c 'set -euo pipefail; train "$@"' train | tee >(cat >&2))
  summary "$half" <<<"$runs" || failed=1
done
exit "$failed"
