"""The fault matrix as data: what breaks, how a test breaks it, and what a user then gets.

test_faults.py runs every row with the whole `claimcheck run`; `fault_rows.py` prints the table of docs/reliability.md.
"""
import dataclasses

GPUS = {"count": 2, "gpus": {str(index): None for index in range(2, 8)}, "pcie": {"uplinks": None},
        "gpu": {"l2_kib": 64, "sms": 4}}
NODES = {"count": 1, "gpus": {str(index): None for index in range(1, 8)}, "pcie": {"uplinks": None},
         "gpu": {"l2_kib": 64, "sms": 4}, "nodes": {"network": {"nics": 4, "latency_us": 2.0}}}
KEPT = ("ok", "unstable")


@dataclasses.dataclass
class Row:
    fault: str           # what breaks, in a user's words
    injected: str        # how, in a developer's
    outcome: str         # what the user gets: of the benchmark, of the run
    exit: int
    group: str = ""
    spec: str = ""       # machine of the virtual platform; empty: none
    changes: dict = dataclasses.field(default_factory=dict)  # of the spec
    gone: dict = dataclasses.field(default_factory=dict)     # GPU that did not come back -> cudaError_t
    scenario: str = ""   # of made_worker.py
    host_fault: str = ""  # --fault of the host worker
    only: str = ""
    arguments: tuple = ()
    environment: dict = dataclasses.field(default_factory=dict)
    act: str = ""        # what the test does beside it, a method of test_faults.py
    broken: dict = dataclasses.field(default_factory=dict)  # beginning of an id (all of it before a $) -> outcome; the others are kept
    says: tuple = ()     # in the report, a reason or stderr
    verdicts: dict = dataclasses.field(default_factory=dict)  # metric -> verdict
    count: int = 0       # of measurements at least; 0: of those asked for
    seconds: int = 15    # the run is over


def operation(kind, what, **more):
    return {"faults": {"operations": [{"kind": kind, "operation": what, **more}]}}


def start_up(fault, code, injected, *says, **more):
    return Row(fault, injected, f"no result: {code}", 3, group="start", spec=more.pop("spec", "p5"), only="memory.copy",
               says=says, **more)


def gpu(fault, injected, outcome, changes, **more):
    return Row(fault, injected, outcome, more.pop("exit", 4), group=more.pop("group", "gpu"), spec=more.pop("spec", "p5"),
               changes=changes, **more)


def worker(fault, scenario, outcome, status=None, **more):
    broken = {"memory.triad": status} if status else {}
    return Row(fault, f"a made worker: `{scenario}`", outcome, more.pop("exit", 4 if status else 0), group="worker",
               scenario=scenario, broken=more.pop("broken", broken), **more)


def harness(fault, injected, outcome, exit, act, **more):
    return Row(fault, injected, outcome, exit, group="harness", act=act, **more)


CASES = "memory.copy,gemm.bf16/n:*,allreduce.latency"
SPEC_START = "virtual machine: `faults.start_up`"
SPEC_OPERATION = "virtual machine: `faults.operations`"

