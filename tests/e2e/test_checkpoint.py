"""Checkpoints as a user meets them: on a disk, in a directory of one's own, and where something is in the way: io_uring
or O_DIRECT forbidden, a full disk, a limit of file sizes, no rights, memory instead of a disk, a crash.

What a system refuses is made to happen by a seccomp filter of the worker's own process; it needs no rights.
"""
import ctypes
import errno
import json
import os
import pathlib
import platform
import resource
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import support

WORKER = support.program("claimcheck-bench-host")
SIZE = 20 << 20
O_DIRECT = 0x4000  # of x86-64, as the numbers below
IO_URING_SETUP, OPENAT, FALLOCATE, PWRITE = 425, 257, 285, 18


def refuse(*rules):
    """For preexec_fn: these system calls fail. A rule is (number, errno) or (number, errno, argument, bit)."""
    BPF_LOAD, BPF_EQUAL, BPF_SET, BPF_RETURN = 0x20, 0x15, 0x45, 0x06
    code = []
    for number, error, *where in rules:
        answer = (BPF_RETURN, 0, 0, 0x00050000 | error)
        inner = [(BPF_LOAD, 0, 0, 16 + 8 * where[0]), (BPF_SET, 0, 1, where[1]), answer] if where else [answer]
        code += [(BPF_LOAD, 0, 0, 0), (BPF_EQUAL, 0, len(inner), number), *inner]
    code.append((BPF_RETURN, 0, 0, 0x7FFF0000))
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in code)

    def install():
        libc = ctypes.CDLL(None, use_errno=True)
        buffer = ctypes.create_string_buffer(program)
        header = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer))
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.c_char_p(header), 0, 0) != 0:
            os._exit(97)  # no filter: the test would prove nothing

    return install


