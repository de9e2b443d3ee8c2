"""`claimcheck report` and `claimcheck explain`, on the example and on files that are broken in every way."""
import json
import os
import pathlib
import re
import subprocess
import unicodedata
import unittest

from support import EXAMPLES, SOURCE, CommandTest, claimcheck, load, parse, program

EXAMPLE = EXAMPLES / "result-host.json"


def columns(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


class Report(CommandTest):
    def test_text_has_the_facts(self):
        done = self.assert_exit(claimcheck("report", EXAMPLE), 0)
        self.assertEqual(done.stderr, "")
        for fact in ("AMD EPYC 9R14", "2 cores", "8 GiB", "quick profile", "VERDICT   ", "memory.triad.gbps",
                     "gemm.fp32.tflops", "unsupported", "crashed", "unstable", "The hypervisor took 4.0 %"):
            self.assertIn(fact, done.stdout)
        self.assertIn("PARTIAL   1 benchmark crashed", done.stdout)

    def test_lines_fit_a_hundred_columns_and_have_no_colour_in_a_pipe(self):
        done = claimcheck("report", EXAMPLE)
        self.assertNotIn("\x1b", done.stdout)
        for line in done.stdout.splitlines():
            self.assertLessEqual(columns(line), 100, line)

    def test_json_is_the_document(self):
        document = load(EXAMPLE)
        for arguments in (["--format", "json"], ["--json"]):
            done = self.assert_exit(claimcheck("report", EXAMPLE, *arguments), 0)
            self.assertEqual(parse(done.stdout), document)
            self.assert_valid(parse(done.stdout), "result")
            self.assertEqual(done.stderr, "")

    def test_output_goes_to_the_file(self):
        path = self.folder / "report.txt"
        done = self.assert_exit(claimcheck("report", EXAMPLE, "--output", path), 0)
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        self.assertEqual(path.read_text(encoding="utf-8"), claimcheck("report", EXAMPLE).stdout)
        self.assertEqual(os.listdir(self.folder), ["report.txt"])

    def test_a_full_disk_is_one_sentence(self):
        self.assert_refused(claimcheck("report", EXAMPLE, "--output", "/dev/full"), "cannot write /dev/full",
                            "no space is left", "bytes are needed")
        self.assertTrue(pathlib.Path("/dev/full").is_char_device())

    def test_output_into_a_missing_folder(self):
        path = self.folder / "none" / "report.txt"
        self.assert_refused(claimcheck("report", EXAMPLE, "--output", path), path, "is not a directory")

    def test_unknown_format_names_the_valid_ones(self):
        self.assert_refused(claimcheck("report", EXAMPLE, "--format", "jason"), '"jason"', "prometheus, json",
                            'nearest: "json"')

    def test_a_newer_minor_version_is_read_with_a_note(self):
        document = {**load(EXAMPLE), "schema_version": "1.9", "news": 1}
        done = self.assert_exit(claimcheck("report", self.file("result.json", json.dumps(document))), 0)
        self.assertIn("schema 1.9; this one knows 1.0", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("VERDICT", done.stdout)

    def test_colour_on_a_terminal_unless_refused(self):
        self.assertIn(b"\x1b[", self.on_terminal(TERM="xterm"))
        self.assertNotIn(b"\x1b[", self.on_terminal(TERM="xterm", NO_COLOR="1"))
        self.assertNotIn(b"\x1b[", self.on_terminal(TERM="dumb"))

    def on_terminal(self, **environment):
        """What the command writes to a pseudo-terminal."""
        kept = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        ours, theirs = os.openpty()
        try:
            with subprocess.Popen([program("claimcheck"), "report", str(EXAMPLE)], stdin=subprocess.DEVNULL,
                                  stdout=theirs, env={**kept, **environment}) as process:
                os.close(theirs)
                output = b""
                while chunk := self.read_some(ours):
                    output += chunk
            self.assertEqual(process.returncode, 0)
            return output
        finally:
            os.close(ours)

    @staticmethod
    def read_some(descriptor):
        try:
            return os.read(descriptor, 1 << 16)
        except OSError:  # the other end of a pseudo-terminal is closed
            return b""


class BrokenFiles(CommandTest):
    def refused(self, content, *parts, name="result.json"):
        path = self.file(name, content)
        self.assert_refused(claimcheck("report", path), path, *parts)

    def test_no_file_directory_empty(self):
        self.assert_refused(claimcheck("report", self.folder / "none.json"), "none.json: no such file")
        self.assert_refused(claimcheck("report", self.folder), f"{self.folder}: is a directory")
        self.refused("", ":1:1: the file is empty")
        self.refused(" \n\t\n", ":3:1: the JSON ends in the middle")

    def test_truncation_at_every_line(self):
        lines = EXAMPLE.read_bytes().splitlines(keepends=True)
        for count in range(1, len(lines), max(1, len(lines) // 40)):
            self.refused(b"".join(lines[:count]), f":{count + 1}:1: the JSON ends in the middle: the file was cut")

    def test_numbers_that_are_none(self):
        text = EXAMPLE.read_text(encoding="utf-8")
        value = re.search(r'"value": ([0-9.]+)', text)
        line = text[:value.start(1)].count("\n") + 1
        for word in ("NaN", "Infinity", "-Infinity"):
            self.refused(text[:value.start(1)] + word + text[value.end(1):], f":{line}:", "NaN and infinity")
        self.refused(text[:value.start(1)] + "1e999" + text[value.end(1):], f":{line}:", "1e999 is too large")

    def test_not_json(self):
        self.refused("<html></html>", ":1:1: not valid JSON")
        self.refused(b"\x7fELF\x00\x01", ":1:1: not valid JSON")
        self.refused(b'{"a": "\xff\xfe"}', ":1:8: not valid JSON", "UTF-8")
        self.refused("{} {}", ":1:4: not valid JSON")

    def test_deep_nesting(self):
        self.refused("[" * 5_000_000, ":1:65: nested deeper than 64 levels")
        self.refused('{"a":' * 1_000_000, "nested deeper than 64 levels")

    def test_other_json(self):
        self.refused("[]", "/: expected a claimcheck result document, found an array of 0")
        self.refused("null", "/: expected a claimcheck result document, found null")
        self.refused('{"fio version": "fio-3.33"}', 'without "schema_version"')
        self.refused('{"schema_version": "1.0"}', '/: expected a member "run"')

    def test_a_newer_major_version(self):
        self.refused(json.dumps({**load(EXAMPLE), "schema_version": "2.0"}),
                     "made by a newer claimcheck (schema 2.0; this one reads 1.x): update claimcheck")

    def test_a_file_name_cannot_steer_the_terminal(self):
        path = self.folder / "a\x1b[2Jb\n.json"
        done = claimcheck("report", path)
        self.assert_refused(done, "no such file")
        self.assertNotIn("\x1b", done.stderr)


class Explain(CommandTest):
    def test_every_metric_has_its_section(self):
        for metric in load(SOURCE / "results-schema" / "metrics.json")["metrics"]:
            done = self.assert_exit(claimcheck("explain", metric["key"]), 0)
            heading, text = done.stdout.split("\n\n", 1)
            self.assertIn(metric["key"], re.split(r",\s+", heading))
            self.assertTrue(text.startswith("Definition. "), text)
            self.assertEqual(done.stderr, "")
            for line in done.stdout.splitlines():
                self.assertLessEqual(columns(line), 100, line)

    def test_json(self):
        answer = parse(self.assert_exit(claimcheck("explain", "memory.triad.gbps", "--json"), 0).stdout)
        self.assertEqual((answer["key"], answer["unit"], answer["better"]), ("memory.triad.gbps", "GB/s", "higher"))
        self.assertIn("memory.copy.gbps", answer["section"])
        self.assertIn("STREAM", answer["text"])
        everything = parse(self.assert_exit(claimcheck("explain", "--json"), 0).stdout)
        table = load(SOURCE / "results-schema" / "metrics.json")["metrics"]
        self.assertEqual(everything["metrics"], table)
        self.assertIn("cv", everything["terms"])

    def test_other_numbers(self):
        done = self.assert_exit(claimcheck("explain", "cost per useful EFLOP"), 0)
        self.assertIn("$5.42", done.stdout)

    def test_the_list_has_every_key_and_fits(self):
        lines = self.assert_exit(claimcheck("explain"), 0).stdout.splitlines()
        first_words = {line.split()[0] for line in lines if line and not line.startswith(" ")}
        for metric in load(SOURCE / "results-schema" / "metrics.json")["metrics"]:
            self.assertIn(metric["key"], first_words)
        for line in lines:
            self.assertLessEqual(columns(line), 100, line)

    def test_unknown_names_the_nearest(self):
        self.assert_refused(claimcheck("explain", "memory.traid.gbps"), 'unknown metric "memory.traid.gbps"',
                            'nearest: "memory.triad.gbps"')
        self.assert_refused(claimcheck("explain", "z" * 40), "`claimcheck explain` lists all")
        self.assertNotIn("\x1b", self.assert_refused(claimcheck("explain", "\x1b[2J")).stderr)


if __name__ == "__main__":
    unittest.main()
