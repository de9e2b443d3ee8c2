"""What a run leaves and what it hands on: files, environment, identifiers; and what its sources never do."""
import json
import os
import pathlib
import re
import stat
import subprocess
import tempfile
import unittest

import support

MADE = support.SOURCE / "tests" / "e2e" / "made_worker.py"
VIRTUAL = support.BIN.parent / "virtual_platform" / "lib" / "libclaimcheck_kernels_cpu.so"
# Each hands a line of text to a shell.
SHELLS = re.compile(r"(?<!collected_\.)(?<!collected\.)(?<!Collected::)(?<!void )\b(popen|system|wordexp|execl|execlp|execle)\(|/bin/(ba)?sh")


class Files(support.CommandTest):
    def run_made(self, **options):
        return support.claimcheck("run", "--worker", MADE, "--out", self.folder / "out", **options)

    def test_modes_follow_the_umask_and_nothing_is_executable(self):
        for mask in (0o022, 0o077, 0o000):
            with self.subTest(oct(mask)), tempfile.TemporaryDirectory() as folder:
                out = pathlib.Path(folder) / "out"
                done = support.claimcheck("run", "--worker", MADE, "--out", out, preexec_fn=lambda: os.umask(mask))
                self.assert_exit(done, 0)
                for name in ("result.json", "report.html", "journal.jsonl"):
                    self.assertEqual(stat.S_IMODE((out / name).stat().st_mode), 0o666 & ~mask, name)

    def test_a_result_is_replaced_and_not_written_over(self):
        self.assert_exit(self.run_made(), 0)
        result = self.folder / "out" / "result.json"
        other = self.folder / "other"
        os.link(result, other)
        before = other.read_bytes()
        self.assert_exit(support.claimcheck("run", "--resume", "--out", self.folder / "out", "--price", "1"), 0)
        self.assertEqual(other.read_bytes(), before)
        self.assertNotEqual(result.read_bytes(), before)
        self.assertEqual(sorted(os.listdir(self.folder / "out")), ["journal.jsonl", "report.html", "result.json"])

    def test_half_files_of_a_killed_run_go(self):
        self.assert_exit(self.run_made(), 0)
        half = self.folder / "out" / ".result.json.4711.tmp"
        half.write_text("{")
        self.assert_exit(support.claimcheck("run", "--resume", "--out", self.folder / "out"), 0)
        self.assertFalse(half.exists())


class Environment(support.CommandTest):
    def test_a_worker_gets_what_the_list_names(self):
        seen = self.folder / "environment"
        worker = self.file("worker", f"#!/bin/sh\nenv >> {seen}\nexec {MADE} \"$@\"\n")
        worker.chmod(0o755)
        given = {"AWS_SECRET_ACCESS_KEY": "secret", "HF_TOKEN": "secret", "NCCL_DEBUG": "WARN", "CUDA_VISIBLE_DEVICES": "0",
                 "MY_FABRIC": "1", "MY_OTHER": "2", "CLAIMCHECK_PASS": "MY_F*"}
        done = support.claimcheck("run", "--worker", worker, "--out", self.folder / "out", environment=given)
        self.assert_exit(done, 0)
        names = {line.partition("=")[0] for line in seen.read_text().splitlines()}
        self.assertLessEqual({"PATH", "NCCL_DEBUG", "CUDA_VISIBLE_DEVICES", "MY_FABRIC"}, names)
        self.assertEqual(names & {"AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "MY_OTHER"}, set())
        self.assertNotIn("secret", (self.folder / "out" / "result.json").read_text())

    def test_nothing_of_a_command_is_expanded(self):
        mark = self.folder / "mark"
        launcher = f"env X=$(touch${{IFS}}{mark}) Y=`touch` Z=;touch"
        done = support.claimcheck("run", "--worker", MADE, "--launcher", launcher, "--out", self.folder / "$(touch here)")
        self.assert_exit(done, 0)
        self.assertFalse(mark.exists())
        self.assertTrue((self.folder / "$(touch here)" / "result.json").exists())


class Identifiers(support.CommandTest):
    @unittest.skipUnless(VIRTUAL.exists(), "this build has no virtual platform")
    def test_uuids_are_hashed_unless_asked_for(self):
        for more, clear in (([], False), (["--keep-identifiers"], True)):
            with self.subTest(more):
                out = self.folder / f"out{len(more)}"
                done = subprocess.run(
                    [support.SOURCE / "scripts" / "virtual.sh", "t4", "claimcheck", "run", "--device", "cuda", "--only",
                     "memory.copy", "--repetitions", "2", "--out", out, *more],
                    env={**os.environ, "CLAIMCHECK_BUILD": str(support.BIN.parent)}, capture_output=True, encoding="utf-8",
                    timeout=60, check=False)
                self.assert_exit(done, 0)
                device, = json.loads((out / "result.json").read_text())["system"]["devices"]
                self.assertRegex(device["uuid"], "^GPU-" if clear else "^sha256:[0-9a-f]{16}$")
                for name in ("result.json", "journal.jsonl"):
                    self.assertEqual("GPU-c1a1" in (out / name).read_text(), clear, name)


class Sources(unittest.TestCase):
    def test_no_shell_is_ever_started(self):
        files = [path for room in ("harness", "bench", "kernels") for path in (support.SOURCE / room).rglob("*")
                 if path.suffix in (".cpp", ".h", ".cu", ".cuh")]
        self.assertGreater(len(files), 200)
        found = [f"{path}: {match.group()}" for path in files for match in SHELLS.finditer(path.read_text(encoding="utf-8"))]
        self.assertEqual(found, [])
        self.assertTrue(SHELLS.search("std::system(command)"))  # the pattern finds what it is for
        self.assertFalse(SHELLS.search("probe_system(options)"))
        self.assertFalse(SHELLS.search("collected.system(pointer)"))  # facts of a machine that was imported

    def test_no_wait_is_by_the_clock_of_the_day(self):
        clock = re.compile(r"system_clock|high_resolution_clock|CLOCK_REALTIME|gettimeofday|pthread_cond_timedwait|sem_timedwait")
        allowed = {"harness/cost/pricing.cpp"}  # how old a price is
        found = {str(path.relative_to(support.SOURCE)) for room in ("harness", "bench", "kernels")
                 for path in (support.SOURCE / room).rglob("*")
                 if path.suffix in (".cpp", ".h", ".cu", ".cuh") and clock.search(path.read_text(encoding="utf-8"))}
        self.assertEqual(found, allowed)


if __name__ == "__main__":
    unittest.main()
