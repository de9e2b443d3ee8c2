"""`claimcheck preflight`: a made worker with a GPU of which anything can be said, a made machine, and this CPU."""
import json
import stat
import sys
import time
import unittest

from support import CommandTest, claimcheck, load, parse

WORKER = """#!{python}
import json, sys
made = json.load(open({made!r}))
if "--describe" in sys.argv:
    if made.get("no_device"):
        print("claimcheck-bench: no CUDA device is visible", file=sys.stderr)
        sys.exit(3)
    print(json.dumps(made["description"]))
    sys.exit(0)
def event(**fields):
    print("@claimcheck " + json.dumps(fields), flush=True)
event(event="hello", schema_version="1.0", worker="cuda", pid=1, virtual=False)
for measurement in made["measurements"]:
    event(event="begin", id=measurement["id"])
    event(event="measurement", measurement=measurement)
    event(event="end", id=measurement["id"])
event(event="bye", measured=len(made["measurements"]))
"""

H100 = "NVIDIA H100 80GB HBM3"


def device(index, **facts):
    return {"index": index, "name": H100, "uuid": f"GPU-{index}", "memory_bytes": 80_000_000_000,
            "free_memory_bytes": 79_200_000_000, "virtual": False,
            "facts": {"compute_capability": "9.0", "max_sm_clock_mhz": 1980, "power_limit_w": 700,
                      "power_limit_default_w": 700, "persistence_mode": True, "mig_enabled": False} | facts}


def case():
    return {"id": "gemm.bf16/n:8192", "benchmark": "gemm.bf16", "metric": "gemm.bf16.tflops", "unit": "TFLOPS",
            "method": "gemm/1", "scope": "each_device", "summary": "s", "priority": 1, "quick": True,
            "setup_seconds": 0.5, "iteration_seconds": 0.01, "also": []}


def measured(values, **more):
    sensors = [{"sm_clock_highest_mhz": 1755, "throttle_reasons": "sw_power_cap"} for _ in values]
    return {"id": "gemm.bf16/n:8192", "metric": "gemm.bf16.tflops", "unit": "TFLOPS", "status": "ok", "reason": "",
            "samples": [min(values)] * 6, "conditions": {"method": "gemm/1"},
            "devices": [{"index": i, "name": H100, "samples": [value] * 6} for i, value in enumerate(values)],
            "evidence": {"devices": sensors}, "virtual": False} | more