START = [
    start_up("no driver", "the driver is missing", SPEC_START, "cudaErrorInsufficientDriver", changes={"faults": {"start_up": "no_driver"}}),
    start_up("driver too old for this build", "both versions, and which driver would do", SPEC_START,
             "the NVIDIA driver supports CUDA 11.4", "install driver",
             changes={"cuda_driver_version": 11040, "faults": {"start_up": "old_driver"}}),
    start_up("no GPU", "CUDA finds none", SPEC_START, "cudaErrorNoDevice", changes={"faults": {"start_up": "no_device"}}),
    start_up("fabric manager not running (802)", "names the service to start", SPEC_START, "nvidia-fabricmanager",
             changes={"faults": {"start_up": "802"}}),
    start_up("driver updated without a reboot (803)", "says to reboot", SPEC_START, "reboot",
             changes={"faults": {"start_up": "803"}}),
    start_up("forward compatibility on a card without it (804)", "names the compat package", SPEC_START, "compat",
             changes={"faults": {"start_up": "804"}}),
    start_up("CUDA_VISIBLE_DEVICES names no GPU", "what it says, and how many there are", "the environment",
             'CUDA_VISIBLE_DEVICES is "9"', environment={"CUDA_VISIBLE_DEVICES": "9"}),
    start_up("no code for this GPU in the build", "its compute capability", "virtual machine: capability 6.1",
             "has no code for", "compute capability 6.1", changes={"gpu": {"compute_capability": 61}}),
    gpu("one GPU of several does not start", "virtual machine: a GPU that is gone", "the others are measured; the missing one is "
        "named, and a claim on all is not met by fewer", {}, gone={1: 214}, only="memory.copy",
        arguments=("--claim", "memory.copy.gbps>=1", "--claim", "identity.accelerator_count==2"), exit=1, group="start",
        says=("1 of 2 GPUs work; GPU 1 did not start", "ECC"),
        verdicts={"memory.copy.gbps": "not_measured", "identity.accelerator_count": "contradicted"}),
    Row("the driver hangs at start", "a made worker: `describe_hangs`", "no result, after a minute or the budget", 3,
        group="start", scenario="describe_hangs", arguments=("--budget", "2s"),
        says=("gave no answer within 2 s", "driver may hang"), seconds=6),
    Row("the worker crashes at start", "a made worker: `describe_crashes`", "no result: by which signal", 3, group="start",
        scenario="describe_crashes", says=("SIGSEGV",)),
    Row("the worker describes itself in 30 MB of garbage", "a made worker: `describe_garbage`", "no result: not JSON", 3,
        group="start", scenario="describe_garbage", says=("did not print a JSON document",)),
    Row("... in a million brackets", "a made worker: `describe_nested`", "no result: nested too deep", 3, group="start",
        scenario="describe_nested", says=("nested deeper than 64 levels",)),
    Row("... in values of wrong types", "a made worker: `describe_wrong_types`", "no result: which field", 3, group="start",
        scenario="describe_wrong_types", says=("/benchmarks/0/id",)),
]

