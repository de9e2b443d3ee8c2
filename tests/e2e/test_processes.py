"""Runs of several processes over MPI on this machine, and what happens when one of them fails, dies or hangs.

Nothing leaves the machine: Open MPI gets shared memory for messages and the loopback interface for its own."""
import json
import os
import pathlib
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import run_support
import support

WORKER = support.program("claimcheck-bench-host")
LIBRARY = support.program("libclaimcheck_mpi.so")
# The machine may have one core only, and other tests beside these.
MPIRUN = ["mpirun", "--oversubscribe", "--mca", "pml", "ob1", "--mca", "btl", "self,vader",
          "--mca", "oob_tcp_if_include", "lo", "--mca", "plm", "isolated"]
TINY = ["--max-bytes", str(2 << 20), "--max-gemm", "128", "--file-bytes", str(4 << 20),
        "--benchmark_min_time=0.01", "--benchmark_repetitions=3"]
MARK = "claimcheck-bench: "
HAVE_MPI = shutil.which("mpirun") and pathlib.Path(LIBRARY).exists()


def environment(**more):
    """Open MPI refuses root unless told; a container's only user often is."""
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **more}


def call(command, timeout=120, **more):
    return subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", errors="replace", check=False, timeout=timeout,
                          env=environment(**more))


def processes(count, *arguments, worker=WORKER, **options):
    return call([*MPIRUN, "-np", count, worker, *TINY, "--scratch", support.BIN, *arguments], **options)


def sentences(done):
    return [line for line in done.stderr.splitlines() if line.startswith(MARK)]


def measurements(done):
    """By id; the events of a run must come from one process only."""
    events = support.events_of(done.stdout)
    found = {}
    for event in events:
        if event["event"] != "measurement":
            continue
        one = event["measurement"]
        support.validate(event, "event")
        assert (one["id"], one["metric"]) not in found, f"{one['id']} came twice"
        found[one["id"], one["metric"]] = one
    return {key[0]: one for key, one in reversed(found.items())}


