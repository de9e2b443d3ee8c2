#!/usr/bin/env bash
# Installs what building, running and testing need on Debian 12, Ubuntu 22.04 and 24.04; says what, and does nothing
# when all is there. Elsewhere it names what is missing. CXX chooses the compiler.
#   scripts/setup.sh [--run | --test | --checks | --tidy]     (each includes the ones before; default --run)
#   scripts/setup.sh --fuzz                                   what --test does, and clang with libFuzzer
set -euo pipefail

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mode=${1:---run}
case $mode in
  --run | --test | --checks | --tidy | --fuzz) ;;
  *) say "unknown option '$mode': --run, --test, --checks, --tidy and --fuzz are known"; exit 2 ;;
esac
cxx=${CXX:-g++}

# Packages that are missing, one a line. Looks at the things themselves, so that other ways to install them count too.
missing() {
  command -v "$cxx" >/dev/null || { echo g++; headers=all; }
  command -v cmake >/dev/null || echo cmake
  command -v ninja >/dev/null || echo ninja-build
  command -v pkg-config >/dev/null || echo pkg-config
  pkg-config --exists openblas 2>/dev/null || echo libopenblas-dev
  missing_headers CLI/CLI.hpp libcli11-dev nlohmann/json.hpp nlohmann-json3-dev benchmark/benchmark.h libbenchmark-dev \
    fmt/format.h libfmt-dev curl/curl.h libcurl4-openssl-dev openssl/evp.h libssl-dev liburing.h liburing-dev \
    yaml.h libyaml-dev
  [[ -e /usr/share/javascript/chart.js/chart.min.js ]] || echo libjs-chart.js # charts of the HTML report
  if "$root/scripts/find_nvcc.sh" >/dev/null; then missing_headers hwloc.h libhwloc-dev; fi
  [[ $mode == --run ]] && return
  missing_headers gtest/gtest.h libgtest-dev gmock/gmock.h libgmock-dev
  command -v mpicxx >/dev/null || echo libopenmpi-dev # runs of several processes
  command -v mpirun >/dev/null || echo openmpi-bin
  /usr/bin/python3 -c 'import importlib.util as u, sys; sys.exit(u.find_spec("jsonschema") is None)' 2>/dev/null ||
    echo python3-jsonschema
  /usr/bin/python3 -c 'import yaml' 2>/dev/null || echo python3-yaml
  command -v patchelf >/dev/null || echo patchelf # of packages
  # Ubuntu has Chromium only as a snap, which needs a session: its tests of the page are skipped there.
  if ! grep -qx ID=ubuntu /etc/os-release 2>/dev/null; then
    command -v chromium >/dev/null || echo chromium
    command -v chromedriver >/dev/null || echo chromium-driver
    /usr/bin/python3 -c 'import selenium' 2>/dev/null || echo python3-selenium
  fi
  [[ $mode == --test ]] && return
  if [[ $mode == --fuzz ]]; then missing_libfuzzer; return; fi
  command -v clang-format-14 >/dev/null || echo clang-format-14
  command -v shellcheck >/dev/null || echo shellcheck
  [[ $mode == --checks ]] && return
  command -v clang-tidy-15 >/dev/null || echo clang-tidy-15 # 14 does not know std::source_location
}

# Its runtime library is a package of its own but on Ubuntu 22.04, with the version that clang++ has.
missing_libfuzzer() {
  local version
  command -v clang++ >/dev/null || echo clang
  version=$(clang++ -dumpversion 2>/dev/null | cut -d. -f1) || true
  echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    clang++ -fsanitize=fuzzer,address -x c++ -o /dev/null - 2>/dev/null ||
    grep -q jammy /etc/os-release || echo "libclang-rt-${version:+$version-}dev"
}

# Arguments: header and package in turn. One run of the preprocessor; without a compiler everything counts as missing.
missing_headers() {
  if [[ ${headers:-} == all ]]; then
    while (($#)); do echo "$2"; shift 2; done
    return
  fi
  while (($#)); do printf '#if !__has_include(<%s>)\nmissing %s\n#endif\n' "$1" "$2"; shift 2; done |
    "$cxx" -std=c++20 -E -P -x c++ - 2>/dev/null | sed -n 's/^missing //p'
}

install() {
  local sudo=() name tries
  name=$(sed -n 's/^PRETTY_NAME=//p' /etc/os-release 2>/dev/null | tr -d '"') || true
  command -v apt-get >/dev/null ||
    fail "no apt-get on ${name:-this system}: install by hand what Debian calls: $*"
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null || fail "not root and no sudo: ask an administrator for: apt-get install $*"
    sudo=(sudo)
    [[ -t 0 ]] || sudo=(sudo -n)
    "${sudo[@]}" true 2>/dev/null || fail "sudo does not let this user in: ask an administrator for: apt-get install $*"
  fi
  say "installing with apt-get: $*"
  log=$(mktemp) # not local: the trap outlives this function
  trap 'rm -f "$log"' EXIT
  # A machine that has just started often updates itself and holds the lock: wait up to five minutes.
  for tries in {1..60}; do
    if "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C sh -c '
        apt-get -q update -o Acquire::Retries=1 -o Acquire::http::Timeout=20
        apt-get -q install -y --no-install-recommends "$@"' sh "$@" >"$log" 2>&1; then
      return
    fi
    grep -q 'Could not get lock' "$log" || break
    ((tries > 1)) || say "waiting for another apt-get to finish (a new machine updates itself)"
    sleep 5
  done
  if grep -qE 'Temporary failure resolving|Could not resolve|Could not connect|[Nn]etwork is unreachable' "$log"; then
    fail "no network: apt-get cannot reach its servers; connect this machine or install by hand: $*"
  fi
  fail "apt-get could not install $*: $(grep -E '^E: ' "$log" | tail -n 1)"
}

check_versions() {
  local cmake_version
  printf '#if __cplusplus < 202002L\n#error\n#endif\n' | "$cxx" -std=c++20 -E -x c++ - >/dev/null 2>&1 ||
    fail "$cxx does not compile C++20: g++ 11 or newer is needed (CXX=g++-11 chooses one)"
  cmake_version=$(cmake --version | sed -n '1s/.* //p')
  [[ $(printf '3.22\n%s\n' "$cmake_version" | sort -V | head -n 1) == 3.22 ]] ||
    fail "cmake $cmake_version is too old: 3.22 or newer is needed"
}

has_nvidia_gpu() {
  [[ -e /proc/driver/nvidia/version ]] || grep -qsx 0x10de /sys/bus/pci/devices/*/vendor
}

# A GPU and no toolkit: one is fetched into the project's folder. Without it the CPU can still be measured.
toolkit() {
  has_nvidia_gpu || return 0
  if ! python3 -m pip --version >/dev/null 2>&1; then install python3-pip; fi
  "$root/scripts/toolkit.sh" >/dev/null || say "without a CUDA toolkit only the CPU is measured"
}

"$root/scripts/find_nvcc.sh" >/dev/null || toolkit
mapfile -t needed < <(missing)
if ((${#needed[@]})); then
  command -v fio >/dev/null || needed+=(fio) # random I/O is measured with it
  install "${needed[@]}"
  hash -r
  mapfile -t needed < <(missing)
  ((${#needed[@]} == 0)) || fail "apt-get was content, yet these are still not usable: ${needed[*]}"
fi
check_versions
