"""`claimcheck history`: a folder of made nights with a step in it, broken files, and the page in a browser."""
import json
import tempfile
import unittest

import browser
from made_results import measurement, p5
from support import CommandTest, claimcheck, parse
from test_compare import columns, gemm, latency

OFF = [0.001, -0.003, 0.002, 0.004, -0.001, -0.004, 0.003, 0.0, -0.002, 0.001]


def night(number, value, *more):
    document = p5([gemm(round(value * (1 + OFF[number % 10]), 6)), *more])
    document["run"] |= {"id": f"run-{number}", "started": f"2026-11-{number + 1:02}T03:00:00Z"}
    return document


class Folder(CommandTest):
    """Sixteen nights, with a step after the tenth."""

    def setUp(self):
        super().setUp()
        self.results = self.folder / "nightly"
        for number in range(16):
            self.store(f"night-{number:02}/result.json", night(number, 700 if number < 10 else 650, latency(10)))

    def store(self, name, content):
        path = self.results / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path


class Nights(Folder):
    def answer(self, *arguments, code=0):
        done = self.assert_exit(claimcheck("history", self.results, "--json", *arguments), code)
        answer = parse(done.stdout)
        self.assert_valid(answer, "history-answer")
        return answer, done.stderr

    def test_a_step_is_found_and_told(self):
        answer, said = self.answer()
        self.assertEqual(said, "")
        machine, = answer["machines"]
        self.assertEqual(machine["name"], "aws:p5.48xlarge, 8 x NVIDIA H100 80GB HBM3")
        by_id = {series["id"]: series for series in machine["series"]}
        series = by_id["gemm.bf16/n:8192"]
        self.assertEqual((series["trend"], len(series["points"])), ("stepped", 16))
        step, = series["steps"]
        self.assertEqual((step["run"], step["started"]), (10, "2026-11-11T03:00:00Z"))
        self.assertAlmostEqual(step["loss"], 1 - 650 / 700, delta=0.003)
        self.assertEqual(by_id["p2p.latency"]["trend"], "steady")
        text = self.assert_exit(claimcheck("history", self.results), 0).stdout
        self.assertIn("1 of 2 figures moved, 1 for the worse; most of all gemm.bf16.tflops, n 8192 (step 2026-11-11: -7.",
                      " ".join(text.split()))
        self.assertNotIn("p2p.latency", text)
        self.assertIn("1 steady", text)
        self.assertLessEqual(columns(text), 100)

    def test_metric_shows_steady_ones(self):
        text = self.assert_exit(claimcheck("history", self.results, "--metric", "p2p.*"), 0).stdout
        self.assertRegex(text, r"p2p\.latency\.us +16 +10\.0 us +10\.0 us +\+0\.0 % +0\.0 % +steady")
        self.assertNotIn("gemm", text)

    def test_broken_files_cost_themselves(self):
        self.store("broken/result.json", "{")
        self.store("other/result.json", '{"fio version": "3"}')
        self.store("copy/result.json", night(3, 700, latency(10)))
        self.store("no/notes.json", "{}")
        answer, said = self.answer()
        self.assertEqual(len(answer["machines"][0]["runs"]), 16)
        self.assertEqual(sorted(one["file"] for one in answer["skipped"]),
                         ["broken/result.json", "night-03/result.json", "other/result.json"])
        self.assertEqual(said.count("claimcheck: skipped "), 3)
        self.assertNotIn("notes", said)

    def test_depth_and_links(self):
        self.store("a/b/c/d/e/result.json", night(20, 700))
        (self.results / "loop").symlink_to(self.results)
        self.assertEqual(len(self.answer()[0]["machines"][0]["runs"]), 16)
        self.assertEqual(len(self.answer("--depth", "5")[0]["machines"][0]["runs"]), 17)

    def test_kinds_of_machine_stand_apart(self):
        other = night(25, 300)
        other["system"]["devices"] = other["system"]["devices"][:4]
        self.store("other/result.json", other)
        answer, _ = self.answer()
        self.assertEqual([len(machine["runs"]) for machine in answer["machines"]], [16, 1])
        self.assertIn("Too few runs", answer["machines"][1]["verdict"])

    def test_nothing_there(self):
        empty = self.folder / "empty"
        empty.mkdir()
        done = self.assert_exit(claimcheck("history", empty), 4)
        self.assertIn("no result with a measured value", done.stderr)
        self.assert_exit(claimcheck("history", self.results, "--metric", "nothing.*"), 4)
        self.assert_refused(claimcheck("history", self.folder / "none"), "no such directory")


class Page(Folder):
    @classmethod
    def setUpClass(cls):
        browser.require()
        profile = tempfile.TemporaryDirectory(prefix="claimcheck-chromium-")
        cls.browser = browser.Browser(profile.name)
        cls.addClassCleanup(profile.cleanup)
        cls.addClassCleanup(cls.browser.close)

    def test_the_page(self):
        evil = '</script><img src=x onerror="document.title=1">'
        crashed = measurement("memory.read", "memory.read.gbps", "GB/s", 1) | {
            "value": None, "statistics": None, "status": "crashed", "reason": evil}
        self.store("last/result.json", night(16, 650, measurement("memory.read", "memory.read.gbps", "GB/s", 3000)))
        self.store("latest/result.json", night(17, 650, crashed))
        path = self.folder / "history.html"
        self.assert_exit(claimcheck("history", self.results, "--html", path), 0)
        page = self.browser.open(path)
        self.assertEqual(page.console(), [])
        self.assertEqual([url for url in page.requests() if not url.startswith(f"file://{path}")], [])
        self.assertEqual(page.run("return document.title"), f"claimcheck: history of {self.results}")
        self.assertIn("step 2026-11-11", page.texts("h1")[0])
        drawn = page.run("const chart = Chart.getChart('chart-course-1'); "
                         "return [chart.data.labels, ...chart.data.datasets.map(d => d.data)]")
        self.assertEqual(drawn[0][0], "2026-11-01 03:00")
        self.assertEqual(len(drawn[1]), 18)
        self.assertAlmostEqual(drawn[1][0], 700.7)
        self.assertAlmostEqual(drawn[2][0], 700, delta=1.5)
        self.assertAlmostEqual(drawn[2][17], 650, delta=1.5)
        self.assertEqual(page.run("return document.documentElement.dataset.drawn"), "2")
        self.assertIn(evil, page.texts("[data-series^='memory.read'] td:last-child")[0])


if __name__ == "__main__":
    unittest.main()
