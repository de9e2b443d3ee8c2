"""The Python half of gpu-check.sh: what PyTorch reaches on this GPU, and the table that compares.

    gpu_check.py torch                 prints a JSON object of TFLOPS and GB/s
    gpu_check.py report OUT SECONDS    reads OUT, writes OUT/gpu-check.json, prints one screen; exit 1 when a target is missed
"""
import datetime
import json
import pathlib
import sys

# From public measurements (docs/measurements/README.md): what a healthy H100 or H200 must show.
READ_OF_DATA_SHEET = 0.93
COPY_OF_DATA_SHEET = 0.84
SPREAD = 0.01
# Our metric, PyTorch's figure of the same thing.
SAME = {
    "gemm.bf16.tflops": "matmul.bf16",
    "gemm.fp16.tflops": "matmul.fp16",
    "gemm.tf32.tflops": "matmul.tf32",
    "gemm.fp8_e4m3.tflops": "matmul.fp8_e4m3",
    "memory.copy.gbps": "copy",
}


# ------------------------------------------------------------------------------------------------ PyTorch


def best_seconds(torch, work, repetitions=5):
    """Of the median call in the best of some repetitions, by events, after warming up."""
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    best = float("inf")
    for _ in range(repetitions):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        calls = 10
        start.record()
        for _ in range(calls):
            work()
        stop.record()
        torch.cuda.synchronize()
        best = min(best, start.elapsed_time(stop) / 1e3 / calls)
    return best


def matmul_tflops(torch, kind, sizes):
    """Best of the sizes, on random normal data as claimcheck uses it; (TFLOPS, size)."""
    best = (0.0, 0)
    for n in sizes:
        a = torch.randn(n, n, device="cuda")
        b = torch.randn(n, n, device="cuda")
        if kind == "fp8_e4m3":
            one = torch.ones((), device="cuda")
            x, y = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn).t()
            work = lambda: torch._scaled_mm(x, y, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)  # noqa: E731
        else:
            torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
            dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(kind, torch.float32)
            x, y = a.to(dtype), b.to(dtype).t()
            work = lambda: torch.matmul(x, y)  # noqa: E731
        best = max(best, (2 * n**3 / best_seconds(torch, work) / 1e12, n))
    return best


def copy_gbps(torch):
    source = torch.randn(1 << 28, device="cuda")  # 1 GiB
    target = torch.empty_like(source)
    return 2 * source.numel() * 4 / best_seconds(torch, lambda: target.copy_(source)) / 1e9


def measure_torch():
    try:
        import torch
    except ImportError as error:
        return {"error": f"no PyTorch: {error}"}
    if not torch.cuda.is_available():
        return {"error": "PyTorch sees no GPU"}
    figures = {"version": torch.__version__, "device": torch.cuda.get_device_name(0), "values": {}, "failed": {}}
    for kind in ("bf16", "fp16", "tf32", "fp8_e4m3"):
        try:
            tflops, n = matmul_tflops(torch, kind, (4096, 8192, 16384))
            figures["values"][f"matmul.{kind}"] = {"value": tflops, "unit": "TFLOPS", "n": n}
        except (RuntimeError, AttributeError, ValueError) as error:
            figures["failed"][f"matmul.{kind}"] = str(error).splitlines()[0][:200]
    try:
        figures["values"]["copy"] = {"value": copy_gbps(torch), "unit": "GB/s"}
    except RuntimeError as error:
        figures["failed"]["copy"] = str(error).splitlines()[0][:200]
    return figures


# ------------------------------------------------------------------------------------------------ the comparison


