"""Follows "Add a benchmark in one file" of CONTRIBUTING.md word for word in a copy of the sources: the file is dropped
into bench/, the worker is built, and the benchmark is in `claimcheck list` and, with a value, in a result."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["CLAIMCHECK_SOURCE"])
BIN = pathlib.Path(os.environ["CLAIMCHECK_BIN"])
CLAIMCHECK = str(BIN / "claimcheck")


def tutorial():
    """File name and text of the tutorial's benchmark."""
    text = (SOURCE / "CONTRIBUTING.md").read_text()
    section = text[text.index("## Add a benchmark in one file") :]
    name = re.search(r"Save this as `(bench/\w+\.cpp)`", section).group(1)
    return name, re.search(r"```cpp\n(.*?)```", section, re.DOTALL).group(1)


def copy_of_sources(target):
    """What the project consists of, without build directories."""
    for name in ("CMakeLists.txt", "CMakePresets.json", "LICENSE"):
        shutil.copy(SOURCE / name, target / name)
    for name in ("cmake", "kernels", "bench", "harness", "catalog", "results-schema", "docs"):
        shutil.copytree(SOURCE / name, target / name)


def run(command, codes=(0,), **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode not in codes:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


class Tutorial(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        root = pathlib.Path(cls.folder.name) / "claimcheck"
        root.mkdir()
        copy_of_sources(root)
        cls.name, text = tutorial()
        assert not (root / cls.name).exists(), f"{cls.name} exists already"
        (root / cls.name).write_text(text)
        environment = dict(os.environ)
        if shutil.which("ccache"):
            environment.update(CMAKE_CXX_COMPILER_LAUNCHER="ccache", CCACHE_BASEDIR=str(root), CCACHE_NOHASHDIR="1")
        build = root / "build"
        # The same preset as the tests' own build: what ccache has of it need not be compiled again.
        configure = ["cmake", "--preset", "dev", "-B", str(build), "-DCLAIMCHECK_TESTS=OFF", "-DCLAIMCHECK_CUDA=OFF"]
        run(configure, env=environment, cwd=root)
        run(["cmake", "--build", str(build), "--target", "claimcheck-bench-host"], env=environment)
        cls.worker = str(build / "bin" / "claimcheck-bench-host")
        cls.id = re.search(r'\.id = "([^"]+)"', text).group(1)
        cls.metric = re.search(r'\.metric = "([^"]+)"', text).group(1)
        cls.lines = text.count("\n")

    def test_it_is_about_forty_lines(self):
        self.assertLessEqual(self.lines, 60)

    def test_the_list_has_it(self):
        listed = json.loads(run([CLAIMCHECK, "list", "--json", "--worker", self.worker]))
        rows = {row["benchmark"]: row for row in listed["benchmarks"]}
        self.assertIn(self.id, rows)
        self.assertEqual(rows[self.id]["metric"], self.metric)
        self.assertTrue(rows[self.id]["runs_here"])
        built = json.loads(run([CLAIMCHECK, "list", "--json"]))
        self.assertNotIn(self.id, {row["benchmark"] for row in built["benchmarks"]}, "the tutorial's file was built in")

    def test_a_result_has_it_with_a_value(self):
        out = pathlib.Path(self.folder.name) / "out"
        options = ["--only", self.id, "--repetitions", "3", "--min-time", "0.01", "--max-bytes", "33554432"]
        # Neighbours on a busy machine can make it unstable (exit code 4); the value is there all the same.
        run([CLAIMCHECK, "run", "--worker", self.worker, "--out", str(out)] + options, codes=(0, 4))
        result = json.loads((out / "result.json").read_text())
        found = [m for m in result["measurements"] if m["metric"] == self.metric]
        self.assertEqual(len(found), 1, result["measurements"])
        self.assertIn(found[0]["status"], ("ok", "unstable"), found[0])
        self.assertGreater(found[0]["value"], 0)
        self.assertEqual(found[0]["unit"], "GB/s")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