class Preflight(CommandTest):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        for name, text in {"proc/stat": "cpu  10 0 10 980 0 0 0 0 0 0\n", "proc/loadavg": "0.10 0.1 0.1 1/1 1\n",
                           "proc/meminfo": "MemTotal: 2000000000 kB\nMemAvailable: 1900000000 kB\nSwapTotal: 0 kB\n"
                                           "SwapFree: 0 kB\n",
                           "proc/cpuinfo": "processor : 0\nmodel name : Made CPU\nphysical id : 0\ncore id : 0\n\n"
                                           "processor : 1\nmodel name : Made CPU\nphysical id : 0\ncore id : 1\n"}.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        self.made = {"description": {"schema_version": "1.0", "worker": "cuda", "platform": {}, "ranks": 2,
                                     "devices": [device(0), device(1)], "benchmarks": [case()]},
                     "measurements": [measured([700, 702])]}

    def preflight(self, *arguments):
        made = self.file("made.json", json.dumps(self.made))
        worker = self.file("worker", WORKER.format(python=sys.executable, made=str(made)))
        worker.chmod(worker.stat().st_mode | stat.S_IXUSR)
        return claimcheck("preflight", "--worker", worker, "--system-root", self.root, *arguments)

    def unfit(self, *parts):
        done = self.assert_exit(self.preflight(), 4)
        verdict = done.stdout.split("\n ")[0]
        self.assertTrue(done.stdout.startswith("VERDICT   Not fit to benchmark: "), done.stdout)
        for part in parts:
            self.assertIn(part, " ".join(done.stdout.split()), verdict)
        for line in done.stdout.splitlines():
            self.assertLessEqual(len(line), 100, line)

    def test_a_healthy_machine_is_fit(self):
        done = self.assert_exit(self.preflight(), 0)
        self.assertTrue(done.stdout.startswith("VERDICT   Fit to benchmark.\n"), done.stdout)
        self.assertIn(f"devices   2 x {H100}", done.stdout)
        self.assertIn("gemm.bf16/n:8192 700 TFLOPS", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_json_and_files(self):
        out = self.folder / "out"
        done = self.assert_exit(self.preflight("--json", "--out", out), 0)
        answer = parse(done.stdout)
        self.assert_valid(answer, "preflight-answer")
        self.assertTrue(answer["fit"])
        self.assertEqual(load(out / "preflight.json")["verdict"], answer["verdict"])
        self.assertIn("**Fit to benchmark.**", (out / "preflight.md").read_text(encoding="utf-8"))

    def test_somebody_else_on_the_gpu(self):
        self.made["description"]["devices"][1]["free_memory_bytes"] = 40_000_000_000
        self.unfit("Somebody else uses this GPU", "37.3 of 74.5 GiB taken before the run")

    def test_throttled(self):
        self.made["measurements"][0]["evidence"]["devices"][0]["throttle_reasons"] = "hw_thermal_slowdown"
        self.unfit("Slowed down by heat or hardware", "hw_thermal_slowdown")

    def test_wrong_clocks(self):
        for sensors in self.made["measurements"][0]["evidence"]["devices"]:
            sensors.update(sm_clock_highest_mhz=1095, throttle_reasons="application_clocks")
        self.unfit("Clocks are set lower than this GPU can go", "1095 of 1980 MHz")

    def test_a_wrong_answer(self):
        self.made["measurements"][0].update(status="wrong_result", reason="element 3 is off", samples=[])
        self.unfit("A short load failed: gemm.bf16/n:8192 wrong_result: element 3 is off")

    def test_warnings_stop_only_when_strict(self):
        self.made["description"]["devices"][0]["facts"]["power_limit_w"] = 500
        done = self.assert_exit(self.preflight(), 0)
        self.assertIn("Fit to benchmark, with 1 thing to know of.", done.stdout)
        self.assert_exit(self.preflight("--strict"), 4)
        lines = self.assert_exit(self.preflight("--format", "annotations"), 0).stdout
        self.assertRegex(lines, r"^::warning title=preflight gpu\.power_limit::The power limit is below its default.*500 W")

    def test_load_of_the_last_minute(self):
        (self.root / "proc/loadavg").write_text("3.00 1 1 1/1 1\n")
        done = self.assert_exit(self.preflight(), 0)
        self.assertIn("In the last minute 1.5 processes a CPU wanted to run", done.stdout)

    def test_no_device(self):
        self.made["no_device"] = True
        self.assert_refused(self.preflight(), "no CUDA device is visible", code=3)

    def test_bad_usage(self):
        self.assert_refused(self.preflight("--format", "jason"), '"json"')
        self.assert_refused(claimcheck("preflight", "--worker", "/none"), "no such file")

    def test_this_cpu_in_under_a_minute(self):
        started = time.monotonic()
        done = claimcheck("preflight", "--device", "host", "--json", "--max-bytes", "4MiB", "--max-gemm", "128",
                          "--min-time", "0.01")
        self.assertLess(time.monotonic() - started, 60)
        answer = parse(done.stdout)
        self.assert_valid(answer, "preflight-answer")
        self.assertEqual(done.returncode, 0 if answer["fit"] else 4)  # it may well be busy
        self.assertEqual(answer["worker"]["kind"], "host")
        self.assertGreaterEqual({one["metric"].split(".")[0] for one in answer["measurements"]}, {"gemm", "memory"})


if __name__ == "__main__":
    unittest.main()
