"""scripts/gpu_check.py: the table that decides whether claimcheck keeps its promises on a real GPU."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import support

SCRIPT = support.SOURCE / "scripts/gpu_check.py"


def row(identity, value, unit="TFLOPS", status="ok", pattern="normal"):
    metric = {"gemm.bf16": "gemm.bf16.tflops", "memory.read": "memory.read.gbps", "memory.copy": "memory.copy.gbps"}
    return {"id": identity, "metric": metric[identity.split("/")[0]], "value": value, "unit": unit, "status": status,
            "conditions": {"data_pattern": pattern}}


def result(rows):
    return {"system": {"devices": [{"name": "NVIDIA H200", "virtual": False,
                                    "facts": {"memory_clock_max_mhz": 3201, "memory_bus_bits": 6144}}]},
            "measurements": rows, "verdicts": []}


class Report(unittest.TestCase):
    def report(self, quick, again, torch, codes=(0, 0)):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder)
            for name, document in (("quick", quick), ("again", again)):
                (out / name).mkdir()
                (out / name / "result.json").write_text(json.dumps(document))
            (out / "torch.json").write_text(json.dumps(torch))
            for tool, code in zip(("memcheck", "racecheck"), codes):
                (out / f"{tool}.code").write_text(f"{code}\n")
            done = subprocess.run([sys.executable, SCRIPT, "report", out, "301"], stdout=subprocess.PIPE, text=True,
                                  check=False)
            document = json.loads((out / "gpu-check.json").read_text())
            return done, document, {check["what"].split(",")[0]: check for check in document["checks"]}

    # 3201 MHz x 2 x 6144 bit = 4917 GB/s; 93 % of it is 4573, 84 % is 4130.
    HEALTHY = [row("gemm.bf16/n:8192", 760.0), row("gemm.bf16/n:4096", 700.0), row("gemm.bf16/zeros", 900.0, pattern="zeros"),
               row("memory.read", 4600.0, "GB/s"), row("memory.copy", 4200.0, "GB/s")]
    TORCH = {"values": {"matmul.bf16": {"value": 750.0}, "copy": {"value": 4100.0}}}

    def test_a_healthy_gpu(self):
        done, document, checks = self.report(result(self.HEALTHY), result(self.HEALTHY), self.TORCH)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(checks["gemm.bf16.tflops"]["seen"], 760.0)
        self.assertTrue(checks["gemm.bf16.tflops"]["holds"])
        self.assertAlmostEqual(checks["memory.read.gbps"]["wanted"], 4572.8, places=0)
        self.assertTrue(checks["memory.copy.gbps"]["holds"])
        self.assertEqual((document["seconds"], document["virtual"], document["devices"]), (301, False, ["NVIDIA H200"]))
        self.assertIn("holds", done.stdout)

    def test_slower_than_pytorch(self):
        done, _, checks = self.report(result(self.HEALTHY), result(self.HEALTHY),
                                      {"values": {"matmul.bf16": {"value": 761.0}}})
        self.assertEqual(done.returncode, 1)
        self.assertIs(checks["gemm.bf16.tflops"]["holds"], False)

    def test_read_below_its_share(self):
        rows = [dict(r, value=4500.0) if r["id"] == "memory.read" else r for r in self.HEALTHY]
        done, _, checks = self.report(result(rows), result(rows), self.TORCH)
        self.assertEqual(done.returncode, 1)
        self.assertIs(checks["memory.read.gbps"]["holds"], False)

    def test_runs_that_differ(self):
        again = [dict(r, value=r["value"] * 1.02) if r["id"] == "memory.copy" else r for r in self.HEALTHY]
        done, _, checks = self.report(result(self.HEALTHY), result(again), self.TORCH)
        self.assertEqual(done.returncode, 1)
        differing = checks["two runs agree (memory.copy)"]
        self.assertAlmostEqual(differing["seen"], 0.02, places=6)

    def test_wrong_result_is_never_a_pass(self):
        rows = self.HEALTHY + [row("memory.read", None, "GB/s", status="wrong_result")]
        done, document, _ = self.report(result(rows), result(rows), self.TORCH)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(document["outcomes"]["wrong_result"], 1)
        self.assertIn("went wrong", done.stdout)

    def test_sanitizer_finding(self):
        done, _, checks = self.report(result(self.HEALTHY), result(self.HEALTHY), self.TORCH, codes=(0, 9))
        self.assertEqual(done.returncode, 1)
        self.assertIs(checks["compute-sanitizer racecheck"]["holds"], False)

    def test_what_could_not_be_seen_is_not_a_pass_nor_a_miss(self):
        done, _, checks = self.report(result(self.HEALTHY), result(self.HEALTHY), {"error": "no PyTorch"})
        self.assertEqual(done.returncode, 0)
        self.assertIsNone(checks["gemm.bf16.tflops"]["holds"])
        self.assertIn("no PyTorch", done.stdout)
        self.assertIn("not seen", done.stdout)

    def test_usage(self):
        done = subprocess.run([sys.executable, SCRIPT, "torhc"], stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("gpu_check.py torch", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
