"""Faults while measuring: each ends in its outcome with a reason, what was measured before stays, nothing hangs."""
import unittest

import support

TWO = {"count": 2, "gpus": None, "pcie": {"uplinks": None}, "gpu": {"l2_kib": 64}}
LIMITS = ["--max-bytes=1000000", "--max-gemm=64"]


def fault(kind, operation, **more):
    return {"faults": {"operations": [{"kind": kind, "operation": operation, **more}]}}


def machine(changes, name="p5"):
    return support.Machine(name, support.merged(TWO, changes))


class Outcomes(unittest.TestCase):
    def case_ids(self, *benchmarks):
        with machine({}) as healthy:
            rows = healthy.benchmarks(*LIMITS)
        return [next(row["id"] for row in rows.values() if row["benchmark"] == name) for name in benchmarks]

    def statuses(self, run):
        return {one["id"]: one["status"] for one in run.measurements}

    def run_with(self, changes, ids, *arguments):
        with machine(changes) as broken:
            return broken.measure(ids, *LIMITS, *arguments, repetitions=1, timeout=60)

    def test_a_kernel_that_never_ends(self):
        ids = self.case_ids("memory.copy", "gemm.bf16")
        run = self.run_with(fault("hang", "gemm"), ids, "--deadline=1")
        self.assertEqual(self.statuses(run).get(ids[0]), "ok", run)
        self.assertEqual(self.statuses(run).get(ids[1]), "timed_out", run)

    def test_a_collective_that_never_ends(self):
        ids = self.case_ids("memory.copy", "allreduce", "memory.read")
        run = self.run_with(fault("hang", "nccl", name="AllReduce"), ids, "--deadline=1")
        statuses = self.statuses(run)
        self.assertEqual((statuses.get(ids[0]), statuses.get(ids[1])), ("ok", "timed_out"), run)
        reason = next(one["reason"] for one in run.measurements if one["id"] == ids[1])
        self.assertIn("did not end its collective", reason)

    def test_an_asynchronous_error_of_nccl(self):
        ids = self.case_ids("memory.copy", "allreduce")
        run = self.run_with(fault("async_error", "nccl", name="AllReduce", at=3), ids, "--deadline=20")
        statuses = self.statuses(run)
        self.assertEqual((statuses.get(ids[0]), statuses.get(ids[1])), ("ok", "failed"), run)
        reason = next(one["reason"] for one in run.measurements if one["id"] == ids[1])
        self.assertIn("ncclRemoteError", reason)

    def test_a_gpu_that_falls_off_the_bus(self):
        ids = self.case_ids("memory.copy", "gemm.bf16", "memory.read")
        run = self.run_with(fault("lost", "gemm", gpu=1), ids)
        self.assertEqual(self.statuses(run).get(ids[0]), "ok", run)
        self.assertEqual(self.statuses(run).get(ids[1]), "failed", run)
        # The device is lost to this process: it must not go on as if nothing were.
        self.assertNotEqual(self.statuses(run).get(ids[2]), "ok", run)
        self.assertGreaterEqual(run.code, 0)

    def test_an_uncorrectable_memory_error(self):
        ids = self.case_ids("memory.copy", "gemm.bf16")
        run = self.run_with(fault("ecc", "gemm"), ids)
        self.assertEqual(self.statuses(run).get(ids[1]), "failed", run)
        reason = next(one["reason"] for one in run.measurements if one["id"] == ids[1])
        self.assertIn("ECC", reason)

    def test_memory_that_somebody_else_uses(self):
        ids = self.case_ids("memory.copy")
        with machine({"gpu": {"memory_used_mib": 255.9}}) as full:
            run = full.measure(ids, repetitions=1)
        self.assertGreaterEqual(run.code, 0)
        self.assertNotIn("crashed", self.statuses(run).values())
        for one in run.measurements:
            if one["status"] != "ok":
                self.assertGreater(len(one["reason"]), 20)

    def test_one_slow_gpu_is_the_headline(self):
        ids = self.case_ids("memory.copy")
        run = self.run_with({"gpus": {"1": {"slowdown": 1.5}}}, ids)
        one, = run.measurements
        rates = [support.median(device["samples"]) for device in one["devices"]]
        self.assertAlmostEqual(rates[0] / rates[1], 1.5, delta=0.05)
        self.assertAlmostEqual(support.median(one["samples"]), rates[1], delta=0.01 * rates[1])


class Sensors(unittest.TestCase):
    def evidence(self, changes):
        with machine(changes) as one:
            run = one.measure(["memory.copy"], *LIMITS, repetitions=1)
            self.assertEqual([m["status"] for m in run.measurements], ["ok"], run)
            return run.measurements[0]["evidence"]

    def description(self, changes):
        with machine(changes) as one:
            run = one.command("--describe")
            self.assertEqual(run.code, 0, run)
            return run

    def text(self, changes):
        """All of the evidence, for what is asked whatever its key."""
        return str(self.evidence(changes))

    def test_readings_are_attached(self):
        self.assertIn("690", self.text({}))

    def test_a_lie_is_recorded_as_told(self):
        self.assertIn("123", self.text({"gpu": {"lying_sensors": {"power_watts": 123}}}))
        self.assertNotIn("690", self.text({"gpu": {"lying_sensors": {"power_watts": 123}}}))

    def test_throttle_reasons(self):
        self.assertIn("hw_thermal", self.text({"gpu": {"throttle_reasons": ["hw_thermal"]}}))

    def test_measuring_works_without_nvml_and_with_less_of_it(self):
        for nvml in ("missing", "old", "mismatch"):
            with self.subTest(nvml):
                self.text({"faults": {"nvml": nvml}})

    def test_what_is_not_supported_is_unknown_and_not_zero(self):
        evidence = self.evidence({"faults": {"nvml_not_supported": ["nvmlDeviceGetPowerUsage"]}})
        power = [value for key, value in flat(evidence) if "power" in key and "watts" in key and "limit" not in key]
        self.assertTrue(power)
        self.assertEqual(set(power), {None})


def flat(value, key=""):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from flat(inner, f"{key}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from flat(inner, key)
    else:
        yield key, value


if __name__ == "__main__":
    unittest.main()
