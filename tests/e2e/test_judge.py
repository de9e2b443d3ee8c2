"""`claimcheck judge`: rows of arguments -> exit code and facts, and files that are broken in every way."""
import json
import math

from support import EXAMPLES, CommandTest, claimcheck, load, parse

EXAMPLE = EXAMPLES / "result-host.json"


def without_claims():
    """The example as a run without claims, complete and free of accidents, leaves it."""
    document = load(EXAMPLE)
    document["verdicts"] = []
    document["run"]["status"] = "complete"
    document["measurements"] = [m for m in document["measurements"] if m["status"] in ("ok", "unsupported")]
    return document


class Judge(CommandTest):
    def write(self, document, name="result.json"):
        path = self.folder / name
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        return path

    def judged(self, *arguments, code):
        done = self.assert_exit(claimcheck("judge", *arguments, "--json"), code)
        self.assertEqual(done.stderr, "")
        answer = parse(done.stdout)
        self.assertEqual(answer["exit_code"], code)
        return answer["results"]

    def test_exit_codes(self):
        triad = load(EXAMPLE)["measurements"][0]
        self.assertEqual(triad["id"], "memory.triad")
        file = self.write(without_claims())
        low, high = triad["statistics"]["ci95"]
        rows = [
            ([], 0, 4),
            (["memory.triad.gbps>=15"], 0, 0),
            (["memory.triad.gbps>=1000000"], 1, 1),
            ([f"memory.triad.gbps>={(low + high) / 2}"], 4, 4),
            (["memory.triad.gbps>=15", f"memory.triad.gbps>={(low + high) / 2}"], 0, 4),
            (["gemm.bf16.tflops>=1"], 4, 4),
            (["memory.triad.gbps>=15", "gemm.bf16.tflops>=1"], 0, 4),
            (["memory.triad.gbps>=1000000", "gemm.bf16.tflops>=1"], 1, 1),
        ]
        for claims, usual, strict in rows:
            with self.subTest(claims=claims):
                options = [word for claim in claims for word in ("--claim", claim)]
                self.assert_exit(claimcheck("judge", file, *options), usual)
                self.assert_exit(claimcheck("judge", file, *options, "--strict"), strict)

    def test_a_missed_claim_says_by_how_much(self):
        done = self.assert_exit(claimcheck("judge", self.write(without_claims()), "--claim",
                                           "memory.triad.gbps>=1000000"), 1)
        self.assertIn("falls short by 999979 GB/s (99.9 %)", " ".join(done.stdout.split()))
        self.assertIn("VERDICT   Not as claimed: 1 of 1 claim is not met.", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_verdicts_of_the_json_are_valid(self):
        document = without_claims()
        file = self.write(document)
        result, = self.judged(file, "--claim", "memory.triad.gbps>=0.02 TB/s", "--claim", "gemm.fp32.tflops>5", code=1)
        met, missed = result["verdicts"]
        self.assertEqual((met["verdict"], missed["verdict"]), ("met", "not_met"))
        self.assertEqual(met["claim"]["value"], 20)
        self.assertEqual(met["claim"]["definition"]["note"], "0.02 TB/s = 20 GB/s")
        self.assertEqual(met["measurement_id"], "memory.triad")
        document["verdicts"] = result["verdicts"]
        self.assert_valid(document, "result")

    def test_claims_of_the_run_are_judged_again(self):
        result, = self.judged(EXAMPLE, "--claim", "memory.copy.gbps>=1", code=1)
        self.assertEqual([(v["claim"]["id"], v["verdict"]) for v in result["verdicts"]],
                         [("user:1", "met"), ("user:2", "not_met"), ("user:3", "not_measured"), ("user:4", "met")])

    def test_several_files_the_worst_counts(self):
        good = self.write(without_claims(), "good.json")
        slow = without_claims()
        slow["measurements"] = [m for m in slow["measurements"] if not m["metric"].startswith("memory.")]
        nothing = self.write(slow, "nothing.json")
        results = self.judged(good, nothing, "--claim", "memory.triad.gbps>=15", code=4)
        self.assertEqual([r["exit_code"] for r in results], [0, 4])
        self.assertEqual([r["file"] for r in results], [str(good), str(nothing)])
        self.judged(good, EXAMPLE, code=1)

    def test_as_another_instance(self):
        result, = self.judged(self.write(without_claims()), "--instance", "p5.48xlarge", code=1)
        verdicts = {v["claim"]["metric"]: v for v in result["verdicts"]}
        self.assertEqual(verdicts["identity.accelerator"]["verdict"], "contradicted")
        self.assertEqual(verdicts["identity.accelerator_count"]["attained"], 0)
        self.assertEqual(verdicts["gemm.bf16.tflops"]["verdict"], "not_measured")
        self.assertIn("only the CPU was measured", verdicts["gemm.bf16.tflops"]["reason"])

    def test_text_fits_a_hundred_columns(self):
        done = claimcheck("judge", EXAMPLE, "--instance", "aws:p5.48xlarge")
        for line in done.stdout.splitlines():
            self.assertLessEqual(len(line), 100, line)

    def test_nothing_to_judge_is_said(self):
        done = self.assert_exit(claimcheck("judge", self.write(without_claims())), 0)
        self.assertIn("Nothing to judge", done.stdout)
        self.assertIn("--claim", done.stdout)

    def test_bad_claims_are_refused_with_the_place(self):
        file = self.write(without_claims())
        rows = [
            ("memory.triat.gbps>=1", ["position 1", '"memory.triad.gbps"']),
            ("memory.triad.gbps", ["position 18", "expected an operator", "quote the claim"]),
            ("memory.triad.gbps>=fast", ["position 20", "expected a finite number, found 'fast'"]),
            ("memory.triad.gbps>=5 TFLOPS", ["position 22", "is in GB/s"]),
            ("memory.triad.gbps>=nan", ["expected a finite number"]),
            ("", ["position 1", "expected a metric"]),
        ]
        for claim, parts in rows:
            with self.subTest(claim=claim):
                self.assert_refused(claimcheck("judge", file, "--claim", claim), *parts)

    def test_an_unknown_instance_names_the_nearest(self):
        self.assert_refused(claimcheck("judge", EXAMPLE, "--instance", "aws:p5.48xlarg"), '"aws:p5.48xlarge"')

    def test_broken_files_are_one_sentence_with_file_and_place(self):
        text = EXAMPLE.read_text(encoding="utf-8")
        newer = load(EXAMPLE)
        newer["schema_version"] = "2.0"
        infinite = text.replace("21.334", "NaN", 1)
        self.assertNotEqual(infinite, text)
        not_ours = '{"hello": 1}'
        rows = {
            "truncated.json": (text[: len(text) // 2], ["truncated.json"]),
            "version.json": (newer, ["version.json", "2.0", "newer"]),
            "empty.json": ("", ["empty.json", "empty"]),
            "nan.json": (infinite, ["nan.json"]),
            "deep.json": ("[" * 100000, ["deep.json"]),
            "other.json": (not_ours, ["other.json", "schema_version"]),
            "text.json": ("hello", ["text.json"]),
        }
        for name, (content, parts) in rows.items():
            with self.subTest(name=name):
                self.assert_refused(claimcheck("judge", self.write(content, name)), *parts)
        self.assert_refused(claimcheck("judge", self.folder), str(self.folder), "directory")
        self.assert_refused(claimcheck("judge", self.folder / "none.json"), "none.json")

    def test_truncated_at_every_hundredth_byte(self):
        text = EXAMPLE.read_text(encoding="utf-8").rstrip()
        step = math.ceil(len(text) / 60)
        for length in range(1, len(text), step):
            with self.subTest(length=length):
                self.assert_refused(claimcheck("judge", self.write(text[:length])), "result.json")

    def test_what_a_stranger_wrote_does_not_steer_the_terminal(self):
        document = without_claims()
        document["measurements"] = [{**m, "status": "crashed", "reason": "boom \x1b[2J\x07"}
                                    for m in document["measurements"]]
        done = claimcheck("judge", self.write(document), "--claim", "memory.triad.gbps>=1")
        self.assertNotIn("\x1b", done.stdout)
        self.assertIn("crashed: boom", done.stdout)


if __name__ == "__main__":
    import unittest

    unittest.main()
