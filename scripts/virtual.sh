#!/usr/bin/env bash
# Runs a command on a virtual GPU machine (docs/virtual-platform.md), built first where it is missing.
#   scripts/virtual.sh p5 claimcheck run --profile quick
#   scripts/virtual.sh path/to/spec.json claimcheck-bench-cuda --describe
#   scripts/virtual.sh p5x2 claimcheck run --device cuda --launcher scripts/virtual_mpirun.sh    several nodes
# SPEC is a name in tests/virtual_platform/specs or a path. The build is CLAIMCHECK_BUILD, else build/dev or
# build/release. Sizes and times are turned down by CLAIMCHECK_MIN_TIME (seconds), CLAIMCHECK_MAX_BYTES,
# CLAIMCHECK_MAX_GEMM and CLAIMCHECK_FILE_BYTES, unless you set them.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
specs=$root/tests/virtual_platform/specs

fail() {
  printf 'virtual.sh: %s\n' "$1" >&2
  exit 2
}

names() { (cd "$specs" && printf '%s\n' *.json | sed 's/\.json$//'); }

nearest() {
  names | python3 -c 'import difflib, sys
names = sys.stdin.read().split()
print(max(names, key=lambda name: difflib.SequenceMatcher(None, name.lower(), sys.argv[1].lower()).ratio()))' "$1"
}

find_spec() {
  if [[ -f $specs/$1.json ]]; then
    printf '%s\n' "$specs/$1.json"
  elif [[ -f $1 ]]; then
    realpath "$1"
  else
    fail "'$1' is neither a file nor a machine of tests/virtual_platform/specs; the nearest is $(nearest "$1") (all: $(names | paste -sd' '))"
  fi
}

find_build() {
  if [[ -n ${CLAIMCHECK_BUILD:-} ]]; then
    realpath -m "$CLAIMCHECK_BUILD"
    return
  fi
  local preset
  for preset in dev release; do
    [[ ! -f $root/build/$preset/build.ninja ]] || break
  done
  [[ -f $root/build/$preset/build.ninja ]] || preset=dev
  printf '%s\n' "$root/build/$preset"
}

complete() { [[ -f $1/virtual_platform/lib/libclaimcheck_kernels_cpu.so && -x $1/bin/claimcheck ]]; }

make_build() {
  if [[ $1 == "$root"/build/dev || $1 == "$root"/build/release ]]; then
    "$root/scripts/build.sh" "$(basename "$1")" -- claimcheck workers virtual_platform >&2
  elif [[ -f $1/CMakeCache.txt ]]; then
    cmake --build "$1" --target claimcheck workers virtual_platform >&2
  fi
  complete "$1" || fail "$1 has no virtual platform; it is built where a CUDA toolkit is found and CLAIMCHECK_TESTS is ON (scripts/setup.sh installs a toolkit)"
}

# "NODES NVML" of a spec: how many nodes it has, and which NVML ("" as "-"), wherever in what it extends that is said.
of_spec() {
  python3 - "$1" <<'END'
import json, pathlib, sys

def merged(base, patch):
    if not isinstance(patch, dict):
        return patch
    result = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result

def load(path, depth=0):
    document = json.loads(path.read_text(encoding="utf-8"))
    if "extends" not in document or depth > 8:
        return document
    return merged(load(path.parent / document.pop("extends"), depth + 1), document)

try:
    spec = load(pathlib.Path(sys.argv[1]))
    print(int(spec.get("nodes", {}).get("count", 1)), spec.get("faults", {}).get("nvml", "") or "-")
except (OSError, ValueError, AttributeError, TypeError):
    print(1, "-")  # the program itself says what is wrong with it
END
}

(($# >= 2)) || fail "expected SPEC COMMAND [ARGUMENT...]; specs are $(names | paste -sd' ')"
spec=$(find_spec "$1")
shift
build=$(find_build)
complete "$build" || make_build "$build"

read -r nodes nvml < <(of_spec "$spec")
libraries=$build/virtual_platform/lib
if [[ $nvml == old || $nvml == missing ]]; then libraries=$build/virtual_platform/nvml_$nvml:$libraries; fi
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH=$build/bin:$PATH
export CLAIMCHECK_VIRTUAL_SPEC=$spec
export CLAIMCHECK_VIRTUAL_NODES=$nodes
export CLAIMCHECK_VIRTUAL_KERNELS=$build/virtual_platform/lib/libclaimcheck_kernels_cpu.so
export CLAIMCHECK_METADATA=${CLAIMCHECK_METADATA:-off} # what the real machine is, is of no interest
export CLAIMCHECK_MIN_TIME=${CLAIMCHECK_MIN_TIME:-0.001}
export CLAIMCHECK_MAX_BYTES=${CLAIMCHECK_MAX_BYTES:-8388608}
export CLAIMCHECK_MAX_GEMM=${CLAIMCHECK_MAX_GEMM:-512}
export CLAIMCHECK_FILE_BYTES=${CLAIMCHECK_FILE_BYTES:-8388608}
exec "$@"
