"""Each vendor function a short run calls fails once: no crash, no hang, nothing measured before is lost, nothing passes
that should not."""
import concurrent.futures
import os
import pathlib
import subprocess
import unittest

import support

TWO = support.first(2) | {"gpu": {"l2_kib": 16, "memory_mib": 64, "sms": 4, "nvlinks": 2},
                          "collectives": {"channels": 2}}
LIMITS = ["--max-bytes=100000", "--max-gemm=32", "--deadline=10"]
TIME_LIMIT_SECONDS = 60
EXIT_CODES = (0, 1, 3)  # measured or recorded why not; the device is lost; no usable device

# One benchmark of each kind of work, the one without which the others mean little first.
BENCHMARKS = ["memory.triad", "memory.hbm.latency", "vector.fp32", "tensor.bf16", "gemm.fp8_e4m3", "host_link.h2d",
              "host_link.bidirectional", "p2p.read", "p2p.load.latency", "launch.latency", "allreduce", "sendrecv"]

# Failures that change no measurement: what is only told (sensors, versions, facts), what only frees, what is asked again
# or has a second way. All others must leave a trace: a measurement that is not ok, or an exit code.
HARMLESS = ("nvml", "cudaFree", "cudaEventDestroy", "cudaStreamDestroy", "cublasLtMatmulDescDestroy",
            "cublasLtMatrixLayoutDestroy", "cublasLtMatmulPreferenceDestroy", "cublasLtDestroy", "ncclCommDestroy",
            "cublasLtMatmulAlgoConfigGetAttribute", "cudaDriverGetVersion", "cudaRuntimeGetVersion", "ncclGetVersion",
            "cublasLtGetVersion", "cudaDeviceGetAttribute", "cudaDeviceGetPCIBusId", "cudaGetLastError",
            "cudaDeviceGetP2PAttribute", "cudaGetErrorString", "cudaGetErrorName", "ncclGetLastError",
            "ncclGetErrorString", "cublasLtGetStatusName", "cublasLtGetStatusString",
            "cudaDeviceCanAccessPeer",  # also a fact of the platform; without an answer it is unknown
            "cudaGetDriverEntryPoint", "cuStreamWaitValue32")  # gates work without them, by a function on the host
# Functions without a way to fail.
INFALLIBLE = ("__cuda",)


def counts_in(file):
    return {function: int(count) for function, count in map(str.split, file.read_text().splitlines())}


class Sweep(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = support.Machine("p5", TWO)
        cls.machine.__enter__()
        cls.addClassCleanup(cls.machine.__exit__, None, None, None)
        rows = cls.machine.benchmarks(*LIMITS)
        cls.ids = [next(row["id"] for row in rows.values() if row["benchmark"] == name) for name in BENCHMARKS]
        file = pathlib.Path(cls.machine.folder.name) / "calls.txt"
        counting = {"CLAIMCHECK_VIRTUAL_CALLS": file}
        # What happens before anything is measured may concern benchmarks that were not asked for.
        cls.machine.benchmarks(*LIMITS, environment=counting)
        cls.before = counts_in(file)
        cls.healthy = cls.run_worker(counting)
        cls.calls = counts_in(file)

    @classmethod
    def run_worker(cls, environment):
        return cls.machine.measure(cls.ids, *LIMITS, repetitions=1, min_time=1e-5, environment=environment,
                                   timeout=TIME_LIMIT_SECONDS)

    def test_without_a_failure_all_is_measured(self):
        self.assertEqual(self.healthy.code, 0, self.healthy)
        self.assertEqual({one["status"] for one in self.healthy.measurements}, {"ok"}, self.healthy)
        self.assertGreater(len(self.calls), 80)

    def chosen_calls(self):
        """(function, number of the call, whether it happens while measuring)"""
        for function, count in sorted(self.calls.items()):
            if function.startswith(INFALLIBLE):
                continue
            before = self.before.get(function, 0)
            yield function, 1, before == 0
            if 0 < before < count:
                yield function, before + 1, True
            # NVML's later calls differ from the first only in when they happen; every second cudaGetDevice is that of a
            # destructor, which has nothing to tell.
            if count - before >= 8 and not function.startswith("nvml") and function != "cudaGetDevice":
                yield function, before + (count - before) // 2, True

    def problems(self, function, number, measuring):
        """What is wrong with a run in which this call fails; nothing when it was honest."""
        counted = pathlib.Path(self.machine.folder.name) / f"calls-{function}-{number}.txt"
        try:
            run = self.run_worker({"CLAIMCHECK_VIRTUAL_FAIL": f"{function}:{number}",
                                   "CLAIMCHECK_VIRTUAL_CALLS": counted})
        except subprocess.TimeoutExpired:
            return [f"did not end within {TIME_LIMIT_SECONDS} s"]
        found = []
        if run.code not in EXIT_CODES:
            found.append(f"exit code {run.code}: {run.err[-500:]}")
        if run.code == 0 and run.events[-1]["event"] != "bye":
            found.append("exit code 0 without a bye")
        if run.code != 0 and not run.err.strip():
            found.append("an exit code without a word")
        begun = [event["id"] for event in run.events if event["event"] == "begin"]
        measured = [one["id"] for one in run.measurements]
        # Of a worker that gave up, the last one begun may lack its measurement.
        for identifier in begun if run.code == 0 else begun[:-1]:
            if identifier not in measured:
                found.append(f"{identifier} was begun and has no measurement")
        healthy = {(one["id"], one["metric"]): one for one in self.healthy.measurements}
        for one in run.measurements:
            if one["status"] == "ok":
                usual_one = healthy[one["id"], one["metric"]]
                # A GPU that does not start is left out: what the others do has other sizes.
                if len(one["devices"]) < len(usual_one["devices"]):
                    continue
                usual = support.median(usual_one["samples"])
                if abs(support.median(one["samples"]) / usual - 1) > 0.05:
                    found.append(f"{one['id']} is ok with {one['samples']} where {usual} is usual")
            elif not one["reason"]:
                found.append(f"{one['id']} is {one['status']} without a reason")
        trace = run.code != 0 or any(one["status"] != "ok" for one in run.measurements)
        # How often a wait asks depends on how long it takes: in this run the call may not have come.
        came = not counted.exists() or counts_in(counted).get(function, 0) >= number
        if measuring and came and not trace and not function.startswith(HARMLESS):
            found.append("the failure left no trace")
        return found

    def test_every_call_fails_once(self):
        calls = list(self.chosen_calls())
        self.assertGreater(len(calls), 120)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for call, found in zip(calls, pool.map(lambda call: self.problems(*call), calls)):
                with self.subTest(call):
                    self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
