#!/usr/bin/env bash
# Prints the nvcc that cmake/cuda.cmake will find, and where it looks for it; fails when there is none.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
for nvcc in "${CUDACXX:-}" "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" "${CUDA_PATH:+$CUDA_PATH/bin/nvcc}" \
  "$root/.cuda/bin/nvcc" /usr/local/cuda/bin/nvcc "$(command -v nvcc || true)"; do
  if [[ -n $nvcc && -x $nvcc ]]; then
    echo "$nvcc"
    exit 0
  fi
done
exit 1
