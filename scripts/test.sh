#!/usr/bin/env bash
# Builds and passes the tests; without options --checks and --tests, as CI does. Options choose single steps:
#   --checks   formatting, shell scripts, include directions, headers
#   --tests    the whole suite, warnings are errors
#   --asan     unit and kernel tests under the address and undefined-behaviour sanitizers
#   --tsan     the CUDA worker's host code on virtual GPUs under the thread sanitizer
#   --tidy     clang-tidy on every source file
#   --cuda12   the CUDA worker by the oldest toolkit supported, with code for V100, on the virtual platform
#   --fuzz [SECONDS]  each target of tests/fuzz under clang's libFuzzer for so long (60); --tests replays their seeds
#   --all      all of these
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
jobs=$(nproc)
steps=()
fuzz_seconds=60
while (($#)); do
  option=$1
  shift
  case $option in
    --fuzz)
      steps+=(fuzz)
      if [[ ${1:-} =~ ^[1-9][0-9]{0,5}$ ]]; then fuzz_seconds=$1; shift; fi
      ;;
    --checks | --tests | --asan | --tsan | --tidy | --cuda12) steps+=("${option#--}") ;;
    --all) steps=(checks tests asan tsan fuzz tidy cuda12) ;;
    --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) printf "test: unknown option '%s': --checks, --tests, --asan, --tsan, --fuzz, --tidy, --cuda12 and --all are known\n" "$option" >&2; exit 2 ;;
  esac
done
((${#steps[@]})) || steps=(checks tests)

heading() { printf '\n== %s\n' "$*"; }

sources() { git ls-files --cached --others --exclude-standard "$@" | while read -r f; do [[ -f $f ]] && printf '%s\0' "$f"; done; }

# Version 14 decides: it is in Debian 12 and both Ubuntus, and others format a little differently.
checks() {
  heading "clang-format"
  sources '*.cpp' '*.h' | xargs -0 clang-format-14 --dry-run --Werror
  heading "shellcheck"
  sources '*.sh' .ci/run | xargs -0 shellcheck
  [[ " ${steps[*]} " != *" tests "* ]] || return 0 # they hold the rest
  heading "includes, file lengths, headers"
  CLAIMCHECK_SOURCE=$root /usr/bin/python3 tests/e2e/test_includes.py
}

# Warnings are errors with the compiler they were settled with; others warn about other things.
strict() {
  case $("${CXX:-g++}" -dumpversion) in
    12*) echo -DCLAIMCHECK_WERROR=ON ;;
    *) echo -DCLAIMCHECK_WERROR=OFF ;;
  esac
}

tests() {
  heading "tests (dev)"
  scripts/build.sh dev "$(strict)"
  ctest --preset dev -j "$jobs"
}

asan() {
  heading "tests (asan)"
  scripts/build.sh asan "$(strict)" -- unit_tests kernel_tests fuzz
  ctest --preset asan -j "$jobs" -R '^(unit|kernels|fuzz)[.]'
}

tsan() {
  heading "threads (tsan)"
  scripts/build.sh tsan -- claimcheck-bench-cuda virtual_platform
  ctest --preset tsan -R '^virtual[.]threads$'
}

# What is found anew stays in build/fuzz/corpus and is where the next search begins. An input that fails is left there as
# NAME-crash-*: mend the kind, and commit it to tests/fuzz/seeds.
fuzz() {
  heading "fuzzing, $fuzz_seconds s a target"
  scripts/build.sh fuzz -- fuzz
  local name seeds
  for seeds in tests/fuzz/seeds/*/; do
    name=$(basename "$seeds")
    mkdir -p "build/fuzz/corpus/$name"
    "build/fuzz/bin/fuzz_$name" -max_total_time="$fuzz_seconds" -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=512 \
      -max_len=65536 -print_final_stats=1 -verbosity=0 -artifact_prefix="build/fuzz/$name-" "build/fuzz/corpus/$name" "$seeds"
  done
}

tidy() {
  heading "clang-tidy"
  scripts/build.sh tidy "$(strict)"
}

cuda12() {
  heading "CUDA 12.4"
  local home
  home=$(scripts/toolkit.sh 12)
  CUDACXX=$home/bin/nvcc CUDA_HOME=$home scripts/build.sh cuda12 "$(strict)" -- claimcheck workers virtual_platform
  ctest --preset cuda12 -j "$jobs" -R '^virtual[.]'
}

needs=--test
[[ " ${steps[*]} " != *" checks "* ]] || needs=--checks
[[ " ${steps[*]} " != *" fuzz "* ]] || scripts/setup.sh --fuzz
[[ " ${steps[*]} " != *" tidy "* ]] || needs=--tidy
scripts/setup.sh "$needs"
for step in "${steps[@]}"; do "$step"; done
printf '\npassed: %s, in %d s\n' "${steps[*]}" "$SECONDS"
