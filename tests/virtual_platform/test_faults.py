"""Faults while measuring: each ends in its outcome with a reason, what was measured before stays, nothing hangs."""
import time
import unittest

import support

TWO = support.first(2) | {"gpu": {"l2_kib": 64}}
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
        run = self.run_with(fault("hang", "gemm", gpu=1), ids, "--deadline=1")
        self.assertEqual(self.statuses(run).get(ids[0]), "ok", run)
        self.assertEqual(self.statuses(run).get(ids[1]), "timed_out", run)

    def test_a_trial_of_algorithms_that_never_ends(self):
        ids = self.case_ids("memory.copy", "gemm.bf16")
        started = time.monotonic()
        run = self.run_with(fault("hang", "gemm", gpu=0), ids, "--deadline=1")
        self.assertEqual(self.statuses(run).get(ids[0]), "ok", run)
        self.assertEqual(self.statuses(run).get(ids[1]), "timed_out", run)
        self.assertLess(time.monotonic() - started, 30)  # by its deadline, not by that of this test

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
        run = self.run_with(fault("ecc", "gemm", gpu=1), ids)
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
    def evidence(self, changes, name="p5"):
        with machine(changes, name) as one:
            run = one.measure(["memory.copy"], *LIMITS, repetitions=1)
            self.assertEqual([m["status"] for m in run.measurements], ["ok"], run)
            return run.measurements[0]["evidence"]["devices"][0]

    def test_readings_are_attached(self):
        evidence = self.evidence({"gpu": {"throttle_reasons": ["sw_power_cap", "hw_thermal_slowdown"]}})
        wanted = {"power_w": 690, "temperature_c": 62, "memory_temperature_c": 71, "sm_clock_mhz": 1755,
                  "memory_clock_mhz": 2619, "pcie_generation": 5, "throttle_mask": 0x44}
        self.assertEqual({key: evidence[key] for key in wanted}, wanted)
        self.assertIn("hw_thermal_slowdown", evidence["throttle_reasons"])

    def test_a_lie_is_recorded_as_told(self):
        evidence = self.evidence({"gpu": {"lying_sensors": {"power_watts": 123, "sm_clock_mhz": 10}}})
        self.assertEqual((evidence["power_w"], evidence["sm_clock_mhz"]), (123, 10))

    def test_an_older_driver_still_tells_clocks_and_reasons(self):
        evidence = self.evidence({"faults": {"nvml": "old"}})
        self.assertEqual((evidence["power_w"], evidence["throttle_mask"]), (690, 4))

    def test_measuring_works_without_nvml(self):
        for nvml in ("missing", "mismatch"):
            with self.subTest(nvml), machine({"faults": {"nvml": nvml}}) as one:
                run = one.measure(["memory.copy"], *LIMITS, repetitions=1)
                self.assertEqual([m["status"] for m in run.measurements], ["ok"], run)
                # Nothing is known, and nothing is 0 for that.
                self.assertNotIn("690", str(run.measurements[0]["evidence"]))
                self.assertNotIn(0, [value for key, value in flat(run.measurements[0]["evidence"]) if "power" in key])

    def test_what_is_not_supported_is_unknown_and_not_zero(self):
        evidence = self.evidence({"faults": {"nvml_not_supported": ["nvmlDeviceGetPowerUsage"]}})
        self.assertEqual((evidence["power_w"], evidence["temperature_c"]), (None, 62))

    def test_a_vgpu_tells_little(self):
        with support.Machine("vgpu") as one:
            run = one.measure(["memory.copy"], *LIMITS, repetitions=1)
            evidence = run.measurements[0]["evidence"]
        self.assertEqual((evidence["power_w"], evidence["temperature_c"]), (None, None))


def flat(value, key=""):
    """(key, value) of all that a document holds."""
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
