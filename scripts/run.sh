#!/usr/bin/env bash
# The main job on this machine: installs what is missing, builds what changed, then `claimcheck run ARGS`.
#   scripts/run.sh --profile quick --price 2.49/gpu-hour --out results
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup.sh" --run
"$root/scripts/build.sh" release -DCLAIMCHECK_TESTS=OFF -- claimcheck workers
exec "$root/build/release/bin/claimcheck" run "$@"
