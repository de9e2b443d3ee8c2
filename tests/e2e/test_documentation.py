"""What README.md, CONTRIBUTING.md and docs/ say: links lead somewhere, files that are named exist, and every command of
claimcheck that is quoted is one, with options that it has."""
import functools
import json
import re
import shlex
import unittest

from support import SOURCE, claimcheck

PAGES = sorted([SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", SOURCE / "scripts/cloud/terraform/README.md",
                *(SOURCE / "docs").rglob("*.md")])
# What a tutorial makes, and files of other projects.
NOT_HERE = {"bench/engine_copy.cpp", "scripts/train/benchmarking/README.md"}


def text_of(page):
    return page.read_text(encoding="utf-8")


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", "\n".join(line for line in text.splitlines() if not line.startswith("    ")))


def anchor(heading):
    """As GitHub makes it: lower case, no punctuation but - and _, blanks become hyphens."""
    shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.replace("`", ""))
    return re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")


def anchors(page):
    return {anchor(line.lstrip("#")) for line in text_of(page).splitlines() if re.match(r"#{1,6} ", line)}


def spans(text):
    """Code that a page quotes: lines set in by four blanks (a backslash at the end goes on), and what is in backticks."""
    joined = re.sub(r"\\\n\s*", "", text)
    found = [line.strip() for line in joined.splitlines() if line.startswith("    ")]
    outside = "\n".join("" if line.startswith("    ") else line for line in joined.splitlines())
    return found + [re.sub(r"\s+", " ", span) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", outside)]


def arguments_of(span):
    """The words behind `claimcheck` where the span is a call of it; None where it is not."""
    called = re.match(r"(?:\$ )?(?:\w+=\S+ )*(?:\S+ (?:-j )?\| )?(?:time )?(?:scripts/virtual\.sh \S+ )?(?:\S*/bin/)?claimcheck ([a-z-].*)", span)
    if called is None:
        return None
    told = re.split(r"\s{2,}|(?<=\S) (?:\||>|2>) ", called[1])[0]  # two blanks and what it does, or where its output goes
    try:
        words = shlex.split(told)
    except ValueError:
        return None
    return [word for word in words if word != "..."]


@functools.lru_cache(maxsize=None)
def offered(path):
    """Subcommands and options that `claimcheck PATH --help` shows."""
    text = claimcheck(*path, "--help").stdout
    below = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
    return (re.findall(r"^  ([a-z]+)", below[1], re.M) if below else [],
            re.findall(r"^  (?:-\w,)?(--[a-z-]+)", text, re.M) + ["--help"])


def complaint(words):
    """What is wrong with a call, "" if nothing: its commands, and the options that they have."""
    path, options = (), list(offered(())[1])
    waiting = [word.strip("[]") for word in words]
    if waiting[0] == "--catalog":
        del waiting[:2]
    while waiting and not waiting[0].startswith("-") and offered(path)[0]:
        names = waiting.pop(0).replace("\\", "").split("|")  # list\|show\|check: all of them
        for name in names:
            if name not in offered(path)[0]:
                return f"{name} is no command"
        path += (names[0],)
        options += offered(path)[1]
    given = [word.split("=")[0] for word in waiting if word.startswith("--")]
    return "; ".join(f"{' '.join(path)} has no {option}" for option in given if option not in options)


class Documentation(unittest.TestCase):
    def test_links_lead_somewhere(self):
        checked = 0
        for page in PAGES:
            for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text_of(page))):
                if re.match(r"https://", target):
                    continue
                path, _, part = target.partition("#")
                file = (page.parent / path).resolve() if path else page
                with self.subTest(page=page.name, target=target):
                    self.assertTrue(file.exists(), file)
                    self.assertTrue(not part or part in anchors(file))
                checked += 1
        self.assertGreater(checked, 50)

    def test_every_page_is_in_the_list_of_pages(self):
        listed = text_of(SOURCE / "docs/README.md")
        for page in (SOURCE / "docs").glob("*.md"):
            self.assertTrue(page.name == "README.md" or f"]({page.name})" in listed, page.name)

    def test_files_that_are_named_exist(self):
        path = re.compile(r"(?<![\w/.-])((?:scripts|docs|tests|harness|bench|kernels|catalog|results-schema|cmake)/[\w./-]*\w)")
        checked = 0
        for page in PAGES:
            for span in spans(text_of(page)):
                for name in path.findall(span):
                    if name in NOT_HERE:
                        continue
                    with self.subTest(page=page.name, name=name):
                        self.assertTrue((SOURCE / name).exists() or any(SOURCE.glob(name + "*")), span)
                    checked += 1
        self.assertGreater(checked, 40)

    def test_quoted_commands_can_be_called(self):
        checked = set()
        for page in PAGES:
            for span in spans(text_of(page)):
                words = arguments_of(span)
                if words is None or words[0].startswith("-") and "--" not in span:
                    continue
                with self.subTest(page=page.name, span=span):
                    self.assertEqual(complaint(words), "")
                checked.add(tuple(words))
        self.assertGreater(len(checked), 70)

    def test_counts_of_the_catalog(self):
        catalog = SOURCE / "catalog"

        def records(pattern, key):
            return [one for file in catalog.glob(pattern) for one in json.loads(text_of(file))[key]]

        expected = records("expected/*.json", "expected")
        prices = [line for file in catalog.glob("prices/*.csv") for line in text_of(file).splitlines()[1:]]
        lines = sum(kind["kind"] == "vendor_threshold" for kind in expected)
        told = dict(re.findall(r"^\| `([^`]+)` \|.*\| ([^|]+) \|$", text_of(SOURCE / "docs/catalog.md"), re.M))
        for file, count in {"sources.json": len(records("sources.json", "sources")),
                            "accelerators/VENDOR.json": len(records("accelerators/*.json", "accelerators")),
                            "platforms/PROVIDER.json": len(records("platforms/*.json", "platforms")),
                            "prices/PROVIDER.csv": len(prices),
                            "expected/*.json": f"{len(expected)}, of which {lines} are",
                            "claims/guides.json": len(records("claims/guides.json", "claims"))}.items():
            self.assertTrue(told[file].startswith(str(count)), (file, told[file], count))
        self.assertIn(f" {len(records('platforms/*.json', 'platforms'))} other instances", text_of(SOURCE / "README.md"))

    def test_the_checks_can_fail(self):
        self.assertEqual(anchor(" `a`: b, [c d](x) - e"), "a-b-c-d---e")
        self.assertEqual(arguments_of("nvbandwidth -j | claimcheck import nvbandwidth - --judge"),
                         ["import", "nvbandwidth", "-", "--judge"])
        self.assertEqual(arguments_of("scripts/virtual.sh p5 claimcheck run --device cuda      8 virtual H100"),
                         ["run", "--device", "cuda"])
        self.assertEqual(spans("a `b\nc` d\n\n    claimcheck e \\\n      f\n"), ["claimcheck e f", "b c"])
        self.assertEqual(complaint(["run", "--profle", "quick"]), "run has no --profle")
        self.assertEqual(complaint(["catalog", "lsit"]), "lsit is no command")
        self.assertEqual(complaint(["catalog", "list\\|show", "--json"]), "")
        self.assertIn("--budget", offered(("run",))[1])


if __name__ == "__main__":
    unittest.main()
