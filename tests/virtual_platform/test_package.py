"""From a package to a first verdict on a machine that has just started: installed by scripts/bootstrap.sh and run on a
virtual p5, whose libraries stand for those of the machine. What it takes, the budget, and what it costs."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
import unittest

import support

BUDGET_SECONDS = 30
SIZES = {"CLAIMCHECK_MIN_TIME": 0.001, "CLAIMCHECK_MAX_BYTES": 1000000, "CLAIMCHECK_MAX_GEMM": 128,
         "CLAIMCHECK_FILE_BYTES": 1000000}


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if shutil.which("patchelf") is None:
            raise AssertionError("patchelf is missing; scripts/setup.sh --test installs it")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        tree = cls.folder / "claimcheck-0.1.0-Linux-x86_64"
        subprocess.run(["cmake", "--install", support.BIN.parent, "--prefix", tree], check=True, timeout=300,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        cls.package = cls.folder / f"{tree.name}.tar.gz"
        with tarfile.open(cls.package, "w:gz", compresslevel=1) as archive:
            archive.add(tree, tree.name)
        shutil.rmtree(tree)

    def install_and_run(self, machine, prefix, *arguments):
        """Nothing of the build is on the path: what runs is what was installed."""
        variables = machine.environment({**SIZES, "CLAIMCHECK_METADATA": "off"})
        return subprocess.run(["bash", support.SOURCE / "scripts/bootstrap.sh", "--package", self.package, "--prefix", prefix,
                               "--", "--device", "cuda", "--instance", "aws:p5.48xlarge", *map(str, arguments)],
                              cwd=self.folder, env={**variables, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, encoding="utf-8",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              timeout=300)

    def test_first_verdict(self):
        with support.Machine("p5") as machine:
            began = time.monotonic()
            done = self.install_and_run(machine, self.folder / "installed", "--budget", f"{BUDGET_SECONDS}s", "--out",
                                        self.folder / "out")
            seconds = time.monotonic() - began
        self.assertEqual(done.returncode, 1, done.stderr)  # this machine has no 192 vCPUs
        self.assertIn("\nVERDICT ", done.stdout)
        self.assertLess(seconds, 180)
        told = int(re.search(r"bootstrap: verdict after (\d+) s, exit code 1", done.stderr)[1])
        self.assertLessEqual(abs(told - seconds), 2)
        ready = int(re.search(r"bootstrap: ready after (\d+) s", done.stderr)[1])
        self.assertLessEqual(told - ready, BUDGET_SECONDS * 1.1 + 2)
        result = json.loads((self.folder / "out/result.json").read_text(encoding="utf-8"))
        self.assertIn(result["run"]["status"], ("complete", "partial"))  # the budget ends it on a machine that is busy
        self.assertEqual((result["virtual"], len(result["system"]["devices"])), (True, 8))
        measured = {one["metric"] for one in result["measurements"] if one["status"] == "ok"}
        self.assertLessEqual({"gemm.bf16.tflops", "memory.triad.gbps"}, measured)
        # Before and after, at 55.04 an hour or what the catalog has: seconds x price.
        price = result["platform"]["price"]["per_hour"]
        planned, before = re.search(r"measuring \d+ benchmarks, about (\S+) s, about \$(\S+)\n", done.stderr).groups()
        self.assertAlmostEqual(float(before), float(planned) / 3600 * price, delta=0.02)
        after = re.search(r"paid +nothing for a virtual machine; at this price (\S+) s of measuring would be about \$(\S+)\n",
                          done.stdout)
        self.assertAlmostEqual(float(after[2]), float(after[1]) / 3600 * price, delta=0.02)
        self.assertAlmostEqual(float(after[1]), result["run"]["measuring_seconds"], delta=1)
        self.assertTrue((self.folder / "out/report.html").exists())

    def test_the_cost_is_told_before_anything_is_measured(self):
        with support.Machine("p5") as machine:
            done = self.install_and_run(machine, self.folder / "dry", "--budget", "1m", "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        plan = re.search(r"^plan +\d+ benchmarks, about (\d+) s, about \$(\S+)$", done.stdout, re.M)
        self.assertLessEqual(int(plan[1]), 60)
        self.assertGreater(float(plan[2]), 0)
        self.assertFalse((self.folder / "claimcheck-results").exists())


if __name__ == "__main__":
    unittest.main()
