"""Every row of fault_rows.py with the whole `claimcheck run`: the outcome and its sentence, the exit code, everything
else kept, in bounded time. docs/reliability.md shows the same rows."""
import concurrent.futures
import contextlib
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
import fault_acts
import fault_rows
import support

VIRTUAL = support.BIN.parent / "virtual_platform"
HAVE_VIRTUAL = (VIRTUAL / "lib" / "libclaimcheck_kernels_cpu.so").exists()
HAVE_MPI = bool(shutil.which("mpirun")) and (support.BIN / "libclaimcheck_mpi.so").exists()
SIZES = {"CLAIMCHECK_MIN_TIME": "0.001", "CLAIMCHECK_MAX_BYTES": "2000000", "CLAIMCHECK_MAX_GEMM": "256",
         "CLAIMCHECK_FILE_BYTES": "1000000"}
HOST = ["--device", "host", "--min-time", "0.01", "--max-bytes", "4MiB", "--max-gemm", "128", "--only",
        "memory.copy,memory.triad,gemm.fp32"]
TWO_AT_ONCE = 2


class Trial:
    """One row, run: its command, its folder, and what came of it."""

    def __init__(self, row, folder):
        self.row, self.folder, self.out = row, folder, folder / "out"
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("CLAIMCHECK_VIRTUAL_", "NCCL_", "CUDA_", "LD_"))}
        self.options = ["--out", str(self.out), "--repetitions", "3", *row.arguments]
        if row.only:
            self.options += ["--only", row.only]
        self.environment |= row.environment
        self.exit = self.seconds = None
        self.stdout = self.stderr = ""
        self.problems = []

    def command(self, *more):
        if self.row.spec:
            return [str(support.SOURCE / "scripts" / "virtual.sh"), str(self.machine()), "claimcheck", "run", "--device", "cuda",
                    *self.launcher(), *self.options, *more]
        if self.row.host_fault:
            return [support.program("claimcheck"), "run", *HOST, f"--worker-option=--fault={self.row.host_fault}:memory.triad",
                    *self.options, *more]
        return [support.program("claimcheck"), "run", "--worker", str(support.SOURCE / "tests/e2e/made_worker.py"),
                f"--worker-option=--scenario={self.row.scenario}", f"--worker-option=--ledger={self.folder / 'ledger'}",
                *self.options, *more]

    def machine(self):
        path = self.folder / "machine.json"
        small = fault_rows.NODES if "x2" in self.row.spec else fault_rows.GPUS
        changes = merged(small, self.row.changes)
        path.write_text(json.dumps({"extends": str(support.SOURCE / f"tests/virtual_platform/specs/{self.row.spec}.json"), **changes}))
        for index, code in self.row.gone.items():
            pathlib.Path(f"{path}.gone.{index}").write_text(str(code))
        self.environment |= SIZES | {"CLAIMCHECK_BUILD": str(support.BIN.parent)}
        return path

    def launcher(self):
        return ["--launcher", str(support.SOURCE / "scripts/virtual_mpirun.sh")] if "x2" in self.row.spec else []

    def start(self, *more, **options):
        defaults = {"env": self.environment, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                    "encoding": "utf-8", "errors": "replace", "cwd": self.folder}
        return subprocess.Popen(self.command(*more), **{**defaults, **options})

    def end(self, process, began):
        out, err = process.communicate(timeout=self.row.seconds + 60)
        self.stdout, self.stderr = out or "", err or ""
        self.exit, self.seconds = process.returncode, time.monotonic() - began

    def run(self):
        began = time.monotonic()
        if self.row.act:
            getattr(fault_acts, self.row.act)(self)
        else:
            self.end(self.start(), began)
        if self.seconds is None:
            self.seconds = time.monotonic() - began

    def document(self):
        return json.loads((self.out / "result.json").read_text(encoding="utf-8"))

    def expect(self, condition, sentence):
        if not condition:
            self.problems.append(sentence)


def merged(base, patch):
    """JSON merge patch, where null stays: the machine's file is merged once more, with what it extends."""
    result = dict(base)
    for key, value in patch.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def outcome_of(row, identity):
    found = [status for beginning, status in row.broken.items() if f"{identity}$".startswith(beginning)]
    return found[0] if found else None


