"""Faults of virtual machines become findings of `claimcheck run`: the right one, with device, cause and next step; what is
not told becomes none."""
import json
import pathlib
import unittest

import support

TWO = support.first(2) | {"gpu": {"l2_kib": 64}}
SIZES = ["--max-bytes=1000000", "--max-gemm=64", "--min-time", "0.001", "--repetitions", "2",
         "--worker-option=--soak-seconds=1.5"]
QUIET = {"gpu.differ"}  # two GPUs of which one was changed: that they differ is said as well


def findings(changes, only, name="p5"):
    """By kind, of a run of these benchmarks."""
    with support.Machine(name, support.merged(TWO, changes) if name == "p5" else changes) as machine:
        out = pathlib.Path(machine.folder.name) / "out"
        run = machine.command("run", "--device", "cuda", "--only", only, *SIZES, "--out", out,
                              program=support.BIN / "claimcheck")
        assert (out / "result.json").exists(), repr(run)
        result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    # What the probe says is of this machine, not of the virtual one.
    found = {one["id"]: one for one in result["findings"] if one["id"].startswith(("gpu.", "link.", "transport."))}
    return {kind: one for kind, one in found.items() if kind not in QUIET}, run


def second(**facts):
    return {"gpus": {"1": facts}}


# changes of two H100, benchmark, kind, words of the sentence
ROWS = {
    "heat": (second(throttle_reasons=["sw_power_cap", "hw_thermal_slowdown"], temperature_celsius=91), "memory.copy",
             "gpu.throttled", ["GPU 1", "hw_thermal_slowdown in 100 %", "up to 91 C"]),
    "power brake": (second(throttle_reasons=["hw_power_brake"]), "memory.copy", "gpu.throttled", ["GPU 1", "hw_power_brake"]),
    "uncorrectable errors": (second(ecc_uncorrected=3, ecc_uncorrected_lifetime=5), "memory.copy", "gpu.ecc_errors",
                             ["GPU 1", "3 since the driver was loaded, 5 in its life"]),
    "rows to replace": (second(remapping_pending=True, remapped_rows_uncorrected=2), "memory.copy", "gpu.bad_memory",
                        ["GPU 1", "at the next reset only, 2 rows"]),
    "power limit": (second(power_limit_watts=400, power_limit_default_watts=700), "memory.copy", "gpu.power_limit",
                    ["GPU 1", "400 W in place of 700 W"]),
    "application clocks": (second(application_clock_mhz=900, application_clock_default_mhz=1980), "memory.copy",
                           "gpu.clocks_low", ["GPU 1", "900 MHz"]),
    "locked clocks": (second(throttle_reasons=["applications_clocks"], sm_clock_mhz=1200), "memory.copy",
                      "gpu.clocks_low", ["GPU 1", "never above 1200 of 1980 MHz"]),
    "a slice": (second(virtualization="vgpu"), "memory.copy", "gpu.slice", ["GPU 1", "a vGPU"]),
    "somebody else": (second(other_processes=2), "memory.copy", "gpu.in_use", ["GPU 1", "2 other processes"]),
    "memory in use": ({"gpu": {"memory_used_mib": 128}}, "memory.copy", "gpu.in_use", ["GPU 0", "GPU 1", "taken before the run"]),
    "persistence": (second(persistence="disabled"), "memory.copy", "gpu.persistence_off", ["GPU 1"]),
    "links down": (second(nvlinks=16, nvlinks_inactive=2), "memory.copy", "gpu.nvlink_down", ["GPU 1", "16 of 18"]),
    "fabric": (second(fabric="in_progress"), "memory.copy", "gpu.fabric", ["GPU 1", "in_progress"]),
    "no peer access": ({"links": {"gbps": 0}}, "memory.copy", "gpu.no_peer_access", ["GPU 0", "GPU 1"]),
    "narrow PCIe": ({"gpu": {"pcie_width": 8}, "pcie": {"h2d_gbps": 26}}, "host_link.h2d/each", "gpu.pcie_slow",
                    ["26", "of 63.0 GB/s", "8 of 16 lanes under load"]),
    "slow PCIe": ({"pcie": {"h2d_gbps": 26}}, "host_link.h2d/each", "gpu.pcie_slow", ["of 63.0 GB/s"]),
    "shared uplink": ({"pcie": {"uplinks": [[0, 1]]}}, "host_link.pairs", "link.uplink_shared", ["GPUs 0 and 1"]),
}


class Findings(unittest.TestCase):
    def check(self, row):
        changes, only, kind, words = row
        found, run = findings(changes, only)
        self.assertEqual(set(found), {kind}, run)
        one = found[kind]
        for word in words:
            self.assertIn(word, one["text"])
        self.assertTrue(one["cause"] and one["next_step"] and one["evidence"])
        self.assertIn(" ".join(one["cause"].split()[:5]), run.out)  # the report shows it

    def test_a_healthy_machine_has_none(self):
        # A power cap under full load is how every large GPU works.
        for only in ("memory.copy,gemm.bf16", "host_link.h2d,host_link.pairs"):
            found, run = findings({}, only)
            self.assertEqual(found, {}, run)

    def test_what_nvml_does_not_tell_is_no_finding(self):
        worst = second(**ROWS["heat"][0]["gpus"]["1"], persistence="disabled", power_limit_watts=400,
                       power_limit_default_watts=700, other_processes=2, ecc_uncorrected=3, nvlinks_inactive=2)
        for nvml in ("missing", "mismatch"):
            with self.subTest(nvml):
                found, run = findings(support.merged(worst, {"faults": {"nvml": nvml}}), "memory.copy")
                self.assertEqual(found, {}, run)
        functions = ["nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetPersistenceMode",
                     "nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetComputeRunningProcesses_v3",
                     "nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetNvLinkState"]
        found, run = findings(support.merged(worst, {"faults": {"nvml_not_supported": functions}}), "memory.copy")
        self.assertEqual(found, {}, run)

    def test_an_older_driver_names_other_processes_too(self):
        found, run = findings(second(other_processes=1) | {"faults": {"nvml": "old"}}, "memory.copy")
        self.assertEqual(set(found), {"gpu.in_use"}, run)
        self.assertIn("1 other process.", found["gpu.in_use"]["text"])

    def test_a_wrong_bit_in_a_soak(self):
        flip = {"kind": "flipped_bit", "operation": "gemm", "gpu": 1, "at": 150}
        found, run = findings({"faults": {"operations": [flip]}}, "soak")
        self.assertIn("gpu.corrupt", found, run)
        self.assertIn("GPU 1", found["gpu.corrupt"]["text"])


for number, (title, its_row) in enumerate(ROWS.items()):
    setattr(Findings, f"test_{number:02}_{title.replace(' ', '_')}", lambda self, row=its_row: self.check(row))


if __name__ == "__main__":
    unittest.main()
