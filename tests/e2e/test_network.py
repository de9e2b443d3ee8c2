"""Measuring the network between nodes: one machine that says it is several, each process a node of its own, and a preloaded
library that makes some of their messages slow.

Nothing leaves the machine: Open MPI gets shared memory for messages and the loopback interface for its own."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import support

WORKER = support.program("claimcheck-bench-host")
LIBRARY = support.program("libclaimcheck_mpi.so")
SLOW = support.program("libclaimcheck_slow_mpi.so")
MPIRUN = ["mpirun", "--oversubscribe", "--mca", "pml", "ob1", "--mca", "btl", "self,vader",
          "--mca", "oob_tcp_if_include", "lo", "--mca", "plm", "isolated"]
TINY = ["--max-bytes", str(1 << 20), "--threads", "1", "--benchmark_min_time=0.01", "--benchmark_repetitions=3"]
HAVE_MPI = shutil.which("mpirun") and pathlib.Path(LIBRARY).exists() and pathlib.Path(SLOW).exists()
# A byte; messages that take so long hardly feel how busy the machine is.
USUAL, BAD = "100", "500"


def command(delays, *arguments, prefixes=None):
    """A process for each of `delays`, on nodes of their own; `prefixes`: programs in front of some of them."""
    result = list(MPIRUN)
    for node, delay in enumerate(delays):
        if node > 0:
            result.append(":")
        result += ["-np", "1", "-x", f"CLAIMCHECK_NODE={node}", "-x", f"LD_PRELOAD={SLOW}", "-x", f"SLOW_MPI={delay}",
                   *(prefixes or {}).get(node, []), WORKER, *TINY, *arguments]
    return result


def environment():
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def run(delays, *arguments):
    done = subprocess.run(command(delays, *arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", errors="replace", check=False, timeout=200,
                          env=environment())
    for event in support.events_of(done.stdout):
        support.validate(event, "event")
    return done


def by_metric(done):
    return {event["measurement"]["metric"]: event["measurement"] for event in support.events_of(done.stdout)
            if event["event"] == "measurement"}


@unittest.skipUnless(HAVE_MPI, "no Open MPI on this machine, or this build is without it")
class Pairs(unittest.TestCase):
    def pairs(self, delays):
        done = run(delays, "--only", "network.pair")
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        found = by_metric(done)
        one = found["network.pair.busbw.gbps"]
        self.assertEqual(one["status"], "ok", one["reason"])
        self.assertEqual(one["conditions"]["nodes"], len(delays))
        self.assertEqual(found["network.pair.latency.us"]["status"], "ok")
        return one

    def assert_bounded(self, gbps, delay):
        """Two ranks of one all-reduce send all of it once: never faster than its sleeps allow."""
        self.assertLess(gbps, 1 / float(delay))
        self.assertGreater(gbps, 0.2 / float(delay))

    def test_two_nodes_cannot_be_told_apart(self):
        one = self.pairs([USUAL, BAD])
        self.assertIn("measure with three or more", one["evidence"]["verdict"])
        self.assertEqual(one["evidence"]["guilty_nodes"], [])
        self.assert_bounded(one["samples"][0], BAD)

    def test_the_bad_one_of_three(self):
        one = self.pairs([USUAL, BAD, USUAL])
        self.assertEqual(one["evidence"]["guilty_nodes"], [1])
        self.assertIn("node 1 is slow (bandwidth with 2 of 2 nodes)", one["evidence"]["verdict"])
        self.assertIn(1, one["evidence"]["slowest_pair"])
        self.assert_bounded(one["samples"][0], BAD)
        matrix = one["evidence"]["node_matrix_gbps"]
        self.assertEqual(matrix[0][2], matrix[2][0])
        self.assertGreater(matrix[0][2], 2 * matrix[0][1])
        self.assertIsNone(matrix[1][1])

    def test_the_bad_one_of_four(self):
        one = self.pairs([USUAL, USUAL, USUAL, BAD])
        self.assertEqual(one["evidence"]["guilty_nodes"], [3])
        again = [tuple(entry["nodes"]) for entry in one["evidence"]["measured_again"]]
        self.assertLessEqual({(0, 3), (1, 3), (2, 3)}, set(again))

    def test_a_bad_link_is_no_bad_node(self):
        """Only what node 1 sends to node 2 is slow."""
        one = self.pairs([USUAL, f"{BAD}:2", USUAL, USUAL])
        self.assertEqual(one["evidence"]["guilty_nodes"], [])
        self.assertIn([1, 2], one["evidence"]["guilty_links"])
        self.assertEqual(sorted(one["evidence"]["slowest_pair"]), [1, 2])

    def test_one_node_has_no_network(self):
        done = subprocess.run([WORKER, *TINY, "--only", "network.pair"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf-8", check=False, timeout=60)
        one = by_metric(done)["network.pair.busbw.gbps"]
        self.assertEqual(one["status"], "unsupported")
        self.assertIn("there is one node only", one["reason"])

    def test_wrong_data_is_seen(self):
        for fault in ("wrong", "wrong_later"):
            done = run([USUAL, USUAL, USUAL], "--only", "network.pair", "--fault", f"{fault}:network.pair")
            self.assertEqual(by_metric(done)["network.pair.busbw.gbps"]["status"], "wrong_result", fault)


@unittest.skipUnless(HAVE_MPI, "no Open MPI on this machine, or this build is without it")
class OneIsLost(unittest.TestCase):
    """In the middle of a sweep that is so slow that it is at work for many seconds."""

    def start(self, *arguments):
        # Each process writes its number where the test can read it, and becomes the worker.
        folder = self.enterContext(support.tempfile.TemporaryDirectory(prefix="claimcheck-network-"))
        wrapper = pathlib.Path(folder, "worker")
        wrapper.write_text('#!/bin/sh\necho $$ > "$0.$CLAIMCHECK_NODE"\nexec "$@"\n', encoding="utf-8")
        wrapper.chmod(0o755)
        prefixes = {node: [str(wrapper)] for node in range(4)}
        process = subprocess.Popen(command(["20000"] * 4, "--only", "network.pair", *arguments, prefixes=prefixes),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   encoding="utf-8", errors="replace", env=environment())
        self.addCleanup(process.kill)
        for line in process.stdout:
            if '"phase":"prepare"' in line:
                break
        return process, int(wrapper.with_name("worker.2").read_text(encoding="utf-8"))

    def test_a_process_that_dies_ends_the_sweep(self):
        process, victim = self.start()
        start = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        out, _ = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertLess(time.monotonic() - start, 30)
        self.assertNotIn('"event":"measurement"', out)

    def test_a_process_that_stops_ends_it_at_the_deadline(self):
        process, victim = self.start("--deadline", "10")
        start = time.monotonic()
        os.kill(victim, signal.SIGSTOP)
        try:
            out, _ = process.communicate(timeout=100)
        finally:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.assertLess(time.monotonic() - start, 60)
        self.assertNotEqual(process.returncode, 0)
        one = [event["measurement"] for event in support.events_of(out) if event["event"] == "measurement"][0]
        self.assertEqual(one["status"], "timed_out")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
