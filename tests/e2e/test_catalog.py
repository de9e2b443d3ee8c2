"""claimcheck catalog: counts, one price to the last digit, documents against their schemas, and exit codes."""
import csv
import json
import shutil
import unicodedata
import unittest

from support import SOURCE, CommandTest, claimcheck, load, parse

CATALOG = SOURCE / "catalog"
SCHEMA_OF = {"sources.json": "catalog-sources", "currencies.json": "catalog-currencies", "fees.json": "catalog-fees",
             "rules.json": "catalog-rules",
             "claims/guides.json": "catalog-claims", "claims/contradictions.json": "catalog-contradictions",
             "claims/systems.json": "catalog-systems"}


def schema_of(path):
    name = path.relative_to(CATALOG).as_posix()
    return SCHEMA_OF.get(name) or f"catalog-{name.split('/')[0]}"


def columns(line):
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    return len(line) + wide


class Data(CommandTest):
    def test_every_document_is_valid(self):
        files = sorted(CATALOG.rglob("*.json"))
        self.assertGreater(len(files), 20)
        for path in files:
            with self.subTest(path.name):
                self.assert_valid(load(path), schema_of(path))

    def test_counts_in_the_files(self):
        def count(folder, key):
            return sum(len(load(path)[key]) for path in (CATALOG / folder).glob("*.json"))

        self.assertEqual(count("accelerators", "accelerators"), 45)
        self.assertEqual(count("platforms", "platforms"), 194)
        rows = [row for path in (CATALOG / "prices").glob("*.csv")
                for row in csv.DictReader(path.open(encoding="utf-8", newline=""))]
        self.assertEqual(len(rows), 582)
        self.assertEqual(sum(row["per_hour"] != "" for row in rows), 540)
        self.assertEqual(len(load(CATALOG / "claims/guides.json")["claims"]), 142)
        self.assertEqual(len(load(CATALOG / "claims/contradictions.json")["contradictions"]), 25)
        self.assertEqual(len(load(CATALOG / "claims/systems.json")["systems"]), 52)
        rules = load(CATALOG / "rules.json")
        self.assertEqual([len(rules[key]) for key in ("formulas", "decision_rules")], [11, 18])
        self.assertEqual(len(load(CATALOG / "expected/measured.json")["expected"]), 62)

    def test_no_private_paths(self):
        for path in [*CATALOG.rglob("*.json"), *CATALOG.rglob("*.csv")]:
            text = path.read_text(encoding="utf-8")
            for part in ("/work", "/root", "/tmp", ".txt"):
                self.assertNotIn(part, text, path)


class List(CommandTest):
    def test_counts(self):
        answer = parse(self.assert_exit(claimcheck("catalog", "list", "--json"), 0).stdout)
        self.assert_valid(answer, "catalog-answer")
        counts = answer["counts"]
        self.assertEqual([counts[key] for key in ("accelerators", "platforms", "prices", "claims")], [45, 194, 582, 142])
        self.assertEqual(sum(row["platforms"] for row in answer["providers"]), 194)
        self.assertEqual(sum(row["prices"] for row in answer["providers"]), 582)

    def test_every_kind(self):
        for kind, count in (("accelerators", 45), ("platforms", 194), ("prices", 582), ("claims", 142), ("expected", None)):
            with self.subTest(kind):
                answer = parse(self.assert_exit(claimcheck("catalog", "list", kind, "--json"), 0).stdout)
                self.assert_valid(answer, "catalog-answer")
                self.assertEqual(answer["kind"], f"catalog.{kind}")
                if count is not None:
                    self.assertEqual(len(answer["rows"]), count)
                for row in answer["rows"]:
                    self.assertLessEqual(set(row["source"]), set(answer["sources"]))

    def test_one_provider(self):
        answer = parse(claimcheck("catalog", "list", "platforms", "--provider", "azure", "--json").stdout)
        self.assertEqual({row["provider"] for row in answer["rows"]}, {"azure"})
        self.assertEqual(len(answer["rows"]), 20)
        prices = parse(claimcheck("catalog", "list", "prices", "--provider", "tencent", "--json").stdout)
        self.assertEqual(len(prices["rows"]), 14)
        cards = parse(claimcheck("catalog", "list", "accelerators", "--provider", "tencent", "--json").stdout)
        self.assertEqual({row["id"] for row in cards["rows"]},
                         {"nvidia-a100-sxm-40", "nvidia-v100-sxm2-32", "nvidia-t4", "nvidia-a10"})

    def test_text_fits(self):
        for arguments in ([], ["accelerators"], ["platforms"], ["prices"], ["expected"], ["claims"]):
            done = self.assert_exit(claimcheck("catalog", "list", *arguments), 0)
            self.assertLessEqual(max(map(columns, done.stdout.splitlines())), 100, arguments)
            self.assertNotIn("\x1b", done.stdout)
            self.assertEqual(done.stderr, "")

    def test_unknown_words(self):
        self.assert_refused(claimcheck("catalog", "list", "platform"), 'no "platform"', '"platforms"')
        self.assert_refused(claimcheck("catalog", "list", "--provider", "azur"), 'no provider "azur"', '"azure"')


