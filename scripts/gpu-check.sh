#!/usr/bin/env bash
# Checks claimcheck itself on a real GPU, in under 6 minutes: the quick profile, the same figures by PyTorch on the same
# GPU in the same minute, a second run to see the spread, and compute-sanitizer on small sizes. Installs nothing and
# changes no setting of the GPU. Works in a package (scripts/package.sh) and in a built tree.
#   scripts/gpu-check.sh [OUT]       OUT (default gpu-check) gets gpu-check.json, torch.json, results and logs
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-gpu-check}
bin=$here/../../../bin # of an installed tree: share/claimcheck/scripts
for build in release dev; do [[ -x $bin/claimcheck ]] || bin=$here/../build/$build/bin; done
[[ -x $bin/claimcheck && -x $bin/claimcheck-bench-cuda ]] ||
  { echo "gpu-check: no claimcheck with a CUDA worker beside $here; build it, or unpack a package" >&2; exit 3; }
python=$(command -v python3 || command -v python) || { echo "gpu-check: Python 3 is needed" >&2; exit 3; }
mkdir -p "$out"
started=$SECONDS
say() { printf 'gpu-check: %3d s  %s\n' "$((SECONDS - started))" "$*" >&2; }

# Exit codes of a run are answers (a claim not met); only "no device" ends the check.
measure() { # OUT_FOLDER LIMIT ARGS...
  local folder=$1 limit=$2 code=0
  shift 2
  timeout -k 10 "$limit" "$bin/claimcheck" run --device cuda --profile quick --out "$out/$folder" "$@" \
    >"$out/$folder.txt" 2>"$out/$folder.err" || code=$?
  if [[ $code == 3 ]]; then cat "$out/$folder.err" >&2; exit 3; fi
  echo "$code" >"$out/$folder.code"
}

say "quick profile"
measure quick 190 --budget 150s
say "the same by PyTorch"
timeout -k 5 60 "$python" "$here/gpu_check.py" torch >"$out/torch.json" 2>"$out/torch.err" ||
  echo "{\"error\": \"PyTorch did not finish, see torch.err\"}" >"$out/torch.json"
say "again, for the spread"
measure again 45 --budget 35s --only 'gemm.bf16*' --only 'memory.read*' --only 'memory.copy*' --only 'memory.triad*'

sanitizer() {
  local place
  for place in "$(command -v compute-sanitizer || true)" /usr/local/cuda/bin/compute-sanitizer \
    /usr/local/cuda/compute-sanitizer/compute-sanitizer; do
    if [[ -n $place && -x $place ]]; then echo "$place"; return; fi
  done
}

# Small sizes: each access is checked.
check_memory() { # TOOL
  local tool=$1 code=0
  timeout -k 5 40 "$compute_sanitizer" --tool "$tool" --error-exitcode 9 "$bin/claimcheck-bench-cuda" \
    --only memory.read,memory.copy,memory.triad,memory.l2.latency,vector.fp32,vector.fp16,tensor.bf16,launch.latency \
    --max-bytes 4194304 --benchmark_min_time=0.0001 --benchmark_repetitions=1 >"$out/$tool.log" 2>&1 || code=$?
  echo "$code" >"$out/$tool.code"
}

compute_sanitizer=$(sanitizer)
if [[ -n $compute_sanitizer ]]; then
  for tool in memcheck racecheck; do
    say "compute-sanitizer $tool"
    check_memory "$tool"
  done
else
  say "no compute-sanitizer here"
fi
exec "$python" "$here/gpu_check.py" report "$out" "$((SECONDS - started))"