@unittest.skipUnless(HAVE_MPI, "no Open MPI on this machine, or this build is without it")
class TwoProcesses(unittest.TestCase):
    def test_everything_is_measured_once_by_both(self):
        """All benchmarks: none may leave the processes at different points."""
        done = processes(2, timeout=400)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        events = support.events_of(done.stdout)
        self.assertEqual([event["event"] for event in events].count("hello"), 1)
        self.assertEqual(events[-1]["event"], "bye")
        ids = [event["id"] for event in events if event["event"] == "begin"]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(events[-1]["measured"], len(ids))
        for one in measurements(done).values():
            if one["status"] == "unsupported":
                continue
            self.assertEqual(one["status"], "ok", f"{one['id']}: {one['reason']}")
            taking_part = 1 if one["id"].endswith("/ranks:1") else 2  # of scaling: the other waits
            self.assertEqual(one["conditions"]["processes"], taking_part, one["id"])
            self.assertEqual(one["conditions"]["nodes"], 1)
            self.assertEqual([row["process"] for row in one["evidence"]["processes"]], list(range(taking_part)))
            self.assertIn(one["evidence"]["slowest_process"]["process"], (0, 1))
            self.assertGreaterEqual(one["evidence"]["slowest_process"]["times_fastest"], 1)
        reduced = next(one for one in measurements(done).values() if one["id"].startswith("allreduce/bytes"))
        self.assertEqual(reduced["conditions"]["ranks"] % 2, 0)
        self.assertEqual(reduced["evidence"]["group"]["transport"], "shared memory between processes")

    def test_what_is_described_is_what_both_have(self):
        done = processes(2, "--describe")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = support.parse(done.stdout)
        self.assertEqual(document["processes"], 2)
        self.assertEqual(document["nodes"], 1)
        self.assertGreaterEqual(document["ranks"], 2)
        self.assertEqual([device["index"] for device in document["devices"]], [0, 1])
        self.assertEqual([device["facts"]["process"] for device in document["devices"]], [0, 1])
        row = next(row for row in document["benchmarks"] if row["benchmark"] == "allreduce")
        self.assertNotIn("unsupported", row)

    def test_memory_is_shared_out(self):
        alone = support.parse(call([WORKER, "--describe"]).stdout)["devices"][0]["memory_bytes"]
        shared = support.parse(processes(2, "--describe").stdout)["devices"][1]["memory_bytes"]
        self.assertAlmostEqual(shared / alone, 0.5, places=3)

    def test_two_nodes_reach_each_other_by_messages(self):
        """One machine that says it is two."""
        half = [WORKER, *TINY, "--only", "allreduce,allgather,reducescatter,broadcast,sendrecv,alltoall"]
        done = call([*MPIRUN, "-np", 1, "-x", "CLAIMCHECK_NODE=a", *half, ":", "-np", 1, "-x", "CLAIMCHECK_NODE=b", *half])
        if done.returncode == 2:
            self.fail(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        found = measurements(done)
        self.assertGreater(len(found), 6)
        for one in found.values():
            self.assertEqual(one["status"], "ok", one["reason"])
            self.assertEqual(one["conditions"]["nodes"], 2)
            self.assertEqual(one["evidence"]["group"]["transport"], "MPI")
            self.assertIn("Open MPI", one["evidence"]["group"]["mpi"])
            self.assertEqual([row["node"] for row in one["evidence"]["processes"]], [0, 1])


@unittest.skipUnless(HAVE_MPI, "no Open MPI on this machine, or this build is without it")
class Scaling(unittest.TestCase):
    IDS = ("training/nano,scaling.training.weak/nano,scaling.training.strong/nano,scaling.gemm/ranks:1,"
           "scaling.gemm/ranks:2,scaling.memory/ranks:2,scaling.allreduce/ranks:2")

    def check(self, done, nodes):
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        found = {(event["measurement"]["id"], event["measurement"]["metric"]): event["measurement"]
                 for event in support.events_of(done.stdout) if event["event"] == "measurement"}
        for one in found.values():
            support.validate({"event": "measurement", "measurement": one}, "event")
            self.assertEqual(one["status"], "ok", f"{one['id']}: {one['reason']}")
        step = found["training/nano", "training.tflops"]
        self.assertEqual(step["conditions"]["ranks"], 2)
        self.assertLess(step["evidence"]["loss_last"], 0.9 * step["evidence"]["loss_first"])
        for kind in ("training.weak", "training.strong", "memory", "gemm", "allreduce"):
            identity = f"scaling.{kind}/" + ("nano" if "training" in kind else "ranks:2")
            one = found[identity, f"scaling.{kind}.efficiency"]
            self.assertEqual((one["conditions"]["ranks"], one["conditions"]["nodes"]), (2, nodes), identity)
            # How much it is, the virtual platform tells: here two processes may have less than one core.
            self.assertEqual(len(one["samples"]), 3, identity)
            self.assertGreater(min(one["samples"]), 0, identity)
            if kind == "allreduce":
                self.assertEqual(one["samples"], [1, 1, 1])
            if kind != "allreduce":
                slowest = one["evidence"]["slowest_rank"]
                self.assertEqual(slowest["rank"], slowest["process"], slowest)
                self.assertGreaterEqual(slowest["times_fastest"], 1)
        alone = found["scaling.gemm/ranks:1", "scaling.gemm.tflops"]
        self.assertEqual((alone["conditions"]["processes"], alone["conditions"]["nodes"]), (1, 1))
        self.assertEqual([row["process"] for row in alone["evidence"]["processes"]], [0])

    def test_two_processes(self):
        self.check(processes(2, "--threads", 1, "--only", self.IDS), nodes=1)

    def test_two_nodes(self):
        half = [WORKER, *TINY, "--threads", 1, "--only", self.IDS]
        self.check(call([*MPIRUN, "-np", 1, "-x", "CLAIMCHECK_NODE=a", *half, ":",
                         "-np", 1, "-x", "CLAIMCHECK_NODE=b", *half]), nodes=2)


@unittest.skipUnless(HAVE_MPI, "no Open MPI on this machine, or this build is without it")
class OneFails(unittest.TestCase):
    def check(self, kind, status, word):
        done = processes(2, "--only", "memory.copy,memory.triad", "--fault", f"{kind}:memory.copy@1")
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        found = measurements(done)
        self.assertEqual(found["memory.copy"]["status"], status)
        self.assertIn("process 1 on node 0", found["memory.copy"]["reason"])
        self.assertIn(word, found["memory.copy"]["reason"])
        self.assertEqual(found["memory.copy"]["samples"], [])
        # The others did not wait for it in vain, and all go on together.
        self.assertEqual(found["memory.triad"]["status"], "ok", found["memory.triad"]["reason"])

    def test_in_prepare(self):
        self.check("fail", "failed", "a failure that a test asked for")

    def test_in_the_first_check(self):
        self.check("wrong", "wrong_result", "")

    def test_while_measuring(self):
        self.check("fail_later", "failed", "a failure that a test asked for")

    def test_in_the_last_check(self):
        self.check("wrong_later", "wrong_result", "")

    def test_within_a_collective(self):
        """The one that fails comes to no further collective; the others wait for it only until they learn of it."""
        identity = "allreduce.latency"
        done = processes(2, "--only", f"{identity},broadcast.latency", "--fault", f"fail_later:{identity}@1",
                         "--deadline", 3)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        found = measurements(done)
        self.assertEqual(found[identity]["status"], "failed")
        self.assertIn("process 1 on node 0", found[identity]["reason"])
        self.assertIn("a failure that a test asked for", found[identity]["reason"])
        self.assertEqual(found["broadcast.latency"]["status"], "ok", found["broadcast.latency"]["reason"])

    def test_in_all_with_one_reason(self):
        done = processes(2, "--only", "memory.copy", "--fault", "fail:memory.copy")
        self.assertEqual(measurements(done)["memory.copy"]["reason"], "a failure that a test asked for")

    def test_hanging_ends_in_time_and_is_named(self):
        start = time.monotonic()
        done = processes(2, "--only", "memory.copy,memory.triad", "--fault", "hang:memory.triad@1", "--deadline", 1)
        self.assertNotEqual(done.returncode, 0)
        self.assertLess(time.monotonic() - start, 40)
        found = measurements(done)
        self.assertEqual(found["memory.copy"]["status"], "ok")
        self.assertEqual(found["memory.triad"]["status"], "timed_out")
        self.assertIn("process 1 on node 0 did not come within 2 s", found["memory.triad"]["reason"])

    def test_dying_ends_all(self):
        for kind in ("crash", "exit"):
            with self.subTest(kind=kind):
                done = processes(2, "--only", "memory.copy,memory.triad", "--fault", f"{kind}:memory.triad@1")
                self.assertNotEqual(done.returncode, 0)
                found = measurements(done)
                self.assertEqual(found["memory.copy"]["status"], "ok")
                self.assertNotIn("memory.triad", found)

    def test_bad_usage_is_said_once(self):
        done = processes(2, "--only", "memory.triat")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(sentences(done)), 1, done.stderr)
        self.assertIn("memory.triad", sentences(done)[0])