class Show(CommandTest):
    def test_a_price_with_its_date_and_source(self):
        answer = parse(self.assert_exit(claimcheck("catalog", "show", "p4d.24xlarge", "--json"), 0).stdout)
        self.assert_valid(answer, "catalog-answer")
        self.assertEqual(answer["platform"]["id"], "aws:p4d.24xlarge")
        newest = answer["prices"][0]
        self.assertEqual((newest["term"], newest["region"], newest["per_hour"], newest["as_of"], newest["currency"]),
                         ("on_demand", "us-east-1", 21.957642, "2026-07-20", "USD"))
        self.assertEqual(newest["source"], ["karp-aws-price"])
        self.assertEqual(answer["sources"]["karp-aws-price"]["date"], "2026-07-20")
        self.assertIn("karpenter-provider-aws", answer["sources"]["karp-aws-price"]["title"])
        self.assertIn("G0-08", {claim["id"] for claim in answer["guide_statements"]})
        text = claimcheck("catalog", "show", "p4d.24xlarge").stdout
        self.assertRegex(text, r"on demand +us-east-1 +21\.957642 USD +node of 8 +2026-07-20 +\d+ d.* karp-aws-price")

    def test_stale_and_undated_are_said(self):
        rows = parse(claimcheck("catalog", "show", "p4d.24xlarge", "--json").stdout)["prices"]
        for row in rows:
            if row["as_of"] is None:
                self.assertIsNone(row["age_days"])
                self.assertIsNone(row["stale"])
            else:
                self.assertEqual(row["stale"], row["age_days"] > 90)
        old = next(row for row in rows if row["as_of"] == "2025-05")
        self.assertTrue(old["stale"])
        text = claimcheck("catalog", "show", "p4d.24xlarge").stdout
        self.assertIn("stale", text)
        self.assertIn("undated", text)

    def test_other_spellings(self):
        for name, key, expected in (("aws:p5.48xlarge", "platform", "aws:p5.48xlarge"),
                                    ("nd96isr h100 v5", "platform", "azure:Standard_ND96isr_H100_v5"),
                                    ("H100 SXM", "accelerator", "nvidia-h100-sxm-80"),
                                    ("Tesla T4", "accelerator", "nvidia-t4"),
                                    ("TPU v4", "accelerator", "google-tpu-v4")):
            answer = parse(self.assert_exit(claimcheck("catalog", "show", name, "--json"), 0).stdout)
            self.assert_valid(answer, "catalog-answer")
            self.assertEqual(answer["kind"], f"catalog.{key}", name)
            self.assertEqual(answer[key]["id"], expected, name)

    def test_every_row_can_be_shown(self):
        for kind in ("platforms", "accelerators"):
            ids = [row["id"] for row in parse(claimcheck("catalog", "list", kind, "--json").stdout)["rows"]]
            for name in ids[::7]:
                done = self.assert_exit(claimcheck("catalog", "show", name), 0)
                self.assertIn(name, done.stdout)
                self.assertLessEqual(max(map(columns, done.stdout.splitlines())), 100, name)
                self.assert_valid(parse(claimcheck("catalog", "show", name, "--json").stdout), "catalog-answer")

    def test_unknown_and_ambiguous_names(self):
        self.assert_refused(claimcheck("catalog", "show", "p5.48xlrage"), '"p5.48xlrage"', '"aws:p5.48xlarge"')
        self.assert_refused(claimcheck("catalog", "show", "A100"), "may mean", '"nvidia-a100-sxm-80"', '"nvidia-a100-pcie-40"')
        self.assert_refused(claimcheck("catalog", "show", "qqqqqqqq"), "catalog list platforms")
        self.assert_exit(claimcheck("catalog", "show"), 2)


