"""Work that runs when somebody looks (lazy) and at once (eager) gives the same results: no synchronisation is missing."""
import unittest

import support

TWO = support.first(2) | {"gpu": {"l2_kib": 32, "sms": 2}}
LIMITS = ["--max-bytes=500000", "--max-gemm=64", "--file-bytes=1000000"]


class Modes(unittest.TestCase):
    def test_the_same_status_and_value_everywhere(self):
        with support.Machine("p5", TWO) as machine:
            rows = machine.benchmarks(*LIMITS)
            ids = list({row["benchmark"]: row["id"] for row in rows.values()
                        if not row["benchmark"].startswith(("storage.", "checkpoint.", "training", "scaling.training"))}.values())
            self.assertGreater(len(ids), 40)
            runs = {mode: machine.measure(ids, *LIMITS, repetitions=2,
                                          environment={"CLAIMCHECK_VIRTUAL_MODE": mode}) for mode in ("lazy", "eager")}
        for run in runs.values():
            self.assertEqual(run.code, 0, run)
        for lazy, eager in zip(runs["lazy"].measurements, runs["eager"].measurements, strict=True):
            with self.subTest(lazy["id"]):
                same = ("id", "metric", "status", "reason", "unit")
                self.assertEqual([lazy[key] for key in same], [eager[key] for key in same])
                self.assertIn(lazy["status"], ("ok", "unsupported"))
                # How long allocating takes is the host's own time.
                if lazy["samples"] and "allocation" not in lazy["id"]:
                    ratio = support.median(lazy["samples"]) / support.median(eager["samples"])
                    self.assertLess(abs(ratio - 1), 0.02)


if __name__ == "__main__":
    unittest.main()