class NoMpi(unittest.TestCase):
    def lonely_worker(self):
        folder = tempfile.TemporaryDirectory(prefix="claimcheck-lonely-")
        self.addCleanup(folder.cleanup)
        return shutil.copy(WORKER, folder.name)

    def assert_refused(self, done, *parts):
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(sentences(done)), 1, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_a_worker_without_its_library_says_what_is_missing(self):
        done = call([self.lonely_worker(), "--describe"], OMPI_COMM_WORLD_SIZE="4", OMPI_COMM_WORLD_RANK="0",
                    OMPI_COMM_WORLD_LOCAL_RANK="0")
        self.assert_refused(done, "4 processes were started by Open MPI", "libclaimcheck_mpi.so is not in",
                            "libopenmpi-dev")

    def test_only_the_first_of_a_node_says_it(self):
        done = call([self.lonely_worker(), "--describe"], OMPI_COMM_WORLD_SIZE="4", OMPI_COMM_WORLD_RANK="3",
                    OMPI_COMM_WORLD_LOCAL_RANK="1")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", ""))

    def test_one_process_needs_no_library(self):
        for variables in ({"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"},
                          {"SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"}):
            with self.subTest(variables=variables):
                done = call([self.lonely_worker(), "--describe"], **variables)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn("processes", support.parse(done.stdout))

    @unittest.skipUnless(HAVE_MPI, "no Open MPI on this machine, or this build is without it")
    def test_the_launcher_of_another_mpi_is_refused(self):
        done = call([WORKER, "--describe"], PMI_SIZE="2", PMI_RANK="0", MPI_LOCALRANKID="0")
        self.assert_refused(done, "2 processes were started by an MPI launcher", "sees 1", "srun --mpi=pmix")

    @unittest.skipUnless(HAVE_MPI, "no Open MPI on this machine, or this build is without it")
    def test_under_the_launcher_too(self):
        self.assert_refused(processes(2, "--describe", worker=self.lonely_worker()), "libclaimcheck_mpi.so is not in")


