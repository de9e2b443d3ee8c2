"""`claimcheck catalog claims`: the guides' statements with verdict, right value, and what decides them."""
import unittest

from support import CommandTest, claimcheck, parse


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

    def test_what_is_refused(self):
        for arguments, said in ((("--guide", "7"), "guides 0, 1 and 2"), (("--guide", "x"), "--guide"),
                                (("--result", "/no/such/file"), "/no/such/file")):
            done = self.assert_exit(claimcheck("catalog", "claims", *arguments), 2)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
