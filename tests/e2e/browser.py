"""A headless Chromium for tests: Debian's packages chromium, chromium-driver and python3-selenium."""
import contextlib
import importlib.util
import json
import pathlib
import shutil
import unittest


def is_ubuntu():
    release = pathlib.Path("/etc/os-release")
    return release.exists() and "ID=ubuntu" in release.read_text(encoding="utf-8").splitlines()


def missing():
    """What is not installed, as Debian calls it."""
    programs = [name for name, program in (("chromium", "chromium"), ("chromium-driver", "chromedriver"))
                if shutil.which(program) is None]
    return programs + (["python3-selenium"] if importlib.util.find_spec("selenium") is None else [])


def require():
    """Ubuntu has Chromium only as a snap, which a service cannot start; elsewhere its absence is a failure."""
    if missing() and is_ubuntu():
        raise unittest.SkipTest("Ubuntu has no Chromium as a package")
    if missing():
        raise AssertionError(f"not installed: {', '.join(missing())}; scripts/setup.sh --test installs them")


class Browser:
    """One page at a time; remembers what it asked the network for and what it wrote to the console."""

    def __init__(self, folder):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                         "--disable-background-networking", "--disable-component-update", "--no-first-run",
                         f"--user-data-dir={folder}"):
            options.add_argument(argument)
        options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.driver.set_page_load_timeout(60)

    def open(self, path, width=1200, height=900, scheme="light"):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.requests(), self.console()  # forget what came before
        self.driver.get(f"file://{path}")
        return self

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)

    def requests(self):
        """Addresses that were asked for since the last call."""
        messages = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        return [message["params"]["request"]["url"] for message in messages
                if message["method"] == "Network.requestWillBeSent"]

    def console(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def close(self):
        with contextlib.suppress(Exception):
            self.driver.quit()