class CheckpointTest(unittest.TestCase):
    def setUp(self):
        # Beside the programs: a build lies on a disk.
        folder = tempfile.TemporaryDirectory(prefix="checkpoint-e2e-", dir=support.BIN)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def worker(self, *arguments, size=SIZE, **options):
        command = [WORKER, "--scratch", self.folder, "--file-bytes", size, "--benchmark_min_time=0.01",
                   "--benchmark_repetitions=3", *arguments]
        return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8", timeout=120, check=False, **options)

    def measure(self, only, *arguments, **options):
        """Measurements by metric, of one benchmark or case; nothing may be left in the folder."""
        done = self.worker("--only", only, *arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        events = support.events_of(done.stdout)
        for event in events:
            self.assertEqual(support.schema_errors(event, "event"), [])
        self.assertEqual(os.listdir(self.folder), [])
        return {e["measurement"]["metric"]: e["measurement"] for e in events if e["event"] == "measurement"}

    def reason(self, only, status, *arguments, **options):
        """Of one that fails: one sentence, no value, nothing left behind."""
        measured = self.measure(only, *arguments, **options)
        self.assertEqual(len(measured), 2, measured)
        for m in measured.values():
            self.assertEqual((m["status"], m["samples"]), (status, []), m)
            self.assertNotIn("\n", m["reason"])
        return measured[f"{only.split('/')[0]}.gbps"]["reason"]


class Healthy(CheckpointTest):
    def test_both_ways(self):
        for what in ("save", "restore"):
            measured = self.measure(f"checkpoint.{what}/125m")
            rate, seconds = measured[f"checkpoint.{what}.gbps"], measured[f"checkpoint.{what}.seconds"]
            self.assertEqual((rate["status"], rate["reason"]), ("ok", ""))
            self.assertEqual(len(rate["samples"]), 3)
            conditions = rate["conditions"]
            self.assertEqual(conditions["bytes"], SIZE)
            self.assertEqual(conditions["preset_bytes"], 14 * 125_000_000)
            self.assertEqual(conditions["limited_by"], "--file-bytes")
            self.assertEqual((conditions["location"], conditions["queue_depth"]), ("scratch", 8))
            self.assertTrue(conditions["file_system"])
            self.assertEqual((seconds["conditions"]["bytes"], seconds["conditions"]["measured_bytes"],
                              seconds["conditions"]["scaled"]), (1_750_000_000, SIZE, True))
            storage = rate["evidence"]["storage"]
            self.assertEqual(storage["cached_pages"], 0)
            # Of a first run and three repetitions, and of reading back what was saved.
            self.assertGreaterEqual(storage["read_bytes"], SIZE)
            if storage["read_bytes_counted_by_the_kernel"] is not None:
                self.assertGreaterEqual(storage["read_bytes_counted_by_the_kernel"], storage["read_bytes"])

    def test_seconds_are_bytes_over_the_rate(self):
        measured = self.measure("checkpoint.restore/1.3b", "--benchmark_min_time=0.00001")  # one iteration each
        rates, seconds = measured["checkpoint.restore.gbps"], measured["checkpoint.restore.seconds"]
        self.assertEqual(rates["conditions"]["iterations"], 1)
        for rate, second in zip(rates["samples"], seconds["samples"]):
            self.assertAlmostEqual(rate * second, 18.2, places=6)  # 14 bytes of 1.3 billion parameters

    def test_the_same_directory_given_is_measured_as_well(self):
        other = self.folder.parent / (self.folder.name + "-given")
        other.mkdir()
        self.addCleanup(other.rmdir)
        conditions = self.measure("checkpoint.save/dir/125m", "--checkpoint-dir",
                                  other)["checkpoint.save.gbps"]["conditions"]
        self.assertEqual((conditions["location"], conditions["directory"]), ("checkpoint_dir", str(other)))
        self.assertEqual(os.listdir(other), [])

    def test_without_a_given_directory_there_is_none_to_measure(self):
        description = json.loads(self.worker("--describe").stdout)
        ids = [row["id"] for row in description["benchmarks"] if row["id"].startswith("checkpoint.")]
        self.assertEqual(ids, ["checkpoint.restore/125m", "checkpoint.restore/1.3b", "checkpoint.restore/7b_block",
                               "checkpoint.restore/gds", "checkpoint.save/125m", "checkpoint.save/1.3b",
                               "checkpoint.save/7b_block", "checkpoint.save/gds"])

    def test_a_cpu_has_no_gpudirect_storage(self):
        self.assertIn("memory of GPUs only", self.reason("checkpoint.save/gds", "unsupported"))

    def test_a_killed_worker_leaves_nothing(self):
        command = [WORKER, "--scratch", self.folder, "--file-bytes", SIZE, "--benchmark_min_time=0.01", "--only",
                   "checkpoint.save/125m", "--fault", "hang:checkpoint.save/125m"]
        with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            for line in process.stdout:
                if b'"measure"' in line:
                    break
            process.kill()
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_a_crash_left_where_files_need_names_is_removed(self):
        left = self.folder / "claimcheck-checkpoint-1-00000000-0.part"
        left.write_bytes(b"x")
        self.measure("checkpoint.save/125m")


class InTheWay(CheckpointTest):
    def filtered(self, *rules):
        if platform.machine() != "x86_64":
            self.skipTest("the numbers of system calls are those of x86-64")
        return {"preexec_fn": refuse(*rules)}

    def test_where_io_uring_is_forbidden_threads_do_it(self):
        for what in ("save", "restore"):
            m = self.measure(f"checkpoint.{what}/125m", **self.filtered((IO_URING_SETUP, errno.EPERM)))
            m = m[f"checkpoint.{what}.gbps"]
            self.assertEqual((m["status"], m["conditions"]["io_engine"]), ("ok", "threads"), m["reason"])
            self.assertEqual(m["conditions"]["io_engine_reason"], "io_uring cannot be used here (EPERM)")

    def test_no_o_direct(self):
        reason = self.reason("checkpoint.save", "unsupported", **self.filtered((OPENAT, errno.EINVAL, 2, O_DIRECT)))
        self.assertIn("has no O_DIRECT, so the page cache cannot be kept out; give a directory on a disk with --scratch",
                      reason)

    def test_no_file_without_a_name(self):
        """As on NFS: the name is there from the start, and gone in the end."""
        m = self.measure("checkpoint.save/125m", **self.filtered((OPENAT, errno.EOPNOTSUPP, 2, 0x400000)))
        self.assertEqual(m["checkpoint.save.gbps"]["conditions"]["file"], "has its name from the start")

    def test_no_space_at_the_start(self):
        reason = self.reason("checkpoint.save/125m", "unsupported", **self.filtered((FALLOCATE, errno.ENOSPC)))
        self.assertIn("has no space for a file of 20 MiB; free some, choose --file-bytes smaller", reason)

    def test_the_disk_fills_up_under_way(self):
        reason = self.reason("checkpoint.save/125m", "failed",
                             **self.filtered((IO_URING_SETUP, errno.EPERM), (PWRITE, errno.ENOSPC)))
        self.assertRegex(reason, r"the disk was full at byte \d+ of the file.*ENOSPC|ENOSPC.*the disk was full at byte \d+")
        self.assertIn("choose --file-bytes smaller", reason)

    def test_a_limit_of_file_sizes(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        reason = self.reason("checkpoint.save/125m", "failed", preexec_fn=limit)
        self.assertIn("a file of 20 MiB is larger than this process may make", reason)
        self.assertIn("ulimit -f", reason)

    def test_directories_that_will_not_do(self):
        missing = self.folder / "missing"
        self.assertIn(f"the directory {missing} of --checkpoint-dir cannot be used",
                      self.reason("checkpoint.save/dir", "failed", "--checkpoint-dir", missing))
        self.assertIn("give another", self.reason("checkpoint.restore/dir", "failed", "--checkpoint-dir", "/proc"))
        if pathlib.Path("/dev/shm").is_dir():
            self.assertIn("/dev/shm is in memory, not on a disk; give a directory on a disk with --checkpoint-dir",
                          self.reason("checkpoint.save/dir", "unsupported", "--checkpoint-dir", "/dev/shm"))

    def test_one_flipped_bit_is_found(self):
        for what, where in (("save", "the file saved from device 0"), ("restore", "the memory of device 0 after restoring")):
            for fault in ("wrong", "wrong_later"):
                name = f"checkpoint.{what}/125m"
                reason = self.reason(name, "wrong_result", "--fault", f"{fault}:{name}")
                self.assertRegex(reason, where + r": the 8 bytes at \d+ are 0x")


class Run(support.CommandTest):
    def test_checkpoint_dir_of_a_run(self):
        given = pathlib.Path(tempfile.mkdtemp(prefix="checkpoint-e2e-", dir=support.BIN))
        self.addCleanup(given.rmdir)
        out = self.folder / "out"
        done = support.claimcheck("run", "--device", "host", "--only", "checkpoint.save/dir/125m", "--checkpoint-dir", given,
                                  "--file-bytes", SIZE, "--min-time", "0.01", "--repetitions", "3", "--out", out)
        self.assertIn(done.returncode, (0, 5), done.stderr)  # 5: a loaded machine may make it unstable
        document = support.load(out / "result.json")
        self.assert_valid(document, "result")
        measured = {m["metric"]: m for m in document["measurements"]}
        self.assertEqual(measured["checkpoint.save.gbps"]["conditions"]["directory"], str(given))
        self.assertGreater(measured["checkpoint.save.seconds"]["value"], 0)
        self.assertEqual(os.listdir(given), [])

    def test_a_directory_that_is_not_there_is_refused(self):
        self.assert_refused(support.claimcheck("run", "--device", "host", "--checkpoint-dir", "/nonexistent/dir"),
                            "--checkpoint-dir /nonexistent/dir: no such directory")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
