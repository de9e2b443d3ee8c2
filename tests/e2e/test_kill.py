"""kill -9 at 200 moments, of the harness or of its worker, anywhere from the start to the end: --resume then makes a whole
and valid result, and measures nothing again that the journal had.

The moments are drawn with a fixed seed over the time a run takes here; what happens at them differs from run to run, and
must be right in all."""
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import support

MOMENTS = 200
WITH_THE_HOST_WORKER = 10  # of them
TWO_AT_ONCE = 2
STARTS = 12  # of the harness until it must have come to its end
MADE = ["--worker", str(support.SOURCE / "tests" / "e2e" / "made_worker.py"), "--worker-option=--count=4"]
HOST = ["--device", "host", "--only", "memory.copy,memory.triad,gemm.fp32", "--repetitions", "3", "--min-time", "0.005",
        "--max-bytes", "4MiB", "--max-gemm", "64"]


class Run:
    def __init__(self, folder, options):
        self.folder = pathlib.Path(folder)
        self.out, self.ledger = self.folder / "out", self.folder / "ledger"
        self.options = [*options, *([f"--worker-option=--ledger={self.ledger}"] if "--worker" in options else [])]

    def start(self):
        """A new run, or the rest of the one whose journal is there."""
        resumes = (self.out / "journal.jsonl").exists()
        command = [support.program("claimcheck"), "run", "--out", str(self.out), *(["--resume"] if resumes else self.options)]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                encoding="utf-8", errors="replace")

    def journal(self):
        try:
            text = (self.out / "journal.jsonl").read_text(encoding="utf-8")
        except OSError:
            return []
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def ended(self):
        return [line["id"] for line in self.journal() if line["kind"] == "end"]

    def measured(self):
        return collections.Counter(self.ledger.read_text().split() if self.ledger.exists() else [])


def child_of(process):
    try:
        words = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    except OSError:
        return None
    return int(words[0]) if words else None


def strike(process, moment, whom):
    """Waits for the moment and kills; whether there was somebody to kill."""
    end = time.monotonic() + moment
    try:
        process.wait(max(0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        pass
    if whom == "worker":
        victim = child_of(process)
        if victim:
            try:
                os.kill(victim, signal.SIGKILL)
            except OSError:
                victim = None
    else:
        victim = process.pid if process.poll() is None else None
        process.kill()
    return bool(victim)


def problems_of(run):
    """What is wrong with a run that says it is over."""
    found = []
    document = json.loads((run.out / "result.json").read_text(encoding="utf-8"))
    found += support.schema_errors(document, "result")
    for number, line in enumerate(run.journal(), 1):
        found += [f"journal line {number}: {error}" for error in support.schema_errors(line, "journal")]
    planned = [one["id"] for one in document["run"]["plan"]["benchmarks"]]
    have = [one["id"] for one in document["measurements"]]
    if document["run"]["status"] != "complete":
        found.append(f"the run is {document['run']['status']}: {document['run']['reason']}")
    if sorted(set(have)) != sorted(planned):
        found.append(f"planned {planned}, have {have}")
    if len({(one["id"], one["metric"]) for one in document["measurements"]}) != len(have):
        found.append(f"a measurement came twice: {have}")
    twice = [name for name, count in collections.Counter(run.ended()).items() if count > 1]
    if twice:
        found.append(f"ended twice: {twice}")
    kept = {line["measurement"]["id"]: line["measurement"]["value"] for line in run.journal() if line["kind"] == "measurement"}
    if any(kept[one["id"]] != one["value"] for one in document["measurements"]):
        found.append("a value is not that of the journal")
    strangers = sorted(set(os.listdir(run.out)) - {"journal.jsonl", "result.json", "report.html", "worker.log"})
    if strangers:
        found.append(f"left behind: {strangers}")
    return found


def trial(options, moment, whom):
    """Kills at the moment, then lets the run come to its end. -> problems, whether somebody was killed"""
    with tempfile.TemporaryDirectory(prefix="claimcheck-kill-") as folder:
        run = Run(folder, options)
        struck = False
        for attempt in range(STARTS):
            journaled, before = set(run.ended()), run.measured()
            process = run.start()
            if attempt == 0:
                struck = strike(process, moment, whom)
            _, err = process.communicate(timeout=60)
            again = [name for name in journaled if run.measured()[name] > before[name]]
            if again:
                return [f"measured again: {again}"], struck
            if process.returncode in (0, 4):
                return problems_of(run), struck
            # A worker that dies before anything is begun is no usable device; the next start finds one.
            if process.returncode != -signal.SIGKILL and not (whom == "worker" and attempt == 0 and process.returncode == 3):
                return [f"exit code {process.returncode}: {err}"], struck
        return ["did not come to an end"], struck


def time_of(options):
    """How long a run takes that nobody disturbs, with another beside it."""
    with tempfile.TemporaryDirectory(prefix="claimcheck-kill-") as folder:
        began = time.monotonic()
        process = Run(folder, options).start()
        process.communicate(timeout=60)
        return time.monotonic() - began


class Kill(unittest.TestCase):
    def test_at_any_moment(self):
        chance = random.Random(20261130)
        lengths = {"made": time_of(MADE), "host": time_of(HOST)}
        rows = []
        for number in range(MOMENTS):
            kind = "host" if number < WITH_THE_HOST_WORKER else "made"
            rows.append((kind, chance.uniform(0, 1.05 * lengths[kind]), chance.choice(["harness", "harness", "worker"])))
        struck = 0
        with concurrent.futures.ThreadPoolExecutor(TWO_AT_ONCE) as pool:
            for row, (problems, hit) in zip(rows, pool.map(lambda row: trial(HOST if row[0] == "host" else MADE, *row[1:]), rows)):
                struck += hit
                with self.subTest(row):
                    self.assertEqual(problems, [])
        # Some come before there is a worker, or when all is over; most do not.
        self.assertGreater(struck, MOMENTS // 2)


if __name__ == "__main__":
    unittest.main()
