"""`claimcheck catalog claims`: the guides' statements with verdict, right value, and what decides them."""
import json
import unittest

from support import EXAMPLES, SOURCE, CommandTest, claimcheck, load, parse


class Statements(CommandTest):
    def answer(self, *arguments):
        done = self.assert_exit(claimcheck("catalog", "claims", *arguments, "--json"), 0)
        self.assertEqual(done.stderr, "")
        answer = parse(done.stdout)
        self.assert_valid(answer, "statements-answer")
        return answer

    def test_all_of_them(self):
        answer = self.answer()
        self.assertEqual(len(answer["statements"]), 142)
        self.assertEqual(sum(answer["counts"].values()), 142)

    def test_one_guide(self):
        answer = self.answer("--guide", "2")
        self.assertEqual({one["guide"] for one in answer["statements"]}, {"guide 2"})
        done = self.assert_exit(claimcheck("catalog", "claims", "--guide", "2"), 0)
        self.assertIn("57.1 %", done.stdout)
        self.assertIn("statements:", done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 104)

    def test_what_is_installed_judges_them(self):
        document = load(EXAMPLES / "result-host.json")
        document["system"]["container"] = "none"
        document["system"]["software_found"] = [
            {"name": name, "version": version, "where": "opt"}
            for name, version in (("cuda", "12.4.1"), ("cudnn", "9.1.0"), ("pytorch", "2.4.0"), ("docker", None))]
        document["system"]["startup"] = {"since": "boot", "up_seconds": 240.5, "first_benchmark_seconds": 240.5,
                                         "ready_seconds": None, "reason": "", "ready_reason": "no cloud-init tells"}
        self.assert_valid(document, "result")
        path = self.file("result.json", json.dumps(document))
        measured = {one["id"]: one["measured"] for one in self.answer("--result", path)["statements"] if one["measured"]}
        self.assertEqual(measured["G0-03"]["verdict"], "met")
        self.assertIn("PyTorch 2.4.0 is installed (opt)", measured["G0-03"]["text"])
        self.assertEqual(measured["G2-46"]["verdict"], "contradicted")
        self.assertIn("no NCCL is installed", measured["G2-46"]["text"])
        claims = {"identity.software.pytorch>=2.3": "met", "identity.software.pytorch>=2.10": "contradicted",
                  "identity.software.docker>=20": "not_measured",
                  "startup.boot_to_first_benchmark.seconds<=5 min": "met",
                  "startup.boot_to_ready.seconds<=5 min": "not_measured"}
        done = claimcheck("judge", path, "--json", *(word for claim in claims for word in ("--claim", claim)))
        judged = parse(self.assert_exit(done, 1).stdout)
        verdicts = {one["claim"]["source"].get("text"): one["verdict"] for one in judged["results"][0]["verdicts"]}
        self.assertEqual({claim: verdicts[claim] for claim in claims}, claims)

    def test_what_is_refused(self):
        for arguments, said in ((("--guide", "7"), "guides 0, 1 and 2"), (("--guide", "x"), "--guide"),
                                (("--result", "/no/such/file"), "/no/such/file")):
            done = self.assert_exit(claimcheck("catalog", "claims", *arguments), 2)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stdout, "")


class Coverage(CommandTest):
    def test_the_page_is_what_the_command_prints(self):
        done = self.assert_exit(claimcheck("catalog", "coverage"), 0)
        page = (SOURCE / "docs" / "coverage.md").read_text(encoding="utf-8")
        self.assertEqual(done.stdout, page, "claimcheck catalog coverage > docs/coverage.md makes it anew")

    def test_every_platform_and_system_has_a_row(self):
        coverage = parse(self.assert_exit(claimcheck("catalog", "coverage", "--json"), 0).stdout)
        self.assertEqual(len(coverage["platforms"]), 194)
        self.assertEqual(len(coverage["systems"]), 52)
        row = next(row for row in coverage["platforms"] if row["id"] == "aws:p5.48xlarge")
        self.assertEqual((row["measured"], row["gaps"]), ("own worker", []))
        self.assertGreaterEqual(row["statements"], 2)
        for row in coverage["platforms"]:
            self.assertEqual("price" in row["gaps"], not row["prices"]["terms"], row["id"])
        for system in coverage["systems"]:
            self.assertTrue(system["guides"], system)


if __name__ == "__main__":
    unittest.main()
