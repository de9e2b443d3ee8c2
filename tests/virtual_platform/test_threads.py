"""The worker's host code on eight virtual GPUs under ThreadSanitizer, in a build of the preset `tsan` (scripts/test.sh
--tsan). The stand-ins are built without it; what they do with libc's functions is seen, and must be clean too."""
import unittest

import support

LIMITS = ["--max-bytes=200000", "--max-gemm=32"]
BENCHMARKS = ["memory.triad", "gemm.bf16", "host_link.bidirectional", "p2p.read", "p2p.bidirectional", "p2p.load.latency",
              "launch.latency", "allreduce", "alltoall", "scaling.gemm", "scaling.memory", "host_link.pinned_allocation"]


class Threads(unittest.TestCase):
    def test_no_data_race(self):
        self.assertIn(b"__tsan_init", support.WORKER.read_bytes(), "this build has no thread sanitizer")
        with support.Machine("p5", {"gpu": {"l2_kib": 16}}) as machine:
            rows = machine.benchmarks(*LIMITS)
            ids = [next(row["id"] for row in rows.values() if row["benchmark"] == name) for name in BENCHMARKS]
            run = machine.measure(ids, *LIMITS, repetitions=1, timeout=500,
                                  environment={"TSAN_OPTIONS": "exitcode=66"})
        self.assertNotIn("ThreadSanitizer", run.err)
        self.assertEqual(run.code, 0, run)
        self.assertEqual({one["status"] for one in run.measurements}, {"ok"}, run)


if __name__ == "__main__":
    unittest.main()
