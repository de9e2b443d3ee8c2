"""What the tests of `claimcheck run` share: runs so small that they take a second."""
import json
import pathlib
import shutil
import tempfile
import unittest

from support import claimcheck, validate

SIZES = ["--device", "host", "--repetitions", "3", "--max-bytes", "4MiB", "--max-gemm", "128", "--file-bytes", "4MiB"]
TINY = [*SIZES, "--min-time", "0.01"]
MEASURED = ("ok", "unstable")  # so short, and beside other tests, repetitions may vary widely
THREE = ["--only", "memory.copy,memory.triad,gemm.fp32"]


class RunTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="claimcheck-run-"))
        self.out = self.folder / "out"

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def run_tiny(self, *more, out=None, **keywords):
        return claimcheck("run", *TINY, "--out", str(out or self.out), *more, **keywords)

    def result(self, out=None):
        document = json.loads(((out or self.out) / "result.json").read_text())
        validate(document, "result")
        return document

    def by_benchmark(self, document):
        return {one["id"].split("/")[0]: one for one in document["measurements"]}
