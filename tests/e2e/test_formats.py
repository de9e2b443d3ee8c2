"""`claimcheck report` as Markdown, JUnit XML, CSV and Prometheus text: against golden files, and read by parsers.

CLAIMCHECK_UPDATE_GOLDEN=1 writes the golden files anew; look at the difference before committing it.
"""
import csv
import io
import json
import os
import pathlib
import re
import unittest
import xml.etree.ElementTree

from made_results import measurement, p5
from support import CommandTest, claimcheck, load

GOLDEN = pathlib.Path(__file__).parent / "golden"
FORMATS = {"md": "report.md", "junit": "junit.xml", "csv": "report.csv", "prometheus": "report.prom"}
EVIL = 'a|b `c` <b> @all [x](y) "q" \\ =1+1\nnext'


def claim(name, value, verdict, attained, reason, diagnosis=()):
    return {"claim": {"id": name, "metric": "gemm.bf16.tflops", "operator": ">=", "value": value, "unit": "TFLOPS",
                      "definition": {"comparison": "claim"}, "source": {"text": "made up"}},
            "verdict": verdict, "attained": attained, "interval": None, "reason": reason, "diagnosis": list(diagnosis),
            "measurement_id": "gemm.bf16/n:8192" if attained else ""}


def document():
    made = p5([measurement("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", 612, [741, 612]),
               measurement("memory.read", "memory.read.gbps", "GB/s", 3121.5),
               {"id": "gemm.fp4", "metric": "gemm.fp4.tflops", "unit": "TFLOPS", "value": None, "status": "unsupported",
                "reason": EVIL, "statistics": None, "conditions": {}, "evidence": {}, "devices": []}], gpus=2)
    made["verdicts"] = [claim("user:1", 500, "met", 612, "612 TFLOPS is 122 % of the claim"),
                        claim("user:2", 989, "not_met", 612, "falls short by 377 TFLOPS",
                              ["GPU 1 is slow. -> Ask for another one."]),
                        claim("user:3", 610, "inconclusive", 612, "the interval straddles the line"),
                        claim("user:4", 1, "not_measured", None, EVIL),
                        claim("user:5", 1, "implausible", 9999, "above what the device can do")]
    made["verdicts"][1]["meaning"] = {"kind": "machine_slow", "text": "Healthy machines reach more: this one is sick."}
    made["findings"] += [{"id": "made.up", "severity": "warning", "text": "GPU 1 was slowed down: 30 % of samples.",
                          "cause": "Heat, or the machine's power supply.", "next_step": "Look at `nvidia-smi -q`.",
                          "evidence": {}},
                         {"id": "run.device", "severity": "info", "text": "Only to know.", "next_step": "", "evidence": {}}]
    return made


class Formats(CommandTest):
    def setUp(self):
        super().setUp()
        self.path = self.file("result.json", json.dumps(document()))
        self.assert_valid(document(), "result")

    def shown(self, name):
        done = self.assert_exit(claimcheck("report", self.path, "--format", name), 0)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def test_golden(self):
        for name, golden in FORMATS.items():
            with self.subTest(name):
                path = GOLDEN / golden
                if os.environ.get("CLAIMCHECK_UPDATE_GOLDEN"):
                    path.write_text(self.shown(name), encoding="utf-8")
                self.assertEqual(self.shown(name), path.read_text(encoding="utf-8"))

    def test_junit_has_a_case_for_each_claim(self):
        suites = xml.etree.ElementTree.fromstring(self.shown("junit"))
        cases = list(suites.iter("testcase"))
        self.assertEqual([case.get("name").split("[")[1] for case in cases], [f"user:{i}]" for i in range(1, 6)])
        outcome = [next((child.tag for child in case if child.tag != "system-out"), "passed") for case in cases]
        self.assertEqual(outcome, ["passed", "failure", "skipped", "skipped", "error"])
        suite = suites.find("testsuite")
        self.assertEqual([suite.get(key) for key in ("tests", "failures", "errors", "skipped")], ["5", "1", "1", "2"])
        self.assertIn("GPU 1 is slow.", cases[1].find("failure").text)
        self.assertIn("this one is sick", cases[1].find("failure").text)
        self.assertIn("warning: GPU 1 was slowed down: 30 % of samples. Likely: Heat, or "
                      "the machine's power supply. -> Look at `nvidia-smi -q`.\n", suite.find("system-out").text)
        self.assertNotIn("Only to know", suite.find("system-out").text)

    def test_annotations_say_cause_and_next_step(self):
        found = [line for line in self.shown("annotations").splitlines() if "made.up" in line]
        self.assertEqual(found, ["::warning title=made.up::GPU 1 was slowed down: 30 %25 of samples. Likely: Heat, or "
                                 "the machine's power supply. -> Look at `nvidia-smi -q`."])

    def test_csv_is_a_table_without_formulas(self):
        rows = list(csv.DictReader(io.StringIO(self.shown("csv"))))
        self.assertEqual([row["metric"] for row in rows], ["gemm.bf16.tflops", "memory.read.gbps", "gemm.fp4.tflops"])
        self.assertEqual([row["value"] for row in rows], ["612", "3121.5", ""])
        self.assertEqual(rows[0]["samples"], "6")
        self.assertEqual(rows[2]["status"], "unsupported")
        self.assertEqual(rows[2]["reason"], EVIL.replace("\n", " "))
        made = document()
        made["measurements"][2]["reason"] = "=HYPERLINK(1)"
        self.path = self.file("formula.json", json.dumps(made))
        self.assertIn("'=HYPERLINK(1)", self.shown("csv"))

    def test_prometheus_text_is_well_formed(self):
        text = self.shown("prometheus")
        names, series = [], set()
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                names.append(line.split()[2])
            elif not line.startswith("#"):
                found = re.fullmatch(r'([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\\]|\\\\.)*",?)*\}) (-?[0-9.e+]+)', line)
                self.assertTrue(found, line)
                self.assertEqual(found[1], names[-1], "samples of a family stand together")
                self.assertNotIn(found[1] + found[2], series)
                series.add(found[1] + found[2])
        self.assertEqual(len(names), len(set(names)))
        self.assertIn('claimcheck_claim_met{instance_type="p5.48xlarge",virtual="false",claim="user:2",'
                      'metric="gemm.bf16.tflops"} 0\n', text)
        self.assertNotIn('claim="user:4"', text)

    def test_a_cost_of_another_shape_costs_no_report(self):
        for rows in ([1, None, "x"], {"a": 1}, 7, [{"price": 3, "per_hour": "x"}], [{"label": {}, "term": 1}]):
            made = document() | {"cost": {"rows": rows, "results": rows, "currency": 3}}
            self.path = self.file("odd.json", json.dumps(made))
            for name in [*FORMATS, "html", "text"]:
                with self.subTest(name=name, rows=rows):
                    self.assertTrue(self.shown(name))

    def test_markdown_of_strangers_stays_text(self):
        text = self.shown("md")
        self.assertIn("Not as claimed: 1 of 5 claims are not met", text)
        made = document()
        made["verdicts"] = [claim("user:1", 989, "not_met", 612, EVIL)]
        self.path = self.file("evil.json", json.dumps(made))
        text = self.shown("md")
        self.assertIn(r"a\|b \`c\` \<b\> \@<!-- -->all \[x\](y)", text)
        self.assertLess(len(text), 65536)


if __name__ == "__main__":
    unittest.main()
