#!/usr/bin/env bash
# Puts a CUDA toolkit that needs no installation into a folder, for machines that have a GPU and none, and to build for
# GPUs that newer toolkits dropped. Prints the folder.
#   scripts/toolkit.sh [12 | 13] [FOLDER]      default: what the driver here can run; FOLDER: .cuda, or .cuda-12
# 13: NVIDIA's Python wheels. 12 (12.4, for drivers before 580 and for V100): the compiler of Debian 13, the rest wheels.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
say() { printf 'toolkit: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# Major version of the toolkit whose programs the driver runs: 580 is the first that runs CUDA 13's.
version_for_driver() {
  local driver
  driver=$(sed -n 's/.* \([0-9][0-9]*\)\.[0-9][0-9.]* .*/\1/p' /proc/driver/nvidia/version 2>/dev/null | head -n 1)
  [[ -z $driver || $driver -ge 580 ]] && echo 13 || echo 12
}

major=${1:-$(version_for_driver)}
case $major in
  13)
    folder=${2:-$root/.cuda}
    wheels=(nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.96
      nvidia-cuda-cccl==13.0.85 nvidia-cublas==13.1.0.3 nvidia-nccl-cu13==2.28.9)
    ;;
  12)
    folder=${2:-$root/.cuda-12}
    wheels=(nvidia-cuda-nvcc-cu12==12.4.131 nvidia-cuda-runtime-cu12==12.4.127 nvidia-cuda-cccl-cu12==12.4.127.post1
      nvidia-cublas-cu12==12.4.5.8 nvidia-nccl-cu12==2.21.5)
    ;;
  *) say "unknown version '$major': 12 and 13 are known"; exit 2 ;;
esac

wanted="${wheels[*]}"
if [[ -f $folder/.complete && $(<"$folder/.complete") == "$wanted" ]]; then
  echo "$folder"
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$folder" "$work/wheels"
rm -f "$folder/.complete"

# Unpacks without installing: Debian's Python refuses installations beside its own packages.
fetch_wheels() {
  python3 -m pip --version >/dev/null 2>&1 || fail "pip is missing: apt-get install python3-pip"
  say "fetching ${#wheels[@]} wheels of CUDA $major (about 0.8 GB)"
  python3 -m pip download -q --no-deps --only-binary=:all: --disable-pip-version-check -d "$work/wheels" "${wheels[@]}" \
    >"$work/log" 2>&1 || fail "pip could not fetch the wheels: $(grep -m 1 '^ERROR' "$work/log" || tail -n 1 "$work/log")"
  python3 - "$work/wheels" "$folder" <<'PYTHON'
# nvidia/cu13/..., or a folder a library (nvidia/cublas/...): bin, include, lib and nvvm of all go into one.
import pathlib, shutil, sys, zipfile

wheels, folder = map(pathlib.Path, sys.argv[1:])
for wheel in sorted(wheels.glob("*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            parts = pathlib.PurePosixPath(entry.filename).parts
            if entry.is_dir() or len(parts) < 4 or parts[0] != "nvidia" or parts[-1] == "__init__.py":
                continue
            target = folder.joinpath(*parts[2:])
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, open(target, "wb") as copy:
                shutil.copyfileobj(source, copy)
            target.chmod(0o755 if "bin" in parts else 0o644)
PYTHON
}

# The wheels of CUDA 12 hold no nvcc; Debian 13 has it in non-free. Taken from the mirror this system uses, and unpacked,
# not installed: the system stays as it is.
fetch_debian_compiler() {
  local mirror key=/usr/share/keyrings/debian-archive-keyring.gpg options
  mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\) .*/\2/p' /etc/apt/sources.list \
    /etc/apt/sources.list.d/*debian* 2>/dev/null | grep -m 1 '/debian/\?$') || true
  [[ -n $mirror && -f $key ]] || fail "no Debian mirror here: install a CUDA toolkit from 12.4 to 12.9 and set CUDA_HOME"
  mkdir -p "$work"/apt/{lists/partial,cache/archives/partial}
  touch "$work/apt/status"
  echo "deb [signed-by=$key] $mirror trixie non-free" >"$work/apt/sources"
  options=(-q -o "Dir::State=$work/apt" -o "Dir::State::status=$work/apt/status" -o "Dir::Cache=$work/apt/cache"
    -o "Dir::Etc::sourcelist=$work/apt/sources" -o "Dir::Etc::sourceparts=-" -o APT::Sandbox::User=root)
  say "fetching the compiler of CUDA 12.4 from Debian 13 (87 MB)"
  (cd "$work" && apt-get "${options[@]}" update && apt-get "${options[@]}" download nvidia-cuda-toolkit) \
    >"$work/log" 2>&1 || fail "apt-get could not fetch nvidia-cuda-toolkit of Debian 13: $(tail -n 1 "$work/log")"
  dpkg -x "$work"/nvidia-cuda-toolkit_*.deb "$work/debian"
  mkdir -p "$folder/bin" "$folder/nvvm/bin"
  cp "$work"/debian/usr/bin/{bin2c,cudafe++,cuobjdump,fatbinary,nvdisasm,nvlink,ptxas,__nvcc_device_query} "$folder/bin/"
  cp -r "$work"/debian/usr/lib/nvidia-cuda-toolkit/bin/{nvcc,crt} "$folder/bin/"
  cp "$work"/debian/usr/lib/nvidia-cuda-toolkit/bin/cicc "$folder/nvvm/bin/"
  # nvcc looks here for everything else; _HERE_ is its own folder.
  cat >"$folder/bin/nvcc.profile" <<'PROFILE'
TOP              = $(_HERE_)/..
CICC_PATH        = $(TOP)/nvvm/bin
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
LD_LIBRARY_PATH += $(TOP)/lib:
PATH            += $(CICC_PATH):$(_HERE_):
INCLUDES        +=  "-I$(TOP)/include" $(_SPACE_)
LIBRARIES        =+ $(_SPACE_) "-L$(TOP)/lib"
CUDAFE_FLAGS    +=
PTXAS_FLAGS     +=
PROFILE
}

# Linkers look for names without a version; nvcc also asks for a library that only relocatable device code needs.
finish() {
  local library plain
  ln -sfn lib "$folder/lib64"
  for library in "$folder"/lib/lib*.so.*; do
    plain=${library%%.so.*}.so
    [[ -e $plain ]] || ln -s "$(basename "$library")" "$plain"
  done
  if [[ ! -e $folder/lib/libcudadevrt.a ]]; then
    "${CXX:-g++}" -x c++ -c /dev/null -o "$work/nothing.o"
    ar rc "$folder/lib/libcudadevrt.a" "$work/nothing.o"
  fi
  "$folder/bin/nvcc" --version >/dev/null || fail "the nvcc in $folder does not run"
  echo "$wanted" >"$folder/.complete"
}

fetch_wheels
[[ $major == 13 ]] || fetch_debian_compiler
finish
echo "$folder"
