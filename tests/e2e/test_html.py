"""`claimcheck report --format html` in a headless Chromium: numbers, console, network, keyboard, widths, colours."""
import json
import pathlib
import tempfile
import unittest

import browser
from made_results import measurement, p5
from support import CommandTest, claimcheck, parse, validate

SIZES = {1024: 1.2, 1 << 20: 80, 1 << 26: 300, 1 << 30: 361}
EVIL = '</script><script>document.title="stolen"</script><img src=x onerror="document.title=1">'


def collective(size, rate):
    made = measurement(f"allreduce/bytes:{size}", "allreduce.busbw.gbps", "GB/s", rate)
    made["conditions"] |= {"bytes": size, "ranks": 8}
    return made


def scaling(ranks, efficiency):
    made = measurement(f"scaling.gemm/ranks:{ranks}", "scaling.gemm.efficiency", "1", efficiency)
    made["conditions"] |= {"ranks": ranks}
    return made


def pairs():
    made = measurement("p2p.unidirectional", "p2p.write.gbps", "GB/s", 150)
    row = [[None if i == j else 150 if {i, j} == {2, 5} else 390 for j in range(8)] for i in range(8)]
    return made | {"evidence": {"matrix_gbps": row}}


def soak(number, rates):
    """One minute of two devices, six samples."""
    made = measurement(f"soak/segment:{number}", "soak.gemm.tflops", "TFLOPS", min(rates), rates)
    made["conditions"] |= {"segment": number, "segments": 2, "segment_seconds": 60.0, "method": "soak/1"}
    devices = [{"index": i, "tflops": [rate] * 6, "power_w": [690 - 10 * i] * 6, "sm_clock_mhz": [None] * 6}
               for i, rate in enumerate(rates)]
    return made | {"evidence": {"series": {"seconds": [10, 20, 30, 40, 50, 60], "devices": devices}}}


