"""`claimcheck advise`: its answer, exit codes, and what it refuses."""
import unittest

from support import CommandTest, claimcheck, parse

SEVEN = ("--params", "7B", "--tokens", "2e11")


class Advise(CommandTest):
    def advised(self, *arguments, code=0):
        done = self.assert_exit(claimcheck("advise", *arguments, "--json"), code)
        self.assertEqual(done.stderr, "")
        answer = parse(done.stdout)
        self.assert_valid(answer, "advise-answer")
        return answer

    def test_an_answer(self):
        answer = self.advised(*SEVEN, "--deadline", "30d", "--budget", "200000")
        best = answer["rows"][0]
        self.assertTrue(best["within_budget"])
        self.assertLessEqual(best["seconds"], 30 * 86400)
        self.assertEqual(best["money"], min(row["money"] for row in answer["rows"] if row["converted"]))
        self.assertGreater(len(answer["left_out"]), 10)
        self.assertEqual(answer["workload"]["state_bytes"], 16 * 7e9)

    def test_text(self):
        done = self.assert_exit(claimcheck("advise", *SEVEN, "--deadline", "30d", "--top", "3"), 0)
        for word in ("MODEL", "MEMORY", "ASKED", "rank", " cannot", " rules", "estimate"):
            self.assertIn(word, done.stdout)
        self.assertLessEqual(max(len(line) for line in done.stdout.splitlines()), 110)

    def test_what_cannot_be_done_is_exit_1(self):
        answer = self.advised("--params", "70e9", "--tokens", "1e12", "--deadline", "1d", "--provider", "aws", code=1)
        self.assertEqual(answer["rows"], [])
        self.advised("--params", "1e13", "--tokens", "1e12", code=1)
        self.advised(*SEVEN, "--currency", "EUR", "--budget", "1e12", code=4)  # no rate, so nothing is known
        done = self.assert_exit(claimcheck("advise", *SEVEN, "--budget", "1"), 1)
        self.assertIn("no machine looked at can do it", done.stdout)

    def test_a_table_for_other_money(self):
        answer = self.advised(*SEVEN, "--currency", "CNY", "--fx", "CNY=7.1", "--provider", "alibaba")
        self.assertEqual({row["currency"] for row in answer["rows"]}, {"CNY"})

    def test_bad_input_is_one_sentence(self):
        rows = [
            (("--params", "x", "--tokens", "1e9"), "--params 'x'"),
            (("--params", "7B", "--tokens", "0"), "--tokens '0'"),
            (("--params", "7B", "--tokens", "nan"), "--tokens 'nan'"),
            ((*SEVEN, "--deadline", "soon"), "--deadline"),
            ((*SEVEN, "--deadline", "-3d"), "--deadline"),
            ((*SEVEN, "--dtype", "fp12"), "bf16"),
            ((*SEVEN, "--layers", "3"), "--width"),
            ((*SEVEN, "--layers", "2", "--width", "128"), "far from --params"),
            (("--params", "7B", "--tokens", "2Q"), "--tokens '2Q'"),
            ((*SEVEN, "--deadline", ""), "--deadline"),
            ((*SEVEN, "--batch-tokens", "5"), "--batch-tokens"),
            ((*SEVEN, "--instance", "aws:p5.48xlarg"), "aws:p5.48xlarge"),
            ((*SEVEN, "--provider", "amazon"), "expected one of"),
            ((*SEVEN, "--price", "3"), "--result"),
            ((*SEVEN, "--term", "weekly"), "on_demand"),
            ((*SEVEN, "--result", "/no/such/file.json"), "/no/such/file.json"),
        ]
        for arguments, said in rows:
            with self.subTest(arguments):
                done = self.assert_exit(claimcheck("advise", *arguments), 2)
                self.assertEqual(done.stdout, "")
                self.assertIn(said, done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
