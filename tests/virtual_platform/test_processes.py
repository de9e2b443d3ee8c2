"""Several processes and nodes of virtual GPUs, over MPI on this machine: rates of the spec, contents, faults."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import support

HAVE_MPI = shutil.which("mpirun") and (support.BIN / "libclaimcheck_mpi.so").exists()
TOLERANCE = 0.02
LIMITS = ["--max-bytes=1048576", "--max-gemm=64", "--benchmark_min_time=25e-6", "--benchmark_repetitions=2"]
QUICK = {"gpu": {"l2_kib": 64, "sms": 4, "memory_mib": 64},
         "times": {"kernel_floor_us": 0.05, "launch_latency_us": 0.1},
         "collectives": {"alpha_us": 1.0, "step_us": 0.1, "channels": 4}}
NAMES = {"allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter",
         "broadcast": "broadcast", "sendrecv": "send_receive", "alltoall": "all_to_all"}


def machine(name, gpus, changes=None):
    """`gpus` a node; of a machine with several nodes the adapters that belong to them."""
    small = support.merged(support.first(gpus), QUICK)
    nodes = support.load_spec(name).get("nodes")
    if nodes:
        nics = max(1, nodes["network"]["nics"] * gpus // 8)
        small = support.merged(small, {"nodes": {"network": {"nics": nics, "latency_us": 2.0}}})
    return support.Machine(name, support.merged(small, changes or {}))


def fault(kind, operation, **more):
    return {"faults": {"operations": [{"kind": kind, "operation": operation, **more}]}}


def seconds_of(spec, name, size_bytes, ranks, nodes):
    """Time and bus bytes of a collective, from what nccl-tests calls bus bandwidth: in a ring every rank passes on
    (n - 1) / n of the data (twice for all-reduce), and over each border of nodes goes as much."""
    model = spec["collectives"]
    nvls = name == "all_reduce" and model["algorithm"] == "nvls"
    factor = {"all_reduce": 2 * (ranks - 1) / ranks, "broadcast": 1, "send_receive": 1}.get(name, (ranks - 1) / ranks)
    steps = {"all_reduce": 2 if nvls else 2 * (ranks - 1), "send_receive": 1, "all_to_all": 1}.get(name, ranks - 1)
    microseconds = model["alpha_us"] + steps * model["step_us"]
    busy = [size_bytes * factor / (model["bus_gbps"][name] * 1e9)]
    if nodes > 1:
        network, local = spec["nodes"]["network"], ranks // nodes
        node_rate = network["nics"] * network["nic_gbps"] * 1e9
        crossings = {"all_reduce": 2 * (nodes - 1), "send_receive": 1, "all_to_all": 1}.get(name, nodes - 1)
        microseconds += crossings * network["latency_us"]
        leaves = size_bytes * factor  # of a node, in one direction
        if nvls:
            leaves = size_bytes * 2 * (nodes - 1) / nodes
        if name == "send_receive":
            leaves = size_bytes * min(local, network["nics"])  # only one rank sends, by its share of the adapters
        if name == "all_to_all":
            leaves = size_bytes * local * (ranks - local) / ranks
        busy.append(leaves / node_rate)
    return microseconds * 1e-6 + max(busy), size_bytes * factor


@unittest.skipUnless(HAVE_MPI, "no Open MPI on this machine, or this build is without it")
class Rates(unittest.TestCase):
    def check(self, name, gpus, per_node, *parts, changes=None):
        """All collectives, the largest size of each; returns the measurements by benchmark."""
        with machine(name, gpus, changes) as one:
            described = one.processes(per_node, "--describe", *LIMITS)
            self.assertEqual(described.code, 0, described)
            rows = json.loads(described.out)["benchmarks"]
            # The largest of each comes last.
            chosen = {row["benchmark"]: row for row in rows
                      if row["benchmark"] in NAMES and "in_place" not in row["id"] and not row.get("unsupported")}
            self.assertEqual(set(chosen), set(NAMES))
            run = one.processes(per_node, "--only", ",".join(row["id"] for row in chosen.values()), *LIMITS)
            self.assertEqual(run.code, 0, run)
            nodes = one.spec.get("nodes", {}).get("count", 1)
            found = {}
            for benchmark, row in chosen.items():
                found[benchmark], = [m for m in run.measurements
                                     if m["id"] == row["id"] and m["metric"] == row["metric"]]
                measurement = found[benchmark]
                with self.subTest(f"{name} {benchmark}"):
                    self.assertEqual(measurement["status"], "ok", measurement["reason"])
                    self.assertEqual(measurement["conditions"]["nodes"], nodes)
                    self.assertEqual(measurement["conditions"]["ranks"], nodes * gpus)
                    seconds, bus_bytes = seconds_of(one.spec, NAMES[benchmark], measurement["conditions"]["bytes"],
                                                    nodes * gpus, nodes)
                    ratio = support.median(measurement["samples"]) / (bus_bytes / seconds / 1e9)
                    self.assertLess(abs(ratio - 1), TOLERANCE, f"{ratio} of what was expected")
                    for part in parts:
                        self.assertIn(part, str(measurement["evidence"]["group"]))
            return found

    def test_two_processes_on_one_node(self):
        found = self.check("p5", 2, 2, "P2P/CUMEM")
        self.assertEqual(found["allreduce"]["evidence"]["group"]["algorithm"], "nvls")
        self.assertNotIn("NET/", found["allgather"]["evidence"]["group"]["transport"])

    def test_two_nodes_over_efa(self):
        found = self.check("p5x2", 1, 1, "NET/AWS Libfabric/GDRDMA", "'network_provider': 'efa'")
        self.assertEqual(found["allreduce"]["evidence"]["group"]["algorithm"], "nvls_tree")
        self.assertTrue(found["allreduce"]["evidence"]["group"]["gpu_direct_rdma"])

    def test_two_nodes_with_two_gpus_each(self):
        found = self.check("p5x2", 2, 1, "NET/AWS Libfabric/GDRDMA", "P2P/CUMEM")
        self.assertEqual(found["allgather"]["conditions"]["processes"], 2)

    def test_sockets(self):
        found = self.check("p5x2_sockets", 1, 1, "NET/Socket")
        self.assertFalse(found["allreduce"]["evidence"]["group"]["gpu_direct_rdma"])
        self.assertLess(support.median(found["allreduce"]["samples"]), 2.6)

    def test_infiniband_in_a_ring(self):
        changes = {"nodes": {"network": {"kind": "ib"}}, "collectives": {"algorithm": "ring"}}
        found = self.check("p5x2", 1, 1, "NET/IB/GDRDMA", changes=changes)
        self.assertEqual(found["allreduce"]["evidence"]["group"]["algorithm"], "ring")


@unittest.skipUnless(HAVE_MPI, "no Open MPI on this machine, or this build is without it")
class Faults(unittest.TestCase):
    ONE, LATER = "allreduce/bytes:4096", "allgather/bytes:4096"

    def measured(self, changes, *arguments, ids=("memory.copy", ONE, LATER), gpus=1):
        with machine("p5x2", gpus, changes) as broken:
            run = broken.processes(1, "--only", ",".join(ids), *LIMITS, *arguments)
        return run, {one["id"]: one for one in run.measurements}

    def test_a_flipped_bit_on_one_node_is_wrong_on_all(self):
        run, found = self.measured(fault("flipped_bit", "collective", name="AllReduce", node=1, at=2, and_later=True))
        self.assertEqual(found["memory.copy"]["status"], "ok", run)
        self.assertEqual(found[self.ONE]["status"], "wrong_result", run)
        self.assertIn("process 1 on node 1", found[self.ONE]["reason"])
        self.assertEqual(found[self.LATER]["status"], "ok", run)

    def test_a_rank_that_hangs(self):
        start = time.monotonic()
        run, found = self.measured(fault("hang", "nccl", name="AllReduce", node=1, at=3), "--deadline=2")
        self.assertLess(time.monotonic() - start, 30)
        self.assertEqual(found["memory.copy"]["status"], "ok", run)
        self.assertEqual(found[self.ONE]["status"], "timed_out", run)
        self.assertIn("did not end its collective", found[self.ONE]["reason"])
        # The group is made anew for what follows.
        self.assertEqual(found[self.LATER]["status"], "ok", run)

    def test_an_asynchronous_error_reaches_the_others(self):
        run, found = self.measured(fault("async_error", "nccl", name="AllReduce", node=1, at=3), "--deadline=20")
        self.assertEqual(found[self.ONE]["status"], "failed", run)
        self.assertIn("ncclRemoteError", found[self.ONE]["reason"])

    def test_a_slow_node_is_named(self):
        run, found = self.measured({"nodes": {"own": {"1": {"gpu": {"slowdown": 1.5}}}}})
        for identity in ("memory.copy", self.ONE):
            self.assertEqual(found[identity]["status"], "ok", run)
        slowest = found["memory.copy"]["evidence"]["slowest_process"]
        self.assertEqual((slowest["process"], slowest["node"]), (1, 1))
        self.assertAlmostEqual(slowest["times_fastest"], 1.5, delta=0.05)

    def test_a_slow_gpu_is_named(self):
        with machine("p5", 2, {"gpus": {"1": {"slowdown": 1.5}}}) as slow:
            run = slow.processes(2, "--only", "memory.copy", *LIMITS)
        one, = run.measurements
        self.assertEqual(one["status"], "ok", run)
        self.assertEqual(one["evidence"]["slowest_process"]["process"], 1)
        own = [row["value"] for row in one["evidence"]["processes"]]
        self.assertAlmostEqual(own[0] / own[1], 1.5, delta=0.05)
        self.assertAlmostEqual(support.median(one["samples"]), own[1], delta=0.01 * own[1])


@unittest.skipUnless(HAVE_MPI, "no Open MPI on this machine, or this build is without it")
class Training(unittest.TestCase):
    """The smallest model on one GPU of each of two nodes: every gradient of it crosses the network."""

    def measured(self, changes, *ids):
        with machine("p5x2", 1, changes) as one:
            run = one.processes(1, "--only", ",".join(ids), *LIMITS)
        return run, {(m["id"], m["metric"]): m for m in run.measurements}

    def test_a_step_over_two_processes(self):
        run, found = self.measured({}, "training/nano", "scaling.training.weak/nano", "scaling.allreduce/ranks:2")
        step = found["training/nano", "training.tflops"]
        self.assertEqual(step["status"], "ok", run)
        self.assertEqual((step["conditions"]["ranks"], step["conditions"]["nodes"]), (2, 2))
        self.assertLess(step["evidence"]["loss_last"], 0.9 * step["evidence"]["loss_first"])
        efficiency = found["scaling.training.weak/nano", "scaling.training.weak.efficiency"]
        self.assertEqual(efficiency["status"], "ok", run)
        # The model is so small that most of its step is the network's latency.
        self.assertLess(support.median(efficiency["samples"]), 1)
        self.assertGreater(support.median(efficiency["samples"]), 0.05)
        self.assertEqual(found["scaling.allreduce/ranks:2", "scaling.allreduce.efficiency"]["samples"], [1, 1])

    def test_a_gradient_that_is_wrong_on_one_node(self):
        run, found = self.measured(fault("flipped_bit", "collective", name="AllReduce", node=1, at=3, everywhere=True),
                                   "training/nano")
        step = found["training/nano", "training.tflops"]
        self.assertEqual(step["status"], "wrong_result", run)

    def test_what_the_border_of_nodes_takes(self):
        """Two processes of two GPUs: the first two ranks are on one node, all four on two."""
        ids = [f"scaling.{kind}/ranks:{ranks}" for kind in ("allreduce", "gemm") for ranks in (2, 4)]
        with machine("p5x2", 2, {"nodes": {"network": {"nic_gbps": 6.0}}}) as one:
            run = one.processes(2, "--only", ",".join(ids), *LIMITS)
            rates = []
            for ranks, nodes in ((2, 1), (4, 2)):
                measured, = [m for m in run.measurements if m["id"] == f"scaling.allreduce/ranks:{ranks}"
                             and m["metric"] == "scaling.allreduce.busbw.gbps"]
                self.assertEqual((measured["status"], measured["conditions"]["nodes"]), ("ok", nodes), run)
                self.assertEqual(measured["conditions"]["processes"], ranks)
                seconds, bus_bytes = seconds_of(one.spec, "all_reduce", measured["conditions"]["bytes"], ranks, nodes)
                rates.append(bus_bytes / seconds / 1e9)
                self.assertAlmostEqual(support.median(measured["samples"]) / rates[-1], 1, delta=TOLERANCE)
        efficiency = {m["id"]: support.median(m["samples"]) for m in run.measurements
                      if m["metric"].endswith(".efficiency")}
        self.assertAlmostEqual(efficiency["scaling.allreduce/ranks:4"], rates[1] / rates[0], delta=TOLERANCE)
        self.assertAlmostEqual(efficiency["scaling.gemm/ranks:4"], 1, delta=TOLERANCE)

    def test_scaling_names_the_slow_node(self):
        run, found = self.measured({"nodes": {"own": {"1": {"gpu": {"slowdown": 2.0}}}}}, "scaling.memory/ranks:1",
                                   "scaling.memory/ranks:2", "scaling.training.weak/nano")
        alone = found["scaling.memory/ranks:1", "scaling.memory.efficiency"]
        self.assertEqual((alone["status"], alone["conditions"]["processes"]), ("ok", 1), run)
        self.assertEqual([row["process"] for row in alone["evidence"]["processes"]], [0])
        self.assertAlmostEqual(support.median(alone["samples"]), 1, delta=0.02)
        both = found["scaling.memory/ranks:2", "scaling.memory.efficiency"]
        self.assertAlmostEqual(support.median(both["samples"]), 0.5, delta=0.02)
        for one in (both, found["scaling.training.weak/nano", "scaling.training.weak.efficiency"]):
            slowest = one["evidence"]["slowest_rank"]
            self.assertEqual((slowest["rank"], slowest["process"], slowest["node"]), (1, 1, 1), one)


@unittest.skipUnless(HAVE_MPI, "no Open MPI on this machine, or this build is without it")
class Harness(unittest.TestCase):
    """By the documented way: scripts/virtual.sh SPEC claimcheck run --launcher scripts/virtual_mpirun.sh"""

    def run_on(self, one, *only):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out"
            done = subprocess.run(
                [support.SOURCE / "scripts" / "virtual.sh", one.path, "claimcheck", "run", "--device", "cuda",
                 "--launcher", str(support.SOURCE / "scripts" / "virtual_mpirun.sh"), "--only", ",".join(only),
                 "--repetitions", "2", "--instance", "aws:p5.48xlarge", "--out", out],
                env=one.environment({"CLAIMCHECK_BUILD": support.BIN.parent, "CLAIMCHECK_MIN_TIME": "0.001",
                                     "CLAIMCHECK_MAX_BYTES": "65536"}),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False,
                timeout=100)
            self.assertTrue((out / "result.json").exists(), done.stderr)
            return done, json.loads((out / "result.json").read_text(encoding="utf-8"))

    def test_a_process_that_is_killed(self):
        with machine("p5x2", 1, fault("killed", "nccl", name="AllGather", node=1, at=2)) as broken:
            done, document = self.run_on(broken, "allreduce.latency", "allgather.latency", "broadcast.latency")
        status = {one["id"].split("/")[0]: one["status"] for one in document["measurements"]}
        self.assertIn(status["allreduce.latency"], ("ok", "unstable"), done.stderr)
        self.assertEqual(status["allgather.latency"], "crashed", done.stderr)
        self.assertIn(status["broadcast.latency"], ("ok", "unstable"), done.stderr)

    def test_an_older_nvml_is_taken(self):
        with support.Machine("t4", {"faults": {"nvml": "missing"}}) as one:
            done = subprocess.run([support.SOURCE / "scripts" / "virtual.sh", one.path, "claimcheck-bench-cuda",
                                   "--describe"], env=one.environment({"CLAIMCHECK_BUILD": support.BIN.parent,
                                                                      "LD_LIBRARY_PATH": None}),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not usable", str(json.loads(done.stdout)["platform"].get("nvml")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
