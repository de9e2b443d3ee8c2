"""scripts/screenshots.py, and the pictures that README.md and docs/ show."""
import json
import re
import struct
import subprocess
import unittest

import browser
from made_results import measurement, p5
from support import SOURCE, CommandTest, program

SCRIPT = SOURCE / "scripts/screenshots.py"
IMAGES = SOURCE / "docs/images"
SIZES = {"report-light": (1100, 720), "report-dark": (1100, 720), "report-phone": (390, 720), "report-gpus": (1100, 900),
         "report-links": (1100, 480)}


def size_of(png):
    """Width and height, from the header of PNG (RFC 2083, 11.2.1)."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n" and png[12:16] == b"IHDR" and png[-8:-4] == b"IEND", png[:16]
    return struct.unpack(">II", png[16:24])


def made(virtual):
    """A result with charts and a matrix of links."""
    rates = [612 if i == 5 else 741 for i in range(8)]
    row = [[None if i == j else 390 for j in range(8)] for i in range(8)]
    document = p5([measurement("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", 612, rates),
                   measurement("p2p.write", "p2p.write.gbps", "GB/s", 390) | {"evidence": {"matrix_gbps": row}}])
    if virtual:
        document["virtual"] = True
        for one in document["measurements"]:
            one["virtual"] = True
    return document


class Pictures(CommandTest):
    def make(self, real, virtual):
        real, virtual = (self.file(f"{name}.json", json.dumps(one)) for name, one in (("real", real), ("virtual", virtual)))
        return subprocess.run(["/usr/bin/python3", SCRIPT, "--real", real, "--virtual", virtual, "--out", self.folder / "images",
                               "--program", program("claimcheck")], capture_output=True, text=True, check=False, timeout=120)

    def test_the_script_makes_them(self):
        browser.require()
        done = self.assert_exit(self.make(made(False), made(True)), 0)
        pictures = {path.stem: path.read_bytes() for path in (self.folder / "images").iterdir()}
        self.assertEqual({name: size_of(png) for name, png in pictures.items()}, SIZES, done.stdout)
        self.assertEqual(len(set(pictures.values())), len(SIZES))
        for name, png in pictures.items():
            self.assertGreater(len(png), 4000, f"{name} is nearly empty")

    def test_a_virtual_result_never_passes_for_a_real_one(self):
        for real, virtual, fact in ((True, True, "was measured on virtual GPUs"), (False, False, "was measured on hardware")):
            done = self.make(made(real), made(virtual))
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(fact, done.stderr)
            self.assertFalse((self.folder / "images").exists() and list((self.folder / "images").iterdir()))

    def test_the_label_of_a_virtual_machine_is_in_every_window(self):
        browser.require()
        page = self.folder / "page.html"
        result = self.file("virtual.json", json.dumps(made(True)))
        subprocess.run([program("claimcheck"), "report", result, "--format", "html", "--output", page], check=True, timeout=60)
        chromium = browser.Browser(self.folder / "profile")
        self.addCleanup(chromium.close)
        shown = chromium.open(page, 1100, 400)
        for part in ("verdict", "links-heading", "download-link"):
            place = shown.run("document.getElementById(arguments[0]).scrollIntoView(); const label = "
                              "document.querySelector('[data-warning=VIRTUAL]').getBoundingClientRect();"
                              "return [label.top, label.bottom]", part)
            self.assertTrue(0 <= place[0] < place[1] <= 400, (part, place))

    def test_those_of_the_documentation(self):
        shown = {}
        for page in [SOURCE / "README.md", *(SOURCE / "docs").glob("*.md")]:
            for target in re.findall(r'(?:!\[[^]]+\]\(|src(?:set)?=")([^)"]+\.png)', page.read_text(encoding="utf-8")):
                shown[(page.parent / target).resolve()] = page.name
        self.assertEqual({path.stem for path in shown}, set(SIZES))
        self.assertEqual(set(shown), {path.resolve() for path in IMAGES.iterdir()})
        for path in shown:
            self.assertEqual(size_of(path.read_bytes()), SIZES[path.stem], path)
        self.assertLess(sum(path.stat().st_size for path in shown), 300_000)


if __name__ == "__main__":
    unittest.main()
