"""claimcheck run end to end on the CPU: results, claims, bad input, and the commands around it."""
import json
import os
import time
import unittest

from run_support import MEASURED, THREE, TINY, RunTest
from support import claimcheck, validate


class Whole(RunTest):
    def test_everything_tiny(self):
        done = self.run_tiny("--price", "0.10", "--currency", "USD")
        self.assertRegex(done.stdout, r"\npaid      about \$0\.00\d* for .* of measuring\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = self.result()
        self.assertEqual(document["run"]["status"], "complete")
        found = self.by_benchmark(document)
        for name in ["memory.triad", "gemm.fp64", "gemm.fp32", "gemm.bf16", "allreduce", "scaling.memory", "storage.write",
                     "storage.read"]:
            self.assertIn(name, found)
        for one in document["measurements"]:
            self.assertIn(one["status"], (*MEASURED, "unsupported"), one)
        self.assertGreater(found["memory.triad"]["value"], 0)
        self.assertEqual(len(found["memory.triad"]["statistics"]["samples"]), 3)
        self.assertEqual(found["gemm.bf16"]["status"], "unsupported")
        self.assertIn("OpenBLAS", found["gemm.bf16"]["reason"])
        for word in ["memory.triad", "VERDICT", "exit 0"]:
            self.assertIn(word, done.stdout)
        for line in done.stdout.splitlines():
            self.assertLessEqual(len(line), 100, line)
        self.assertEqual([], [name for name in os.listdir(self.out) if name.startswith("claimcheck-scratch")])

    def test_json_is_one_document(self):
        done = self.run_tiny(*THREE, "--json")
        document = json.loads(done.stdout)
        validate(document, "result")
        self.assertEqual(document, self.result())

    def test_plain_progress_has_a_line_a_benchmark(self):
        done = self.run_tiny(*THREE)
        self.assertRegex(done.stderr, r"(?m)^\[1/\d+\] \S+ +([\d.e+-]+ (GB/s|TFLOPS)|unstable: )")
        self.assertEqual(len(done.stderr.splitlines()), 1 + len(self.result()["run"]["plan"]["benchmarks"]))
        self.assertNotIn("\033", done.stderr)

    def test_environment_gives_defaults_that_are_recorded(self):
        environment = {"CLAIMCHECK_MIN_TIME": "0.01", "CLAIMCHECK_MAX_BYTES": "4MiB", "CLAIMCHECK_MAX_GEMM": "64",
                       "CLAIMCHECK_FILE_BYTES": "4MiB"}
        done = claimcheck("run", "--device", "host", "--repetitions", "3", "--out", str(self.out), "--only", "gemm.fp32",
                          "--max-gemm", "128", environment=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = self.result()
        options = document["run"]["options"]
        self.assertEqual(options["min_time_seconds"], 0.01)
        self.assertEqual(options["max_bytes"], 4 << 20)
        self.assertEqual(options["file_bytes"], 4 << 20)
        self.assertEqual(options["max_gemm"], 128, "the command line has the last word")
        self.assertIn("gemm.fp32/n:128", [one["id"] for one in document["measurements"]])
        resumed = claimcheck("run", "--resume", "--out", str(self.out), environment=environment)
        self.assertNotIn("not with --resume", resumed.stderr, "the environment is no option given again")

    def test_dry_run_measures_nothing(self):
        done = self.run_tiny("--dry-run", "--price", "36")
        self.assertEqual(done.returncode, 0)
        self.assertFalse(self.out.exists())
        self.assertRegex(done.stdout, r"plan +\d+ benchmarks, about .*, about \$[\d.]+")
        plan = json.loads(self.run_tiny("--dry-run", "--json", "--price", "36").stdout)
        self.assertEqual(plan["cost"], f"${plan['estimated_seconds'] / 100:.2f}")  # 36 an hour is 1 cent a second

    def test_out_is_never_overwritten(self):
        self.run_tiny(*THREE)
        first = (self.out / "result.json").read_text()
        self.run_tiny(*THREE)
        kept = list(self.out.glob("result-*.json"))
        self.assertEqual(len(kept), 1)
        self.assertEqual(kept[0].read_text(), first)

    def test_budget_is_kept(self):
        for budget in [4, 8]:
            out = self.folder / f"budget{budget}"
            start = time.monotonic()
            done = claimcheck("run", "--device", "host", "--budget", str(budget), "--max-bytes", "64MiB", "--max-gemm", "1024",
                              "--only", "memory,gemm", "--out", str(out))
            wall = time.monotonic() - start
            document = self.result(out)
            self.assertIn(done.returncode, (0, 4), done.stderr)
            self.assertLessEqual(document["run"]["measuring_seconds"], budget * 1.10)
            self.assertLessEqual(wall, budget * 1.10 + 3)  # start, probe, judge and report beside the measuring
            self.assertLessEqual(document["run"]["plan"]["estimated_seconds"], budget)


class Claims(RunTest):
    STEADY = ["--device", "host", "--repetitions", "6", "--min-time", "0.2", "--max-bytes", "64MiB", "--only", "memory.triad"]

    def run_steady(self, *more):
        return claimcheck("run", *self.STEADY, "--out", str(self.out), *more)

    def test_unmet_claim_exits_1_and_says_by_how_much(self):
        done = self.run_steady("--claim", "memory.triad.gbps>=1000000")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("falls short by", done.stdout)
        verdict = self.result()["verdicts"][0]
        self.assertEqual(verdict["verdict"], "not_met")

    def test_met_claim_exits_0(self):
        done = self.run_steady("--claim", "memory.triad.gbps>=0.001 TB/s")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_claim_that_was_not_measured_exits_4(self):
        done = self.run_tiny("--only", "memory.triad", "--claim", "gemm.bf16.tflops>=900")
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertEqual(self.result()["verdicts"][0]["verdict"], "not_measured")


class BadInput(RunTest):
    ROWS = [
        (["--claim", "memory.traid.gbps>=1"], "memory.triad.gbps"),
        (["--claim", "memory.triad.gbps"], "expected"),
        (["--claim", "memory.triad.gbps>=1 TFLOPS"], "GB/s"),
        (["--profile", "fast"], "\"quick\""),
        (["--budget", "soon"], "expected a duration"),
        (["--only", "memory.traid"], "memory.triad"),
        (["--price", "cheap"], "cheap"),
        (["--instance", "p5.48xlarg"], "p5.48xlarge"),
        (["--fx", "CNY"], "CNY"),
        (["--repetitions", "0"], "--repetitions"),
        (["--launcher", "mpirun 'x"], "quote"),
        (["--profle", "quick"], "--profle"),
        (["--scratch", "/nonexistent/scratch"], "/nonexistent/scratch"),
        (["--worker", "/nonexistent/worker"], "no such file"),
        (["--out", "/proc/1/claimcheck"], "/proc/1/claimcheck"),
        (["--resume"], "journal.jsonl"),
    ]

    def test_one_sentence_and_exit_2(self):
        for arguments, expected in self.ROWS:
            with self.subTest(arguments=arguments):
                done = claimcheck("run", *TINY, *(arguments if "--out" in arguments else ["--out", str(self.out), *arguments]))
                if arguments == ["--resume"]:  # measuring options are refused before anything else
                    done = claimcheck("run", "--resume", "--out", str(self.out))
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertIn(expected, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_unknown_device(self):
        done = claimcheck("run", "--device", "gpu", "--out", str(self.out))
        self.assertEqual(done.returncode, 2)
        self.assertIn("auto, cuda or host", done.stderr)

    def test_no_cuda_worker_is_exit_3(self):
        done = claimcheck("run", "--device", "cuda", "--out", str(self.out))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)


class Other(unittest.TestCase):
    def test_help_of_every_command(self):
        for command in ["run", "probe", "list", "judge", "cost", "report", "catalog", "explain"]:
            done = claimcheck(command, "--help")
            self.assertEqual(done.returncode, 0, command)
            self.assertIn("Examples", done.stdout, command)

    def test_probe(self):
        done = claimcheck("probe", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document["system"]["cpu"]["usable_cores"], len(os.sched_getaffinity(0)))
        text = claimcheck("probe").stdout
        self.assertIn("memory_bytes", text)

    def test_list(self):
        document = json.loads(claimcheck("list", "--device", "host", "--json").stdout)
        rows = {one["benchmark"]: one for one in document["benchmarks"]}
        self.assertTrue(rows["memory.triad"]["runs_here"])
        self.assertFalse(rows["gemm.bf16"]["runs_here"])
        self.assertIn("OpenBLAS", rows["gemm.bf16"]["why_not"])
        text = claimcheck("list", "--device", "host").stdout
        self.assertIn("memory.triad.gbps", text)
        self.assertIn("cannot run here", text)

    def test_unknown_command(self):
        done = claimcheck("judgee")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
