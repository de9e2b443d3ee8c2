#!/usr/bin/env bash
# Builds a folder, and a tarball of it, that runs on machines where nothing may be installed: harness, workers and the
# libraries they need, except the vendor's and glibc (2.35 or newer: Ubuntu 22.04). Prints the folder.
#   scripts/package.sh [FOLDER]       default build/claimcheck
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/build/claimcheck}
bin=$root/build/package/bin
say() { printf 'package: %s\n' "$*" >&2; }

command -v patchelf >/dev/null || { say "patchelf is missing: apt-get install patchelf"; exit 1; }
"$root/scripts/build.sh" package -- claimcheck workers
rm -rf "$folder"
mkdir -p "$folder"/{bin,lib,libexec,scripts}
cp -r "$root"/scripts/{mpi,slurm,kubernetes} "$folder/scripts/"
cp "$bin/claimcheck" "$bin/claimcheck-bench-host" "$folder/bin/"
programs=("$folder/bin/claimcheck" "$folder/bin/claimcheck-bench-host")
if [[ -x $bin/claimcheck-bench-cuda ]]; then
  cp "$bin/claimcheck-bench-cuda" "$folder/libexec/"
  cp "$root/scripts/package/claimcheck-bench-cuda" "$folder/bin/"
  programs+=("$folder/libexec/claimcheck-bench-cuda")
fi
cp "$root"/scripts/gpu-check.sh "$root"/scripts/gpu_check.py "$folder/scripts/"
cp "$root/LICENSE" "$root/README.md" "$folder/"

# glibc's own parts must be the machine's; the vendor's stay where they are.
is_theirs() {
  case $1 in
    ld-linux* | libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so* | linux-vdso* | libresolv.so*) return 0 ;;
    libcudart* | libcublas* | libnccl* | libcuda.so* | libnvidia-ml*) return 0 ;;
    *) return 1 ;;
  esac
}

strip "${programs[@]}"
while read -r name path; do
  is_theirs "$name" || cp -Lu "$path" "$folder/lib/$name"
done < <(ldd "${programs[@]}" | sed -n 's/^[[:space:]]*\([^ ]*\) => \(\/[^ ]*\) .*/\1 \2/p' | sort -u)
# A library's own needs are not looked for where the program's are.
# shellcheck disable=SC2016 # the linker expands it
for library in "$folder"/lib/*; do patchelf --set-rpath '$ORIGIN' "$library"; done
# shellcheck disable=SC2016 # the linker expands it
for program in "${programs[@]}"; do patchelf --set-rpath '$ORIGIN/../lib' "$program"; done

# Linked with the machine's own MPI, and loaded only under a launcher.
[[ ! -e $bin/libclaimcheck_mpi.so ]] || cp "$bin/libclaimcheck_mpi.so" "$folder/lib/"

newest=$(objdump -T "${programs[@]}" "$folder"/lib/* 2>/dev/null | grep -o 'GLIBC_2\.[0-9]*' | sort -Vu | tail -n 1)
say "needs glibc ${newest#GLIBC_} or newer, $(du -sh "$folder" | cut -f 1)"
tar -C "$(dirname "$folder")" -czf "$folder.tar.gz" "$(basename "$folder")"
echo "$folder"
