"""A soak on virtual GPUs, and what happens in the middle of it: a flipped bit, a GPU that slows down, a worker that dies.

Times of these GPUs are virtual, the length of a soak is that of the host's clock: a few seconds here."""
import json
import pathlib
import unittest

import support

TWO = support.first(2) | {"gpu": {"l2_kib": 64}}
SIZES = ["--max-bytes=1000000", "--max-gemm=64"]
PRODUCTS = 30  # of a round on this machine; the conditions say so, and a test looks


def machine(*operations, **changes):
    faults = {"operations": list(operations)} | changes.pop("faults", {})
    return support.Machine("p5", support.merged(TWO, changes | {"faults": faults}))


class Worker(unittest.TestCase):
    def soak(self, one, seconds=3, segment=1.5, **options):
        return one.measure(["soak"], *SIZES, f"--soak-seconds={seconds}", f"--soak-segment={segment}", min_time=0.01,
                           repetitions=3, **options)

    def test_healthy_gpus_give_their_rates_and_a_sample_a_second(self):
        with machine() as one:
            run = self.soak(one, seconds=4, segment=2)
        self.assertEqual([m["status"] for m in run.measurements], ["ok"] * 4, run)
        first = run.measurements[0]
        self.assertEqual((first["id"], first["metric"]), ("soak/segment:1", "soak.gemm.tflops"))
        conditions = first["conditions"]
        self.assertEqual((conditions["segment"], conditions["segments"], conditions["segment_seconds"]), (1, 2, 2))
        self.assertEqual(conditions["products_a_round"], PRODUCTS)
        series = first["evidence"]["series"]
        self.assertIn(len(series["seconds"]), (1, 2, 3))
        self.assertEqual(series["seconds"], sorted(series["seconds"]))
        self.assertEqual([device["index"] for device in series["devices"]], [0, 1])
        for device in series["devices"]:
            for name, value in (("sm_clock_mhz", 1755), ("power_w", 690), ("temperature_c", 62), ("throttle_mask", 4)):
                self.assertEqual(device[name], [value] * len(series["seconds"]))
            rates = device["tflops"]
            self.assertLess(max(rates) - min(rates), 0.01 * max(rates))
            self.assertAlmostEqual(rates[0], support.median(first["samples"]), delta=0.01 * rates[0])
        # Long, and the same for both metrics: it is told once.
        self.assertNotIn("series", run.measurements[1]["evidence"])

    def test_heartbeats_go_on_within_an_iteration(self):
        with machine() as one:
            run = self.soak(one, seconds=8, segment=8)
        beats = [event for event in run.events if event["event"] == "heartbeat" and event["phase"] == "measure"]
        self.assertGreater(len(beats), 4, run)  # one a second; an iteration lasts two

    def test_a_bit_that_flips_late_names_the_gpu_and_the_next_segment_begins_anew(self):
        for operation, where in (("gemm", "matrix product"), ("kernel", "memory pass")):
            fault = {"kind": "flipped_bit", "operation": operation, "gpu": 1, "at": 15 * PRODUCTS}
            if operation == "kernel":
                fault |= {"name": "memory_pass", "at": 15}
            with self.subTest(operation), machine(fault) as one:
                run = self.soak(one)
                gemm = run.by_metric("soak.gemm.tflops")
                self.assertEqual([m["status"] for m in gemm], ["wrong_result", "ok"], run)
                self.assertTrue(gemm[0]["reason"].startswith(f"GPU 1 gave other bits for the same {where}: 1 of"), run)
                corruption, = gemm[0]["evidence"]["corruption"]
                self.assertEqual((corruption["device"], corruption["operation"]), (1, where))
                flipped = int(corruption["expected"], 16) ^ int(corruption["found"], 16)
                self.assertEqual(bin(flipped).count("1"), 1)
                self.assertGreater(corruption["round"], 10)
                self.assertTrue(gemm[0]["evidence"]["series"]["seconds"])  # what was seen until then

    def test_without_nvml_the_rates_are_there_and_nothing_is_zero(self):
        for nvml in ("missing", "mismatch"):
            with self.subTest(nvml), machine(faults={"nvml": nvml}) as one:
                run = self.soak(one, seconds=2.5, segment=2.5)
                self.assertEqual([m["status"] for m in run.measurements], ["ok"] * 2, run)
                series = run.measurements[0]["evidence"]["series"]
                self.assertEqual({key for device in series["devices"] for key in device}, {"index", "tflops", "gbps"})

    def test_a_sensor_that_is_not_supported_is_left_out(self):
        with machine(faults={"nvml_not_supported": ["nvmlDeviceGetPowerUsage"]}) as one:
            run = self.soak(one, seconds=2.5, segment=2.5)
        device = run.measurements[0]["evidence"]["series"]["devices"][0]
        self.assertNotIn("power_w", device)
        self.assertIn("temperature_c", device)


