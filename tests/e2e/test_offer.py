"""--offer FILE: a seller's offer becomes claims, instance and price."""
import json
import unittest

from support import EXAMPLES, CommandTest, claimcheck, load, parse

OFFER = EXAMPLES / "offer.json"
RESULT = EXAMPLES / "result-host.json"


class Offers(CommandTest):
    def test_the_example_is_valid(self):
        self.assert_valid(load(OFFER), "offer")

    def test_judge(self):
        done = self.assert_exit(claimcheck("judge", RESULT, "--offer", OFFER, "--json"), 1)
        verdicts = {verdict["claim"]["metric"]: verdict["verdict"]
                    for verdict in parse(done.stdout)["results"][0]["verdicts"]
                    if verdict["claim"]["id"].startswith("user:")}
        # A machine without GPUs is not what this offer promises; what only GPUs could show stays open.
        self.assertEqual(verdicts["identity.accelerator_count"], "contradicted")
        self.assertEqual(verdicts["identity.accelerator"], "contradicted")
        self.assertEqual(verdicts["gemm.bf16.tflops"], "not_measured")
        self.assertEqual(verdicts["network.ib.gbps"], "not_measured")

    def test_an_option_wins_over_the_offer(self):
        offer = self.folder / "offer.json"
        offer.write_text(json.dumps({"price": 7, "currency": "USD", "claims": ["memory.copy.gbps>=0.001"]}))
        done = self.assert_exit(claimcheck("run", "--device", "host", "--dry-run", "--offer", offer, "--only",
                                           "memory.copy", "--price", "36", "--out", self.folder / "out"), 0)
        self.assertRegex(done.stdout, r"\$0\.0[1-9]")  # 1 cent a second at 36 dollars an hour; at 7 it would be 0.002

    def test_faults_are_one_sentence(self):
        offer = self.folder / "bad.json"
        for text, said in (('{"acelerator": "H100"}', "accelerator"), ("{", "bad.json"), ('{"claims": ["x>=1"]}', "x")):
            offer.write_text(text)
            for command in (("judge", RESULT), ("run", "--dry-run", "--device", "host")):
                done = self.assert_exit(claimcheck(*command, "--offer", offer), 2)
                self.assertIn(said, done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assert_exit(claimcheck("judge", RESULT, "--offer", self.folder / "none.json"), 2)


if __name__ == "__main__":
    unittest.main()