GPU = [
    gpu("somebody else holds the GPU's memory", "virtual machine: `memory_used_mib`", "`failed` or smaller sizes, never a "
        "crash; who took it is to be looked for", {"gpu": {"memory_used_mib": 256}}, only="memory.copy",
        broken={"memory.copy": "failed"}, says=("memory",)),
    gpu("uncorrectable ECC error in the middle", SPEC_OPERATION + ": `ecc`", "`failed`, the rest by a fresh worker",
        operation("ecc", "gemm", gpu=1), only=CASES, broken={"gemm.bf16/n": "failed"}, says=("ECC",)),
    gpu("a GPU falls off the bus (Xid 79) and stays away", SPEC_OPERATION + ": `lost`, `stays`",
        "`failed`; the rest is measured on those that live, and \"2 of 3 GPUs work\" said", {"count": 3, "gpus": {"2": {}}} | operation("lost", "gemm", gpu=1, stays=True),
        only=CASES + ",memory.read", broken={"gemm.bf16/n": "failed"}, exit=1,
        arguments=("--claim", "memory.read.gbps>=1", "--claim", "identity.accelerator_count==3"),
        says=("2 of 3 GPUs work; GPU 1 did not start", "goes on with 2 devices"),
        verdicts={"memory.read.gbps": "not_measured", "identity.accelerator_count": "contradicted"}),
    gpu("all GPUs fall off the bus", SPEC_OPERATION + ": `lost` twice, `stays`", "what was measured is kept, the rest `failed` with why",
        {"faults": {"operations": [{"kind": "lost", "operation": "kernel", "name": "memory_pass", "gpu": index, "at": 5, "stays": True}
                                   for index in (0, 1)]}},
        only="gemm.bf16/n:*,memory.copy,memory.read", broken={"memory.": "failed"}, says=("nothing more can be measured here",)),
    gpu("an illegal address (sticky error)", SPEC_OPERATION + ": `error`", "`failed`, the rest by a fresh worker",
        operation("error", "gemm", gpu=1), only=CASES, broken={"gemm.bf16/n": "failed"}),
    gpu("a kernel never ends", SPEC_OPERATION + ": `hang`", "`timed_out`, the rest by a fresh worker",
        operation("hang", "kernel", name="memory_pass", gpu=1), only=CASES, broken={"memory.copy": "timed_out"},
        arguments=("--worker-option=--deadline=1",), seconds=25),
    gpu("a matrix product never ends", SPEC_OPERATION + ": `hang`", "`timed_out`, the rest by a fresh worker",
        operation("hang", "gemm", gpu=1), only=CASES, broken={"gemm.bf16/n": "timed_out"},
        arguments=("--worker-option=--deadline=1",), seconds=25),
    gpu("a copy never ends", SPEC_OPERATION + ": `hang`", "`timed_out`, the rest by a fresh worker",
        operation("hang", "copy", gpu=1, at=40, and_later=True), only="memory.copy,host_link.h2d/all",
        broken={"host_link.h2d/all$": "timed_out"}, arguments=("--worker-option=--deadline=1",), seconds=25),
    gpu("a collective never ends", SPEC_OPERATION + ": `hang` of NCCL", "`timed_out`: the communicator is aborted",
        operation("hang", "nccl", name="AllReduce"), only="memory.copy,allreduce.latency,allgather.latency",
        broken={"allreduce.latency": "timed_out"}, says=("did not end its collective",),
        arguments=("--worker-option=--deadline=1",), seconds=25),
    gpu("one node's rank hangs", SPEC_OPERATION + " on node 1, two nodes", "`timed_out`, the group is made anew",
        operation("hang", "nccl", name="AllReduce", node=1, at=3), spec="p5x2", only="allreduce.latency,allgather.latency",
        broken={"allreduce.latency": "timed_out"}, says=("did not end its collective",),
        arguments=("--worker-option=--deadline=2",), seconds=40),
    gpu("one node's rank is killed", SPEC_OPERATION + ": `killed` on node 1", "`crashed`, the rest by fresh processes",
        operation("killed", "nccl", name="AllGather", node=1, at=2), spec="p5x2",
        only="allreduce.latency,allgather.latency,broadcast.latency", broken={"allgather.latency": "crashed"}, seconds=40),
    gpu("NCCL reports an asynchronous error", SPEC_OPERATION + ": `async_error`", "`failed`: the communicator is aborted",
        operation("async_error", "nccl", name="AllReduce", at=3), only="memory.copy,allreduce.latency,allgather.latency",
        broken={"allreduce.latency": "failed"}, says=("ncclRemoteError",)),
    gpu("a NCCL call fails", "`CLAIMCHECK_VIRTUAL_FAIL=ncclAllReduce:2`", "`failed` with NCCL's words", {},
        environment={"CLAIMCHECK_VIRTUAL_FAIL": "ncclAllReduce:2"}, only="memory.copy,allreduce.latency,allgather.latency",
        broken={"allreduce.latency": "failed"}, says=("NCCL",)),
    gpu("NCCL adds up wrongly", SPEC_OPERATION + ": `flipped_bit`", "`wrong_result`, no number",
        operation("flipped_bit", "collective", name="AllReduce", and_later=True), only="memory.copy,allreduce/bytes:*,allgather.latency",
        broken={"allreduce/": "wrong_result"}, arguments=("--claim", "allreduce.busbw.gbps>=1"),
        verdicts={"allreduce.busbw.gbps": "not_measured"}),
    gpu("a bit flips in a kernel's output", SPEC_OPERATION + ": `flipped_bit`", "`wrong_result`, no number",
        operation("flipped_bit", "kernel", and_later=True, everywhere=True), only="memory.triad,vector.fp32",
        broken={"memory.triad": "wrong_result", "vector.fp32": "wrong_result"}),
    gpu("a bit flips in a matrix product", SPEC_OPERATION + ": `flipped_bit`", "`wrong_result`, no number",
        operation("flipped_bit", "gemm", and_later=True), only="memory.copy,gemm.bf16/n:*,gemm.fp64/n:*",
        broken={"gemm.": "wrong_result"}),
    gpu("a bit flips in a copy", SPEC_OPERATION + ": `flipped_bit`", "`wrong_result`, no number",
        operation("flipped_bit", "copy", and_later=True), only="host_link.d2h/each,p2p.read,memory.hbm.latency",
        broken={"host_link.d2h/each$": "wrong_result", "p2p.read": "wrong_result"}),
    gpu("a bit flips in training", SPEC_OPERATION + ": `flipped_bit`", "`wrong_result`, no number",
        operation("flipped_bit", "gemm", and_later=True), only="training/nano,memory.copy",
        broken={"training": "wrong_result"}, seconds=40),
    gpu("NCCL falls back to sockets", "virtual machines: two nodes without EFA's plug-in", "measured; the promise of EFA is `not_met`",
        {}, spec="p5x2_sockets", only="allreduce/bytes:*", arguments=("--instance", "aws:p5.48xlarge"), exit=1,
        says=("socket",), verdicts={"transport.network": "not_met"}, seconds=40),
    gpu("NVML is missing", "virtual machine: `nvml: missing`", "measured; sensors are unknown, not 0", {"faults": {"nvml": "missing"}},
        only="memory.copy", exit=0),
    gpu("NVML is that of an older driver", "virtual machine: `nvml: old`", "measured; clocks and reasons are still read",
        {"faults": {"nvml": "old"}}, only="memory.copy", exit=0),
    gpu("NVML does not match the driver", "virtual machine: `nvml: mismatch`", "measured; sensors are unknown",
        {"faults": {"nvml": "mismatch"}}, only="memory.copy", exit=0),
    gpu("NVML refuses some readings", "virtual machine: `nvml_not_supported`", "measured; those readings are unknown",
        {"faults": {"nvml_not_supported": ["nvmlDeviceGetPowerUsage", "nvmlDeviceGetTemperature"]}}, only="memory.copy", exit=0),
    gpu("NVML lies", "virtual machine: `lying_sensors`", "rates come from events and are right; readings are evidence only",
        {"gpu": {"lying_sensors": {"power_watts": 5, "sm_clock_mhz": 10}}}, only="memory.copy", exit=0,
        arguments=("--claim", "memory.copy.gbps>=600"), verdicts={"memory.copy.gbps": "met"}),
    gpu("a slow link to the host", "virtual machine: PCIe at a tenth", "measured; the claim is `not_met`",
        {"pcie": {"h2d_gbps": 5.5}}, only="host_link.h2d/each", exit=1, arguments=("--claim", "host_link.h2d.gbps>=50"),
        verdicts={"host_link.h2d.gbps": "not_met"}),
    gpu("one slow GPU", "virtual machine: `slowdown` of GPU 1", "measured; the headline is that of the slow one, which is named",
        {"count": 4, "gpus": {"1": {"slowdown": 1.5}, "2": {}, "3": {}}}, only="memory.copy", exit=1, arguments=("--claim", "memory.copy.gbps>=1000"),
        says=("is slower than its peers: 33.3 %",), verdicts={"memory.copy.gbps": "not_met"}),
    gpu("a GPU throttles", "virtual machine: `throttle_reasons`, `slowdown`", "measured; the reason is the diagnosis",
        {"gpu": {"sms": 132, "slowdown": 1.4, "throttle_reasons": ["hw_thermal_slowdown"]}}, only="gemm.bf16/n:*", exit=1,
        arguments=("--claim", "gemm.bf16.tflops>=600"), says=("thermal",), verdicts={"gemm.bf16.tflops": "not_met"}),
]