class Harness(unittest.TestCase):
    """`claimcheck run --profile soak` on these machines."""

    def run_soak(self, one, *more, seconds=9, segment=1.5):
        out = pathlib.Path(one.folder.name) / "out"
        run = one.command("run", "--device", "cuda", "--profile", "soak", "--duration", f"{seconds}s", *SIZES,
                          "--min-time", "0.01", "--repetitions", "3", f"--worker-option=--soak-segment={segment}",
                          "--out", out, *more, program=support.BIN / "claimcheck")
        return run, json.loads((out / "result.json").read_text(encoding="utf-8"))

    def test_a_gpu_that_slows_down_in_the_middle_is_unstable_and_named(self):
        slow = {"kind": "slow", "operation": "gemm", "gpu": 1, "and_later": True, "times": 1.25, "after_seconds": 5.5}
        with machine(slow) as one:
            run, result = self.run_soak(one)
        kept = next(m for m in result["measurements"] if m["metric"] == "soak.gemm.retention")
        self.assertEqual(kept["status"], "unstable", run)
        self.assertAlmostEqual(kept["value"], 1 / 1.25, delta=0.01)
        self.assertIn("device 1 fell from", kept["reason"])
        self.assertAlmostEqual(kept["devices"][0]["value"], 1, delta=0.01)
        verdict = next(v for v in result["verdicts"] if v["claim"]["metric"] == "soak.gemm.retention")
        self.assertEqual(verdict["verdict"], "not_met")
        self.assertIn("GPU 1 kept 80.0 %", verdict["diagnosis"][0])
        self.assertEqual(run.code, 1)
        for words in ("SOAK", "soak device 1", "63.4 > 50.7"):
            self.assertIn(words, run.out)

    def test_a_worker_that_dies_costs_its_segment(self):
        killed = {"kind": "killed", "operation": "gemm", "gpu": 0, "after_seconds": 4}
        with machine(killed) as one:
            run, result = self.run_soak(one, seconds=6)
        statuses = {m["id"]: m["status"] for m in result["measurements"] if m["metric"] == "soak.gemm.tflops"}
        self.assertEqual(sorted(statuses), [f"soak/segment:{number}" for number in range(1, 5)], run)
        self.assertIn("crashed", statuses.values())
        before = [m for m in result["measurements"] if m["status"] == "ok" and "series" in m["evidence"]]
        self.assertTrue(before, run)
        self.assertEqual(run.code, 4)

    def test_a_wrong_bit_is_no_pass(self):
        flip = {"kind": "flipped_bit", "operation": "gemm", "gpu": 1, "at": 15 * PRODUCTS}
        with machine(flip) as one:
            run, result = self.run_soak(one, seconds=4)
        self.assertEqual(run.code, 4)
        self.assertIn("GPU 1 gave other bits", run.out)
        wrong = [m for m in result["measurements"] if m["status"] == "wrong_result"]
        self.assertTrue(all(m["value"] is None for m in wrong))


if __name__ == "__main__":
    unittest.main()
