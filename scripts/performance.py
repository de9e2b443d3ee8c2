#!/usr/bin/env python3
"""Measures claimcheck side by side with plain references on this machine and prints docs/performance.md.

    scripts/performance.py BUILD_DIR [--rounds N] [--skip-overhead]

BUILD_DIR is a release build with tests (reference_triad, reference_gemm). Each round measures the reference and our
benchmark one after the other, so that both see the same minute; medians over the rounds are compared.
"""

import argparse
import datetime
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

MARK = "@claimcheck "


def output(command, **keywords):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **keywords)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def ours(worker, benchmark, *options):
    """The median of our benchmark's samples, in its unit."""
    text = output([worker, f"--only={benchmark}", "--benchmark_min_time=0.5", "--benchmark_repetitions=6", *options])
    for line in text.splitlines():
        if MARK not in line:
            continue
        event = json.loads(line.split(MARK, 1)[1])
        if event["event"] == "measurement" and event["measurement"]["id"] == benchmark:
            if event["measurement"]["status"] != "ok":
                sys.exit(f"{benchmark}: {event['measurement']['status']}: {event['measurement']['reason']}")
            return statistics.median(event["measurement"]["samples"]), event["measurement"]
    sys.exit(f"{benchmark}: no measurement")


def compare(title, unit, rounds, reference, mine):
    pairs = [(reference(), mine()) for _ in range(rounds)]
    ratio = statistics.median(b / a for a, b in pairs)
    a, b = (statistics.median(column) for column in zip(*pairs))
    low, high = min(b / a for a, b in pairs), max(b / a for a, b in pairs)
    print(f"| {title} | {a:.4g} {unit} | {b:.4g} {unit} | {100 * ratio:.1f} % ({100 * low:.1f} to {100 * high:.1f} %) |", flush=True)


def start_time(command, times=20):
    samples = []
    for _ in range(times):
        begin = time.perf_counter()
        output(command)
        samples.append(1000 * (time.perf_counter() - begin))
    return f"{statistics.median(samples):.1f} ms (slowest of {times}: {max(samples):.1f} ms)"


def overhead(claimcheck, profile):
    """Wall time of a run outside measuring, and the harness's own CPU time while the worker measures."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        begin = time.perf_counter()
        process = subprocess.Popen([claimcheck, "run", "--device", "host", "--profile", profile, "--out", out],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        own = 0.0
        while process.poll() is None:
            try:
                fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
                own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            except (OSError, IndexError):
                pass
            time.sleep(0.02)
        wall = time.perf_counter() - begin
        measuring = json.loads((out / "result.json").read_text())["run"]["measuring_seconds"]
    return wall, measuring, own


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", default="standard", help="of the overhead run")
    parser.add_argument("--skip-overhead", action="store_true")
    options = parser.parse_args()
    bin_folder = pathlib.Path(options.build) / "bin"
    worker = bin_folder / "claimcheck-bench-host"
    claimcheck = bin_folder / "claimcheck"
    description = json.loads(output([worker, "--describe"]))
    device = description["devices"][0]

    print("# Performance of claimcheck itself\n")
    print(f"Measured {datetime.date.today()} by `scripts/performance.py {options.build}` on {device['name']}, "
          f"{device['compute_units']} cores (virtual machine), {options.rounds} rounds, reference and claimcheck in turn.\n")
    print("| what | reference | claimcheck | ratio, median (range) |")
    print("|---|---|---|---|")
    _, triad = ours(worker, "memory.triad")
    mib = triad["conditions"]["bytes"] // 3 // (1 << 20) if "bytes" in triad["conditions"] else 128
    compare(f"triad, {mib} MiB an array; reference: OpenMP loop, `-O3 -march=native`", "GB/s", options.rounds,
            lambda: json.loads(output([bin_folder / "reference_triad", mib, 40]))["median_gbps"],
            lambda: ours(worker, "memory.triad")[0])
    for kind in ("fp64", "fp32"):
        compare(f"GEMM {kind}, n = 2048; reference: bare `cblas_{'d' if kind == 'fp64' else 's'}gemm` loop", "TFLOPS",
                options.rounds, lambda: json.loads(output([bin_folder / "reference_gemm", kind, 2048, 20]))["median_tflops"],
                lambda: ours(worker, f"gemm.{kind}/n:2048")[0])
    print("\n| what | figure | target |")
    print("|---|---|---|")
    print(f"| `claimcheck --help` | {start_time([claimcheck, '--help'])} | under 20 ms |")
    print(f"| `claimcheck cost` over the whole catalog | {start_time([claimcheck, 'cost', '--top', '0'])} | under 100 ms |")
    if not options.skip_overhead:
        wall, measuring, own = overhead(claimcheck, options.profile)
        print(f"| harness around a {options.profile} run of {wall:.0f} s: wall time outside measuring | "
              f"{wall - measuring:.2f} s = {100 * (wall - measuring) / wall:.2f} % | under 2 % |")
        print(f"| the same run: CPU time of the harness | {own:.2f} s = {100 * own / wall:.2f} % of the wall time | under 2 % |")
    print(f"\nPeak memory of the commands above: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB "
          "(the benchmarks' own buffers).")


if __name__ == "__main__":
    main()