WORKER = [
    Row("the worker crashes (SIGSEGV)", "host worker: `--fault crash`", "`crashed` with the signal", 4, group="worker",
        host_fault="crash", broken={"memory.triad": "crashed"}, says=("SIGSEGV",)),
    Row("the worker leaves in the middle", "host worker: `--fault exit`", "`crashed` with the code", 4, group="worker",
        host_fault="exit", broken={"memory.triad": "crashed"}, says=("exited with code 3",)),
    Row("a benchmark hangs", "host worker: `--fault hang`", "`timed_out` by its deadline", 4, group="worker",
        host_fault="hang", broken={"memory.triad": "timed_out"}, arguments=("--benchmark-timeout", "1"),
        says=("stopped after",)),
    Row("a wrong answer", "host worker: `--fault wrong`", "`wrong_result`, no number", 4, group="worker",
        host_fault="wrong", broken={"memory.triad": "wrong_result"}),
    worker("a benchmark goes silent", "hang", "`timed_out`: no sign of life", "timed_out",
           arguments=("--silence-timeout", "1"), says=("no sign of life",)),
    worker("a benchmark that ignores SIGTERM", "deaf", "`timed_out`, killed", "timed_out",
           arguments=("--benchmark-timeout", "1"), says=("stopped after",)),
    worker("a worker that not even SIGKILL ends", "deaf", "`timed_out`; left behind after 5 s, which is said", "timed_out",
           arguments=("--benchmark-timeout", "1"), act="trace_the_worker", says=("did not end within 5 s of SIGKILL",), seconds=20),
    worker("a hang between two benchmarks", "hangs_between", "what was measured is kept; the budget ends the rest", exit=4,
           arguments=("--budget", "4s"), says=("the budget of",), count=1, seconds=7),
    worker("the worker begins nothing", "begins_nothing", "the budget ends it", exit=4, arguments=("--budget", "4s"),
           says=("did not fit the budget",), count=-1, seconds=7),
    worker("the worker says nothing", "mute", "the budget ends it", exit=4, arguments=("--budget", "4s"),
           says=("did not fit the budget",), count=-1, seconds=7),
    worker("every benchmark hangs", "all_hang", "`timed_out` or left out, inside the budget", exit=4,
           broken={"": "timed_out"}, arguments=("--budget", "4s", "--benchmark-timeout", "1"), count=1, seconds=7),
    worker("the worker leaves before it begins", "leaves_at_once", "all `failed`, with its last words", exit=4,
           broken={"": "failed"}, says=("exited with code 9", "no licence")),
    worker("garbage on stdout", "garbage", "no harm"),
    worker("100 MB of garbage, not UTF-8", "flood", "no harm; memory and log stay small", act="watch_memory"),
    worker("100 MB without a line end", "endless_line", "no harm; memory stays small", act="watch_memory"),
    worker("an event nested a million deep", "nested", "no event; no harm", act="watch_memory"),
    worker("events of wrong types", "wrong_types", "no events; no harm"),
    worker("20 000 measurements that cannot be read", "malformed", "`failed`, told once", "failed",
           says=("in a form that cannot be read",)),
    worker("rates that are no numbers", "not_finite", "`failed`, no number", "failed", says=("zero or not a number",)),
    worker("control sequences for the terminal", "escapes", "`failed`; none reaches the terminal", "failed", says=("boom",)),
]

