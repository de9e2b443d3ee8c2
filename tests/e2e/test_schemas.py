"""The schemas are valid themselves, the examples are what they say they are, the metric table has its shape."""
import copy
import json
import re
import statistics
import unittest

from support import EXAMPLES, SCHEMAS, SOURCE, CommandTest, Validator, claimcheck, events_of, load, schema_errors


def changed(document, pointer, value):
    result = copy.deepcopy(document)
    *parents, last = pointer.strip("/").split("/")
    target = result
    for key in parents:
        target = target[int(key) if isinstance(target, list) else key]
    target[int(last) if isinstance(target, list) else last] = value
    return result


class Schemas(CommandTest):
    def test_every_schema_is_a_schema(self):
        names = sorted(path.name for path in SCHEMAS.glob("*.schema.json"))
        for name in ("event.schema.json", "journal.schema.json", "metrics.schema.json", "result.schema.json"):
            self.assertIn(name, names)
        for name in names:
            schema = load(SCHEMAS / name)
            Validator.check_schema(schema)
            self.assertEqual(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", name)

    def test_objects_of_ours_are_closed(self):
        def walk(node, place):
            if isinstance(node, dict):
                if node.get("type") == "object" and node.get("additionalProperties") is False:
                    self.assertLessEqual(set(node.get("required", [])), set(node["properties"]), place)
                for key, value in node.items():
                    walk(value, f"{place}/{key}")
            elif isinstance(node, list):
                for index, value in enumerate(node):
                    walk(value, f"{place}/{index}")

        for path in SCHEMAS.glob("*.schema.json"):
            walk(load(path), path.name)
        result = load(SCHEMAS / "result.schema.json")
        for name in ("statistics", "device_value", "measurement", "finding", "claim", "verdict", "run", "price"):
            self.assertIs(result["$defs"][name]["additionalProperties"], False, name)

    def test_the_example_result_is_valid(self):
        self.assert_valid(load(EXAMPLES / "result-host.json"), "result")

    def test_the_example_shows_what_can_happen(self):
        example = load(EXAMPLES / "result-host.json")
        self.assertLessEqual({"ok", "unsupported", "crashed", "unstable"},
                             {measurement["status"] for measurement in example["measurements"]})
        self.assertLessEqual({"met", "not_met", "not_measured"}, {v["verdict"] for v in example["verdicts"]})
        self.assertTrue(example["cost"]["rows"])

    def test_statistics_of_the_example_follow_from_their_samples(self):
        for measurement in load(EXAMPLES / "result-host.json")["measurements"]:
            if measurement["statistics"] is None:
                continue
            got, samples = measurement["statistics"], measurement["statistics"]["samples"]
            self.assertAlmostEqual(got["median"], statistics.median(samples), places=6)
            self.assertAlmostEqual(got["cv"], statistics.stdev(samples) / statistics.mean(samples), places=6)
            self.assertEqual([got["min"], got["max"]], [min(samples), max(samples)])
            # Six samples: P(1 <= Binomial(6, 1/2) <= 5) = 1 - 2 / 64 = 0.969, so the whole range.
            self.assertEqual(len(samples), 6)
            self.assertEqual(got["ci95"], [min(samples), max(samples)])
            self.assertEqual(measurement["value"], got["median"])

    def test_invalid_results_are_refused_by_the_schema_and_by_the_reader(self):
        example = load(EXAMPLES / "result-host.json")
        cases = load(EXAMPLES / "invalid-results.json")["cases"]
        self.assertGreater(len(cases), 10)
        for case in cases:
            with self.subTest(case["why"]):
                document = changed(example, case["pointer"], case["value"])
                self.assertNotEqual(schema_errors(document, "result"), [])
                path = self.file("result.json", json.dumps(document))
                self.assert_refused(claimcheck("report", path), f"{path}: {case['says']}")

    def test_unknown_keys_are_refused_by_the_schema_only(self):
        document = load(EXAMPLES / "result-host.json")
        document["measurements"][0]["colour"] = "red"
        self.assertNotEqual(schema_errors(document, "result"), [])
        self.assert_exit(claimcheck("report", self.file("result.json", json.dumps(document))), 0)

    def test_environment_is_an_allow_list(self):
        example = load(EXAMPLES / "result-host.json")
        self.assertEqual(schema_errors(changed(example, "/system/environment", {"NCCL_DEBUG": "INFO"}), "result"), [])
        for name in ("PATH", "AWS_SECRET_ACCESS_KEY", "nccl_debug", "XNCCL_DEBUG"):
            document = changed(example, "/system/environment", {name: "x"})
            self.assertNotEqual(schema_errors(document, "result"), [], name)

    def test_times_are_utc(self):
        example = load(EXAMPLES / "result-host.json")
        for bad in ("2026-11-30T09:41:00+01:00", "2026-11-30", "yesterday", 7):
            self.assertNotEqual(schema_errors(changed(example, "/run/started", bad), "result"), [], bad)


class Events(CommandTest):
    def test_the_example_stream_is_valid(self):
        events = events_of((EXAMPLES / "events-host.txt").read_text(encoding="utf-8"))
        self.assertEqual([event["event"] for event in events if event["event"] != "heartbeat"],
                         ["hello", "begin", "measurement", "end", "begin", "measurement", "end", "bye"])
        for event in events:
            self.assert_valid(event, "event")
        self.assertEqual(events[-1]["measured"], sum(event["event"] == "measurement" for event in events))

    def test_what_is_no_event_is_refused(self):
        good = {"event": "heartbeat", "id": "memory.triad", "phase": "measure"}
        self.assertEqual(schema_errors(good, "event"), [])
        for change in ({"phase": "sleep"}, {"id": ""}, {"event": "beat"}, {"more": 1}, {"id": 7}):
            self.assertNotEqual(schema_errors({**good, **change}, "event"), [], change)
        events = events_of((EXAMPLES / "events-host.txt").read_text(encoding="utf-8"))
        measured = next(event for event in events if event["event"] == "measurement")
        for pointer, value in (("/measurement/status", "fine"), ("/measurement/samples", []),
                               ("/measurement/conditions", {}), ("/measurement/metric", "triad")):
            self.assertNotEqual(schema_errors(changed(measured, pointer, value), "event"), [], pointer)


class Metrics(CommandTest):
    def test_the_table_is_valid(self):
        self.assert_valid(load(SOURCE / "results-schema" / "metrics.json"), "metrics")

    def test_keys_are_unique_and_summaries_are_one_sentence(self):
        table = load(SOURCE / "results-schema" / "metrics.json")["metrics"]
        keys = [metric["key"] for metric in table]
        self.assertEqual(len(keys), len(set(keys)))
        for metric in table:
            self.assertEqual(len(re.findall(r"\.(?= [A-Z]|$)", metric["summary"])), 1, metric["summary"])

    def test_metrics_of_the_examples_are_in_the_table(self):
        units = {m["key"]: m["unit"] for m in load(SOURCE / "results-schema" / "metrics.json")["metrics"]}
        for measurement in load(EXAMPLES / "result-host.json")["measurements"]:
            self.assertEqual(units.get(measurement["metric"]), measurement["unit"], measurement["id"])


if __name__ == "__main__":
    unittest.main()
