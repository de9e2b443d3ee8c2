#!/usr/bin/env python3
"""Makes the companion of a CUDA program: its kernels compiled for the CPU, from the same source.

companion.py --names NAMES --output LIBRARY --source DIR [--include DIR]... FILE.cuh...

NAMES is what a program that links the stand-in runtime writes with CLAIMCHECK_VIRTUAL_DUMP: the mangled names of its
kernels, one a line. Headers are included by their paths relative to --source. Beside LIBRARY.so, whose code accounts
for every access to memory, comes LIBRARY_unchecked.so, which does not.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile


def parameters_and_name(demangled):
    """'void ns::kernel<(ns::Op)1>(float*, int)' -> ('float*, int', 'ns::kernel<(ns::Op)1>')."""
    depth = 0
    for index in range(len(demangled) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(demangled[index], 0)
        if depth == 0:
            break
    head = demangled[:index].removeprefix("void ")
    return demangled[index + 1 : -1], head


def registration(names):
    """C++ text of the table the emulator asks for."""
    readable = subprocess.run(
        ["c++filt"], input="\n".join(names), text=True, capture_output=True, check=True
    ).stdout.splitlines()
    rows = []
    for name, demangled in zip(names, readable, strict=True):
        parameters, kernel = parameters_and_name(demangled)
        rows.append(
            f"  virtual_platform::Call<static_cast<void (*)({parameters})>(&{kernel})>::named(\"{name}\"),\n"
        )
    return (
        f"static constexpr virtual_platform::CompiledKernel kernels[] = {{\n{''.join(rows)}}};\n"
        'extern "C" __attribute__((visibility("default"))) virtual_platform::CompanionKernels\n'
        f"virtual_platform_companion() {{ return {{kernels, {len(rows)}}}; }}\n"
    )


def main():
    parser = argparse.ArgumentParser(description="Compiles CUDA kernels for the CPU")
    parser.add_argument("--names", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("headers", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()

    names = sorted(set(arguments.names.read_text().split()))
    if not names:
        sys.exit(f"companion.py: {arguments.names} names no kernel")
    here = pathlib.Path(__file__).resolve().parent
    source = arguments.source.resolve()
    text = "".join(f'#include "{os.path.relpath(header.resolve(), source)}"\n' for header in arguments.headers)
    text += '#include "tests/virtual_platform/emulator/call.h"\n' + registration(names)

    # Additions and multiplications stay two roundings: the .cu files are compiled with --fmad=false. Functions named
    # fma are one instruction where the CPU has it.
    flags = pathlib.Path("/proc/cpuinfo").read_text(errors="replace").split()
    common = [arguments.compiler, "-std=c++20", "-O2", "-g1", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off",
              *(["-mfma"] if "fma" in flags else []),
              f"-I{source}", *(f"-isystem{path}" for path in arguments.include)]
    kernels = ["-fno-gnu-unique", "-w", "-Werror=return-type", "-fno-strict-aliasing",
               "-include", str(here / "emulator/shim.h")]
    checked = ["-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0"]
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        (folder / "companion.cpp").write_text(text)
        compilations = [
            [*common, *kernels, *checked, "-c", str(folder / "companion.cpp"), "-o", str(folder / "checked.o")],
            [*common, *kernels, "-c", str(folder / "companion.cpp"), "-o", str(folder / "unchecked.o")],
            [*common, "-c", str(here / "emulator/hooks.cpp"), "-o", str(folder / "hooks.o")],
        ]
        for process in [subprocess.Popen(command) for command in compilations]:
            if process.wait() != 0:
                sys.exit("companion.py: the kernels do not compile for the CPU")
        # Without -fsanitize=thread: the real runtime is not wanted.
        link = [arguments.compiler, "-shared", "-o"]
        unchecked = arguments.output.with_name(arguments.output.stem + "_unchecked.so")
        subprocess.run([*link, str(unchecked), str(folder / "unchecked.o")], check=True)
        subprocess.run([*link, str(arguments.output), str(folder / "checked.o"), str(folder / "hooks.o")], check=True)


if __name__ == "__main__":
    main()
