"""Measuring the network between nodes: one machine that says it is several, each process a node of its own, and a preloaded
library that makes some of their messages slow.

Nothing leaves the machine: Open MPI gets shared memory for messages and the loopback interface for its own."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
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
USUAL, BAD = "100", "1000"


def command(processes, *arguments, wrapper=()):
    """`processes`: (node, delay) of each; without a delay nothing is preloaded. `wrapper`: a program in front of each."""
    result = list(MPIRUN)
    for number, (node, delay) in enumerate(processes):
        if number > 0:
            result.append(":")
        result += ["-np", "1", "-x", f"CLAIMCHECK_NODE={node}"]
        if delay:
            result += ["-x", f"LD_PRELOAD={SLOW}", "-x", f"SLOW_MPI={delay}"]
        result += [*wrapper, WORKER, *TINY, *arguments]
    return result


def nodes(delays):
    return list(enumerate(delays))


def environment(**more):
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **more}


def run(processes, *arguments, **more):
    done = subprocess.run(command(processes, *arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", errors="replace", check=False, timeout=200,
                          env=environment(**more))
    for event in support.events_of(done.stdout):
        support.validate(event, "event")
    return done


def by_metric(done):
    return {event["measurement"]["metric"]: event["measurement"] for event in support.events_of(done.stdout)
            if event["event"] == "measurement"}


@unittest.skipUnless(HAVE_MPI, "no Open MPI on this machine, or this build is without it")
class Pairs(unittest.TestCase):
    def pairs(self, delays):
        done = run(nodes(delays), "--only", "network.pair")
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
        self.assertGreater(gbps, 0.1 / float(delay))

    def assert_found(self, one, bad_pairs, guilty_nodes, guilty_links):
        """The bad pairs are the slowest by far; where the machine was quiet enough for the others to agree within the
        rule's 10 %, the verdict is exactly this."""
        evidence = one["evidence"]
        matrix = evidence["node_matrix_gbps"]
        figures = {(a, b): matrix[a][b] for a in range(len(matrix)) for b in range(a)}
        bad = [figure for (a, b), figure in figures.items() if (b, a) in bad_pairs]
        well = [figure for (a, b), figure in figures.items() if (b, a) not in bad_pairs]
        self.assertEqual(len(bad), len(bad_pairs))
        self.assertLess(max(bad), 0.5 * min(well))
        self.assertIn(tuple(evidence["slowest_pair"]), bad_pairs)
        self.assertLessEqual(set(bad_pairs), {tuple(entry["nodes"]) for entry in evidence["measured_again"]})
        if min(well) > 0.95 * max(well):
            self.assertEqual(evidence["guilty_nodes"], guilty_nodes)
            self.assertEqual(evidence["guilty_links"], guilty_links)

    def test_two_nodes_cannot_be_told_apart(self):
        one = self.pairs([USUAL, BAD])
        self.assertIn("measure with three or more", one["evidence"]["verdict"])
        self.assertEqual(one["evidence"]["guilty_nodes"], [])
        self.assert_bounded(one["samples"][0], BAD)

    def test_the_bad_one_of_three(self):
        one = self.pairs([USUAL, BAD, USUAL])
        self.assert_found(one, [(0, 1), (1, 2)], [1], [])
        self.assertIn("node 1 is slow (bandwidth with 2 of 2 nodes)", one["evidence"]["verdict"])
        self.assert_bounded(one["samples"][0], BAD)
        matrix = one["evidence"]["node_matrix_gbps"]
        self.assertEqual(matrix[0][2], matrix[2][0])
        self.assertIsNone(matrix[1][1])

    def test_the_bad_one_of_four(self):
        one = self.pairs([USUAL, USUAL, USUAL, BAD])
        self.assert_found(one, [(0, 3), (1, 3), (2, 3)], [3], [])
        self.assertIn(3, one["evidence"]["guilty_nodes"])

    def test_a_bad_link_is_no_bad_node(self):
        """Only what node 1 sends to node 2 is slow."""
        self.assert_found(self.pairs([USUAL, f"{BAD}:2", USUAL, USUAL]), [(1, 2)], [], [[1, 2]])

    def test_the_plan_knows_how_long_it_takes(self):
        done = run(nodes([None, None]), "--describe")
        rows = {row["id"]: row for row in support.parse(done.stdout)["benchmarks"]}
        self.assertEqual(rows["network.pair"]["setup_seconds"], 3)  # three pairs of a second
        self.assertFalse(rows["network.rail"]["quick"])
        self.assertFalse(rows["allreduce/bytes:8"]["quick"])

    def test_one_node_has_no_network(self):
        done = subprocess.run([WORKER, *TINY, "--only", "network.pair"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf-8", check=False, timeout=60)
        one = by_metric(done)["network.pair.busbw.gbps"]
        self.assertEqual(one["status"], "unsupported")
        self.assertIn("there is one node only", one["reason"])

    def test_wrong_data_is_seen(self):
        for fault in ("wrong", "wrong_later"):
            done = run(nodes([USUAL] * 3), "--only", "network.pair", "--fault", f"{fault}:network.pair")
            self.assertEqual(by_metric(done)["network.pair.busbw.gbps"]["status"], "wrong_result", fault)


@unittest.skipUnless(HAVE_MPI, "no Open MPI on this machine, or this build is without it")
class OneIsLost(unittest.TestCase):
    """In the middle of a sweep that is so slow that it is at work for many seconds."""

    def start(self, *arguments):
        # Each process writes its number where the test can read it, and becomes the worker.
        folder = tempfile.TemporaryDirectory(prefix="claimcheck-network-")
        self.addCleanup(folder.cleanup)
        wrapper = pathlib.Path(folder.name, "worker")
        wrapper.write_text('#!/bin/sh\necho $$ > "$0.$CLAIMCHECK_NODE"\nexec "$@"\n', encoding="utf-8")
        wrapper.chmod(0o755)
        process = subprocess.Popen(command(nodes(["4000"] * 4), "--only", "network.pair", *arguments, wrapper=[wrapper]),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   encoding="utf-8", errors="replace", env=environment())
        self.addCleanup(process.stdout.close)
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
        self.assertIn("process 2 on node 2", one["reason"])


@unittest.skipUnless(HAVE_MPI, "no Open MPI on this machine, or this build is without it")
class Rails(unittest.TestCase):
    def test_the_slow_rail_is_named(self):
        """Two processes on each of three nodes; the second of node 2 is slow."""
        processes = [(0, USUAL), (0, USUAL), (1, USUAL), (1, USUAL), (2, USUAL), (2, BAD)]
        done = run(processes, "--only", "network.rail")
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        found = by_metric(done)
        one = found["network.rail.gbps"]
        self.assertEqual(one["status"], "ok", one["reason"])
        self.assertEqual(one["conditions"]["rails"], 2)
        evidence = one["evidence"]
        self.assertEqual(len(evidence["rails"]), 4)
        self.assertEqual(evidence["slowest_rail"]["rail"], 1)
        self.assertIn(2, evidence["slowest_rail"]["nodes"])
        self.assertRegex(evidence["verdict"], r"rail 1 between nodes \d and \d is slow")
        for rail in evidence["rails"]:
            limit = 1 / float(BAD if rail["rail"] == 1 and 2 in rail["nodes"] else USUAL)
            self.assertLess(rail["alone_gbps"], limit)
            self.assertGreater(rail["alone_gbps"], 0.1 * limit)
        self.assertEqual(found["network.rail.at_once.gbps"]["status"], "ok")

    def test_wrong_data_is_seen(self):
        done = run(nodes([USUAL, USUAL]), "--only", "network.rail", "--fault", "wrong:network.rail")
        self.assertEqual(by_metric(done)["network.rail.gbps"]["status"], "wrong_result")


@unittest.skipUnless(HAVE_MPI, "no Open MPI on this machine, or this build is without it")
class Adapters(unittest.TestCase):
    """perftest is fake_perftest.py under its names, and /sys a folder."""

    PROGRAMS = ("ib_write_bw", "ib_read_bw", "ib_send_lat")

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="claimcheck-network-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "log"
        self.log.touch()
        for device in ("mlx5_0", "mlx5_1", "mlx5_2"):
            self.add_port(device, "InfiniBand")
        (self.folder / "bin").mkdir()
        for name in self.PROGRAMS:
            (self.folder / "bin" / name).symlink_to(pathlib.Path(__file__).with_name("fake_perftest.py").resolve())

    def add_port(self, device, layer, rate="400 Gb/sec (4X NDR)", state="4: ACTIVE"):
        port = self.folder / "sys/class/infiniband" / device / "ports/1"
        port.mkdir(parents=True)
        (port / "state").write_text(state + "\n", encoding="utf-8")
        (port / "link_layer").write_text(layer + "\n", encoding="utf-8")
        (port / "rate").write_text(rate + "\n", encoding="utf-8")

    def measure(self, behaviour, *arguments, count=2, path=None, only="network.ib"):
        done = run(nodes([None] * count), "--only", only, *arguments, CLAIMCHECK_SYSTEM_ROOT=str(self.folder),
                   PATH=path or f"{self.folder / 'bin'}:{os.environ['PATH']}", FAKE_PERFTEST=json.dumps(behaviour),
                   FAKE_PERFTEST_LOG=str(self.log))
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return by_metric(done)

    def calls(self):
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def assert_none_left(self):
        for _, process, _ in self.calls():
            self.assertFalse(pathlib.Path("/proc", str(process)).exists(), process)

    def test_every_port_and_the_slow_one_by_name(self):
        found = self.measure({"mlx5_0": {"gbits": 392, "us": 1.25}, "mlx5_1": {"gbits": 391, "us": 2.5},
                              "mlx5_2": {"gbits": 196, "us": 1.5}})
        one = found["network.ib.gbps"]
        self.assertEqual(one["status"], "ok", one["reason"])
        for metric, expected in (("gbps", 24.5), ("read.gbps", 24.5), ("latency.us", 2.5)):
            samples = found[f"network.ib.{metric}"]["samples"]
            self.assertEqual(len(samples), 3)
            for value in samples:  # means weighted by time
                self.assertAlmostEqual(value, expected, places=9)
        self.assertEqual([row["write_gbps"] for row in one["evidence"]["adapters"]], [49, 48.875, 24.5])
        self.assertEqual(one["evidence"]["verdict"], "mlx5_2 of node 1 to mlx5_2 of node 0 is slow (24.5 GB/s)")
        self.assertEqual({key: one["conditions"][key] for key in ("fabric", "memory", "statistic", "nodes")},
                         {"fabric": "infiniband", "memory": "host", "statistic": "each port", "nodes": 2})
        clients = [words for _, _, words in self.calls() if words[-1] == "127.0.0.1"]
        self.assertGreaterEqual(len(clients), 9)
        self.assertTrue(all("SRD" not in words for words in clients))
        self.assert_none_left()

    def test_three_nodes_all_have_a_partner(self):
        one = self.measure({}, count=3)["network.ib.gbps"]
        self.assertEqual(one["status"], "ok", one["reason"])
        self.assertEqual(len(one["evidence"]["adapters"]), 6)
        self.assertEqual({node for row in one["evidence"]["adapters"] for node in row["nodes"]}, {0, 1, 2})

    def test_adapters_of_aws(self):
        shutil.rmtree(self.folder / "sys")
        self.add_port("rdmap0s6", "Unspecified", rate="100 Gb/sec (4X EDR)")
        (self.folder / "sys/class/infiniband/rdmap0s6/device").mkdir()
        (self.folder / "sys/class/infiniband/rdmap0s6/device/driver").symlink_to("../drivers/efa")
        one = self.measure({"rdmap0s6": {"gbits": 97}}, only="network.efa")["network.efa.gbps"]
        self.assertEqual(one["status"], "ok", one["reason"])
        for value in one["samples"]:  # means weighted by time
            self.assertAlmostEqual(value, 12.125, places=9)
        self.assertTrue(all("SRD" in words for _, _, words in self.calls()))
        self.assertEqual(self.measure({})["network.ib.gbps"]["status"], "unsupported")

    def test_what_perftest_complains_of_is_said(self):
        one = self.measure({"mlx5_1": {"exit": 1, "say": "Unable to find the Infiniband/RoCE device"}})["network.ib.gbps"]
        self.assertEqual(one["status"], "failed")
        for part in ("1 of 3 ports could not be measured", "mlx5_1 port 1 of node 1 to mlx5_1 port 1 of node 0",
                     "Unable to find the Infiniband/RoCE device"):
            self.assertIn(part, one["reason"])
        self.assertEqual([name for name, _, words in self.calls() if "mlx5_1" in words], ["ib_write_bw"] * 2)
        self.assert_none_left()

    def test_a_hang_ends_at_the_deadline(self):
        start = time.monotonic()
        one = self.measure({"mlx5_0": {"hang": True}}, "--deadline", "2")["network.ib.gbps"]
        self.assertLess(time.monotonic() - start, 60)
        self.assertEqual(one["status"], "failed")
        self.assertIn("did not end within", one["reason"])
        self.assert_none_left()

    def test_a_figure_above_the_line_rate_is_none(self):
        one = self.measure({"mlx5_0": {"gbits": 450}})["network.ib.gbps"]
        self.assertEqual(one["status"], "wrong_result")
        self.assertIn("the line has 50", one["reason"])

    def test_what_is_missing_is_said(self):
        empty = self.folder / "empty"
        empty.mkdir()
        # mpirun itself has to be found.
        (empty / "mpirun").symlink_to(shutil.which("mpirun"))
        one = self.measure({}, path=str(empty))["network.ib.gbps"]
        self.assertEqual(one["status"], "unsupported")
        self.assertIn("ib_write_bw is not installed; install it (apt-get install perftest)", one["reason"])
        shutil.rmtree(self.folder / "sys")
        one = self.measure({})["network.ib.gbps"]
        self.assertEqual(one["status"], "unsupported")
        self.assertIn("no active infiniband or roce port", one["reason"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
