"""What the rows of fault_rows.py do beside starting `claimcheck run`: kill, cut off, fill up. Each gets the Trial of
test_faults.py, runs it and leaves exit code, output and seconds in it."""
import ctypes
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time

import support

COMPLETE = ("trace_the_worker", "watch_memory", "kill_and_resume", "kill_the_worker", "closed_pipe", "full_stdout",
            "jumping_clock", "torn_journal")  # after these the result has all benchmarks
MOST_KILOBYTES = 100_000
PTRACE_SEIZE = 0x4206


def in_namespace(command):
    return subprocess.run(["unshare", "--mount", "--map-root-user", *command], capture_output=True, check=False)


def clock_library():
    return support.BIN / "libclaimcheck_jumping_clock.so"


def missing(act):
    """What this machine lacks for it; None when it can be done."""
    if act == "full_disk":
        if not shutil.which("unshare") or in_namespace(["mount", "-t", "tmpfs", "tmpfs", "/mnt"]).returncode != 0:
            return "needs a user namespace to mount a small disk"
    if act == "jumping_clock" and not clock_library().exists():
        return "no preloaded clock in this build"
    if act in ("trace_the_worker", "jumping_clock") and os.environ.get("CLAIMCHECK_SANITIZE"):
        return "not with a sanitizer"
    return None


def journal(trial):
    try:
        lines = (trial.out / "journal.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    except OSError:
        return []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.005)
    raise AssertionError("the run did not get that far")


def begun(trial, identity):
    return any(line["kind"] == "begin" and line["id"] == identity for line in journal(trial))


def worker_of(process):
    """The pid of the measuring worker below a harness."""
    try:
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return next((int(child) for child in children
                     if b"--only=" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes()), None)
    except OSError:
        return None


def finish(trial, process, began):
    trial.end(process, began)


def resume(trial):
    """Finishes the run; the guilty benchmark is measured well this time."""
    done = subprocess.run([support.program("claimcheck"), "run", "--resume", "--out", str(trial.out)], env=trial.environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                          errors="replace", timeout=60, check=False)
    trial.exit, trial.stdout, trial.stderr = done.returncode, done.stdout, done.stderr


def trace_the_worker(trial):
    """To its parent a process that is traced does not end before its tracer looks: as one in a driver's call."""
    began = time.monotonic()
    process = trial.start()
    wait_for(lambda: begun(trial, "memory.triad"))
    worker = wait_for(lambda: worker_of(process))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    trial.expect(libc.ptrace(PTRACE_SEIZE, worker, 0, 0) == 0, f"cannot trace: {os.strerror(ctypes.get_errno())}")
    finish(trial, process, began)
    os.waitpid(worker, 0x40000000)  # __WALL; now it is gone


def watch_memory(trial):
    began = time.monotonic()
    process = trial.start(stdout=subprocess.DEVNULL, stderr=(trial.folder / "err").open("w"))
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    trial.exit, trial.seconds = process.returncode, time.monotonic() - began
    trial.stderr = (trial.folder / "err").read_text()
    trial.expect(usage.ru_maxrss < MOST_KILOBYTES or os.environ.get("CLAIMCHECK_SANITIZE"), f"{usage.ru_maxrss} KiB of memory")
    log = trial.out / "worker.log"
    trial.expect(not log.exists() or log.stat().st_size < 3 << 20, "a large worker.log")


def kill_and_resume(trial):
    trial.options += ["--worker-option=--pause=0.2"]
    process = trial.start()
    wait_for(lambda: begun(trial, "memory.triad"))
    process.kill()
    process.communicate()
    trial.expect(not (trial.out / "result.json").exists(), "a result after kill -9")
    ended = [line["id"] for line in journal(trial) if line["kind"] == "end"]
    trial.expect(ended, "nothing had ended")
    resume(trial)
    measured = (trial.folder / "ledger").read_text().split()
    for identity in ended:
        trial.expect(measured.count(identity) == 1, f"{identity} was measured {measured.count(identity)} times")


def kill_the_worker(trial):
    trial.row.broken.update({"memory.triad": "crashed"})
    trial.options += ["--worker-option=--pause=0.3"]
    began = time.monotonic()
    process = trial.start()
    wait_for(lambda: begun(trial, "memory.triad"))
    os.kill(wait_for(lambda: worker_of(process)), signal.SIGKILL)
    finish(trial, process, began)
    trial.expect("SIGKILL" in trial.stderr, "nobody says SIGKILL")


def signalled(trial, number, seconds):
    process = trial.start()
    wait_for(lambda: begun(trial, "memory.triad"))
    sent = time.monotonic()
    process.send_signal(number)
    wait_for(lambda: (trial.out / "result.json").exists(), seconds)
    trial.document()  # whole
    process.kill()  # as the machine would be; may be over already
    finish(trial, process, sent)
    trial.exit = trial.row.exit if trial.exit == -signal.SIGKILL else trial.exit
    document = trial.document()
    trial.expect(document["run"]["status"] == "partial", f"the run is {document['run']['status']}")
    trial.expect(signal.Signals(number).name in document["run"]["reason"], document["run"]["reason"])
    trial.expect([one["id"] for one in document["measurements"]] != [], "nothing was kept")


