#!/usr/bin/env python3
"""Makes the companion of a CUDA program: its kernels compiled for the CPU, from the same source.

companion.py --names NAMES --output LIBRARY --source DIR [--include DIR]... FILE.cuh...

NAMES is what a program that links the stand-in runtime writes with CLAIMCHECK_VIRTUAL_DUMP: the mangled names of its
kernels, one a line. Headers are included by their paths relative to --source.
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

    # Additions and multiplications stay two roundings: the .cu files are compiled with --fmad=false.
    common = [arguments.compiler, "-std=c++20", "-O2", "-g1", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off",
              f"-I{source}", *(f"-isystem{path}" for path in arguments.include)]
    kernels = ["-fno-gnu-unique", "-w", "-Werror=return-type", "-fno-strict-aliasing",
               "-include", str(here / "emulator/shim.h"),
               "-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0"]
    with tempfile.TemporaryDirectory() as directory:
        generated = pathlib.Path(directory) / "companion.cpp"
        generated.write_text(text)
        objects = [str(pathlib.Path(directory) / name) for name in ("kernels.o", "hooks.o")]
        subprocess.run([*common, *kernels, "-c", str(generated), "-o", objects[0]], check=True)
        subprocess.run([*common, "-c", str(here / "emulator/hooks.cpp"), "-o", objects[1]], check=True)
        # Without -fsanitize=thread: the real runtime is not wanted.
        subprocess.run([arguments.compiler, "-shared", *objects, "-o", str(arguments.output)], check=True)


if __name__ == "__main__":
    main()
