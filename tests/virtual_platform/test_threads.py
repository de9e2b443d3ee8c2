"""The worker's host code on eight virtual GPUs under ThreadSanitizer, in a build of the preset `tsan` (scripts/test.sh
--tsan)."""
import unittest

import support

LIMITS = ["--max-bytes=200000", "--max-gemm=32"]
BENCHMARKS = ["memory.triad", "gemm.bf16", "host_link.bidirectional", "p2p.read", "p2p.bidirectional", "p2p.load.latency",
              "launch.latency", "allreduce", "alltoall", "scaling.memory.triad"]


class Threads(unittest.TestCase):
    def test_no_data_race(self):
        self.assertIn(b"__tsan_init", support.WORKER.read_bytes(), "this build has no thread sanitizer")
        suppressions = support.SOURCE / "tests" / "virtual_platform" / "tsan.supp"
        with support.Machine("p5", {"gpu": {"l2_kib": 16}}) as machine:
            rows = machine.benchmarks(*LIMITS)
            ids = [next(row["id"] for row in rows.values() if row["benchmark"] == name) for name in BENCHMARKS
                   if any(row["benchmark"] == name for row in rows.values())]
            run = machine.measure(ids, *LIMITS, repetitions=1, timeout=500,
                                  environment={"TSAN_OPTIONS": f"suppressions={suppressions}:exitcode=66"})
        self.assertNotIn("ThreadSanitizer", run.err)
        self.assertEqual(run.code, 0, run)
        self.assertEqual({one["status"] for one in run.measurements}, {"ok"}, run)


if __name__ == "__main__":
    unittest.main()
