#!/usr/bin/env bash
# Configures (once) and builds targets of a preset; shows the end of the log when that fails.
#   scripts/build.sh PRESET [CMAKE_OPTION...] [-- TARGET...]
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=$1
shift
options=()
while (($#)) && [[ $1 != -- ]]; do options+=("$1"); shift; done
(($# == 0)) || shift
targets=("${@:-all}")
directory=$root/build/$preset
log=$directory/build.log
mkdir -p "$directory"
cd "$root"

# Two runs at once would write the same files.
exec 9>"$directory/.lock"
flock 9

# A tree that was copied or moved carries a cache of its old place.
if [[ -f $directory/CMakeCache.txt ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$directory/CMakeCache.txt"; then
  find "$directory" -mindepth 1 -maxdepth 1 ! -name .lock -exec rm -rf {} +
fi

# A toolkit that has come since is to be used.
if [[ -f $directory/CMakeCache.txt ]] && ! grep -q '^CMAKE_CUDA_COMPILER:' "$directory/CMakeCache.txt" &&
  ! grep -qx 'CLAIMCHECK_CUDA:STRING=OFF' "$directory/CMakeCache.txt" && scripts/find_nvcc.sh >/dev/null; then
  rm -f "$directory/build.ninja"
fi

if command -v ccache >/dev/null; then
  # Objects are shared between copies of the tree at different places.
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros # what it wants before it caches with precompiled headers
fi

# Says that there is something to build, once there is; then one line that rewrites itself, on a terminal.
show_progress() {
  local line told=
  while IFS= read -r line; do
    [[ $line =~ ^(\[[0-9]+/[0-9]+\])\ (Building|Linking) ]] || continue
    [[ $told ]] || printf 'build: %s (%s), log in %s\n' "${targets[*]}" "$preset" "$log" >&2
    told=yes
    [[ ! -t 2 ]] || printf '\rbuild: %s ' "${BASH_REMATCH[1]}" >&2
  done
  [[ ! $told || ! -t 2 ]] || printf '\r\033[K' >&2
}

failed() {
  tail -n 30 "$log" >&2
  printf 'build: failed; the whole log is in %s\n' "$log" >&2
  exit 1
}

if [[ ! -f $directory/build.ninja ]]; then
  printf 'build: configuring %s\n' "$preset" >&2
  cmake --preset "$preset" "${options[@]}" >"$log" 2>&1 || { rm -f "$directory/build.ninja"; failed; }
fi
cmake --build "$directory" --target "${targets[@]}" 2>&1 </dev/null | tee "$log" | show_progress || failed
