"""Healthy machines: what the real worker measures on a virtual machine is what its spec says, within 2 %."""
import functools
import unittest

import support

TOLERANCE = 0.02
MAX_BYTES = 4 << 20
GEMM = 256

# Quick to emulate: few SMs with rates unchanged, so that little is computed until arithmetic takes longer than memory.
# Latencies and floors that are small against real sizes must not hide the rates of these.
QUICK = {"gpu": {"l2_kib": 64, "sms": 4}, "times": {"kernel_floor_us": 0.05, "launch_latency_us": 0.1}, "pcie": {"latency_us": 0.05}}


def limits():
    return [f"--max-bytes={MAX_BYTES}", f"--max-gemm={GEMM}"]


def slowest_pair(spec):
    """One-way rate; without peer access data goes through the host's memory, one link after the other."""
    matrix = spec["links"].get("matrix")
    rates = [rate for i, row in enumerate(matrix or []) for j, rate in enumerate(row) if i != j]
    through_host = min(spec["pcie"]["h2d_gbps"], spec["pcie"]["d2h_gbps"]) / 2
    return min(rates or [spec["links"].get("gbps", 0)]) or through_host


def shared(spec, rate):
    """Of a GPU when all are at work, where some share an uplink."""
    pcie = spec["pcie"]
    groups = [len(group) for group in pcie.get("uplinks", [])]
    return min(rate, pcie.get("uplink_gbps", rate) / max(groups)) if groups else rate


def collective_seconds(spec, name, size_bytes):
    """The time model of the collectives (engine/spec.h)."""
    model, ranks = spec["collectives"], spec["count"]
    nvls = name == "all_reduce" and model["algorithm"] == "nvls"
    steps = {"all_reduce": 2 if nvls else 2 * (ranks - 1), "send_receive": 1, "all_to_all": 1}.get(name, ranks - 1)
    bus_bytes = size_bytes * {"all_reduce": 2 * (ranks - 1) / ranks, "broadcast": 1, "send_receive": 1}.get(
        name, (ranks - 1) / ranks)
    rate = model["bus_gbps"][name] * 1e9
    return (model["alpha_us"] + steps * model["step_us"]) * 1e-6 + bus_bytes / rate, bus_bytes


def expected(spec, row):
    """The value of a benchmark's metric on this machine, by its id."""
    gpu, pcie = spec["gpu"], spec["pcie"]
    family, _, rest = row["benchmark"].partition(".")
    label = row["id"].partition("/")[2]
    if row["benchmark"] in ("memory.l2.latency", "memory.hbm.latency"):
        return gpu["l2_latency_ns" if ".l2." in row["benchmark"] else "memory_latency_ns"]
    if family == "memory":
        return gpu["memory_gbps"]
    if family in ("gemm", "vector", "tensor"):
        return gpu[f"{family}_tflops"][rest]
    if row["benchmark"] in ("host_link.h2d", "host_link.d2h"):
        rate = pcie[f"{rest}_gbps"]
        if label.endswith("kernel"):
            rate = min(rate, pcie.get("kernel_gbps", rate))
        return shared(spec, rate) if label.startswith("all") else rate
    if row["benchmark"] == "host_link.bidirectional" and label == "each":
        # One copy engine does one direction after the other.
        one_by_one = 2 / (1 / pcie["h2d_gbps"] + 1 / pcie["d2h_gbps"])
        return one_by_one if gpu["copy_engines"] == 1 else pcie["bidirectional_gbps"]
    if row["benchmark"] in ("p2p.read", "p2p.write"):
        return slowest_pair(spec)
    if row["benchmark"] == "p2p.bidirectional":
        return min(2 * slowest_pair(spec), spec["links"].get("bidirectional_gbps") or 1e9)
    if row["benchmark"] == "p2p.load.latency":
        return spec["links"]["latency_ns"]
    return None


MACHINES = {
    "p5": support.first(2),
    "p4d": support.first(2) | {"pcie": {"uplinks": [[0, 1]]}},
    "h200": support.first(2) | {"pcie": {"uplinks": [[0, 1]]}},
    "b200": support.first(2),
    "a100_pcie": {},
    "l40s": support.first(2),
    "t4": {},
    "mig": {},
    "vgpu": {},
}
# Whose arithmetic units are emulated, which takes longest, and the time of a repetition there: until arithmetic takes
# longer than loading the operands.
UNITS_OF = {"p5": 25e-6, "l40s": 50e-6, "t4": 500e-6}

FAMILIES = ("memory.", "gemm.", "vector.", "tensor.", "host_link.", "p2p.")


@functools.cache
def measured(name):
    """(spec, rows of --describe, run) of all that expected() knows."""
    with support.Machine(name, support.merged(MACHINES[name], QUICK)) as machine:
        rows = machine.benchmarks(*limits())
        chosen = [row for row in rows.values()
                  if row["benchmark"].startswith(FAMILIES) and not row.get("unsupported") and "zeros" not in row["id"]]
        chosen = [row for row in chosen if expected(machine.spec, row) is not None
                  and (name in UNITS_OF or not row["benchmark"].startswith(("vector.", "tensor.")))]
        run = machine.measure([row["id"] for row in chosen], *limits(), min_time=UNITS_OF.get(name, 25e-6))
        return machine.spec, {row["id"]: row for row in chosen}, run