class Page(CommandTest):
    @classmethod
    def setUpClass(cls):
        browser.require()
        cls.profile = tempfile.TemporaryDirectory(prefix="claimcheck-chromium-")
        cls.browser = browser.Browser(cls.profile.name)
        cls.addClassCleanup(cls.profile.cleanup)
        cls.addClassCleanup(cls.browser.close)
        folder = tempfile.TemporaryDirectory(prefix="claimcheck-html-")
        cls.addClassCleanup(folder.cleanup)
        cls.page = pathlib.Path(folder.name) / "report.html"
        gemm = measurement("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", 612, [741, 742, 740, 741, 739, 612, 742, 741])
        read = measurement("memory.read", "memory.read.gbps", "GB/s", 3121, [3121] * 8)
        document = p5([gemm, read, pairs(), scaling(2, 0.97), scaling(8, 0.9),
                       soak(1, [700, 701]), soak(2, [700, 600]),
                       *(collective(*point) for point in SIZES.items())])
        document["findings"].append({"id": "made.up", "severity": "warning", "text": f"evil {EVIL}", "next_step": EVIL,
                                     "cause": f"why {EVIL}", "evidence": {}})
        cls.document = cls.judged(document, pathlib.Path(folder.name))

    @classmethod
    def judged(cls, document, folder):
        stored, judged = folder / "stored.json", folder / "result.json"
        stored.write_text(json.dumps(document), encoding="utf-8")
        claimcheck("judge", stored, "--claim", "gemm.bf16.tflops>=989", "--output", judged)
        document = parse(judged.read_text(encoding="utf-8"))
        document["cost"] = parse(claimcheck("cost", judged, "--price", 55.04, "--json").stdout)
        judged.write_text(json.dumps(document), encoding="utf-8")
        validate(document, "result")
        done = claimcheck("report", judged, "--format", "html", "--output", cls.page)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.stderr
        return document

    def test_nothing_on_the_console_and_nothing_over_the_network(self):
        page = self.browser.open(self.page)
        self.assertEqual(page.console(), [])
        self.assertEqual([url for url in page.requests() if not url.startswith(f"file://{self.page}")], [])
        self.assertEqual(page.run("return Object.keys(performance.getEntriesByType('resource')).length"), 0)

    def test_the_verdict_comes_first(self):
        page = self.browser.open(self.page)
        self.assertIn("Not what was sold", page.texts("h1")[0])
        self.assertEqual(page.run("return document.querySelector('main').firstElementChild.id"), "verdict")
        claims = page.run("return Object.fromEntries([...document.querySelectorAll('[data-claim]')]"
                          ".map(e => [e.dataset.claim, e.dataset.verdict]))")
        self.assertEqual(claims["user:1"], "not_met")
        self.assertEqual(claims["platform:aws:p5.48xlarge:accelerator_count"], "met")
        own = " ".join(page.texts("[data-claim='user:1'] > *, [data-claim='user:1'] + .why"))
        for fact in ("989 TFLOPS", "612 TFLOPS", "61.9 %", "Device 5 is slow", "healthy", "decided by gemm.bf16/n:8192"):
            self.assertIn(fact, own)

    def numbers(self, page, figure):
        """{label: [values]} of the table under a chart, and the same of what the chart drew."""
        table = page.run("return Object.fromEntries([...document.querySelectorAll(`#figure-${arguments[0]} tbody tr`)].map("
                         "row => [row.cells[0].textContent, [...row.cells].slice(1).map(c => c.dataset.value ? "
                         "Number(c.dataset.value) : null)]))", figure)
        drawn = page.run("const chart = Chart.getChart(`chart-${arguments[0]}`); return Object.fromEntries("
                         "chart.data.labels.map((label, i) => [label, chart.data.datasets.map(d => d.data[i])]))", figure)
        return table, drawn

    def test_the_right_numbers_are_in_tables_and_charts(self):
        page = self.browser.open(self.page)
        self.assertEqual(page.run("return document.documentElement.dataset.drawn"), "7")
        table, drawn = self.numbers(page, "flops")
        self.assertEqual(table["bf16"][:2], [612, 989])
        self.assertEqual(table, drawn)
        table, drawn = self.numbers(page, "collectives")
        self.assertEqual({label: values[0] for label, values in table.items()},
                         {"1 KiB": 1.2, "1 MiB": 80, "64 MiB": 300, "1 GiB": 361})
        self.assertEqual(table, drawn)
        table, drawn = self.numbers(page, "spread")
        self.assertAlmostEqual(table["GPU 5"][0], 612 / 742)
        self.assertAlmostEqual(drawn["GPU 5"][0], 61200 / 742)
        table, _ = self.numbers(page, "scaling")
        self.assertEqual(table, {"2": [0.97], "8": [0.9]})
        table, drawn = self.numbers(page, "soak-1-tflops")
        self.assertEqual(table, {str(10 * i): [700, 701 if i <= 6 else 600] for i in range(1, 13)})
        self.assertEqual(table, drawn)
        table, _ = self.numbers(page, "soak-1-power_w")
        self.assertEqual(table["120"], [690, 680])
        table, _ = self.numbers(page, "cost")
        here = self.document["cost"]["results"][0]["per_eflop"]
        self.assertAlmostEqual(table["this result, as quoted"][0], here)

    def test_the_slow_pair_stands_out(self):
        page = self.browser.open(self.page)
        cells = page.run("return [...document.querySelectorAll('.heat')].map(c => [c.closest('tr').rowIndex - 1, "
                         "c.cellIndex - 1, Number(c.dataset.value), c.style.getPropertyValue('--warmth')])")
        self.assertEqual(len(cells), 56)
        self.assertEqual(sorted((row, column) for row, column, value, warmth in cells if warmth == "0%"), [(2, 5), (5, 2)])
        self.assertTrue(all(value == 390 for *_, value, warmth in cells if warmth == "100%"))

    def test_text_of_strangers_stays_text(self):
        page = self.browser.open(self.page)
        self.assertTrue(page.driver.title.startswith("claimcheck: Not what was sold"))
        self.assertIn(EVIL, page.texts("[data-finding='made.up']")[0])
        self.assertEqual(page.texts("[data-finding='made.up'] .cause"), [f"Likely: why {EVIL}"])
        self.assertEqual(page.texts("[data-finding='made.up'] .next-step"), [EVIL])
        self.assertEqual(page.run("return document.querySelectorAll('img').length"), 0)
        # Even a page that somebody changed by hand runs no script but ours.
        policy = page.run("return document.querySelector('meta[http-equiv]').content")
        self.assertIn("default-src 'none'", policy)
        self.assertEqual(policy.count("sha256-"), 2)

    def test_the_document_can_be_saved(self):
        page = self.browser.open(self.page)
        inside = json.loads(page.run("return document.getElementById('result').textContent"))
        self.assertEqual(inside["measurements"][0]["value"], 612)
        self.assert_valid(inside, "result")
        saved = page.run("const made = []; URL.createObjectURL = blob => { made.push(blob); return '#'; };"
                         "document.getElementById('download-link').click(); return made[0].text()")
        self.assertEqual(json.loads(saved), inside)

    def test_keyboard_and_screen_reader(self):
        from selenium.webdriver.common.keys import Keys
        page = self.browser.open(self.page)
        active = page.driver.switch_to.active_element
        active.send_keys(Keys.TAB)
        self.assertEqual(page.driver.switch_to.active_element.text, "To the verdict")
        page.driver.switch_to.active_element.send_keys(Keys.ENTER)
        self.assertEqual(page.run("return document.activeElement.id"), "verdict")
        page.run("document.querySelector('#figure-flops summary').focus()")
        page.driver.switch_to.active_element.send_keys(Keys.ENTER)
        self.assertTrue(page.run("return document.querySelector('#figure-flops details').open"))
        self.assertEqual(page.run("return document.documentElement.lang"), "en")
        self.assertEqual(page.texts("canvas:not([aria-label])"), [])
        self.assertEqual(page.run("return [...document.querySelectorAll('table')].filter(t => !t.querySelector('th[scope]')).length"), 0)
        levels = page.run("return [...document.querySelectorAll('h1,h2,h3')].map(h => Number(h.tagName[1]))")
        self.assertTrue(all(after <= before + 1 for before, after in zip(levels, levels[1:])), levels)

    def test_it_fits_a_phone(self):
        page = self.browser.open(self.page, width=360, height=740)
        self.assertLessEqual(page.run("return document.documentElement.scrollWidth"), 360)

    def contrast(self, page, selector):
        """Of the text against what is behind it, as WCAG 2 defines it."""
        return page.run("""
          const rgb = text => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
            const most = text.startsWith("color(") ? 255 : 1; return [r * most, g * most, b * most, a]; };
          const light = ([r, g, b]) => { const part = v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; };
            return .2126 * part(r) + .7152 * part(g) + .0722 * part(b); };
          const behind = e => { if (!e) return [255, 255, 255]; const [r, g, b, a] = rgb(getComputedStyle(e).backgroundColor);
            if (a === 1) return [r, g, b];
            const under = behind(e.parentElement); return [r, g, b].map((v, i) => a * v + (1 - a) * under[i]); };
          return [...document.querySelectorAll(arguments[0])].map(e => { const a = light(rgb(getComputedStyle(e).color)),
            b = light(behind(e)); return (Math.max(a, b) + .05) / (Math.min(a, b) + .05); })""", selector)

    def test_light_and_dark_can_be_read(self):
        paper = {}
        for scheme in ("light", "dark"):
            page = self.browser.open(self.page, scheme=scheme)
            paper[scheme] = page.run("return getComputedStyle(document.body).backgroundColor")
            for selector in ("h1", "p", "td", "th", ".pill", "summary", "figcaption", ".next-step", ".cause", "dt"):
                ratios = self.contrast(page, selector)
                self.assertTrue(ratios, selector)
                self.assertGreaterEqual(min(ratios), 4.5, f"{scheme} {selector}")
        self.assertNotEqual(paper["light"], paper["dark"])

    def test_without_scripts_the_text_is_complete(self):
        text = self.page.read_text(encoding="utf-8")
        before_scripts = text[:text.index('<script type="application/json"')]
        for fact in ("Not what was sold", "612 TFLOPS", "361 GB/s", "aws:p5.48xlarge", "Collectives by message size"):
            self.assertTrue(fact in before_scripts, fact)


if __name__ == "__main__":
    unittest.main()
