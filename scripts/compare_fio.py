#!/usr/bin/env python3
"""Measures checkpoints side by side with fio on one disk and prints a table.

    scripts/compare_fio.py BUILD_DIR [--directory DIR] [--bytes N] [--rounds N] [--runs N]

fio does what saving and restoring ask of the disk, and nothing else: the same block size, queue depth, engine and total
size, O_DIRECT, memory in huge pages (a request to the disk holds few separate pages, so small ones halve the rate of some),
a new preallocated file, fsync at the end. A round is --runs times fio and as many repetitions of ours, for
saving and for restoring, one after the other, so that all see the same minute; every second round begins with ours. The
ratio is that of the medians of a round; the median of the rounds counts. DIR is the build directory unless given.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

MARK = "@claimcheck "


# As claimcheck's memory of the CPU; glibc 2.35 or newer.
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def output(command, environment=None):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def ours(worker, direction, directory, size, runs):
    """Samples in GB/s, and the conditions they were measured under."""
    name = f"checkpoint.{direction}/1.3b"  # as large as wanted: --file-bytes cuts it
    text = output([worker, f"--only={name}", f"--scratch={directory}", f"--file-bytes={size}",
                   f"--benchmark_repetitions={runs}", "--benchmark_min_time=0.001"])
    for line in text.splitlines():
        event = json.loads(line.partition(MARK)[2]) if MARK in line else {"event": ""}
        if event["event"] != "measurement" or event["measurement"]["metric"] != f"checkpoint.{direction}.gbps":
            continue
        measured = event["measurement"]
        if measured["status"] != "ok":
            sys.exit(f"{name}: {measured['status']}: {measured['reason']}")
        return measured["samples"], measured["conditions"]
    sys.exit(f"{name}: no measurement")


def fio(direction, path, conditions, runs):
    engine = "io_uring" if conditions["io_engine"] == "io_uring" else "psync"
    many = ["--iodepth=%d" % conditions["queue_depth"]]
    size = int(conditions["bytes"])
    if engine == "psync":  # a thread for each block, as ours
        many = ["--thread", "--numjobs=%d" % conditions["queue_depth"], "--group_reporting",
                "--offset_increment=%d" % (size // conditions["queue_depth"])]
        size //= conditions["queue_depth"]
    verb = {"save": "write", "restore": "read"}[direction]
    samples = []
    for _ in range(runs):
        if direction == "save":
            path.unlink(missing_ok=True)
        text = output(["fio", "--name=checkpoint", f"--filename={path}", f"--rw={verb}", f"--size={size}",
                       f"--bs={conditions['block_bytes']}", f"--ioengine={engine}", *many, "--direct=1",
                       "--fallocate=native", "--end_fsync=1", "--output-format=json"], HUGE_PAGES)
        job = json.loads(text[text.index("{"):])["jobs"][0]
        if job["error"]:
            sys.exit(f"fio: error {job['error']}")
        samples.append(job[verb]["io_bytes"] / (job[verb]["runtime"] * 1e6))  # bytes in ms: GB/s
    return samples


def compare(direction, options, worker, path):
    """A line of the table; `path` is fio's file."""
    _, conditions = ours(worker, direction, options.directory, options.bytes, 1)
    pairs = []
    for number in range(options.rounds):
        both = {}
        for whose in (("fio", "ours") if number % 2 == 0 else ("ours", "fio")):
            if whose == "fio":
                both[whose] = statistics.median(fio(direction, path, conditions, options.runs))
            else:
                both[whose] = statistics.median(ours(worker, direction, options.directory, options.bytes, options.runs)[0])
        pairs.append((both["fio"], both["ours"]))
        print(f"  {direction} round {number + 1}: fio {both['fio']:.3f}, claimcheck {both['ours']:.3f} GB/s", file=sys.stderr)
    ratios = [b / a for a, b in pairs]
    a, b = (statistics.median(column) for column in zip(*pairs))
    print(f"| {direction}, {conditions['bytes'] / 1e9:.2f} GB by {conditions['io_engine']}, {conditions['queue_depth']} x "
          f"{conditions['block_bytes'] >> 20} MiB, {conditions['file_system']} | {a:.3f} GB/s | {b:.3f} GB/s | "
          f"{100 * statistics.median(ratios):.1f} % ({100 * min(ratios):.1f} to {100 * max(ratios):.1f} %) |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--directory", type=pathlib.Path)
    parser.add_argument("--bytes", type=int, default=1_750_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    options.directory = options.directory or options.build
    worker = options.build / "bin" / "claimcheck-bench-host"
    path = options.directory / "fio-checkpoint.tmp"
    print("| what | fio | claimcheck | ratio, median (range) |")
    print("|---|---|---|---|")
    try:
        for direction in ("save", "restore"):
            compare(direction, options, worker, path)
    finally:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
