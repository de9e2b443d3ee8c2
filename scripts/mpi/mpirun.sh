#!/usr/bin/env bash
# Open MPI's mpirun with what claimcheck needs: one process a GPU (one a node without GPUs), the node's network set up,
# cores left to the worker to share out. It is a launcher for claimcheck run:
#   claimcheck run --launcher "scripts/mpi/mpirun.sh" ...
# Settings, from the environment:
#   HOSTFILE=FILE        nodes, one a line (scripts/mpi/hosts.example); without it this node
#   PER_NODE=N           processes a node [GPUs of this node, else 1]
#   MPIRUN_OPTIONS=...   further options of mpirun, words without quotes
#   DRY_RUN=1            print the command instead of running it
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
say() { printf 'mpirun.sh: %s\n' "$*" >&2; }

gpus() {
  local folder count=0
  for folder in "${CLAIMCHECK_SYSTEM_ROOT:-}"/proc/driver/nvidia/gpus/*; do [[ -d $folder ]] && count=$((count + 1)); done
  echo "$count"
}

per_node=${PER_NODE:-$(gpus)}
((per_node > 0)) || per_node=1
options=(--map-by "ppr:$per_node:node" --bind-to none)
nodes=1
if [[ -n ${HOSTFILE:-} ]]; then
  [[ -r $HOSTFILE ]] || { say "HOSTFILE=$HOSTFILE cannot be read"; exit 2; }
  nodes=$(sed 's/#.*//' "$HOSTFILE" | awk 'NF' | sort -u | wc -l)
  ((nodes > 0)) || { say "HOSTFILE=$HOSTFILE names no node"; exit 2; }
  options+=(--hostfile "$HOSTFILE")
else
  # More processes than cores are wanted for tests only, and then on purpose.
  options+=(--host "localhost:$per_node")
fi
options+=(-np $((nodes * per_node)))
[[ $(id -u) != 0 ]] || options+=(--allow-run-as-root)
# Between GPUs NCCL moves the data. MPI carries small messages only, which TCP does without taking NCCL's adapters.
if (($(gpus) > 0)); then options+=(--mca pml ob1 --mca btl "self,vader,tcp" --mca btl_tcp_if_exclude "lo,docker0"); fi

found=
while IFS= read -r line; do
  if [[ $line == "# "* ]]; then found=${line#\# }; else export "${line?}"; fi
done < <("$here/fabric.sh")
for name in $(compgen -e); do
  case $name in
    NCCL_* | FI_* | OFI_* | UCX_* | CLAIMCHECK_* | LD_LIBRARY_PATH) options+=(-x "$name") ;;
  esac
done
# shellcheck disable=SC2206 # words on purpose
options+=(${MPIRUN_OPTIONS:-})

say "$((nodes * per_node)) processes on $nodes nodes; $found"
if [[ -n ${DRY_RUN:-} ]]; then
  printf '%q ' mpirun "${options[@]}" "$@"
  echo
  exit 0
fi
command -v mpirun >/dev/null || { say "mpirun is not here: install Open MPI on every node (Debian: openmpi-bin)"; exit 3; }
exec mpirun "${options[@]}" "$@"
