"""What the tests of the virtual platform share: machines made from ../specs, and runs of the real worker on them.

CTest sets CLAIMCHECK_BIN (the programs), CLAIMCHECK_SOURCE (the repository) and CLAIMCHECK_VIRTUAL (the stand-ins' folder
of the build, with lib/, nvml_old/ and nvml_missing/).
"""
import json
import os
import pathlib
import subprocess
import tempfile

SOURCE = pathlib.Path(os.environ.get("CLAIMCHECK_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("CLAIMCHECK_BIN", SOURCE / "build" / "dev" / "bin"))
VIRTUAL = pathlib.Path(os.environ.get("CLAIMCHECK_VIRTUAL", SOURCE / "build" / "dev" / "virtual_platform"))
SPECS = SOURCE / "tests" / "virtual_platform" / "specs"
WORKER = BIN / "claimcheck-bench-cuda"
EVENT_MARK = "@claimcheck "


def merged(base, patch):
    """JSON merge patch (RFC 7396), as specs extend each other."""
    result = dict(base)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = merged(result[key] if isinstance(result.get(key), dict) else {}, value)
        else:
            result[key] = value
    return result


def load_spec(name):
    """The document of specs/NAME.json with those it extends merged in."""
    document = json.loads((SPECS / f"{name}.json").read_text(encoding="utf-8"))
    if "extends" not in document:
        return document
    base = load_spec(document.pop("extends").removesuffix(".json"))
    return merged(base, document)


class Run:
    """What a worker left: its exit code (negative: a signal), text and events."""

    def __init__(self, completed):
        self.code = completed.returncode
        self.out = completed.stdout
        self.err = completed.stderr
        self.events = [json.loads(line.partition(EVENT_MARK)[2]) for line in completed.stdout.splitlines()
                       if EVENT_MARK in line]
        self.measurements = [event["measurement"] for event in self.events if event["event"] == "measurement"]

    def by_metric(self, metric):
        return [one for one in self.measurements if one["metric"] == metric]

    def __repr__(self):
        states = [f"{one['id']} {one['status']} {one.get('reason', '')}" for one in self.measurements]
        return "\n".join([f"exit code {self.code}", *states, self.err[-3000:]])


class Machine:
    """A virtual machine: specs/NAME.json with changes. A context manager: the file is there within it."""

    def __init__(self, name, changes=None):
        self.spec = merged(load_spec(name), changes or {})
        self.folder = None
        self.path = None

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "machine.json"
        self.path.write_text(json.dumps(self.spec), encoding="utf-8")
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    @property
    def gpu(self):
        return self.spec["gpu"]

    def environment(self, extra=None):
        """Of a process on this machine; None as a value removes a variable."""
        libraries = [VIRTUAL / "lib"]
        nvml = self.spec.get("faults", {}).get("nvml", "")
        if nvml in ("old", "missing"):
            libraries.insert(0, VIRTUAL / f"nvml_{nvml}")
        variables = {key: value for key, value in os.environ.items()
                     if not key.startswith(("CLAIMCHECK_VIRTUAL_", "NCCL_", "CUDA_", "LD_"))}
        variables |= {
            "LD_LIBRARY_PATH": ":".join(map(str, libraries)), "CLAIMCHECK_VIRTUAL_SPEC": str(self.path),
            "CLAIMCHECK_VIRTUAL_KERNELS": str(VIRTUAL / "lib" / "libclaimcheck_kernels_cpu.so")}
        for key, value in (extra or {}).items():
            variables.pop(key, None)
            if value is not None:
                variables[key] = str(value)
        return variables

    def command(self, *arguments, environment=None, timeout=120, program=WORKER):
        """Runs the worker; subprocess.TimeoutExpired when it does not end."""
        completed = subprocess.run([str(program), *map(str, arguments)], env=self.environment(environment),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   encoding="utf-8", errors="replace", check=False, timeout=timeout)
        return Run(completed)

    def measure(self, ids, *arguments, min_time=25e-6, repetitions=5, **options):
        """Runs these benchmarks, quickly: times are virtual, so that short ones are as exact."""
        return self.command("--only", ",".join(ids), f"--benchmark_min_time={min_time}",
                            f"--benchmark_repetitions={repetitions}", *arguments, **options)

    def processes(self, per_node, *arguments, environment=None, program=WORKER, timeout=120):
        """Runs the worker as so many processes on each node of this machine."""
        several = {"PER_NODE": per_node, "CLAIMCHECK_VIRTUAL_NODES": self.spec.get("nodes", {}).get("count", 1)}
        return self.command(program, *arguments, environment=several | (environment or {}), timeout=timeout,
                            program=SOURCE / "scripts" / "virtual_mpirun.sh")

    def benchmarks(self, *arguments, **options):
        """The rows of --describe, by id."""
        run = self.command("--describe", *arguments, **options)
        assert run.code == 0, repr(run)
        return {row["id"]: row for row in json.loads(run.out)["benchmarks"]}


def first(count):
    """Changes of a machine of eight GPUs that leave only so many, without shared uplinks."""
    return {"count": count, "gpus": {str(index): None for index in range(count, 8)}, "pcie": {"uplinks": None}}


def median(values):
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