def load(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def best_values(result):
    """Best value of each metric among the measurements that are ok and on random data."""
    values = {}
    for row in (result or {}).get("measurements", []):
        if row.get("status") != "ok" or row.get("conditions", {}).get("data_pattern") == "zeros":
            continue
        metric = row["metric"]
        if metric not in values or row["value"] > values[metric]["value"]:
            values[metric] = {"value": row["value"], "unit": row["unit"], "id": row["id"]}
    return values


def spread(first, second):
    """Largest relative difference of the ids that both runs have, and that id."""
    a = {row["id"]: row["value"] for row in (first or {}).get("measurements", []) if row.get("status") == "ok"}
    b = {row["id"]: row["value"] for row in (second or {}).get("measurements", []) if row.get("status") == "ok"}
    differences = [(abs(a[key] - b[key]) / a[key], key) for key in a if key in b and a[key]]
    return max(differences, default=None)


def data_sheet_gbps(result):
    """The memory bandwidth of the data sheet: the claim the result was judged by, else clock times bus width."""
    for verdict in (result or {}).get("verdicts", []):
        claim = verdict.get("claim", {})
        if claim.get("metric", "").startswith("memory.") and claim.get("unit") == "GB/s" and claim.get("value"):
            return claim["value"], "the data sheet"
    for device in (result or {}).get("system", {}).get("devices", []):
        facts = device.get("facts", {})
        clock, bits = facts.get("memory_clock_max_mhz"), facts.get("memory_bus_bits")
        if clock and bits:
            return clock * 1e6 * 2 * bits / 8 / 1e9, "clock x 2 x bus width"
    return None, None


def checks(result, again, torch, sanitizers):
    """Rows: what, seen, wanted, holds (True, False, or None when it could not be looked at)."""
    ours = best_values(result)
    rows = []
    for metric, name in SAME.items():
        theirs = (torch or {}).get("values", {}).get(name)
        seen = ours.get(metric)
        holds = None if not theirs or not seen else seen["value"] >= theirs["value"]
        # Only bf16 is a target; the others are shown beside each other.
        if metric != "gemm.bf16.tflops" and holds is False:
            holds = "below"
        rows.append([f"{metric}, PyTorch's {name}", seen and seen["value"], theirs and theirs["value"], holds])
    sheet, where = data_sheet_gbps(result)
    for metric, share in (("memory.read.gbps", READ_OF_DATA_SHEET), ("memory.copy.gbps", COPY_OF_DATA_SHEET)):
        seen = ours.get(metric)
        wanted = sheet and share * sheet
        holds = None if not seen or not wanted else seen["value"] >= wanted
        rows.append([f"{metric}, {share:.0%} of {where or 'the data sheet'}", seen and seen["value"], wanted, holds])
    most = spread(result, again)
    rows.append([f"two runs agree ({most[1] if most else 'nothing in both'})", most and most[0], SPREAD,
                 None if most is None else most[0] <= SPREAD])
    for tool, code in sanitizers.items():
        rows.append([f"compute-sanitizer {tool}, exit code", code, 0, None if code is None else code == 0])
    return rows


def outcomes(result):
    counts = {}
    for row in (result or {}).get("measurements", []):
        counts[row.get("status", "?")] = counts.get(row.get("status", "?"), 0) + 1
    return counts


def code_of(path):
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def number(value):
    return "-" if value is None else f"{value:.4g}"


def report(out, seconds):
    result, again, torch = (load(out / name) for name in ("quick/result.json", "again/result.json", "torch.json"))
    sanitizers = {tool: code_of(out / f"{tool}.code") for tool in ("memcheck", "racecheck")}
    rows = checks(result, again, torch, sanitizers)
    broken = {status: n for status, n in outcomes(result).items() if status not in ("ok", "unsupported")}
    document = {
        "date": datetime.date.today().isoformat(),
        "seconds": seconds,
        "virtual": bool((result or {}).get("virtual")),
        "devices": [device.get("name") for device in (result or {}).get("system", {}).get("devices", [])],
        "claimcheck": best_values(result),
        "outcomes": outcomes(result),
        "pytorch": torch,
        "checks": [dict(zip(("what", "seen", "wanted", "holds"), row)) for row in rows],
    }
    (out / "gpu-check.json").write_text(json.dumps(document, indent=1) + "\n")
    print(f"{', '.join(map(str, document['devices'])) or 'no result'}: {seconds} s, outcomes {outcomes(result)}")
    if torch and torch.get("error"):
        print(torch["error"])
    words = {True: "holds", False: "MISSED", None: "not seen", "below": "below"}
    for what, seen, wanted, holds in rows:
        print(f"  {what:<62} {number(seen):>10} {number(wanted):>10}  {words[holds]}")
    missed = any(row[3] is False for row in rows) or bool(broken) or not result
    if broken:
        print(f"  benchmarks that went wrong: {broken}")
    return 1 if missed else 0


def main(arguments):
    if arguments == ["torch"]:
        print(json.dumps(measure_torch(), indent=1))
        return 0
    if len(arguments) == 3 and arguments[0] == "report" and arguments[2].isdigit():
        return report(pathlib.Path(arguments[1]), int(arguments[2]))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
