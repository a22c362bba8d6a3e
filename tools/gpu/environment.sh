# Sets what NVIDIA's plugin needs: its path and, so that it finds them, the libraries of NVIDIA's Python packages and
# ptxas, if these packages have none. To be sourced. PYTHON names the interpreter that has the packages.
# shellcheck shell=bash
packages=$(${PYTHON:-python3} -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
if [ -z "${PARTITA_PJRT_PLUGIN:-}" ]; then
  PARTITA_PJRT_PLUGIN=$(find "$packages/jax_plugins" -name xla_cuda_plugin.so 2> /dev/null | head -n 1)
  export PARTITA_PJRT_PLUGIN
fi
for folder in "$packages"/nvidia/*/lib; do LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:$folder"; done
export LD_LIBRARY_PATH
if ! ls "$packages"/nvidia/*/bin/ptxas > /dev/null 2>&1; then
  export XLA_FLAGS="${XLA_FLAGS:-} --xla_gpu_cuda_data_dir=${CUDA_HOME:-/usr/local/cuda}"
fi
export TF_CPP_MIN_LOG_LEVEL=2
