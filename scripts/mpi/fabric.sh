#!/usr/bin/env bash
# The network adapters of this node and the environment NCCL and libfabric need for them, one NAME=VALUE a line. The
# first line is a comment that says what was found. Variables that are set already stay as they are.
#   scripts/mpi/fabric.sh             CLAIMCHECK_SYSTEM_ROOT: another root than /, for tests
set -euo pipefail

sys=${CLAIMCHECK_SYSTEM_ROOT:-}/sys/class/infiniband
opt=${CLAIMCHECK_SYSTEM_ROOT:-}/opt
efa=() active_ib=() active_roce=() down=()

for device in "$sys"/*; do
  [[ -e $device ]] || continue
  name=${device##*/}
  driver=$(basename "$(readlink "$device/device/driver" 2>/dev/null || true)")
  if [[ $driver == efa ]]; then
    efa+=("$name")
    continue
  fi
  for port in "$device"/ports/*; do
    state=$(cat "$port/state" 2>/dev/null || true)
    if [[ $state != *ACTIVE* ]]; then
      down+=("$name:${port##*/}")
    elif [[ $(cat "$port/link_layer" 2>/dev/null || true) == InfiniBand ]]; then
      active_ib+=("$name:${port##*/}")
    else
      active_roce+=("$name:${port##*/}")
    fi
  done
done

joined() { local IFS=,; printf '%s' "$*"; }
set_default() { [[ -n ${!1:-} ]] || printf '%s=%s\n' "$1" "$2"; }
# In front of what is there, where the folder exists.
prepend() {
  local variable=$1 folders=() folder
  shift
  for folder in "$@"; do [[ -d $folder && :${!variable:-}: != *:$folder:* ]] && folders+=("$folder"); done
  ((${#folders[@]} == 0)) || printf '%s=%s%s\n' "$variable" "$(IFS=:; echo "${folders[*]}")" "${!variable:+:${!variable}}"
}

if ((${#efa[@]})); then
  echo "# ${#efa[@]} EFA adapters: $(joined "${efa[@]}")"
  # Without it libfabric may take TCP and nobody notices.
  set_default FI_PROVIDER efa
  # Reads and writes of the GPUs' memory by the adapter; on by default from EFA v2 on, needed by p4d.
  set_default FI_EFA_USE_DEVICE_RDMA 1
  set_default FI_EFA_FORK_SAFE 1
  prepend LD_LIBRARY_PATH "$opt/amazon/ofi-nccl/lib" "$opt/amazon/ofi-nccl/lib/x86_64-linux-gnu" \
    "$opt/aws-ofi-nccl/lib" "$opt/amazon/efa/lib" "$opt/amazon/openmpi/lib"
  prepend PATH "$opt/amazon/openmpi/bin"
elif ((${#active_ib[@]})); then
  echo "# ${#active_ib[@]} InfiniBand ports: $(joined "${active_ib[@]}")${down[*]:+, not active: $(joined "${down[@]}")}"
  # Exactly these: Ethernet ports of the same adapters are for management.
  set_default NCCL_IB_HCA "=$(joined "${active_ib[@]}")"
elif ((${#active_roce[@]})); then
  echo "# ${#active_roce[@]} RoCE ports: $(joined "${active_roce[@]}")${down[*]:+, not active: $(joined "${down[@]}")}"
  set_default NCCL_IB_HCA "=$(joined "${active_roce[@]}")"
else
  echo "# no EFA, InfiniBand or RoCE adapter${down[*]:+ that is active ($(joined "${down[@]}") are not)}: TCP sockets"
fi
