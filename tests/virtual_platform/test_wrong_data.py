"""A bit flipped on the device makes every benchmark say wrong_result: its check sees what the GPU did."""
import tempfile
import unittest

import support

TWO = support.first(2) | {"gpu": {"l2_kib": 64, "sms": 4}}
LIMITS = ["--max-bytes=2000000", "--max-gemm=128", "--file-bytes=2000000"]

# Beginning of a benchmark's name -> the operation in which every bit flip happens
OPERATIONS = {
    "memory.": "kernel", "vector.": "kernel", "tensor.": "kernel", "gemm.": "gemm", "host_link.": "copy",
    "p2p.load.": "kernel", "p2p.": "copy", "launch.": "copy", "allreduce": "collective", "allgather": "collective",
    "reducescatter": "collective", "broadcast": "collective", "sendrecv": "collective", "alltoall": "collective",
    "scaling.memory": "kernel", "scaling.gemm": "gemm", "scaling.allreduce": "collective", "checkpoint.save": "copy",
    "soak": "gemm",
    # What is flipped on the way to the device is flipped back on the way to the check.
    "checkpoint.restore": None,
    # Files only; and the training benchmarks, see below: they are too slow in these sizes.
    "storage.": None, "training": None, "scaling.training": None,
}


def operation_of(benchmark):
    found = [beginning for beginning in OPERATIONS if benchmark.startswith(beginning)]
    return OPERATIONS[max(found, key=len)]


class FlippedBits(unittest.TestCase):
    def setUp(self):
        # In the build: the system's folder for temporary files may be in memory, where checkpoints are not measured.
        scratch = tempfile.TemporaryDirectory(dir=support.VIRTUAL)
        self.addCleanup(scratch.cleanup)
        self.limits = [*LIMITS, f"--scratch={scratch.name}"]

    def test_every_benchmark_sees_them(self):
        with support.Machine("p5", TWO) as machine:
            rows = machine.benchmarks(*self.limits)
        one_case = {}
        for row in rows.values():
            if not row.get("unsupported") and operation_of(row["benchmark"]):
                one_case.setdefault(row["benchmark"], row["id"])
        self.assertGreater(len(one_case), 40)
        for operation in ("kernel", "gemm", "copy", "collective"):
            ids = [identifier for benchmark, identifier in one_case.items() if operation_of(benchmark) == operation]
            # Arithmetic units are checked on samples: there every word is wrong.
            faults = {"faults": {"operations": [{"kind": "flipped_bit", "operation": operation, "and_later": True,
                                                 "everywhere": operation == "kernel"}]}}
            with support.Machine("p5", support.merged(TWO, faults)) as machine:
                run = machine.measure(ids, *self.limits, repetitions=1)
            self.assertEqual(run.code, 0, run)
            self.assertEqual({event["id"] for event in run.events if event["event"] == "begin"}, set(ids))
            for identifier in ids:
                with self.subTest(identifier):
                    states = {(one["status"], bool(one["reason"])) for one in run.measurements
                              if one["id"] == identifier}
                    self.assertEqual(states, {("wrong_result", True)})

    def test_a_training_step_sees_them(self):
        faults = {"faults": {"operations": [{"kind": "flipped_bit", "operation": "gemm", "and_later": True}]}}
        with support.Machine("p5", support.merged(TWO, faults)) as machine:
            run = machine.measure(["training"], "--max-bytes=16000000", "--max-gemm=128", repetitions=1)
            self.assertEqual({one["status"] for one in run.measurements}, {"wrong_result"}, run)

    def test_one_bit_in_the_middle_of_a_run_is_found_at_its_end(self):
        # The last product of the run, which the check after it looks at.
        with support.Machine("p5", TWO) as machine:
            healthy = machine.measure(["gemm.bf16/n:128"], *LIMITS, repetitions=2)
            self.assertEqual([one["status"] for one in healthy.measurements], ["ok"], healthy)
        faults = {"faults": {"operations": [
            {"kind": "flipped_bit", "operation": "gemm", "at": 60, "and_later": True}]}}
        with support.Machine("p5", support.merged(TWO, faults)) as machine:
            run = machine.measure(["gemm.bf16/n:128"], *LIMITS, repetitions=2)
            self.assertEqual([one["status"] for one in run.measurements], ["wrong_result"], run)


if __name__ == "__main__":
    unittest.main()
