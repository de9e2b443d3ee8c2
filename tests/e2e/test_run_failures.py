"""claimcheck run when something breaks: the worker, the harness itself, the disk. Nothing that was measured is lost."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from run_support import MEASURED, SIZES, THREE, TINY, RunTest
from support import claimcheck, program


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
        for size in ["24k", "48k"]:
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


if __name__ == "__main__":
    unittest.main()
