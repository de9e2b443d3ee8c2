#!/usr/bin/env -S python3 -IS
"""A worker that measures nothing, in no time, and misbehaves as asked: --scenario NAME, at its benchmark memory.triad.

With --ledger FILE it notes each benchmark it measures. Used by the tests of what can happen to the harness."""
import ctypes
import json
import os
import signal
import sys
import time

BENCHMARKS = {"memory.copy": ("memory.copy.gbps", "GB/s"), "memory.triad": ("memory.triad.gbps", "GB/s"),
              "gemm.fp32": ("gemm.fp32.tflops", "TFLOPS")}
GUILTY = "memory.triad"
ESCAPES = "\x1b[2J\x1b]0;owned\x07"


def write(data):
    data = data if isinstance(data, bytes) else data.encode()
    while data:
        data = data[os.write(1, data):]


def say(event, **fields):
    write("@claimcheck " + json.dumps({"event": event, **fields}) + "\n")


def measurement(name, **changes):
    metric, unit = BENCHMARKS[name.partition("/")[0]]
    return {"id": name, "metric": metric, "unit": unit, "status": "ok", "samples": [30.0, 30.1, 30.2],
            "conditions": {"method": "made/1"}} | changes


def hang():
    while True:
        time.sleep(60)


def refuse_sigterm():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def outlive_sigkill(seconds):
    """Not even SIGKILL ends a process for its parent while another one traces it and does not look."""
    libc = ctypes.CDLL(None)
    libc.prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)  # PR_SET_PTRACER, PR_SET_PTRACER_ANY
    traced = os.getpid()
    ready, told = os.pipe()
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            sys.stdout.flush()
            for descriptor in (0, 1, 2):
                os.close(descriptor)
            libc.ptrace(0x4206, traced, 0, 0)  # PTRACE_SEIZE
            os.write(told, b"x")
            time.sleep(seconds)
            os._exit(0)
        os._exit(0)
    os.wait()
    os.read(ready, 1)


def flood(chunk, total):
    for _ in range(total // len(chunk)):
        write(chunk)


def garbage(megabytes):
    flood(b"noise \xff\xfe\x80 without end\n" * 4096, megabytes << 20)


def endless_line(megabytes):
    flood(b"#" * (1 << 20), megabytes << 20)


def nested(_):
    write('@claimcheck {"event":"measurement","measurement":{"id":"%s","evidence":' % GUILTY)
    write(b"[" * 1000000 + b"]" * 1000000 + b"}}\n")


# What happens between `begin` and `end` of the guilty benchmark, instead of its measurement.
WITHIN = {
    "crash": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "hang": hang,
    "deaf": lambda: (refuse_sigterm(), hang()),
    "garbage": lambda: write(b"\xff\xfe\x80 text\n@claimcheck {\"event\": \"measurem\n\x00\x00\n"),
    "flood": lambda: garbage(100),
    "endless_line": lambda: endless_line(100),
    "nested": lambda: nested(0),
    "malformed": lambda: [say("measurement", measurement={"id": GUILTY}) for _ in range(20000)],
    "wrong_types": lambda: (say("heartbeat", id=GUILTY, phase=[1]), say("begin", id={"a": 1}), say("hello", virtual="x"),
                            say("measurement", measurement=[1])),
    "escapes": lambda: say("measurement", measurement=measurement(GUILTY, status="failed", samples=[],
                                                                  reason=f"{ESCAPES}boom")),
    "not_finite": lambda: write('@claimcheck {"event":"measurement","measurement":%s}\n' % json.dumps(
        measurement(GUILTY, samples=[float("nan"), 0, -1])).replace("NaN", "null")),
    "stuck": lambda: (outlive_sigkill(40), refuse_sigterm(), hang()),
}
HARMLESS = ("garbage", "flood", "endless_line", "nested", "wrong_types")  # the measurement comes as well


def describe(scenario, count):
    if scenario == "describe_hangs":
        refuse_sigterm()
        hang()
    if scenario == "describe_crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if scenario == "describe_garbage":
        garbage(30)
        return
    if scenario == "describe_nested":
        write(b'{"benchmarks":' + b"[" * 1000000 + b"]" * 1000000 + b"}")
        return
    if scenario == "describe_wrong_types":
        write(json.dumps({"worker": 3, "devices": {}, "benchmarks": [{"id": 7}]}))
        return
    names = [f"{name}/{number}" for number in range(count) for name in BENCHMARKS] if count else list(BENCHMARKS)
    rows = [{"id": name, "benchmark": name.partition("/")[0], "metric": BENCHMARKS[name.partition("/")[0]][0],
             "unit": BENCHMARKS[name.partition("/")[0]][1], "method": "made/1", "priority": 1, "quick": True,
             "setup_seconds": 0.001, "iteration_seconds": 0.0001} for name in names]
    write(json.dumps({"schema_version": "1.0", "worker": "made", "platform": {}, "ranks": 1, "benchmarks": rows,
                      "devices": [{"index": 0, "name": "made", "memory_bytes": 1 << 30, "compute_units": 1,
                                   "virtual": False, "facts": {}}]}))


def option(name, default=None):
    values = [word.partition("=")[2] for word in sys.argv[1:] if word.startswith(f"--{name}=")]
    return values[-1] if values else default


def main():
    scenario = option("scenario", "")
    if "--describe" in sys.argv:
        return describe(scenario, int(option("count", "0")))
    if scenario == "mute":
        hang()
    say("hello", schema_version="1.0", worker="made", pid=os.getpid(), virtual=False)
    if scenario == "begins_nothing":
        hang()
    if scenario == "leaves_at_once":
        sys.stderr.write("no licence\n")
        return 9
    pause = float(option("pause", "0"))
    for name in option("only").split(","):
        say("begin", id=name)
        if scenario == "all_hang":
            hang()
        time.sleep(pause)
        guilty = name == GUILTY and scenario in WITHIN
        if guilty:
            WITHIN[scenario]()
        if not guilty or scenario in HARMLESS:
            ledger = option("ledger")
            if ledger:
                with open(ledger, "a") as file:
                    file.write(name + "\n")
            say("measurement", measurement=measurement(name))
        say("end", id=name)
        if scenario == "hangs_between" and name == GUILTY:
            hang()
    say("bye", measured=0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