def terminate(trial):
    signalled(trial, signal.SIGTERM, 2)


def interrupt(trial):
    signalled(trial, signal.SIGINT, 2)


def hang_up(trial):
    signalled(trial, signal.SIGHUP, 2)


def no_half_file(trial, folder):
    trial.expect(not (folder / "result.json").exists(), "a result on a full disk")
    trial.expect([] == [name for name in os.listdir(folder) if name.endswith(".tmp")], "a half file is left")


def full_disk(trial):
    kept = trial.folder / "kept"
    trial.options[1] = "/mnt/out"
    trial.options += ["--worker-option=--count=15"]
    command = " ".join(trial.command("--scratch", str(trial.folder)))
    script = f"mount -t tmpfs -o size=24k tmpfs /mnt && {{ {command}; code=$?; cp -r /mnt/out {kept}; exit $code; }}"
    done = in_namespace(["/bin/sh", "-c", script])
    trial.exit, trial.stdout, trial.stderr = done.returncode, done.stdout.decode(), done.stderr.decode()
    trial.expect("o space " in trial.stderr, "nobody says that the disk is full")
    trial.expect("memory.copy" in trial.stdout, "what was measured is not shown")
    no_half_file(trial, kept)


def limited_files(trial):
    trial.options += ["--worker-option=--count=15"]
    process = trial.start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (24 << 10, 24 << 10)))
    finish(trial, process, time.monotonic())
    trial.expect("File too large" in trial.stderr, "nobody says that the file is too large")
    trial.expect("memory.copy" in trial.stdout, "what was measured is not shown")
    no_half_file(trial, trial.out)


def read_only(trial):
    if os.geteuid() == 0:
        trial.options[1] = "/sys/claimcheck"
    else:
        trial.folder.chmod(0o500)
    finish(trial, trial.start(), time.monotonic())
    trial.folder.chmod(0o700)
    trial.expect("--out" in trial.stderr, "nobody says which option")


def closed_pipe(trial):
    reader, writer = os.pipe()
    os.close(reader)
    process = trial.start(stdout=writer, stderr=writer)
    os.close(writer)
    finish(trial, process, time.monotonic())
    # That the answer did not arrive is the exit code's business; measuring is not disturbed.
    trial.expect(trial.exit == 4, f"exit code {trial.exit} with nobody reading")
    trial.exit = trial.row.exit


def full_stdout(trial):
    finish(trial, trial.start(stdout=open("/dev/full", "w")), time.monotonic())
    trial.expect("standard output" in trial.stderr, "nobody says why")


def jumping_clock(trial):
    trial.options += ["--benchmark-timeout", "20", "--budget", "30s", "--worker-option=--pause=0.05"]
    trial.environment |= {"LD_PRELOAD": str(clock_library())}
    finish(trial, trial.start(), time.monotonic())


def torn_journal(trial):
    subprocess.run(trial.command(), env=trial.environment, capture_output=True, timeout=60, check=False)
    path = trial.out / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if b'"measurement"' in line)
    torn = json.loads(lines[last])["measurement"]["id"]
    path.write_bytes(b"".join(lines[:last]) + lines[last][:len(lines[last]) // 2])
    (trial.out / "result.json").unlink()
    resume(trial)
    measured = (trial.folder / "ledger").read_text().split()
    trial.expect(measured.count(torn) == 2, f"{torn} was measured {measured.count(torn)} times")
    trial.expect(len(measured) == 4, f"measured: {measured}")


def strange_journal(trial):
    subprocess.run(trial.command(), env=trial.environment, capture_output=True, timeout=60, check=False)
    path = trial.out / "journal.jsonl"
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
        resume(trial)
        trial.expect("belongs to another user" in trial.stderr, "nobody says why")
    else:  # only root can give files away: a journal that is not one
        path.write_text("#!/bin/sh\n")
        resume(trial)
        trial.expect("not a journal line" in trial.stderr, "nobody says why")


def bombs(trial):
    nested, large = trial.folder / "nested.json", trial.folder / "large.json"
    nested.write_text("[" * 1_000_000)
    with large.open("wb") as file:
        file.truncate(2 << 30)
    for path, words in ((nested, "nested deeper"), (large, "larger than 256 MiB")):
        done = support.claimcheck("report", str(path))
        trial.exit, trial.stdout, trial.stderr = done.returncode, done.stdout, done.stderr
        trial.expect(done.returncode == 2 and words in done.stderr, f"{path.name}: {done.stderr}")
