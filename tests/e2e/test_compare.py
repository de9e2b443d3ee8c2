"""`claimcheck compare`: made results against each other, exit codes, forms of the answer."""
import copy
import json
import unittest

from made_results import H100, measurement, p5
from support import CommandTest, claimcheck, parse


def gemm(value, **more):
    made = measurement("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", value, [value] + [value * 1.01] * 7, **more)
    made["conditions"] |= {"method": "gemm/1", "data_type": "bf16", "shape": {"m": 8192, "n": 8192, "k": 8192}}
    return noisy(made)


def read(value):
    return noisy(measurement("memory.read", "memory.read.gbps", "GB/s", value))


def latency(value):
    return noisy(measurement("p2p.latency", "p2p.latency.us", "us", value))


def noisy(made, share=0.002):
    """The same with samples from -0.2 % to +0.2 %: six of them have their range as 95 % interval."""
    value = made["value"]
    low, high = value * (1 - share), value * (1 + share)
    made["statistics"] = {"median": value, "min": low, "max": high, "cv": share, "ci95": [low, high],
                          "samples": [low, value, value, value, value, high]}
    return made


def columns(text):
    return max(map(len, text.splitlines()))


class Compare(CommandTest):
    def result(self, name, *measurements, change=None):
        document = p5(list(measurements))
        if change:
            change(document)
        self.assert_valid(document, "result")
        return self.file(name, json.dumps(document))

    def setUp(self):
        super().setUp()
        self.old = self.result("old.json", gemm(700), read(3000), latency(10))

    def answer(self, *arguments, code=0):
        answer = parse(self.assert_exit(claimcheck("compare", *arguments, "--json"), code).stdout)
        self.assert_valid(answer, "compare-answer")
        self.assertEqual(answer["exit_code"], code)
        return answer

    def states(self, answer, number=0):
        return {row["id"]: row["state"] for row in answer["results"][number]["rows"]}

    def test_worse_better_unchanged(self):
        new = self.result("new.json", gemm(650), read(3010), latency(8))
        answer = self.answer(self.old, new)
        self.assertEqual(self.states(answer), {"gemm.bf16/n:8192": "worse", "memory.read": "unchanged",
                                               "p2p.latency": "better"})
        row = answer["results"][0]["rows"][0]
        self.assertAlmostEqual(row["change"]["relative"], 650 / 700 - 1)
        self.assertAlmostEqual(row["change"]["loss"], 1 - 650 / 700)
        self.assertEqual(row["min_effect"], 0.025)
        self.assertEqual([device["state"] for device in row["devices"]], ["worse"] * 8)
        text = self.assert_exit(claimcheck("compare", self.old, new), 0).stdout
        self.assertIn("VERDICT   1 of 3 became worse beyond noise, most of all gemm.bf16.tflops, n 8192 by -7.1 %.", text)
        self.assertLess(text.index(" worse "), text.index(" better "))
        self.assertIn("all 8 devices alike", text)
        self.assertIn("1 unchanged", text)
        self.assertLessEqual(columns(text), 100)

    def test_the_limit_and_the_exit_code(self):
        new = self.result("new.json", gemm(650), read(3000), latency(10))
        self.assertEqual(self.answer(self.old, new, "--max-regression", "5%", code=1)["max_regression"], 0.05)
        self.answer(self.old, new, "--max-regression", "10%")
        self.answer(self.old, new, "--max-regression", "0.05", "--only", "memory,p2p.latency.us")
        text = self.assert_exit(claimcheck("compare", self.old, new, "--max-regression", "5%"), 1).stdout
        self.assertIn("1 is beyond the limit of 5.0 %.", " ".join(text.split()))
        self.assertIn("beyond", text)

    def test_noise_does_not_exclude_it(self):
        old = self.result("old.json", noisy(gemm(700), 0.03))
        new = self.result("new.json", noisy(gemm(640), 0.03))
        answer = self.answer(old, new, "--max-regression", "5%")
        self.assertEqual(answer["results"][0]["rows"][0]["beyond_limit"], "maybe")
        self.answer(old, new, "--max-regression", "5%", "--strict", code=4)

    def test_a_single_gpu(self):
        sick = gemm(700)
        sick["devices"][5]["value"] = 640
        new = self.result("new.json", sick, read(3000), latency(10))
        answer = self.answer(self.old, new, "--max-regression", "5%", code=1)
        row = answer["results"][0]["rows"][0]
        self.assertEqual([device["index"] for device in row["devices"] if device["state"] == "worse"], [5])
        self.assertIn("device 5 -9.5 %", claimcheck("compare", self.old, new).stdout)

    def test_answers_lost_are_regressions_without_a_limit(self):
        for status in ("wrong_result", "crashed", "unsupported", "timed_out", "failed"):
            broken = gemm(700) | {"value": None, "status": status, "reason": "made up", "statistics": None, "devices": []}
            new = self.result("new.json", broken, read(3000), latency(10))
            answer = self.answer(self.old, new, code=1)
            self.assertEqual(self.states(answer)["gemm.bf16/n:8192"], "lost")
            self.assertIn(f"{status}: made up", claimcheck("compare", self.old, new).stdout)
            self.assertEqual(self.states(self.answer(new, self.old))["gemm.bf16/n:8192"], "regained")

    def test_missing_is_said(self):
        new = self.result("new.json", gemm(700))
        answer = self.answer(self.old, new)
        self.assertEqual(answer["results"][0]["counts"]["missing"], 2)
        self.answer(self.old, new, "--strict", code=4)
        self.assertIn("in the baseline, not measured now", claimcheck("compare", self.old, new).stdout)

    def test_apples_and_oranges(self):
        def other_gpu(document):
            for device in document["system"]["devices"]:
                device["name"] = "NVIDIA A100-SXM4-80GB"

        def made_up(document):
            document["virtual"] = True

        for change, part in ((other_gpu, "the devices are others: 8 x " + H100), (made_up, "virtual")):
            new = self.result("new.json", gemm(100), change=change)
            answer = self.answer(self.old, new, "--max-regression", "5%", code=4)
            self.assertIn(part, answer["results"][0]["refused"])
            text = " ".join(claimcheck("compare", self.old, new).stdout.split())
            self.assertIn("Nothing was compared", text)
            self.assertNotIn("-85.7", text)
        method = gemm(100)
        method["conditions"]["method"] = "gemm/2"
        new = self.result("new.json", method, read(3000))
        answer = self.answer(self.old, new, "--max-regression", "5%")
        self.assertEqual(self.states(answer)["gemm.bf16/n:8192"], "not_compared")
        self.assertEqual(answer["results"][0]["rows"][0]["reason"], "not the same method: gemm/1, now gemm/2")
        self.assertIn("1 measured in another way, so not compared",
                      " ".join(claimcheck("compare", self.old, new).stdout.split()))

    def test_what_else_changed(self):
        def driver(version):
            def change(document):
                document["system"]["nvidia_driver"] = version
            return change

        old = self.result("a.json", gemm(700), change=driver("550.54.15"))
        new = self.result("b.json", gemm(650), change=driver("560.28.03"))
        self.assertEqual(self.answer(old, new)["results"][0]["surroundings"],
                         ["nvidia driver: 550.54.15, now 560.28.03"])
        self.assertIn("CHANGED   nvidia driver: 550.54.15, now 560.28.03", claimcheck("compare", old, new).stdout)

    def test_many_results_and_a_baseline_of_several(self):
        files = [self.result(f"{value}.json", gemm(value), read(3000)) for value in (700, 640, 705, 560)]
        answer = self.answer(*files, "--max-regression", "15%", code=1)
        self.assertEqual([row["state"] for result in answer["results"] for row in result["rows"][:1]],
                         ["worse", "unchanged", "worse"])
        text = claimcheck("compare", *files).stdout
        self.assertRegex(text, r"gemm\.bf16\.tflops, n 8192 +700 TFLOPS +-8\.6 % +[= ]+-20\.0 %")
        self.assertLessEqual(columns(text), 100)
        several = [word for path in files[:3] for word in ("--baseline", path)]
        answer = self.answer(*several, files[3], code=0)
        row = answer["results"][0]["rows"][0]
        self.assertEqual(row["before"]["value"], 700)
        self.assertAlmostEqual(row["before"]["interval"][0], 640 * 0.998)
        self.assertAlmostEqual(row["before"]["interval"][1], 705 * 1.002)
        self.assertIn("3 results up to", answer["baseline"])

    def test_markdown_and_annotations(self):
        broken = read(3000) | {"value": None, "status": "crashed", "reason": "<b>|@all", "statistics": None}
        new = self.result("new.json", gemm(650), broken, latency(10))
        arguments = (self.old, new, "--max-regression", "5%")
        text = self.assert_exit(claimcheck("compare", *arguments, "--format", "md"), 1).stdout
        self.assertTrue(text.startswith("### claimcheck compare\n\n**Regression. 1 measurement gives no right answer"), text)
        self.assertIn("| gemm.bf16.tflops, n 8192<br>all 8 devices alike | 700 TFLOPS | 650 TFLOPS | -7.1 % |", text)
        self.assertNotIn("<b>", text)
        self.assertNotIn("@all", text)
        lines = self.assert_exit(claimcheck("compare", *arguments, "--format", "annotations"), 1).stdout.splitlines()
        self.assertEqual(lines[0], "::error title=no right answer any more%3A memory.read.gbps::crashed: <b>|@all")
        self.assertTrue(lines[1].startswith("::error title=regression of gemm.bf16.tflops%2C n 8192::700 TFLOPS -> 650 "
                                            "TFLOPS (-7.1 %25, 95 %25: "), lines[1])

    def test_output_goes_to_the_file(self):
        path = self.folder / "answer.md"
        done = self.assert_exit(claimcheck("compare", self.old, self.old, "--format", "md", "--output", path), 0)
        self.assertEqual(done.stdout, "")
        self.assertIn("None of 3 figures became worse", path.read_text(encoding="utf-8"))

    def test_bad_usage(self):
        for arguments, parts in (([], ["two results"]), ([self.old, "--max-regression", "5"], ["5%", "0.05"]),
                                 ([self.old, "--max-regression", "five"], ["'five'"]),
                                 ([self.old, "--only", "gem.bf16.tflops"], ["nearest", "gemm.bf16.tflops"]),
                                 ([self.old, "--format", "jason"], ['"json"'])):
            self.assert_refused(claimcheck("compare", self.old, *arguments), *parts)
        self.assert_refused(claimcheck("compare", self.old, self.folder / "none.json"), "no such file")
        document = copy.deepcopy(p5([gemm(1)]))
        document["system"]["devices"][0]["name"] = "Another"
        other = self.file("other.json", json.dumps(document))
        self.assert_refused(claimcheck("compare", "--baseline", other, "--baseline", self.old, self.old),
                            "not of the same kind of machine")


if __name__ == "__main__":
    unittest.main()
