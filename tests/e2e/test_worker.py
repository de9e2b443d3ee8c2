"""The worker alone: --describe, events, Google Benchmark's flags, every family at tiny sizes, and every check of a
result proved by spoiling one bit of what it looks at."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import support

WORKER = support.program("claimcheck-bench-host")
# What makes every benchmark take a blink.
TINY = ["--max-bytes", str(2 << 20), "--max-gemm", "256", "--file-bytes", str(4 << 20), "--soak-seconds", "2"]
BLINK = ["--benchmark_min_time=0.01", "--benchmark_repetitions=3"]
TWO_CORES = len(os.sched_getaffinity(0)) > 1


def worker(*arguments, timeout=60, **options):
    defaults = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "check": False}
    return subprocess.run([WORKER, *map(str, arguments)], timeout=timeout, **{**defaults, **options})


def scratch_on_disk():
    """A folder on a file system with O_DIRECT: beside the programs, where a build lies."""
    return str(support.BIN)


def measure(*arguments, **options):
    """Return code and events of a tiny run; storage goes to a disk."""
    done = worker(*TINY, *BLINK, "--scratch", scratch_on_disk(), *arguments, **options)
    return done, support.events_of(done.stdout.decode("utf-8", errors="replace"))


def described(*arguments):
    done = worker("--describe", *TINY, *arguments)
    assert done.returncode == 0, done.stderr
    return support.parse(done.stdout.decode())


def measurements(events):
    return [event["measurement"] for event in events if event["event"] == "measurement"]


class Describe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.document = described()

    def test_top_level(self):
        self.assertEqual(self.document["schema_version"], "1.0")
        self.assertEqual(self.document["worker"], "host")
        self.assertIsInstance(self.document["platform"], dict)
        self.assertEqual(self.document["ranks"], len(os.sched_getaffinity(0)))
        device = self.document["devices"][0]
        self.assertEqual(len(self.document["devices"]), 1)
        self.assertEqual(device["index"], 0)
        self.assertTrue(device["name"])
        self.assertGreater(device["memory_bytes"], 0)
        self.assertGreater(device["compute_units"], 0)
        self.assertIs(device["virtual"], False)

    def test_benchmarks_have_what_the_plan_needs(self):
        wanted = {"id": str, "benchmark": str, "metric": str, "unit": str, "method": str, "scope": str, "summary": str,
                  "priority": int, "quick": bool, "setup_seconds": (int, float), "iteration_seconds": (int, float),
                  "also": list}
        for row in self.document["benchmarks"]:
            for key, kind in wanted.items():
                self.assertIsInstance(row.get(key), kind, f"{key} of {row}")
            self.assertIn(row["scope"], ("each_device", "ranks", "machine"))
            self.assertIn(row["priority"], (1, 2, 3))
            self.assertTrue(row["id"] == row["benchmark"] or row["id"].startswith(row["benchmark"] + "/"))
            self.assertRegex(row["method"], r"^[a-z0-9_.]+/\d+$")
        ids = [row["id"] for row in self.document["benchmarks"]]
        self.assertEqual(len(ids), len(set(ids)))

    def test_metrics_and_units_are_in_the_table(self):
        table = {row["key"]: row["unit"] for row in support.load(support.SOURCE / "results-schema/metrics.json")["metrics"]}
        for row in self.document["benchmarks"]:
            for metric, unit in [(row["metric"], row["unit"])] + [(a["metric"], a["unit"]) for a in row["also"]]:
                self.assertEqual(table.get(metric), unit, metric)

    def test_types_a_cpu_cannot_do_say_why(self):
        rows = {row["benchmark"]: row for row in self.document["benchmarks"]}
        for kind in ("fp8_e4m3", "fp8_e5m2", "fp4", "int8", "tf32", "fp16"):
            self.assertGreater(len(rows[f"gemm.{kind}"]["unsupported"]), 20)
        self.assertNotIn("unsupported", rows["gemm.fp64"])

    def test_limits_choose_the_cases(self):
        ids = [row["id"] for row in self.document["benchmarks"] if row["benchmark"] == "gemm.fp32"]
        self.assertEqual(ids, ["gemm.fp32/n:256", "gemm.fp32/zeros"])

    def test_ids_are_the_same_every_time(self):
        again = described()
        self.assertEqual([row["id"] for row in again["benchmarks"]], [row["id"] for row in self.document["benchmarks"]])

    def test_one_core_has_nobody_to_exchange_with(self):
        rows = {row["benchmark"]: row for row in described("--threads", "1")["benchmarks"]}
        self.assertIn("nobody to exchange with", rows["allreduce"]["unsupported"])


class Measuring(unittest.TestCase):
    """One run of everything, looked at from several sides."""

    @classmethod
    def setUpClass(cls):
        cls.rows = {row["id"]: row for row in described()["benchmarks"]}
        cls.done, cls.events = measure()
        cls.measured = measurements(cls.events)

    def test_it_ends_well(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr[-2000:])
        self.assertEqual(self.events[0]["event"], "hello")
        self.assertEqual(self.events[-1], {"event": "bye", "measured": len(self.rows)})

    def test_stdout_is_events_only_and_each_is_valid(self):
        for line in self.done.stdout.decode().splitlines():
            self.assertTrue(line.startswith(support.EVENT_MARK), line)
        for event in self.events:
            self.assertEqual(support.schema_errors(event, "event"), [], event)

    def test_each_case_is_begun_measured_and_ended_in_order(self):
        self.assertEqual([e["id"] for e in self.events if e["event"] == "begin"], list(self.rows))
        open_id = None
        for event in self.events:
            if event["event"] == "begin":
                self.assertIsNone(open_id)
                open_id = event["id"]
            elif event["event"] == "measurement":
                self.assertEqual(event["measurement"]["id"], open_id)
            elif event["event"] == "heartbeat":
                self.assertEqual(event["id"], open_id)
            elif event["event"] == "end":
                self.assertEqual(event["id"], open_id)
                open_id = None

    def test_every_metric_promised_is_there(self):
        for name, row in self.rows.items():
            promised = [row["metric"]] + [also["metric"] for also in row["also"]]
            self.assertEqual([m["metric"] for m in self.measured if m["id"] == name], promised)

    def test_what_can_run_has_positive_samples_one_a_repetition(self):
        for m in self.measured:
            if "unsupported" in self.rows[m["id"]]:
                self.assertEqual((m["status"], m["samples"]), ("unsupported", []), m)
                self.assertEqual(m["reason"], self.rows[m["id"]]["unsupported"])
            else:
                self.assertEqual((m["status"], m["reason"]), ("ok", ""), m)
                self.assertEqual(len(m["samples"]), 3, m)
                self.assertTrue(all(sample > 0 for sample in m["samples"]), m)

    def test_conditions_say_how(self):
        for m in self.measured:
            for key in ("method", "seed", "min_time_seconds", "repetitions", "iterations"):
                self.assertIn(key, m["conditions"], m["id"])
            if m["status"] == "ok":
                self.assertIn("data_pattern", m["conditions"], m["id"])
                self.assertEqual(m["conditions"]["repetitions"], 3)
                self.assertEqual(m["conditions"]["min_time_seconds"], 0.01)

    def test_algorithm_and_bus_bandwidth_have_the_factor_of_nccl_tests(self):
        if not TWO_CORES:
            self.skipTest("one core has nobody to exchange with")
        factor = {"allreduce": lambda n: 2 * (n - 1) / n, "allgather": lambda n: (n - 1) / n,
                  "reducescatter": lambda n: (n - 1) / n, "alltoall": lambda n: (n - 1) / n,
                  "broadcast": lambda n: 1, "sendrecv": lambda n: 1}
        values = {(m["id"], m["metric"].split(".")[1]): m for m in self.measured}
        checked = set()
        for (name, what), m in values.items():
            kind = name.split("/")[0]
            if what != "busbw" or kind not in factor:
                continue
            expected = factor[kind](m["conditions"]["ranks"])
            for bus, algorithm in zip(m["samples"], values[(name, "algbw")]["samples"]):
                self.assertAlmostEqual(bus / algorithm, expected, places=9)
            checked.add(kind)
        self.assertEqual(checked, set(factor))

    def test_one_device_has_the_headline_and_sensors(self):
        triad = next(m for m in self.measured if m["id"] == "memory.triad")
        self.assertEqual(triad["devices"][0]["samples"], triad["samples"])
        self.assertIn("watched_seconds", triad["evidence"])

    def test_the_page_cache_was_kept_out_and_that_is_proved(self):
        for name in ("storage.read", "storage.write"):
            facts = next(m for m in self.measured if m["id"] == name)["evidence"]["storage"]
            self.assertEqual(facts["cached_pages"], 0)
            self.assertGreaterEqual(facts["read_bytes_counted_by_the_kernel"], facts["read_bytes"])
            self.assertGreater(facts["read_bytes"], 0)

    def test_nothing_is_left_behind(self):
        self.assertEqual([name for name in os.listdir(scratch_on_disk()) if "scratch" in name], [])

    def test_google_benchmarks_console_goes_to_stderr(self):
        self.assertIn(b"memory.triad/manual_time", self.done.stderr)


class Faults(unittest.TestCase):
    """What the harness must survive, made to happen."""

    def test_one_flipped_bit_makes_every_benchmark_wrong(self):
        runnable = [row for row in described()["benchmarks"] if "unsupported" not in row]
        one_case_each = {row["benchmark"]: row["id"] for row in runnable}
        in_place_and_zeros = [row["id"] for row in runnable if row["id"].endswith(("in_place", "zeros"))]
        for name in [*one_case_each.values(), *in_place_and_zeros]:
            with self.subTest(name):
                done, events = measure("--only", name, "--fault", f"wrong:{name}")
                self.assertEqual(done.returncode, 0)
                for m in measurements(events):
                    self.assertEqual((m["status"], m["samples"]), ("wrong_result", []), m)
                    self.assertGreater(len(m["reason"]), 20)

    def test_a_result_that_goes_wrong_under_load_is_found_after_it(self):
        for name in ("memory.add", "gemm.fp64/n:256", "storage.read"):
            with self.subTest(name):
                _, events = measure("--only", name, "--fault", f"wrong_later:{name}")
                self.assertEqual([m["status"] for m in measurements(events)], ["wrong_result"])
                phases = [e["phase"] for e in events if e["event"] == "heartbeat"]
                self.assertEqual(phases[-2:], ["measure", "verify"])

    def test_a_crash_leaves_what_was_finished_before(self):
        done, events = measure("--only", "memory.copy,memory.read,memory.write", "--fault", "crash:memory.read")
        self.assertEqual(done.returncode, -signal.SIGSEGV)
        self.assertEqual([m["id"] for m in measurements(events)], ["memory.copy"])
        self.assertEqual(events[-1], {"event": "heartbeat", "id": "memory.read", "phase": "measure"})

    def test_an_exit_in_the_middle_is_no_bye(self):
        done, events = measure("--only", "memory.copy", "--fault", "exit:memory.copy")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(measurements(events), [])

    def test_a_hang_is_silent(self):
        process = subprocess.Popen([WORKER, *TINY, *BLINK, "--only", "memory.copy", "--fault", "hang:memory.copy"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(process.stdout.close)
        try:
            for line in process.stdout:
                if b'"measure"' in line:
                    break
            with self.assertRaises(subprocess.TimeoutExpired):
                process.wait(timeout=1.5)
        finally:
            process.kill()
            process.wait()
        self.assertEqual(process.stdout.read(), b"")

    def test_garbage_stands_around_a_good_measurement(self):
        done = worker(*TINY, *BLINK, "--only", "memory.copy", "--fault", "garbage:memory.copy")
        self.assertEqual(done.returncode, 0)
        with self.assertRaises(UnicodeDecodeError):
            done.stdout.decode("utf-8")
        lines = done.stdout.split(b"\n")
        good = [line for line in lines if b'"event":"measurement"' in line]
        self.assertEqual(len(good), 1)
        self.assertFalse(good[0].startswith(b"@claimcheck "), "the event shares its line with foreign text")
        event = json.loads(good[0].partition(b"@claimcheck ")[2])
        self.assertEqual(event["measurement"]["status"], "ok")


class Usage(unittest.TestCase):
    def assert_refused(self, *arguments, says):
        done = worker(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(says, done.stderr.decode())

    def test_unknown_things_name_the_nearest(self):
        self.assert_refused("--max-byte", "1", says="the nearest option is --max-bytes")
        self.assert_refused("--only", "memory.traid", says="unknown benchmark 'memory.traid'; the nearest is memory.triad")
        self.assert_refused("--only", "memory.triad", "--fault", "wrong:memory.rea", says="memory.read")
        self.assert_refused("--max-gemm", "huge", says="--max-gemm")
        self.assert_refused("--benchmark_fliter=x", says="--benchmark_filter")

    def test_a_filter_that_matches_nothing_is_bad_usage(self):
        done = worker("--benchmark_filter=nothing_like_it")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"no benchmark matches", done.stderr)

    def test_too_many_threads_is_no_device(self):
        done = worker("--threads", "100000", "--describe")
        self.assertEqual((done.returncode, done.stdout), (3, b""))
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def test_help_hides_the_faults(self):
        done = worker("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"--max-gemm", done.stdout)
        self.assertNotIn(b"--fault", done.stdout)

    def test_only_runs_in_the_order_given(self):
        _, events = measure("--only", "memory.write,gemm.fp32/n:256,memory.copy")
        self.assertEqual([m["id"] for m in measurements(events)], ["memory.write", "gemm.fp32/n:256", "memory.copy"])

    def test_a_scratch_directory_in_memory_is_not_measured(self):
        if not pathlib.Path("/dev/shm").is_dir():
            self.skipTest("no tmpfs here")
        _, events = measure("--only", "storage.read,storage.random_read", "--scratch", "/dev/shm")
        for m in measurements(events):
            self.assertEqual(m["status"], "unsupported", m)
            self.assertRegex(m["reason"], "in memory, not on a disk; .*--scratch|fio is not installed")

    def test_without_fio_random_access_says_what_to_install(self):
        _, events = measure("--only", "storage.random_read", env={"PATH": "/nonexistent"})
        self.assertEqual({m["status"] for m in measurements(events)}, {"unsupported"})
        self.assertIn("fio is not installed; install it", measurements(events)[0]["reason"])

    def test_what_storage_lacks_is_known_without_running(self):
        rows = {row["id"]: row for row in described("--scratch", "/proc")["benchmarks"]}
        self.assertIn("/proc", rows["storage.read"]["unsupported"])


class GoogleFlags(unittest.TestCase):
    """All of Google Benchmark's flags work by hand."""

    def test_list(self):
        done = worker("--benchmark_list_tests", "--benchmark_filter=^memory")
        self.assertEqual(done.returncode, 0)
        names = done.stdout.decode().split()
        self.assertIn("memory.triad/manual_time", names)
        self.assertEqual(len(names), 8)  # six kernels and two latencies

    def test_filter_and_json_file(self):
        out = support.BIN / "worker-by-hand.json"
        self.addCleanup(out.unlink, missing_ok=True)
        done, events = measure("--benchmark_filter=memory.(copy|triad)", f"--benchmark_out={out}",
                               "--benchmark_out_format=json")
        self.assertEqual(done.returncode, 0)
        self.assertEqual([m["id"] for m in measurements(events)], ["memory.copy", "memory.triad"])
        runs = [run for run in json.loads(out.read_text())["benchmarks"] if run["run_type"] == "iteration"]
        self.assertEqual(len(runs), 6)
        # The same numbers in both: bytes / time, time in us.
        triad = [run for run in runs if run["run_name"] == "memory.triad/manual_time"]
        for run, sample in zip(triad, measurements(events)[1]["samples"]):
            self.assertAlmostEqual(run["memory.triad.gbps"] / sample, 1, places=6)

    def test_console_and_json_on_stdout_without_events(self):
        done = worker(*TINY, *BLINK, "--benchmark_filter=memory.copy", "--no-events")
        self.assertRegex(done.stdout.decode(), r"memory\.copy/manual_time +[\d.]+ us")
        done = worker(*TINY, *BLINK, "--benchmark_filter=memory.copy", "--no-events", "--benchmark_format=json")
        self.assertEqual(json.loads(done.stdout)["benchmarks"][0]["run_name"], "memory.copy/manual_time")

    def test_aggregates_only_and_interleaving_lose_no_sample(self):
        for flag in ("--benchmark_report_aggregates_only=true", "--benchmark_enable_random_interleaving=true"):
            with self.subTest(flag):
                done, events = measure("--only", "memory.copy,memory.read", flag)
                self.assertEqual(done.returncode, 0)
                self.assertEqual(sorted((m["id"], len(m["samples"])) for m in measurements(events)),
                                 [("memory.copy", 3), ("memory.read", 3)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