@unittest.skipUnless(HAVE_MPI, "no Open MPI on this machine, or this build is without it")
class Harness(run_support.RunTest):
    """claimcheck run --launcher: what was measured before a process dies or hangs is kept."""

    LAUNCHER = shlex.join([*MPIRUN, "-np", "2"])

    def worker_with(self, *options):
        """The worker with options of its own, as a program."""
        path = self.folder / "worker"
        path.write_text(f'#!/bin/sh\ncase " $* " in *" --describe "*) exec {WORKER} "$@" ;; esac\n'
                        f'exec {WORKER} "$@" {shlex.join(options)}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def run_two(self, *options, **keywords):
        return self.run_tiny(*run_support.THREE, "--launcher", self.LAUNCHER, "--worker", self.worker_with(*options),
                             environment={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
                             **keywords)

    def test_a_run(self):
        done = self.run_two()
        self.assertIn(done.returncode, (0, 4), done.stderr)
        for one in self.result()["measurements"]:
            self.assertIn(one["status"], run_support.MEASURED, one["reason"])
            self.assertEqual(one["conditions"]["processes"], 2)

    def test_a_process_that_dies(self):
        self.run_two("--fault", "crash:memory.triad@1")
        document = self.result()
        found = self.by_benchmark(document)
        self.assertEqual(document["run"]["status"], "complete")
        self.assertEqual(found["memory.triad"]["status"], "crashed")
        self.assertIn(found["memory.copy"]["status"], run_support.MEASURED)
        self.assertIn(found["gemm.fp32"]["status"], run_support.MEASURED)

    def test_a_process_that_hangs(self):
        start = time.monotonic()
        self.run_two("--fault", "hang:memory.triad@1", "--deadline", "1")
        self.assertLess(time.monotonic() - start, 80)
        found = self.by_benchmark(self.result())
        self.assertEqual(found["memory.triad"]["status"], "timed_out")
        self.assertIn("process 1 on node 0 did not come", found["memory.triad"]["reason"])
        self.assertIn(found["memory.copy"]["status"], run_support.MEASURED)
        self.assertIn(found["gemm.fp32"]["status"], run_support.MEASURED)

    def test_nothing_is_left_behind(self):
        """The harness loses patience with both processes hanging; its launcher takes them along."""
        marker = f"--seed={os.getpid()}{int(time.monotonic() * 1000) % 100000}"
        self.run_tiny("--only", "memory.copy", "--benchmark-timeout", "4", "--launcher", self.LAUNCHER, "--worker",
                      self.worker_with("--fault", "hang:memory.copy", marker),
                      environment={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        left = [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if marker.encode() in self.read(path)]
        self.assertEqual(left, [])

    @staticmethod
    def read(path):
        try:
            return path.read_bytes()
        except OSError:
            return b""


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
