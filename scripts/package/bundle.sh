#!/usr/bin/env bash
# Completes an installed tree: copies the libraries that the programs need into lib/claimcheck, lets programs and
# libraries find each other wherever the tree is put, and writes manual page and completions.
#   scripts/package/bundle.sh PREFIX
set -euo pipefail

prefix=${1:?usage: bundle.sh PREFIX}
say() { printf 'bundle: %s\n' "$*" >&2; }
command -v patchelf >/dev/null || { say "patchelf is missing: apt-get install patchelf"; exit 1; }

lib=$prefix/lib/claimcheck
mkdir -p "$lib"
programs=("$prefix"/bin/claimcheck "$prefix"/bin/claimcheck-bench-host)
worker=$prefix/libexec/claimcheck/claimcheck-bench-cuda
[[ ! -x $worker ]] || programs+=("$worker")

# glibc's own parts must be the machine's; the vendor's stay where they are, and never become part of a package.
is_theirs() {
  case $1 in
    ld-linux* | libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so* | linux-vdso* | libresolv.so*) return 0 ;;
    libcudart* | libcublas* | libnccl* | libcuda.so* | libnvidia-ml*) return 0 ;;
    *) return 1 ;;
  esac
}

strip "${programs[@]}"
while read -r name path; do
  is_theirs "$name" || cp -Lu "$path" "$lib/$name"
done < <(ldd "${programs[@]}" | sed -n 's/^[[:space:]]*\([^ ]*\) => \(\/[^ ]*\) .*/\1 \2/p' | sort -u)
# A library's own needs are not looked for where the program's are.
for library in "$lib"/*; do
  chmod 644 "$library"
  # shellcheck disable=SC2016 # the linker expands it
  [[ $library == */libclaimcheck_mpi.so ]] || patchelf --set-rpath '$ORIGIN' "$library"
done
for program in "${programs[@]}"; do
  up=..
  [[ $program != "$worker" ]] || up=../..
  patchelf --set-rpath "\$ORIGIN/$up/lib/claimcheck" "$program"
done

mkdir -p "$prefix"/share/{man/man1,bash-completion/completions,fish/vendor_completions.d}
"$prefix/bin/claimcheck" manual | gzip -9n >"$prefix/share/man/man1/claimcheck.1.gz"
"$prefix/bin/claimcheck" completion bash >"$prefix/share/bash-completion/completions/claimcheck"
"$prefix/bin/claimcheck" completion fish >"$prefix/share/fish/vendor_completions.d/claimcheck.fish"

newest=$(objdump -T "${programs[@]}" "$lib"/* 2>/dev/null | grep -o 'GLIBC_2\.[0-9]*' | sort -Vu | tail -n 1)
say "needs glibc ${newest#GLIBC_} or newer, $(du -sh "$prefix" | cut -f 1)"
