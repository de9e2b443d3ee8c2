#!/usr/bin/env bash
# Configures (once) and builds targets of a preset, quietly: the log's end is shown when something fails.
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

if command -v ccache >/dev/null; then
  # Objects are shared between copies of the tree at different places.
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
fi

show_progress() { # one line that rewrites itself, on a terminal
  if [[ -t 2 ]]; then
    sed -un 's/^\(\[[0-9]*\/[0-9]*\]\).*/\1/p' | while read -r step; do printf '\rbuild: %s ' "$step" >&2; done
    printf '\r\033[K' >&2
  else
    cat >/dev/null
  fi
}

failed() {
  tail -n 30 "$log" >&2
  printf 'build: failed; the whole log is in %s\n' "$log" >&2
  exit 1
}

if [[ ! -f $directory/build.ninja ]]; then
  cmake --preset "$preset" "${options[@]}" >"$log" 2>&1 || { rm -f "$directory/build.ninja"; failed; }
fi
if [[ -n $(ninja -C "$directory" -n "${targets[@]}" 2>&1 | grep -v -e '^ninja: ' || true) ]]; then
  printf 'build: %s (%s), log in %s\n' "${targets[*]}" "$preset" "$log" >&2
fi
cmake --build "$directory" --target "${targets[@]}" 2>&1 </dev/null | tee "$log" | show_progress || failed