class Check(CommandTest):
    def copy(self):
        folder = self.folder / "catalog"
        shutil.copytree(CATALOG, folder)
        return folder

    def checked(self, folder, code):
        done = self.assert_exit(claimcheck("catalog", "check", "--catalog", folder, "--json"), code)
        answer = parse(done.stdout)
        self.assert_valid(answer, "catalog-answer")
        return answer

    def test_the_shipped_catalog_passes_and_lists_disputes(self):
        done = self.assert_exit(claimcheck("catalog", "check"), 0)
        self.assertRegex(done.stdout.splitlines()[-1], r"^0 refused, \d+ disputed$")
        self.assertIn("disputed claims/contradictions.json", done.stdout)
        self.assertLessEqual(max(map(columns, done.stdout.splitlines())), 100)

    def test_a_copy_is_the_same(self):
        answer = self.checked(self.copy(), 0)
        self.assertEqual(answer, parse(claimcheck("catalog", "check", "--json").stdout))
        self.assertEqual(answer["refused"], [])

    def test_a_broken_line_is_refused_with_its_place(self):
        folder = self.copy()
        prices = folder / "prices/aws.csv"
        lines = prices.read_text(encoding="utf-8").splitlines(keepends=True)
        wrong = next(i for i, line in enumerate(lines) if line.startswith("p4d.24xlarge,us-east-1,on_demand,21.957642"))
        lines[wrong] = lines[wrong].replace("21.957642", "6.4")
        prices.write_text("".join(lines), encoding="utf-8")
        refused = self.checked(folder, 2)["refused"]
        self.assertEqual([(row["file"], row["place"]) for row in refused], [("prices/aws.csv", f"line {wrong + 1}")])
        self.assertIn("below its peers", refused[0]["text"])
        self.assert_exit(claimcheck("catalog", "check", "--catalog", folder), 2)

    def test_each_kind_of_file_is_checked(self):
        def change(name, pointer, value):
            folder = self.copy()
            path = folder / name
            document = load(path)
            *parents, last = pointer
            target = document
            for key in parents:
                target = target[key]
            target[last] = value
            path.write_text(json.dumps(document), encoding="utf-8")
            answer = self.checked(folder, 2)
            shutil.rmtree(folder)
            self.assertIn(name, {row["file"] for row in answer["refused"]}, name)
            return " ".join(row["text"] for row in answer["refused"])

        self.assertIn("no source", change("accelerators/amd.json", ("accelerators", 0, "source"), []))
        self.assertIn("unknown accelerator", change("platforms/gcp.json", ("platforms", 0, "accelerator"), "nvidia-a99"))
        self.assertIn("floor < typical", change("expected/memory.json", ("expected", 0, "floor"), 1e6))
        self.assertIn("unknown unit", change("expected/links.json", ("expected", 0, "unit"), "GBytes/s"))
        self.assertIn("unknown \"fine\"", change("claims/guides.json", ("claims", 0, "verdict"), "fine"))
        self.assertIn("unknown \"huge\"", change("claims/contradictions.json", ("contradictions", 0, "severity"), "huge"))
        self.assertIn("no source", change("rules.json", ("formulas", 0, "source"), []))
        self.assertIn("no date", change("sources.json", ("sources", 0, "undated"), False))
        self.assertIn("a rate above 0", change("currencies.json", ("currencies", 0, "per_usd"), 0))

    def test_commands_refuse_a_broken_catalog_in_one_sentence(self):
        folder = self.copy()
        (folder / "platforms/aws.json").write_text('{"schema_version": "1.0",\n "platforms": [{]}', encoding="utf-8")
        self.assert_refused(claimcheck("catalog", "list", "--catalog", folder), "platforms/aws.json, line 2", "not valid JSON")
        answer = self.checked(folder, 2)
        self.assertIn(("platforms/aws.json", "line 2"), [(row["file"], row["place"]) for row in answer["refused"]])

    def test_no_catalog_there(self):
        self.assert_refused(claimcheck("catalog", "check", "--catalog", self.folder / "none"), "no such directory")
        self.assert_refused(claimcheck("catalog", "check", "--catalog", self.folder), "holds no catalog")


if __name__ == "__main__":
    unittest.main()
