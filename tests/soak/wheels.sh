#!/usr/bin/env bash
# Installs the wheels in bare systems and runs the README's first jobs there: the command, a training in Python, ranks as
# processes. As root, with debootstrap.
#   tests/soak/wheels.sh WHEELS FOLDER      FOLDER: where the systems are made, and stay
set -euo pipefail
wheels=$(realpath "$1")
folder=$(realpath -m "$2")
debian=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
ubuntu=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
systems=("jammy 3.10 $ubuntu" "bookworm 3.11 $debian" "noble 3.12 $ubuntu" "trixie 3.13 $debian" "sid 3.14 $debian")
failed=0
mkdir -p "$folder"
cat >"$folder/first_jobs.sh" <<'JOBS'
set -euo pipefail
cd "$(mktemp -d)"
"python$1" -m venv venv
venv/bin/pip install -q /wheels/partita-*-cp"${1/./}"-*.whl
export PATH=$PWD/venv/bin:$PATH OMP_WAIT_POLICY=passive
partita --version
partita doctor | tail -n 1
partita train lenet --data synthetic --steps 8 --ranks 4 --save weights.safetensors | tail -n 1
partita plan llama:8b --cluster h100 --batch 64 --dtype bf16 | grep step
partita launch --ranks 2 -- partita train lenet --data synthetic --steps 8 | tail -n 1
python3 - <<'PYTHON'
import numpy
import partita as ms
from partita import nn, ops

net = nn.Dense(8, 3)
loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), nn.SGD(net.trainable_params(), 0.1))
x = ms.Tensor(numpy.random.default_rng(1).normal(size=(16, 8)).astype(numpy.float32))
y = ms.Tensor(numpy.arange(16, dtype=numpy.int32) % 3)
first, last = float(step(x, y)), [float(step(x, y)) for _ in range(20)][-1]
assert last < first, (first, last)
print(ms.__version__, numpy.__version__, "loss", round(first, 3), "->", round(last, 3))
PYTHON
JOBS
for system in "${systems[@]}"; do
  read -r suite python mirror <<<"$system"
  root=$folder/$suite
  if [[ ! -e $root/complete ]]; then
    rm -rf "$root"
    packages=python3-venv,ca-certificates
    [[ $suite == sid ]] && packages=python3.14-venv,ca-certificates
    components=main
    [[ $mirror == "$ubuntu" ]] && components=main,universe
    debootstrap --variant=minbase --components="$components" --include="$packages" "$suite" "$root" "$mirror" \
      >"$folder/$suite.log" 2>&1 || { echo "$suite: no system, see $folder/$suite.log"; failed=1; continue; }
    touch "$root/complete"
  fi
  cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
  cp "$folder/first_jobs.sh" "$root/"
  mkdir -p "$root/wheels" "$root/dev/shm" "$root/proc"
  cp "$wheels"/partita-*.whl "$root/wheels/"
  mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
  mountpoint -q "$root/dev/shm" || mount -t tmpfs tmpfs "$root/dev/shm"
  echo "== $suite, Python $python, $(chroot "$root" ldd --version | head -n 1)"
  start=$SECONDS
  mkdir -p "$root/etc/ssl/certs"
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"  # a proxy may have an authority of its own
  chroot "$root" bash /first_jobs.sh "$python" || { echo "$suite: failed"; failed=1; }
  echo "$suite: $((SECONDS - start)) s"
  umount "$root/dev/shm" "$root/proc"
done
exit "$failed"