class Rates(unittest.TestCase):
    def check(self, name, least_benchmarks):
        spec, rows, run = measured(name)
        self.assertEqual(run.code, 0, run)
        self.assertGreaterEqual(len(rows), least_benchmarks)
        for identifier, row in rows.items():
            with self.subTest(f"{name} {identifier}"):
                found = [one for one in run.measurements
                         if one["id"] == identifier and one["metric"] == row["metric"]]
                self.assertEqual([one["status"] for one in found], ["ok"], found)
                wanted = expected(spec, row)
                value = support.median(found[0]["samples"])
                # One copy engine for two directions: what starting a copy takes adds up instead of overlapping.
                turns = row["benchmark"] == "host_link.bidirectional" and spec["gpu"]["copy_engines"] == 1
                tolerance = 2 * TOLERANCE if turns else TOLERANCE
                self.assertLess(abs(value / wanted - 1), tolerance, f"{value} instead of {wanted}")


def add_machine(name, least):
    setattr(Rates, f"test_{name}", lambda self: self.check(name, least))


# The least number of benchmarks is there so that none is silently left out.
for machine_name, least_number in {"p5": 39, "p4d": 26, "h200": 28, "a100_pcie": 26, "l40s": 39, "t4": 25, "mig": 20,
                                   "vgpu": 18}.items():
    add_machine(machine_name, least_number)


class Collectives(unittest.TestCase):
    NAMES = {"allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter",
             "broadcast": "broadcast", "sendrecv": "send_receive", "alltoall": "all_to_all"}

    def check(self, name, changes, algorithm, transport):
        with support.Machine(name, support.merged(changes, QUICK)) as machine:
            rows = machine.benchmarks(*limits())
            # The largest of each comes last.
            largest = {row["benchmark"]: row for row in rows.values()
                       if row["benchmark"] in self.NAMES and "in_place" not in row["id"]}
            self.assertEqual(set(largest), set(self.NAMES))
            chosen = {row["id"]: row for row in largest.values()}
            run = machine.measure(chosen, *limits())
            self.assertEqual(run.code, 0, run)
            for identifier, row in chosen.items():
                with self.subTest(f"{name} {identifier}"):
                    one, = [one for one in run.measurements
                            if one["id"] == identifier and one["metric"] == row["metric"]]
                    self.assertEqual(one["status"], "ok", one)
                    seconds, bus_bytes = collective_seconds(machine.spec, self.NAMES[row["benchmark"]],
                                                            one["conditions"]["bytes"])
                    value = support.median(one["samples"])
                    self.assertLess(abs(value / (bus_bytes / seconds / 1e9) - 1), TOLERANCE)
                    self.assertIn(transport, one["evidence"]["group"]["transport"])
                    if row["benchmark"] == "allreduce":
                        self.assertEqual(one["evidence"]["group"]["algorithm"], algorithm)

    def test_behind_nvswitch(self):
        self.check("p5", support.first(4), "nvls", "P2P/CUMEM")

    def test_through_host_memory(self):
        self.check("l40s", support.first(2), "ring", "SHM/direct/direct")

    def test_over_the_network(self):
        self.check("p4d", support.first(2) | {"collectives": {"transport": "NET/Socket/0"}}, "ring", "NET/Socket")


class SmallSizes(unittest.TestCase):
    def test_arrays_that_are_too_small_say_so(self):
        # Two arrays of 64 MiB are the least, and two more where they fit. The 256 MiB of the machine are not all free.
        with support.Machine("p5", support.first(1)) as machine:
            for allowed, array, limited in ((1 << 20, 1 << 19, "arrays of 524288 bytes, where 67108864 are the least for this device"),
                                            (128 << 20, 1 << 26, None)):
                run = machine.measure(["memory.copy"], f"--max-bytes={allowed}", repetitions=1)
                one, = run.by_metric("memory.copy.gbps")
                self.assertEqual(one["conditions"]["array_bytes"], array)
                self.assertEqual(one["conditions"].get("limited"), limited, run)


class Launches(unittest.TestCase):
    def test_the_floor_of_a_kernel(self):
        with support.Machine("p5", support.first(1)) as machine:
            # Many launches, so that the latency of the first one does not matter.
            run = machine.measure(["launch.latency"], min_time=0.02, repetitions=2)
            one, = run.by_metric("launch.latency.us")
            self.assertLess(abs(support.median(one["samples"]) / 1.6 - 1), TOLERANCE)


class Links(unittest.TestCase):
    def check(self, spec, run):
        one, = run.by_metric("p2p.read.gbps")
        matrix, access = one["evidence"]["matrix_gbps"], one["evidence"]["access"]
        for i, row in enumerate(spec["links"]["matrix"]):
            for j, rate in enumerate(row):
                if rate > 0:
                    self.assertEqual(access[i][j], "direct")
                    self.assertLess(abs(matrix[i][j] / rate - 1), TOLERANCE)
                elif i != j:
                    self.assertEqual(access[i][j], "through_host")

    def test_pairs_with_bridges(self):
        spec, _, run = measured("a100_pcie")
        self.check(spec, run)

    def test_a_hybrid_mesh(self):
        # As p3, of GPUs that every toolkit has code for.
        changes = support.merged({"gpu": {"compute_capability": 75}}, QUICK)
        with support.Machine("p3", changes) as machine:
            run = machine.measure(["p2p.read"], *limits(), repetitions=1)
            self.assertEqual([one["status"] for one in run.by_metric("p2p.read.gbps")], ["ok"], run)
            self.check(machine.spec, run)


if __name__ == "__main__":
    unittest.main()
