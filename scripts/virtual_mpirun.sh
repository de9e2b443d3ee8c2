#!/usr/bin/env bash
# Starts the processes of a virtual machine with several nodes, all on this machine: mpirun, with CLAIMCHECK_NODE saying
# which node a process is on. A launcher for commands under scripts/virtual.sh (docs/virtual-platform.md):
#   scripts/virtual.sh p5x2 claimcheck run --device cuda --launcher scripts/virtual_mpirun.sh
# Settings, from the environment:
#   PER_NODE=N              processes a node [1]; they share the node's GPUs
#   CLAIMCHECK_VIRTUAL_NODES=N  nodes [what scripts/virtual.sh found in the spec, else 1]
set -euo pipefail

per_node=${PER_NODE:-1}
nodes=${CLAIMCHECK_VIRTUAL_NODES:-1}
[[ $per_node =~ ^[1-9][0-9]?$ && $nodes =~ ^[1-9][0-9]?$ ]] || {
  printf "virtual_mpirun.sh: PER_NODE is '%s' and CLAIMCHECK_VIRTUAL_NODES '%s', expected numbers from 1 to 99\n" "$per_node" "$nodes" >&2
  exit 2
}
(($# >= 1)) || { printf 'virtual_mpirun.sh: expected COMMAND [ARGUMENT...]\n' >&2; exit 2; }
command -v mpirun >/dev/null || { printf 'virtual_mpirun.sh: mpirun is not here: install Open MPI (Debian: openmpi-bin)\n' >&2; exit 3; }

# Nothing leaves the machine: shared memory for messages, the loopback interface for Open MPI's own.
command=(mpirun --oversubscribe --bind-to none --mca pml ob1 --mca btl "self,vader" --mca oob_tcp_if_include lo --mca plm isolated)
[[ $(id -u) != 0 ]] || command+=(--allow-run-as-root)
for ((node = 0; node < nodes; node++)); do
  ((node == 0)) || command+=(:)
  command+=(-np "$per_node" -x "CLAIMCHECK_NODE=$node" "$@")
done
exec "${command[@]}"