def check_measurements(trial, document):
    row = trial.row
    for sentence in support.schema_errors(document, "result"):
        trial.problems.append(f"result.json: {sentence}")
    seen = set()
    for one in document["measurements"]:
        wanted = outcome_of(row, one["id"])
        seen.add(wanted)
        if wanted:
            trial.expect(one["status"] == wanted, f"{one['id']} is {one['status']}, not {wanted}: {one['reason']}")
            trial.expect(one["value"] is None, f"{one['id']} is {one['status']} and has a value")
            trial.expect(len(one["reason"]) > 10, f"{one['id']} is {one['status']} without a reason")
        else:
            trial.expect(one["status"] in fault_rows.KEPT, f"{one['id']} was not kept: {one['status']}: {one['reason']}")
    for wanted in set(row.broken.values()):
        trial.expect(wanted in seen, f"nothing is {wanted}")
    planned = {one["id"] for one in document["run"]["plan"]["benchmarks"]}
    have = {one["id"] for one in document["measurements"]}
    if row.count:
        trial.expect(len(have) >= row.count, f"only {have} of {planned}")
        left_out = {one["id"] for one in document["run"]["plan"]["left_out"]}
        trial.expect(planned <= have | left_out, f"{planned - have - left_out} are neither measured nor left out")
    elif not row.act or row.act in fault_acts.COMPLETE:
        trial.expect(have == planned, f"{planned - have} have no measurement")


def check(trial):
    row = trial.row
    trial.expect(trial.exit == row.exit, f"exit code {trial.exit}, not {row.exit}")
    trial.expect(trial.seconds <= row.seconds, f"took {trial.seconds:.1f} s, more than {row.seconds} s")
    everything = trial.stderr + " ".join(trial.stdout.split())
    document = None
    if (trial.out / "result.json").exists():
        document = trial.document()
        check_measurements(trial, document)
        everything += json.dumps(document, ensure_ascii=False)
    elif row.exit in (0, 1) or row.group in ("gpu", "worker"):
        trial.problems.append("there is no result.json")
    for words in row.says:
        trial.expect(words.lower() in everything.lower(), f"nobody says {words!r}")
    for metric, wanted in row.verdicts.items():
        got = [one["verdict"] for one in (document or {"verdicts": []})["verdicts"] if one["claim"]["metric"] == metric]
        trial.expect(got[:1] == [wanted], f"the claim on {metric} is {got}, not {wanted}")
    if row.exit in (2, 3):
        trial.expect(trial.stdout == "", "an answer on stdout")
        trial.expect(len(trial.stderr.strip().splitlines()) == 1, "not one sentence on stderr")
    trial.expect("\x1b" not in trial.stdout + trial.stderr, "control sequences for the terminal")
    trial.expect("unexpected error" not in trial.stderr, "an unexpected error")
    if trial.problems:
        trial.problems.append(f"stderr: {trial.stderr[-2500:]}")


def missing(row):
    """What this machine lacks for the row; None when it can be run."""
    if row.spec and not HAVE_VIRTUAL:
        return "this build has no virtual platform"
    if "x2" in row.spec and not HAVE_MPI:
        return "no Open MPI on this machine, or this build is without it"
    return fault_acts.missing(row.act)


def run_row(row):
    if missing(row):
        return None
    with tempfile.TemporaryDirectory(prefix="claimcheck-fault-") as folder:
        trial = Trial(row, pathlib.Path(folder))
        try:
            trial.run()
            check(trial)
        except (subprocess.TimeoutExpired, AssertionError, OSError, ValueError, KeyError) as error:
            trial.problems.append(f"{type(error).__name__}: {error}")
        return trial


class Matrix(unittest.TestCase):
    def test_every_row(self):
        chosen = os.environ.get("CLAIMCHECK_FAULT", "")  # a part of a row's first words
        rows = [row for row in fault_rows.ROWS if chosen in row.fault]
        with concurrent.futures.ThreadPoolExecutor(TWO_AT_ONCE) as pool:
            for row, trial in zip(rows, pool.map(run_row, rows)):
                with self.subTest(row.fault):
                    if trial is None:
                        self.skipTest(missing(row))
                    if os.environ.get("CLAIMCHECK_FAULT_TIMES"):
                        print(f"{trial.seconds:6.1f} s  {row.fault}", file=sys.stderr)
                    self.assertEqual(trial.problems, [], "\n" + "\n".join(trial.problems))

    def test_there_are_many_and_each_is_its_own(self):
        names = [row.fault for row in fault_rows.ROWS]
        self.assertGreaterEqual(len(names), 30)
        self.assertEqual(len(names), len(set(names)))

    def test_the_manual_shows_the_same_rows(self):
        manual = (support.SOURCE / "docs" / "reliability.md").read_text(encoding="utf-8")
        shown = manual.partition("<!-- of tests/e2e/fault_rows.py: begin -->\n")[2].partition("<!-- end -->")[0]
        self.assertEqual(shown.strip(), fault_rows.table().strip(),
                         "docs/reliability.md: put in what `python3 tests/e2e/fault_rows.py` prints")


if __name__ == "__main__":
    unittest.main()
