#!/usr/bin/env bash
# From a package to a first verdict on a machine that has just started: unpacks claimcheck (a .deb as root, a tarball
# anywhere), fetches the NVIDIA libraries the machine lacks as Python wheels, and runs it.
#   scripts/bootstrap.sh --package FILE|URL [OPTIONS] [-- ARGUMENTS OF claimcheck run]
#     --package FILE|URL   claimcheck_*.deb or claimcheck-*.tar.gz, as scripts/package.sh makes them; https, http to the
#                          loopback only
#     --sha256 HEX         what the package must have; needed with a URL
#     --prefix DIR         where a tarball goes and wheels are kept [~/.local/claimcheck]
#     --wheels WHEN        auto: what is missing on a machine with a GPU; never
#     --no-run             stop when installed
# Arguments default to: --budget 3m. The exit code is that of `claimcheck run`; 2 bad usage, 3 cannot be installed.
set -euo pipefail

say() { printf 'bootstrap: %s\n' "$*" >&2; }
usage() { say "$*"; exit 2; }
fail() { say "$*"; exit 3; }

package='' sha256='' prefix=$HOME/.local/claimcheck wheels=auto run=yes
while (($#)); do
  case $1 in
    --package | --sha256 | --prefix | --wheels)
      (($# > 1)) || usage "$1: a value is missing"
      declare "${1#--}=$2"
      shift 2
      ;;
    --no-run) run=no; shift ;;
    --) shift; break ;;
    *) usage "unknown option '$1': --package, --sha256, --prefix, --wheels, --no-run and -- are known" ;;
  esac
done
[[ -n $package ]] || usage "--package is needed: a file or a URL of claimcheck_*.deb or claimcheck-*.tar.gz"
[[ $wheels == auto || $wheels == never ]] || usage "--wheels '$wheels': expected auto or never"
[[ $package == *.deb || $package == *.tar.gz ]] || usage "'$package' is neither a .deb nor a .tar.gz"
[[ -z $sha256 || $sha256 =~ ^[0-9a-f]{64}$ ]] || usage "--sha256 '$sha256': expected 64 hexadecimal digits"
(($#)) || set -- --budget 3m

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fetch() { # URL FILE
  case $1 in
    https://* | http://127.0.0.1:*) ;;
    *) fail "'$1': only https is fetched" ;;
  esac
  [[ -n $sha256 ]] || usage "--sha256 is needed with a URL: what comes over the network is checked before it runs"
  say "fetching $1"
  if command -v curl >/dev/null; then
    curl -fsSL --proto '=https,http' --retry 3 --connect-timeout 10 --max-time 300 -o "$2" "$1" || fail "cannot fetch $1"
  else
    python3 - "$1" "$2" <<'PYTHON' || fail "cannot fetch $1"
import shutil, sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=30) as answer, open(sys.argv[2], "wb") as copy:
    shutil.copyfileobj(answer, copy)
PYTHON
  fi
}

file=$package
if [[ $package == *://* ]]; then
  file=$work/$(basename "$package")
  fetch "$package" "$file"
fi
[[ -f $file ]] || fail "$file: no such file"
if [[ -n $sha256 ]]; then
  echo "$sha256  $file" | sha256sum --check --status || fail "$file: its SHA-256 is not $sha256; nothing was installed"
fi

if [[ $file == *.deb ]]; then
  sudo=()
  if [[ $(id -u) != 0 ]]; then sudo=(sudo -n); fi
  "${sudo[@]}" dpkg -i "$file" >"$work/dpkg" 2>&1 ||
    fail "dpkg could not install it: $(tail -n 2 "$work/dpkg"); the .tar.gz needs no root"
  claimcheck=/usr/bin/claimcheck
else
  mkdir -p "$prefix" || fail "$prefix cannot be made; --prefix names another folder"
  tar -C "$prefix" --strip-components=1 -xzf "$file" || fail "$file could not be unpacked into $prefix"
  claimcheck=$prefix/bin/claimcheck
fi
"$claimcheck" --version >/dev/null 2>"$work/error" || fail "claimcheck does not start here: $(head -n 1 "$work/error")"
say "$("$claimcheck" --version) is installed: $claimcheck"

# The wrapper of the CUDA worker names what is missing; a machine without a GPU needs nothing.
worker=$(dirname "$claimcheck")/claimcheck-bench-cuda
lacking() { "$worker" --describe 2>&1 >/dev/null | sed -n 's/.*this machine has no \(.*\); install.*/\1/p'; }
if [[ $wheels == auto && -x $worker && -e /proc/driver/nvidia/version && -n $(lacking) ]]; then
  say "this machine has no $(lacking); fetching NVIDIA's wheels (about 0.8 GB)"
  libraries=$prefix/wheels
  python3 -m pip --version >/dev/null 2>&1 || fail "pip is missing: apt-get install python3-pip, or install a CUDA toolkit"
  packages=(nvidia-cublas nvidia-nccl-cu13)
  [[ $(lacking) != *.so.12* ]] || packages=(nvidia-cublas-cu12 nvidia-nccl-cu12)
  python3 -m pip install -q --disable-pip-version-check --no-deps --only-binary=:all: --target "$libraries" \
    "${packages[@]}" >"$work/pip" 2>&1 || fail "pip could not fetch them: $(tail -n 1 "$work/pip")"
  export PYTHONPATH=$libraries${PYTHONPATH:+:$PYTHONPATH} # where the wrapper looks
fi

[[ $run == yes ]] || exit 0
say "ready after $SECONDS s"
code=0
"$claimcheck" run "$@" || code=$?
say "verdict after $SECONDS s, exit code $code"
exit "$code"
