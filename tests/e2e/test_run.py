"""claimcheck run end to end on the CPU: results, failures of the worker, of the harness and of the disk."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import claimcheck, program, validate

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


class Whole(RunTest):
    def test_everything_tiny(self):
        done = self.run_tiny("--price", "0.10", "--currency", "USD")
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


class WorkerFaults(RunTest):
    def faulty(self, fault, *more):
        return self.run_tiny(*THREE, f"--worker-option=--fault={fault}", *more)

    def check(self, done, status, reason):
        document = self.result()
        found = self.by_benchmark(document)
        self.assertEqual(found["memory.triad"]["status"], status)
        self.assertIn(reason, found["memory.triad"]["reason"])
        self.assertIn(found["memory.copy"]["status"], MEASURED)
        self.assertIn(found["gemm.fp32"]["status"], MEASURED)
        self.assertIsNone(found["memory.triad"]["value"])
        self.assertNotEqual(done.returncode, 0)  # never 0 with an error inside
        return document

    def test_crash(self):
        self.check(self.faulty("crash:memory.triad"), "crashed", "SIGSEGV")

    def test_hang(self):
        start = time.monotonic()
        done = self.faulty("hang:memory.triad", "--benchmark-timeout", "1")
        self.check(done, "timed_out", "stopped after")
        self.assertLess(time.monotonic() - start, 20)

    def test_exit(self):
        self.check(self.faulty("exit:memory.triad"), "crashed", "exited with code 3")

    def test_wrong_result_has_no_number(self):
        self.check(self.faulty("wrong:memory.triad"), "wrong_result", "")

    def test_garbage_is_no_harm(self):
        done = self.faulty("garbage:memory.triad")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(self.by_benchmark(self.result())["memory.triad"]["status"], MEASURED)

    def test_wrong_result_fails_a_claim_on_it(self):
        done = self.faulty("wrong:memory.triad", "--claim", "memory.triad.gbps>=0.001")
        self.assertEqual(self.result()["verdicts"][0]["verdict"], "not_measured")
        self.assertEqual(done.returncode, 4)


def worker_of(harness_pid):
    """The pid of the measuring worker below a harness, or None."""
    children = pathlib.Path(f"/proc/{harness_pid}/task/{harness_pid}/children").read_text().split()
    for child in children:
        try:
            words = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(word.startswith(b"--only=") for word in words):
            return int(child)
    return None


class Killed(RunTest):
    ARGUMENTS = ["--only", "memory,gemm.fp32"]

    def start(self, *more):
        return subprocess.Popen([program("claimcheck"), "run", *SIZES, "--min-time", "0.1", *self.ARGUMENTS, "--out",
                                 str(self.out), *more],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def journal(self):
        try:
            return [json.loads(line) for line in (self.out / "journal.jsonl").read_text().splitlines(keepends=True)
                    if line.endswith("\n")]
        except OSError:
            return []

    def wait_for(self, condition):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(0.005)
        self.fail("the run did not get that far")

    def ended(self):
        return [line["id"] for line in self.journal() if line["kind"] == "end"]

    def test_worker_killed_with_minus_9(self):
        process = self.start()
        self.wait_for(lambda: len(self.ended()) >= 1 and worker_of(process.pid))
        os.kill(worker_of(process.pid), signal.SIGKILL)
        process.communicate(timeout=60)
        document = self.result()
        crashed = [one for one in document["measurements"] if one["status"] == "crashed"]
        self.assertEqual(len({one["id"] for one in crashed}), 1)
        self.assertIn("SIGKILL", crashed[0]["reason"])
        planned = {one["id"] for one in document["run"]["plan"]["benchmarks"]}
        self.assertEqual(planned, {one["id"] for one in document["measurements"]})

    def test_harness_killed_with_minus_9_then_resumed(self):
        process = self.start("--claim", "memory.triad.gbps>=0.001", "--price", "1")
        self.wait_for(lambda: len(self.ended()) >= 2)
        worker = worker_of(process.pid)
        process.kill()
        process.communicate()
        self.assertFalse((self.out / "result.json").exists())
        if worker:  # the kernel ends it with its parent
            self.wait_for(lambda: not pathlib.Path(f"/proc/{worker}").exists()
                          or "Z" in pathlib.Path(f"/proc/{worker}/stat").read_text().split(")")[-1][:3])
        before = self.ended()
        (self.out / "claimcheck-scratch").mkdir(exist_ok=True)
        (self.out / "claimcheck-scratch" / "left-behind").write_text("x")
        held = {line["measurement"]["id"]: line["measurement"]["value"] for line in self.journal()
                if line["kind"] == "measurement"}
        done = claimcheck("run", "--resume", "--out", str(self.out))
        self.assertIn(done.returncode, (0, 4), done.stderr)  # 4: too unsteady to judge the claim
        document = self.result()
        self.assertEqual(document["run"]["status"], "complete")
        self.assertEqual(sorted(set(self.ended())), sorted(self.ended()), "measured twice")
        self.assertFalse((self.out / "claimcheck-scratch").exists())
        for one in document["measurements"]:
            if one["id"] in before:
                self.assertEqual(one["value"], held[one["id"]])
        self.assertEqual({one["id"] for one in document["run"]["plan"]["benchmarks"]},
                         {one["id"] for one in document["measurements"]})
        self.assertEqual(document["verdicts"][0]["claim"]["id"], "user:1")  # the claim of the first call

    def test_signals_leave_a_valid_partial_result(self):
        for number in [signal.SIGTERM, signal.SIGINT]:
            with self.subTest(signal=number):
                process = self.start()
                self.wait_for(lambda: len(self.ended()) >= 1)
                start = time.monotonic()
                process.send_signal(number)
                out, err = process.communicate(timeout=30)
                self.assertLess(time.monotonic() - start, 2.0)  # a spot machine is gone soon
                self.assertEqual(process.returncode, 4, err)
                document = self.result()
                self.assertEqual(document["run"]["status"], "partial")
                self.assertGreater(len(document["measurements"]), 0)
                self.assertIn("ended early", json.dumps(document["run"]["plan"]["left_out"]))
                done = claimcheck("run", "--resume", "--out", str(self.out))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.result()["run"]["status"], "complete")
                shutil.rmtree(self.out)

    def test_an_unfinished_run_is_not_overwritten(self):
        process = self.start()
        self.wait_for(lambda: len(self.ended()) >= 1)
        process.kill()
        process.communicate()
        done = self.run_tiny(*THREE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--resume", done.stderr)

    def test_resume_refuses_other_measuring_options(self):
        self.run_tiny(*THREE)
        done = claimcheck("run", "--resume", "--out", str(self.out), "--profile", "standard")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--profile", done.stderr)

    def test_two_runs_cannot_share_a_directory(self):
        process = self.start()
        self.wait_for(lambda: len(self.ended()) >= 1)
        done = claimcheck("run", "--resume", "--out", str(self.out))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("another claimcheck", done.stderr)
        process.communicate(timeout=60)
        self.assertEqual(self.result()["run"]["status"], "complete")


def can_mount():
    return subprocess.run(["unshare", "--mount", "--map-root-user", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
                          capture_output=True).returncode == 0


class FullDisk(RunTest):
    @unittest.skipUnless(shutil.which("unshare") and can_mount(), "needs a user namespace to mount a small disk")
    def test_a_full_disk_is_said_and_leaves_no_half_result(self):
        scratch = self.folder / "scratch"
        scratch.mkdir()
        kept = self.folder / "kept"
        for size in ["16k", "48k"]:
            with self.subTest(size=size):
                shutil.rmtree(kept, ignore_errors=True)
                command = " ".join([program("claimcheck"), "run", *TINY, "--only", "memory,gemm", "--scratch", str(scratch), "--out",
                                    "/mnt/out"])
                script = f"mount -t tmpfs -o size={size} tmpfs /mnt && {{ {command}; code=$?; cp -r /mnt/out {kept}; exit $code; }}"
                done = subprocess.run(["unshare", "--mount", "--map-root-user", "/bin/sh", "-c", script],
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertRegex(done.stderr, "(?i)no space (is )?left")
                self.assertFalse((kept / "result.json").exists())
                self.assertEqual([], [name for name in os.listdir(kept) if "tmp" in name])
                self.assertIn("memory", done.stdout)  # what was measured is shown

    def test_read_only_out(self):
        if os.geteuid() == 0:
            done = claimcheck("run", *TINY, "--out", "/sys/claimcheck")
        else:
            self.folder.chmod(0o500)
            done = self.run_tiny()
            self.folder.chmod(0o700)
        self.assertEqual(done.returncode, 2)
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
