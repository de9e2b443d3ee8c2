"""What a machine cannot do is said with its reason, and is no failure."""
import unittest

import support

LIMITS = ["--max-bytes=2000000", "--max-gemm=128"]

# specs/NAME.json, benchmark or case, words of the reason
ROWS = [
    ("p4d", "gemm.fp8_e4m3", "fp8_e4m3 needs compute capability 8.9; this GPU has 8.0"),
    ("p4d", "gemm.fp8_e5m2", "needs compute capability 8.9; this GPU has 8.0"),
    ("p4d", "tensor.fp8_e4m3", "8.0"),
    ("t4", "gemm.bf16", "bf16 needs compute capability 8.0; this GPU has 7.5"),
    ("t4", "gemm.tf32", "7.5"),
    ("t4", "vector.bf16", "7.5"),
    ("t4", "tensor.bf16", "7.5"),
    ("t4", "p2p.read", ""),
    ("t4", "allreduce", ""),
    ("p5", "gemm.fp4", "9.0"),
    ("l40s", "p2p.load.latency", ""),
    ("mig", "p2p.read", ""),
]


class Unsupported(unittest.TestCase):
    def test_each_with_its_sentence(self):
        listed = {}
        for name in dict.fromkeys(name for name, _, _ in ROWS):
            with support.Machine(name, support.first(1 if name in ("t4", "mig") else 2)) as machine:
                rows = machine.benchmarks(*LIMITS)
                wanted = [row["id"] for row in rows.values()
                          if any(name == spec and row["benchmark"] == benchmark for spec, benchmark, _ in ROWS)]
                listed[name] = machine.measure(wanted, *LIMITS, repetitions=1)
        for name, benchmark, words in ROWS:
            with self.subTest(f"{name} {benchmark}"):
                run = listed[name]
                self.assertEqual(run.code, 0, run)
                found = [one for one in run.measurements if one["id"].partition("/")[0] == benchmark]
                self.assertTrue(found)
                for one in found:
                    self.assertEqual((one["status"], one["samples"]), ("unsupported", []))
                    self.assertGreater(len(one["reason"]), 20)
                    self.assertIn(words, one["reason"])


if __name__ == "__main__":
    unittest.main()
