#!/usr/bin/python3
"""Makes the pictures of the HTML report that README.md and docs/reports.md show, by a headless Chromium.

    scripts/screenshots.py --real RESULT --virtual RESULT [--out docs/images] [--program claimcheck]

RESULT is a result.json. That of --real was measured on hardware; of --virtual on the virtual platform, which the page
itself says in every picture. So that they can be made again:

    scripts/run.sh --price 0.10 --currency USD --claim 'memory.triad.gbps>=30' --claim 'gemm.fp32.tflops>=0.15' --out REAL
    CLAIMCHECK_MAX_GEMM=1024 scripts/virtual.sh p5_hot claimcheck run --device cuda --out VIRTUAL
    scripts/screenshots.py --real REAL/result.json --virtual VIRTUAL/result.json

Needs Debian's chromium, chromium-driver and python3-selenium, and makes the files a third of the size with pngquant.
"""

import argparse
import base64
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import browser  # noqa: E402  what the tests of the page use

# name, whose result, width and height, colours, the part of the page that is at the top
PICTURES = [
    ("report-light", "real", (1100, 720), "light", "top"),
    ("report-dark", "real", (1100, 720), "dark", "top"),
    ("report-phone", "real", (390, 720), "light", "top"),
    ("report-gpus", "virtual", (1100, 900), "light", "performance-heading"),
    ("report-links", "virtual", (1100, 480), "dark", "links-heading"),
]


def fail(text):
    sys.exit(f"screenshots: {text}")


def page_of(result, kind, program, folder):
    """The page of a result, which must be of the kind it is said to be."""
    try:
        document = json.loads(pathlib.Path(result).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        fail(f"--{kind} {result}: {error}")
    if document.get("virtual", False) != (kind == "virtual"):
        fail(f"--{kind} {result}: this result was measured on {'virtual GPUs' if kind == 'real' else 'hardware'}")
    page = pathlib.Path(folder) / f"{kind}.html"
    done = subprocess.run([program, "report", result, "--format", "html", "--output", page], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        fail(done.stderr.strip())
    return page


def picture(chromium, page, size, scheme, part):
    """PNG of one window; its top is `part` of the page, as far as the page is long enough."""
    shown = chromium.open(page, *size, scheme)
    found = shown.run("if (arguments[0] === 'top') return true; const part = document.getElementById(arguments[0]);"
                      "if (!part) return false; const label = document.querySelector('[data-warning=VIRTUAL]');"
                      "scrollTo(0, part.getBoundingClientRect().top - 8 - (label ? label.offsetHeight : 0)); return true",
                      part)
    if not found:
        fail(f"the page has no part {part}: this result has nothing to show there")
    if shown.console():
        fail(f"{page}: the page complains")
    shown.driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    # What a chart draws after it was scrolled to is drawn before the second frame.
    shown.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    return base64.b64decode(shown.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"])


def smaller(png):
    if shutil.which("pngquant") is None:
        return png
    done = subprocess.run(["pngquant", "--speed", "1", "--strip", "64", "-"], input=png, stdout=subprocess.PIPE, check=True)
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", metavar="RESULT", required=True)
    parser.add_argument("--virtual", metavar="RESULT", required=True)
    parser.add_argument("--out", metavar="DIR", type=pathlib.Path, default=ROOT / "docs" / "images")
    parser.add_argument("--program", metavar="PATH", default=str(ROOT / "build" / "release" / "bin" / "claimcheck"))
    arguments = parser.parse_args()
    if browser.missing():
        fail(f"not installed: {', '.join(browser.missing())}; scripts/setup.sh --test installs them")
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        pages = {kind: page_of(getattr(arguments, kind), kind, arguments.program, folder) for kind in ("real", "virtual")}
        chromium = browser.Browser(folder)
        try:
            for name, kind, size, scheme, part in PICTURES:
                data = smaller(picture(chromium, pages[kind], size, scheme, part))
                (arguments.out / f"{name}.png").write_bytes(data)
                print(f"{name}.png: {size[0]} x {size[1]}, {len(data) / 1000:.0f} kB")
        finally:
            chromium.close()
    if shutil.which("pngquant") is None:
        print("screenshots: with pngquant installed the files would be a third of the size", file=sys.stderr)


if __name__ == "__main__":
    main()
