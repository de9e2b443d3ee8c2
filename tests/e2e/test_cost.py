"""`claimcheck cost`: instances, terms, results and the whole catalog."""
import json

from support import EXAMPLES, CommandTest, claimcheck, load, parse

EXAMPLE = EXAMPLES / "result-host.json"


class Cost(CommandTest):
    def priced(self, *arguments, code=0):
        done = self.assert_exit(claimcheck("cost", *arguments, "--json"), code)
        self.assertEqual(done.stderr, "")
        return parse(done.stdout)

    def row(self, cost, label, term):
        found = [r for r in cost["rows"] if r["label"] == label and r["term"] == term]
        self.assertEqual(len(found), 1, f"{label} {term}")
        return found[0]

    def test_one_instance(self):
        done = self.assert_exit(claimcheck("cost", "--instance", "aws:p4d.24xlarge"), 0)
        for fact in ("$21.957642", "us-east-1", "2026-07-20", "days old", "karpenter-provider-aws", "$2.744705",
                     "8 x NVIDIA A100", "reserved 1 y: no price is known"):
            self.assertIn(fact, done.stdout)
        instance = self.priced("--instance", "p4d.24xlarge")["instance"]
        on_demand = [p for p in instance["prices"] if p["term"] == "on_demand"]
        self.assertEqual([p["per_hour"] for p in on_demand], [21.957642])
        self.assertAlmostEqual(on_demand[0]["per_gpu_hour"], 21.957642 / 8)
        self.assertAlmostEqual(on_demand[0]["per_eflop"],
                               21.957642 / (instance["useful_tflops"] * 3600 / 1e6), places=9)
        self.assertEqual({p["term"] for p in instance["prices"]}, {"on_demand", "spot"})

    def test_fees_of_data_are_part_of_the_cost(self):
        plain = self.priced("--instance", "aws:p4d.24xlarge")["instance"]["prices"][0]
        cost = self.priced("--instance", "aws:p4d.24xlarge", "--storage", "20TB", "--egress", "5.1TB")
        row = cost["instance"]["prices"][0]
        # EBS gp3 at 0.08 a GB and month; 100 GB of egress are free, the first 10 TB cost 0.09.
        hourly = (20000 * 0.08 + 5000 * 0.09) / 730
        self.assertAlmostEqual(row["fees"]["per_hour"], hourly, places=9)
        self.assertEqual(row["per_hour"], plain["per_hour"])
        self.assertAlmostEqual(row["per_eflop"], plain["per_eflop"] * (1 + hourly / row["per_hour"]), places=9)
        self.assertGreater(cost["without_fees"], 0)
        self.assertTrue(all(r["rank"] is None for r in cost["rows"] if r["fees"]["missing"]))

    def test_options_that_would_do_nothing_are_refused(self):
        for arguments, fact in ((["--kwh-price", 0.1], "--kwh-price: expected a result file"),
                                (["--kwh-price", 0.1, EXAMPLE], "in no result was the power of all devices measured"),
                                (["--pue", 1.2], "--pue: expected a result file"),
                                (["--years", 3], "--years does nothing without --on-demand"),
                                (["--upfront", 100], "--upfront does nothing without --on-demand"),
                                (["--on-demand", 28, "--reserved", 12, EXAMPLE], "leave out FILE"),
                                (["--on-demand", 28, "--reserved", 12, "--years", "1e300"], "from 0.08"),
                                (["--egress-price", 1], "--egress-price does nothing without --egress"),
                                (["--storage", "20T"], "such as 20TB"),
                                (["--storage", "0TB"], "such as 20TB"),
                                (["--price", "1e308", "--instance", "p4d.24xlarge"], "no machine has such a price")):
            with self.subTest(arguments):
                self.assertIn(fact, self.assert_exit(claimcheck("cost", *arguments), 2).stderr)

    def test_a_price_per_gpu_without_gpus_is_not_ok(self):
        done = self.assert_exit(claimcheck("cost", EXAMPLE, "--price", "3/gpu-hour"), 4)
        self.assertIn("the number of GPUs is unknown", " ".join(done.stdout.split()))

    def test_reserved_against_on_demand(self):
        done = self.assert_exit(claimcheck("cost", "--on-demand", 28, "--reserved", 12, "--years", 3), 0)
        for fact in ("$735,840", "$315,360", "57.1 %", "42.9 %"):
            self.assertIn(fact, done.stdout)
        terms = self.priced("--on-demand", 28, "--reserved", 12, "--years", 3)["terms"]
        self.assertEqual((terms["on_demand_total"], terms["reserved_total"]), (735840, 315360))

    def test_the_catalog_is_ranked_and_marked(self):
        cost = self.priced("--top", 0)
        self.assertEqual(cost["data_type"], "bf16")
        ranked = [r for r in cost["rows"] if r["rank"] is not None]
        self.assertGreater(len(ranked), 100)
        self.assertEqual([r["rank"] for r in ranked], list(range(1, len(ranked) + 1)))
        per_eflop = [r["per_eflop"] for r in ranked]
        self.assertEqual(per_eflop, sorted(per_eflop))
        keys = [(r["label"], r["term"], r["currency"]) for r in cost["rows"]]
        self.assertEqual(len(keys), len(set(keys)), "one row a platform and term")
        for row in cost["rows"]:
            self.assertEqual(row["kind"], "estimate")
            self.assertAlmostEqual(row["per_eflop"], row["per_hour"] / (row["useful_tflops"] * 0.0036), places=6)
            self.assertIn("stale", row["price"])
            self.assertTrue(row["price"]["source"])
        self.assertEqual(len([r for r in self.priced()["rows"] if r["rank"]]), 25)

    def test_currencies(self):
        cost = self.priced("--top", 0)
        foreign = [r for r in cost["rows"] if not r["converted"]]
        self.assertTrue(foreign)
        self.assertEqual({(r["currency"], r["rank"]) for r in foreign}, {("CNY", None)})
        self.assertIn("pass --fx CNY=RATE", claimcheck("cost").stdout)
        ranked = {(r["label"], r["term"]): r for r in self.priced("--top", 0, "--fx", "CNY=7.1")["rows"]}
        for row in foreign:
            converted = ranked[(row["label"], row["term"])]
            self.assertIsNotNone(converted["rank"])
            self.assertAlmostEqual(converted["per_hour"], row["per_hour"] / 7.1)

    def test_a_measured_result(self):
        cost = self.priced(EXAMPLE)
        self.assertEqual(cost["data_type"], "fp32")
        row = self.row(cost, "this result", "quoted")
        self.assertEqual((row["kind"], row["per_hour"]), ("measured", 0.1))
        # 0.10 / (0.19455 TFLOPS x 0.0036)
        self.assertAlmostEqual(row["per_eflop"], 142.78, places=2)
        document = load(EXAMPLE)
        document["cost"] = cost
        self.assert_valid(document, "result")

    def test_price_of_the_command_line(self):
        per_node = self.row(self.priced(EXAMPLE, "--price", "0.2"), "this result", "quoted")
        self.assertAlmostEqual(per_node["per_eflop"], 2 * 142.78, delta=0.01)
        yuan = self.row(self.priced(EXAMPLE, "--price", "¥0.71", "--fx", "CNY=7.1"), "this result", "quoted")
        self.assertAlmostEqual(yuan["per_hour"], 0.1)
        per_gpu = self.priced(EXAMPLE, "--instance", "aws:p5.48xlarge", "--price", "2.49/gpu-hour")
        row = self.row(per_gpu, "this result", "quoted")
        self.assertAlmostEqual(row["per_hour"], 19.92)
        self.assertAlmostEqual(row["per_gpu_hour"], 2.49)

    def test_a_free_trial_is_priced_at_list_too(self):
        cost = self.priced(EXAMPLE, "--instance", "aws:p5.48xlarge", "--price", "0")
        self.assertEqual(self.row(cost, "this result", "quoted")["per_eflop"], 0)
        self.assertEqual(self.row(cost, "this result, at list price", "on_demand")["per_hour"], 55.04)

    def test_options_narrow_the_rows(self):
        for row in self.priced("--term", "spot", "--top", 0)["rows"]:
            self.assertEqual(row["term"], "spot")
        for row in self.priced("--provider", "aws", "--top", 0)["rows"]:
            self.assertTrue(row["label"].startswith("aws:"))
        self.assertEqual(self.priced("--dtype", "fp8")["data_type"], "fp8_e4m3")
        whole = self.row(self.priced("--top", 0, "--scaling", "1"), "aws:p4d.24xlarge", "on_demand")
        part = self.row(self.priced("--top", 0, "--scaling", "0.5"), "aws:p4d.24xlarge", "on_demand")
        self.assertAlmostEqual(part["per_eflop"], 2 * whole["per_eflop"])

    def test_text_fits_a_hundred_columns(self):
        for arguments in ([], ["--instance", "aws:p4d.24xlarge"], [EXAMPLE], ["--fx", "CNY=7.1", "--top", 0]):
            for line in claimcheck("cost", *arguments).stdout.splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_refusals(self):
        rows = [
            (["--instance", "aws:p4d.24xlarg"], ['"aws:p4d.24xlarge"', "--price"]),
            (["--price", "cheap", EXAMPLE], ["'cheap' is not an amount", "98.32"]),
            (["--price", "2.49/month", EXAMPLE], ["'month' is not a unit", "gpu-hour or node-hour"]),
            (["--price", "5"], ["--price needs something to price"]),
            (["--fx", "CNY"], ["CNY=7.1"]),
            (["--term", "weekly"], ["--term 'weekly'", "on_demand, spot, reserved_1y or reserved_3y"]),
            (["--currency", "yuan"], ["--currency 'yuan'", "ISO code"]),
            (["--dtype", "bf61"], ["data type 'bf61' is not known"]),
            (["--provider", "asw"], ["--provider 'asw'", "aws"]),
            (["--scaling", "1.5"], ["--scaling 1.5", "at most 1"]),
            (["--on-demand", "28"], ["--reserved"]),
            (["--on-demand", "28", "--reserved", "12/gpu-hour"], ["the same currency and unit"]),
            ([self.folder / "none.json"], ["none.json"]),
        ]
        for arguments, parts in rows:
            with self.subTest(arguments=arguments):
                self.assert_refused(claimcheck("cost", *arguments), *parts)

    def test_a_virtual_result_is_no_price(self):
        document = load(EXAMPLE)
        document["virtual"] = True
        path = self.folder / "virtual.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        self.assert_refused(claimcheck("cost", path), "virtual", "--allow-virtual")
        self.priced(path, "--allow-virtual")

    def test_a_result_without_a_matrix_multiply(self):
        document = load(EXAMPLE)
        document["measurements"] = [m for m in document["measurements"] if not m["metric"].startswith("gemm.")]
        path = self.folder / "memory-only.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        cost = self.priced(path, code=4)
        self.assertIn("no usable", cost["results"][0]["note"])


if __name__ == "__main__":
    import unittest

    unittest.main()
