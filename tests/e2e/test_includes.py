"""Includes go one way between the folders, files stay short, folders have telling names, headers compile alone.

The checker first proves itself on a small tree with one violation of each kind.
"""
import concurrent.futures
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("CLAIMCHECK_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
ROOMS = ("kernels", "bench", "harness")
# Who may include what, beside its own folder (docs/architecture.md).
MAY_INCLUDE = {"kernels": set(), "bench": {"kernels/device.h"}, "harness": set()}
FORBIDDEN_FOLDERS = {"utils", "common", "misc", "core"}
MOST_LINES = 400
CUDA_FOLDER = SOURCE / "kernels/cuda"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)


def cpp_files(root, folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".hpp", ".cuh", ".cpp", ".cu") and path.is_file():
                yield path


def room_of(root, including, target):
    """The folder a quoted include leads to, and its path from the root; None for other libraries' headers."""
    beside = os.path.normpath(including.parent / target)
    relative = os.path.relpath(beside, root) if os.path.exists(beside) else os.path.normpath(target)
    room = relative.split(os.sep)[0]
    return (room, relative) if room in ROOMS + ("tests",) and os.sep in relative else None


def include_problems(root):
    problems = []
    for path in cpp_files(root, ROOMS):
        room = path.relative_to(root).parts[0]
        for match in INCLUDE.finditer(path.read_text()):
            found = room_of(root, path, match.group(1))
            if found and found[0] != room and found[1] not in MAY_INCLUDE[room]:
                line = path.read_text()[: match.start()].count("\n") + 1
                problems.append(f"{path.relative_to(root)}:{line}: {room}/ may not include {match.group(1)}")
    return problems


def shape_problems(root):
    problems = []
    for path in cpp_files(root, ROOMS + ("tests",)):
        relative = path.relative_to(root)
        lines = path.read_text().count("\n")
        if lines > MOST_LINES:
            problems.append(f"{relative}: {lines} lines, at most {MOST_LINES}")
        if not path.read_text().startswith("//") and own_header(path) is None:
            problems.append(f"{relative}: opens without a line that says what it is for")
        for part in relative.parts[:-1]:
            if part in FORBIDDEN_FOLDERS:
                problems.append(f"{relative}: folder '{part}' says nothing about what is in it")
    return problems


def own_header(source):
    """The header that declares what this source file defines; it says what both are for."""
    header = source.with_suffix({".cpp": ".h", ".cu": ".cuh"}.get(source.suffix, ".none"))
    return header if header.exists() else None


@functools.cache
def cuda_include():
    """The option that finds the toolkit's headers; nothing where no toolkit is."""
    found = subprocess.run([SOURCE / "scripts/find_nvcc.sh"], stdout=subprocess.PIPE, text=True, check=False)
    nvcc = pathlib.Path(found.stdout.strip() or "/")
    include = nvcc.resolve().parents[1] / "include" if found.returncode == 0 else None
    return ["-isystem", str(include)] if include and (include / "cuda_runtime_api.h").exists() else []


def header_problems(root, compiler):
    """Every header compiles alone. One with a source file beside it is that file's first include, so that building
    proves it; only the others are compiled here, two at a time."""
    problems = []
    alone = []
    for header in cpp_files(root, ROOMS):
        if header.suffix != ".h" or (CUDA_FOLDER in header.parents and not cuda_include()):
            continue
        source = header.with_suffix(".cpp")
        if not source.exists():
            alone.append(header)
            continue
        first = INCLUDE.search(source.read_text())
        if first is None or first.group(1) != str(header.relative_to(root)):
            problems.append(f"{source.relative_to(root)}: its first include is not its own header")
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        problems += [problem for problem in pool.map(lambda h: compile_alone(root, h, compiler), alone) if problem]
    return problems


def compile_alone(root, header, compiler):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "alone.cpp"
        source.write_text(f'#include "{header.relative_to(root)}"\n')
        ccache = ["ccache"] if shutil.which("ccache") else []
        command = [compiler, "-std=c++20", "-O0", f"-I{root}", *cuda_include(), "-c", source.name, "-o", "alone.o"]
        done = subprocess.run(ccache + command, stderr=subprocess.PIPE, text=True, check=False, cwd=folder)
        return None if done.returncode == 0 else f"{header.relative_to(root)} does not compile alone:\n{done.stderr}"


class CheckerTest(unittest.TestCase):
    """A checker that finds nothing in a bad tree is worth nothing."""

    def tree(self, files):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return root

    def test_each_wrong_direction_is_found(self):
        for name, include in [
            ("kernels/a.cpp", '"bench/benchmark.h"'),
            ("kernels/a.cpp", '"harness/error.h"'),
            ("kernels/host/a.cpp", '"../../bench/benchmark.h"'),
            ("bench/a.cpp", '"kernels/host/pool.h"'),
            ("bench/a.cpp", '"kernels/error.h"'),
            ("bench/a.cpp", "<harness/error.h>"),
            ("harness/run/a.cpp", '"kernels/device.h"'),
            ("harness/run/a.cpp", '  "bench/benchmark.h"'),
            ("harness/run/a.cpp", '"tests/unit/fabricated_machine.h"'),
        ]:
            root = self.tree({"bench/benchmark.h": "//\n", name: f"// x\n#include {include}\n"})
            found = include_problems(root)
            self.assertEqual(len(found), 1, f"{name} includes {include}: {found}")
            self.assertTrue(found[0].startswith(f"{name}:2:"), found[0])

    def test_allowed_directions_are_not(self):
        root = self.tree(
            {
                "kernels/device.h": "// x\n",
                "kernels/a.cpp": '#include "kernels/device.h"\n#include <vector>\n',
                "bench/a.cpp": '#include "kernels/device.h"\n#include "bench/benchmark.h"\n#include <fmt/format.h>\n',
                "harness/a.cpp": '#include "harness/error.h"\n#include <curl/curl.h>\n',
            }
        )
        self.assertEqual(include_problems(root), [])

    def test_shape(self):
        root = self.tree(
            {
                "harness/utils/a.h": "// x\n",
                "bench/long.cpp": "// x\n" * (MOST_LINES + 1),
                "bench/silent.cpp": "#include <vector>\n",
                "bench/good.cpp": "// x\n" * MOST_LINES,
            }
        )
        found = shape_problems(root)
        self.assertEqual(len(found), 3, found)

    def test_header_that_needs_another_first(self):
        needy = "// x\n#pragma once\ninline std::string name;\n"
        root = self.tree(
            {
                "harness/a.h": needy,
                "harness/b.h": "// x\n",
                "harness/c.h": needy,
                "harness/c.cpp": '#include <string>\n#include "harness/c.h"\n',
                "harness/d.h": "// x\n",
                "harness/d.cpp": '#include "harness/d.h"\n',
            }
        )
        found = header_problems(root, os.environ.get("CXX", "g++"))
        self.assertEqual(len(found), 2, found)
        self.assertIn("harness/c.cpp: its first include", found[0])
        self.assertIn("harness/a.h does not compile alone", found[1])


class TreeTest(unittest.TestCase):
    def assertNothing(self, problems):
        self.assertFalse(problems, "\n" + "\n".join(problems))

    def test_includes_go_one_way(self):
        self.assertTrue(list(cpp_files(SOURCE, ["harness"])), f"no sources below {SOURCE}")
        self.assertNothing(include_problems(SOURCE))

    def test_files_are_short_and_say_what_they_are_for(self):
        self.assertNothing(shape_problems(SOURCE))

    def test_headers_compile_alone(self):
        self.assertNothing(header_problems(SOURCE, os.environ.get("CXX", "g++")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
