#!/usr/bin/env bash
# Builds the release packages: a tarball that runs from any folder and a .deb, with harness, workers and the libraries
# they need, except the vendor's and glibc (2.35 or newer: Ubuntu 22.04). Prints the folder they are in; `tree` below it
# is the tarball unpacked.
#   scripts/package.sh [FOLDER]       default build/packages
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/build/packages}
say() { printf 'package: %s\n' "$*" >&2; }

for tool in patchelf dpkg-deb; do
  command -v "$tool" >/dev/null || { say "$tool is missing: apt-get install ${tool/dpkg-deb/dpkg}"; exit 1; }
done
"$root/scripts/build.sh" package -- claimcheck workers
mkdir -p "$folder"
rm -rf "$folder"/claimcheck[-_]* "$folder/tree"
(cd "$root/build/package" && cpack -B "$folder" >"$folder/cpack.log" 2>&1) ||
  { say "cpack failed: $(tail -n 5 "$folder/cpack.log")"; exit 1; }
rm -rf "$folder/_CPack_Packages" "$folder/cpack.log"
mkdir "$folder/tree"
tar -C "$folder/tree" --strip-components=1 -xzf "$folder"/claimcheck-*.tar.gz
(cd "$folder" && sha256sum claimcheck* >SHA256SUMS)
say "$(cd "$folder" && du -h claimcheck* | awk '{ printf "%s%s (%s)", (NR > 1 ? ", " : ""), $2, $1 }')"
echo "$folder"
