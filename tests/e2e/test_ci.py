"""scripts/ci: the workflow files against a linter, and nights of the script on this machine's CPU, as small as can be."""
import copy
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import yaml

import ci_lint
from support import BIN, SOURCE, CommandTest, load, program

CI = SOURCE / "scripts" / "ci"
NIGHTLY = CI / "nightly.sh"


def read(name):
    return yaml.safe_load((CI / name).read_text(encoding="utf-8"))


@unittest.skipUnless(shutil.which("shellcheck"), "no shellcheck; scripts/setup.sh --checks installs it")
class Lint(unittest.TestCase):
    def test_the_action_and_the_workflow_are_clean(self):
        self.assertEqual(ci_lint.lint_action(read("github/action.yml")), [])
        self.assertEqual(ci_lint.lint_workflow(read("github/nightly.yml")), [])

    def test_the_linter_finds_what_goes_wrong(self):
        def broken(name, lint, change):
            document = copy.deepcopy(read(name))
            change(document)
            return " | ".join(lint(document))

        def workflow(change):
            return broken("github/nightly.yml", ci_lint.lint_workflow, change)

        def action(change):
            return broken("github/action.yml", ci_lint.lint_action, change)

        step = lambda d: d["jobs"]["nightly"]["steps"]
        self.assertIn("not pinned", workflow(lambda d: step(d)[0].update(uses="actions/checkout@v4")))
        self.assertIn("persist-credentials", workflow(lambda d: step(d)[0].update({"with": {}})))
        self.assertIn("lets strangers", workflow(lambda d: d[True].update(pull_request=None)))
        self.assertIn("no timeout", workflow(lambda d: d["jobs"]["nightly"].pop("timeout-minutes")))
        self.assertIn("not restricted", workflow(lambda d: d.pop("permissions")))
        self.assertIn("unknown key 'run-on'", workflow(lambda d: d["jobs"]["nightly"].update({"run-on": "x"})))
        self.assertIn("becomes shell", workflow(lambda d: step(d)[1].update(run="echo ${{ github.head_ref }}")))
        self.assertIn("unknown input 'acept'", workflow(lambda d: step(d)[1].update({"if": "inputs.acept"})))
        self.assertIn("SC2086", workflow(lambda d: step(d)[1].update(run="rm $folder/x")))
        self.assertIn("either run or uses", workflow(lambda d: step(d)[1].update(uses="./x")))
        self.assertIn("no shell: bash", action(lambda d: d["runs"]["steps"][0].pop("shell")))
        self.assertIn("unknown step 'night'", action(lambda d: d["outputs"]["out"].update(value="${{ steps.night.outputs.x }}")))
        self.assertIn("no text", action(lambda d: d["inputs"]["preflight"].update(default=True)))
        self.assertIn("no cron line", workflow(lambda d: d[True].update(schedule=[{"cron": "daily"}])))

    def test_scripts(self):
        done = subprocess.run(["shellcheck", NIGHTLY], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertTrue(os.access(NIGHTLY, os.X_OK))
        for word in ("eval", "bash -c", "sh -c"):
            self.assertNotRegex(NIGHTLY.read_text(encoding="utf-8"), rf"\b{word}\b", "no shell is made from settings")


class Files(unittest.TestCase):
    def test_every_variable_is_the_scripts(self):
        """What the workflow files set, the script reads, and says so in its head."""
        script = NIGHTLY.read_text(encoding="utf-8")
        head = script[:script.index("set -euo")]
        steps = read("github/action.yml")["runs"]["steps"]
        names = set(steps[0]["env"]) | set(read("gitlab/claimcheck.gitlab-ci.yml")["claimcheck-nightly"]["variables"])
        for name in names - {"CLAIMCHECK_MODE"}:
            self.assertIn(name, head)
        documented = (SOURCE / "docs" / "ci.md").read_text(encoding="utf-8")
        for name in re.findall(r"CLAIMCHECK_[A-Z_]+", head):
            self.assertIn(name, documented)

    def test_gitlab(self):
        job = read("gitlab/claimcheck.gitlab-ci.yml")["claimcheck-nightly"]
        self.assertEqual(job["artifacts"]["when"], "always")
        self.assertLessEqual({"stage", "tags", "rules", "script", "timeout", "resource_group"}, set(job))
        self.assertEqual(job["script"], ["bash scripts/ci/nightly.sh"])
        self.assertEqual(job["artifacts"]["paths"], ["claimcheck-nightly/"])


TINY_NIGHT = {"CLAIMCHECK_DEVICE": "host", "CLAIMCHECK_PROFILE": "quick", "CLAIMCHECK_PREFLIGHT": "off",
              "CLAIMCHECK_ONLY": "memory.copy,gemm.fp32", "CLAIMCHECK_MIN_TIME": "0.01", "CLAIMCHECK_MAX_BYTES": "4194304",
              "CLAIMCHECK_MAX_GEMM": "128", "CLAIMCHECK_MAX_REGRESSION": "60%"}


# The real program, but every figure it measured is 10, however busy this machine is.
STEADY = """#!{python}
import json, pathlib, subprocess, sys
code = subprocess.run([{program!r}, *sys.argv[1:]]).returncode
path = pathlib.Path(sys.argv[sys.argv.index("--out") + 1], "result.json") if sys.argv[1] == "run" else None
if path and path.exists():
    document = json.loads(path.read_text())
    for measurement in document["measurements"]:
        if measurement["value"] is None:
            continue
        measurement["statistics"].update(median=10, min=9.9, max=10.1, cv=0.006, ci95=[9.9, 10.1],
                                         samples=[9.9, 10, 10, 10, 10, 10.1])
        measurement.update(value=10, status="ok", reason="")
        for device in measurement["devices"]:
            device.update(value=10)
            device.pop("ci95", None)
    path.write_text(json.dumps(document))
sys.exit(code)
"""


class Nights(CommandTest):
    def setUp(self):
        super().setUp()
        self.program = self.file("steady claimcheck", STEADY.format(python=sys.executable, program=program("claimcheck")))
        self.program.chmod(0o755)
        self.state = self.folder / "state of the runner"
        self.out = self.folder / "out"

    def night(self, *arguments, **variables):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "CLAIMCHECK_PROGRAM": str(self.program),
                       "CLAIMCHECK_STATE": str(self.state), "CLAIMCHECK_OUT": str(self.out), "CLAIMCHECK_METADATA": "off", **TINY_NIGHT, **variables}
        return subprocess.run(["bash", str(NIGHTLY), *arguments], env=environment, cwd=self.folder, capture_output=True,
                              text=True, check=False, stdin=subprocess.DEVNULL, timeout=300)

    def baseline(self):
        return sorted((self.state / "baseline").glob("*.json"))

    def edit_baseline(self, change):
        for path in self.baseline():
            document = load(path)
            for measurement in document["measurements"]:
                if measurement["value"] is not None:
                    change(measurement)
            path.write_text(json.dumps(document), encoding="utf-8")

    @staticmethod
    def times(factor):
        """What was measured before, as if the machine had been so much faster."""
        def change(measurement):
            measurement["value"] *= factor
            statistics = measurement["statistics"]
            for key in ("median", "min", "max"):
                statistics[key] *= factor
            statistics["samples"] = [sample * factor for sample in statistics["samples"]]
            statistics["ci95"] = statistics["ci95"] and [end * factor for end in statistics["ci95"]]
            for device in measurement["devices"]:
                device["value"] *= factor
        return change

    def test_first_night_baseline_second_compares_third_regression(self):
        first = self.assert_exit(self.night(), 0)
        self.assertIn("::notice title=claimcheck nightly::no baseline in", first.stdout)
        self.assertEqual(len(self.baseline()), 1)
        self.assertIn("this night begins one", (self.out / "summary.md").read_text(encoding="utf-8"))
        for name in ("report.md", "report.html", "junit.xml", "run/result.json", "history.txt"):
            self.assertTrue((self.out / name).stat().st_size > 0, name)

        self.edit_baseline(self.times(0.1))  # slower than any night here
        summary, output = self.folder / "summary.md", self.folder / "output"
        second = self.assert_exit(self.night(GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary),
                                             GITHUB_OUTPUT=str(output)), 0)
        self.assertIn("### claimcheck compare", summary.read_text(encoding="utf-8"))
        self.assertEqual(output.read_text(encoding="utf-8"), f"exit-code=0\nout={self.out}\n")
        token = re.search(r"^::stop-commands::([0-9a-f]{32})$", second.stdout, re.M)[1]
        self.assertLess(second.stdout.index("VERDICT"), second.stdout.index(f"\n::{token}::\n"))
        self.assertEqual(len(self.baseline()), 2)

        self.edit_baseline(self.times(100))
        third = self.assert_exit(self.night(), 1)
        self.assertRegex(third.stdout, "(?m)^::error title=regression of memory.copy.gbps::550 GB/s -> 10.0 GB/s .-98.2 %")
        self.assertIn("Regression.", (self.out / "compare.md").read_text(encoding="utf-8"))
        self.assertEqual(len(self.baseline()), 2, "a bad night makes no baseline")
        self.assertEqual(len(list((self.state / "history").glob("*/result.json"))), 3)
        self.assertEqual(load(self.out / "compare.json")["exit_code"], 1)

        self.assert_exit(self.night("--accept"), 0)
        self.assertEqual(self.baseline(), [])
        self.assert_exit(self.night(), 0)
        self.assertEqual(len(self.baseline()), 1)

    def test_a_claim_that_is_not_met(self):
        done = self.assert_exit(self.night(CLAIMCHECK_CLAIMS="memory.copy.gbps>=0.001\n\ngemm.fp32.tflops>=9000\n"), 1)
        self.assertRegex(done.stdout, r"(?m)^::error title=claim gemm\.fp32\.tflops::not_met")
        self.assertNotIn("::error title=claim memory.copy", done.stdout)

    def test_settings_never_become_shell(self):
        trap = self.folder / "trapped"
        evil = f"$(touch {trap}); `touch {trap}` ' \" | touch {trap}"
        for name in ("CLAIMCHECK_CLAIMS", "CLAIMCHECK_ONLY", "CLAIMCHECK_INSTANCE", "CLAIMCHECK_BUDGET",
                     "CLAIMCHECK_MAX_REGRESSION", "CLAIMCHECK_BASELINE_RUNS", "CLAIMCHECK_KEEP", "CLAIMCHECK_PREFLIGHT",
                     "CLAIMCHECK_DEVICE", "CLAIMCHECK_PROFILE", "CLAIMCHECK_OFFER"):
            with self.subTest(name):
                if name == "CLAIMCHECK_MAX_REGRESSION" and not self.baseline():
                    (self.state / "baseline").mkdir(parents=True, exist_ok=True)
                    shutil.copy(SOURCE / "results-schema" / "examples" / "result-host.json",
                                self.state / "baseline" / "a.json")
                self.assertEqual(self.night(**{name: evil}).returncode, 2)
                self.assertFalse(trap.exists())

    def test_bad_settings_are_one_sentence(self):
        done = self.night(CLAIMCHECK_PROGRAM="/none")
        self.assertEqual((done.returncode, done.stderr), (2, "nightly: CLAIMCHECK_PROGRAM='/none': no program there\n"))
        done = self.night("--acept")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--accept", done.stderr)
        (self.out / "x").mkdir(parents=True)
        done = self.night()
        self.assertEqual(done.returncode, 2)
        self.assertIn("holds files that no nightly run made", done.stderr)

    def test_another_device_is_not_compared(self):
        self.assert_exit(self.night(), 0)
        path = self.baseline()[0]
        document = load(path)
        document["system"]["devices"][0]["name"] = "Another CPU"
        path.write_text(json.dumps(document), encoding="utf-8")
        done = self.assert_exit(self.night(), 4)
        self.assertRegex(done.stdout, r"(?m)^::warning title=compare::Nothing was compared: the devices are others")

    def test_an_unfit_machine_is_not_measured(self):
        unfit = self.folder / "claimcheck"
        unfit.write_text("#!/bin/sh\n[ \"$1\" = preflight ] || exit 99\n"
                         "echo '::error title=preflight cpu.busy::Other processes use 80 %25 of the CPUs.'\nexit 4\n")
        unfit.chmod(0o755)
        done = self.assert_exit(self.night(CLAIMCHECK_PROGRAM=str(unfit), CLAIMCHECK_PREFLIGHT="on"), 4)
        self.assertIn("::error title=preflight cpu.busy::", done.stdout)
        self.assertIn("nothing was measured", done.stdout)
        self.assertEqual(self.baseline(), [])

    def test_a_run_without_result(self):
        broken = self.folder / "claimcheck"
        broken.write_text("#!/bin/sh\nexit 3\n")
        broken.chmod(0o755)
        done = self.assert_exit(self.night(CLAIMCHECK_PROGRAM=str(broken)), 3)
        self.assertIn("::error title=claimcheck nightly::claimcheck run ended with exit 3 and left no result", done.stdout)

    def test_old_nights_go(self):
        for name in ("20260101T000000Z", "20260102T000000Z", "20260103T000000Z"):
            (self.state / "history" / name).mkdir(parents=True)
        self.assert_exit(self.night(CLAIMCHECK_KEEP="2"), 0)
        left = sorted(path.name for path in (self.state / "history").iterdir())
        self.assertEqual(len(left), 2)
        self.assertEqual(left[0], "20260103T000000Z")

    def test_the_program_beside_the_script_is_found_on_the_path(self):
        done = self.night("--preflight-only", CLAIMCHECK_PROGRAM="", PATH=f"{BIN}:{os.environ['PATH']}",
                          CLAIMCHECK_PREFLIGHT="on")
        self.assertIn(done.returncode, (0, 4), done.stderr)  # this machine may well be busy
        self.assertTrue((self.out / "preflight.json").exists())


if __name__ == "__main__":
    unittest.main()