HARNESS = [
    harness("claimcheck is killed (kill -9)", "SIGKILL at 200 moments, test_kill.py, and here", "`--resume` measures what is missing",
            0, "kill_and_resume"),
    harness("the worker is killed (kill -9)", "SIGKILL", "`crashed`, the rest by a fresh worker", 4, "kill_the_worker"),
    harness("SIGTERM, two seconds before the machine goes", "SIGTERM, with a worker that ignores it",
            "a valid partial result within 2 s; `--resume` goes on", 4, "terminate", scenario="deaf"),
    harness("Ctrl-C", "SIGINT", "a valid partial result", 4, "interrupt", scenario="hang"),
    harness("the session is cut off", "SIGHUP", "a valid partial result", 4, "hang_up", scenario="hang"),
    harness("the disk is full", "a tmpfs of 24 KiB", "measuring stops and says so; what was measured is on stdout, no half file "
            "is left", 4, "full_disk"),
    harness("a limit of file sizes", "RLIMIT_FSIZE", "as with a full disk", 4, "limited_files"),
    harness("OUT is read-only", "a directory without write permission, or /sys", "refused before anything is measured", 2, "read_only"),
    harness("nobody reads the output any more", "a closed pipe", "measured to the end, the result is written", 0, "closed_pipe"),
    harness("stdout is full", "/dev/full", "the result is written; the exit code says that the answer is not", 4, "full_stdout"),
    harness("the clock jumps", "a preloaded clock that leaps a year to and fro", "no harm: every wait is by a clock that does not jump", 0,
            "jumping_clock"),
    harness("a torn journal", "the last line cut in its middle", "`--resume` measures that benchmark again", 0, "torn_journal"),
    harness("a stranger's journal", "another owner", "refused: it names the programs that are started", 2, "strange_journal"),
    harness("a result file of a stranger: a million brackets, 2 GB", "`claimcheck report`", "refused with place and reason", 2,
            "bombs"),
]

ROWS = START + GPU + WORKER + HARNESS
GROUPS = {"start": "At the start", "gpu": "GPUs, links and their libraries", "worker": "The worker",
          "harness": "claimcheck itself, its disk and its surroundings"}


def table():
    lines = []
    for group, title in GROUPS.items():
        lines += [f"### {title}", "", "| what breaks | what you get | exit | within | broken in the tests by |", "|---|---|---|---|---|"]
        lines += [f"| {row.fault} | {row.outcome} | {row.exit} | {row.seconds} s | {row.injected} |"
                  for row in ROWS if row.group == group]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
