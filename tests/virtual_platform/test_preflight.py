"""`claimcheck preflight` and `claimcheck compare` on virtual machines: what makes a machine unfit, and which GPU became
slower."""
import json
import pathlib
import tempfile
import unittest

import support

SIZES = ["--max-bytes=1000000", "--max-gemm=64", "--min-time", "0.001"]


def machine_of(count):
    return support.first(count) | {"gpu": {"l2_kib": 64}}


def second(**facts):
    return {"gpus": {"1": facts}}


class Preflight(unittest.TestCase):
    def look(self, changes, count=2):
        """The answer, and its findings about GPUs and the platform by kind: CPUs are those of the machine that tests."""
        with support.Machine("p5", support.merged(machine_of(count), changes)) as machine:
            run = machine.command("preflight", "--device", "cuda", "--json", *SIZES, program=support.BIN / "claimcheck")
        self.assertIn(run.code, (0, 4), run)
        answer = json.loads(run.out)
        self.assertTrue(answer["virtual"])
        self.assertEqual(answer["devices"], f"{count} x NVIDIA H100 80GB HBM3 (virtual)")
        self.assertEqual({one["status"] for one in answer["measurements"]}, {"ok"}, run)
        return answer, {one["id"]: one for one in answer["findings"] if one["id"].startswith(("gpu.", "load.", "link."))}

    def test_a_healthy_machine(self):
        answer, found = self.look({})
        self.assertEqual(found, {})
        self.assertLess(answer["seconds"], 60)
        self.assertIn("gemm", {one["metric"].split(".")[0] for one in answer["measurements"]})

    def test_what_makes_it_unfit(self):
        rows = {"gpu.throttled": second(throttle_reasons=["hw_thermal_slowdown"]),
                "gpu.in_use": second(other_processes=1),
                "gpu.clocks_low": second(throttle_reasons=["applications_clocks"], sm_clock_mhz=1200),
                "gpu.nvlink_down": second(nvlinks=16, nvlinks_inactive=2)}
        for kind, changes in rows.items():
            with self.subTest(kind):
                answer, found = self.look(changes)
                self.assertEqual(set(found) - {"gpu.differ"}, {kind})
                self.assertEqual(found[kind]["severity"], "error")
                self.assertIn("GPU 1", found[kind]["text"])
                self.assertTrue(found[kind]["cause"] and found[kind]["next_step"])
                self.assertEqual((answer["fit"], answer["exit_code"]), (False, 4))

    def test_a_slow_gpu_is_a_warning(self):
        # Of three: of two nobody can tell which one is as it should be.
        _, found = self.look(second(slowdown=1.3), 3)
        slow, = found.values()
        self.assertTrue(slow["id"].startswith("gpu.slow"), slow)
        self.assertEqual(slow["severity"], "warning")
        self.assertIn("GPU 1", slow["text"])


class Compare(unittest.TestCase):
    def test_the_gpu_that_became_slower_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, changes in (("before", {}), ("after", second(slowdown=1.25))):
                with support.Machine("p5", support.merged(machine_of(2), changes)) as machine:
                    run = machine.command("run", "--device", "cuda", "--only", "memory.copy,gemm.bf16", "--repetitions", 6,
                                          "--max-bytes=4000000", "--max-gemm=256", "--min-time", "0.001", "--out",
                                          pathlib.Path(folder) / name, program=support.BIN / "claimcheck")
                    self.assertIn(run.code, (0, 1), run)  # its figures are met by nobody with products so small
                    compare = machine.command("compare", pathlib.Path(folder) / "before/result.json",
                                              pathlib.Path(folder) / name / "result.json", "--max-regression", "5%",
                                              "--json", program=support.BIN / "claimcheck")
                answer = json.loads(compare.out)
                states = {row["id"]: (row["state"], [device["state"] for device in row["devices"]])
                          for row in answer["results"][0]["rows"] if row["metric"] in ("memory.copy.gbps", "gemm.bf16.tflops")}
                self.assertGreaterEqual(len(states), 2)
                expected = ("unchanged", ["unchanged"] * 2) if name == "before" else ("worse", ["unchanged", "worse"])
                self.assertEqual(states, dict.fromkeys(states, expected))
                self.assertEqual(compare.code, 0 if name == "before" else 1)
        # 1.25 times as long is a fifth less.
        loss = {row["metric"]: row["devices"][1]["change"]["relative"] for row in answer["results"][0]["rows"]
                if row["id"] in states}
        for metric, relative in loss.items():
            self.assertAlmostEqual(relative, -0.2, delta=0.01, msg=metric)


if __name__ == "__main__":
    unittest.main()
