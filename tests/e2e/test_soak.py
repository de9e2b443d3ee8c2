"""`claimcheck run --profile soak` on the CPU: plan, length, series, and what is refused."""
import time
import unittest

from run_support import MEASURED, RunTest
from support import claimcheck, parse

SIZES = ["--device", "host", "--max-bytes", "4MiB", "--max-gemm", "128"]


def soak(*more, **keywords):
    return claimcheck("run", *SIZES, "--profile", "soak", *more, **keywords)


class Soak(RunTest):
    def test_it_lasts_as_long_as_it_is_told_and_leaves_a_series(self):
        started = time.monotonic()
        run = soak("--duration", "4s", "--worker-option=--soak-segment=2", "--out", self.out, "--budget", "20s")
        self.assertLess(time.monotonic() - started, 60)
        document = self.result()
        segments = [m for m in document["measurements"] if m["metric"] == "soak.gemm.tflops"]
        self.assertEqual([m["id"] for m in segments], ["soak/segment:1", "soak/segment:2"], run)
        for segment in segments:
            self.assertIn(segment["status"], MEASURED, run)
            self.assertEqual(segment["conditions"]["duration_seconds"], 4)
            series = segment["evidence"]["series"]
            self.assertTrue(series["seconds"])
            self.assertTrue(all(rate > 0 for rate in series["devices"][0]["tflops"]))
        self.assertGreaterEqual(document["run"]["measuring_seconds"], 4)
        self.assertIn("SOAK", run.stdout)

    def test_the_plan_is_as_long_as_the_soak(self):
        for text, seconds, segments in (("90s", 90, 2), ("30m", 1800, 30), ("2h", 7200, 120), (None, 600, 10)):
            with self.subTest(text):
                run = soak("--dry-run", "--json", *(["--duration", text] if text else []))
                self.assertEqual(run.returncode, 0, run)
                plan = parse(run.stdout)
                self.assertEqual(len(plan["benchmarks"]), segments)
                self.assertGreaterEqual(plan["estimated_seconds"], seconds)
                self.assertLess(plan["estimated_seconds"], 1.03 * seconds + 5)

    def test_what_is_refused(self):
        other = claimcheck("run", *SIZES, "--duration", "5m")
        self.assertEqual(other.returncode, 2)
        self.assertIn("--duration 5m: only a soak lasts as long as you say; add --profile soak", other.stderr)
        for arguments, words in ((["--duration", "soon"], "expected a duration such as 90s, 5m or 1h30m"),
                                 (["--duration", "0.2s"], "expected 1 s at least"),
                                 (["--duration", "30m", "--budget", "10m"], "the soak takes about 30 min")):
            with self.subTest(words):
                run = soak(*arguments)
                self.assertEqual(run.returncode, 2, run)
                self.assertIn(words, run.stderr)

    def test_other_profiles_leave_it_out_and_say_where_it_is(self):
        plan = parse(claimcheck("run", *SIZES, "--dry-run", "--json").stdout)
        left = {one["id"]: one["reason"] for one in plan["left_out"]}
        self.assertIn("--profile soak", left["soak/segment:1"])


if __name__ == "__main__":
    unittest.main()
