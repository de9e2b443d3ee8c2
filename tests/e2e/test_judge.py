"""`claimcheck judge`: rows of arguments -> exit code and facts, and files that are broken in every way."""
import json
import math

from made_results import EXAMPLE, H100, measurement, p5, without_claims
from support import CommandTest, claimcheck, load, parse


class Judged(CommandTest):
    """A document judged as text and as JSON, and reported; all valid, no line too long."""

    def judged(self, document, *arguments):
        path = self.folder / "result.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        self.assert_valid(document, "result")
        self.text = claimcheck("judge", path, *arguments).stdout
        for line in self.text.splitlines():
            self.assertLessEqual(len(line), 100, line)
        result, = parse(claimcheck("judge", path, *arguments, "--json").stdout)["results"]
        self.findings = {finding["id"]: finding for finding in result["findings"]}
        self.verdicts = {verdict["claim"]["id"]: verdict for verdict in result["verdicts"]}
        self.report = claimcheck("report", path).stdout
        self.assert_valid(document | {"findings": result["findings"], "verdicts": result["verdicts"]}, "result")
        return {verdict["claim"]["metric"]: verdict for verdict in result["verdicts"]}


class Machine(Judged):
    """What measurements say about the machine: transports, slow devices, limits of links."""

    def test_sockets_between_nodes_that_promise_efa(self):
        reduce = measurement("allreduce/bytes:1073741824", "allreduce.busbw.gbps", "GB/s", 3.9,
                             conditions={"ranks": 16, "nodes": 2, "bytes": 1 << 30, "data_pattern": "normal"},
                             evidence={"group": {"transport": "P2P/CUMEM,NET/Socket", "network": "Socket",
                                                 "algorithm": "ring"}})
        verdict = self.judged(p5([reduce], nodes=2))["transport.network"]
        self.assertEqual((verdict["verdict"], verdict["attained"]), ("not_met", "TCP sockets"))
        self.assertIn("went over TCP sockets though aws:p5.48xlarge promises EFA", verdict["reason"])
        self.assertIn("reached 3.90 GB/s, of at most 400 GB/s on the promised links (0.97 %)", verdict["reason"])
        self.assertIn("aws-ofi-nccl", " ".join(verdict["diagnosis"]))
        self.assertIn("network between nodes", self.text)
        self.assertIn("min(NVLink 450, PCIe 8 x 63.0 = 504, network 32 x 12.5 = 400)", " ".join(self.report.split()))
        self.assertEqual(self.verdicts["platform:aws:p5.48xlarge:accelerator_count"]["verdict"], "met")

    def test_a_slow_gpu_is_found_once(self):
        slow = [794] * 3 + [556] + [794] * 4
        metrics = self.judged(p5([measurement("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", 556, slow),
                                  measurement("memory.triad", "memory.triad.gbps", "GB/s", 2970, [2970] * 8)]))
        self.assertEqual([name for name in self.findings if name.startswith("gpu.")], ["gpu.slow:3"])
        self.assertIn("30.0 % in gemm.bf16 (556 instead of 794 TFLOPS)", self.findings["gpu.slow:3"]["text"])
        self.assertIn("GPU 3 is slower than its peers", " ".join(self.text.split()))
        self.assertIn("GPU 3 is slower than its peers", " ".join(self.report.split()))
        self.assertEqual(metrics["transport.network"]["verdict"], "not_measured")

    def test_a_gpu_that_did_not_start(self):
        document = p5([measurement("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", 794, [794] * 7)], gpus=7)
        document["system"]["software"]["worker"] = {"left_out": "GPU 3: CUDA: uncorrectable ECC error"}
        metrics = self.judged(document, "--claim", "gemm.bf16.tflops>=700")
        self.assertEqual(metrics["identity.accelerator_count"]["verdict"], "contradicted")
        self.assertIn("7 of 8 GPUs work", metrics["identity.accelerator_count"]["reason"])
        self.assertEqual(self.verdicts["user:1"]["verdict"], "not_measured")
        self.assertIn("uncorrectable ECC error", self.findings["gpu.left_out:3"]["text"])

    def test_one_claim_of_each_kind(self):
        triad = measurement("memory.triad", "memory.triad.gbps", "GB/s", 2900, [2900] * 8)
        triad["statistics"] |= {"min": 2850, "max": 2950, "cv": 0.013, "ci95": [2850, 2950],
                                "samples": [2850, 2870, 2890, 2910, 2930, 2950]}
        document = p5([measurement("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", 794, [794] * 8), triad,
                       measurement("memory.read", "memory.read.gbps", "GB/s", 5000, [5000] * 8)])
        for device in document["system"]["devices"]:  # 2 x 2619 MHz x 5120 bit / 8 = 3352 GB/s
            device["facts"] = {"max_memory_clock_mhz": 2619, "memory_bus_bits": 5120}
        rows = [("gemm.bf16.tflops>=700", "met", "113.4 %"),
                ("gemm.bf16.tflops>=1979", "not_met", "sparse figure"),
                ("memory.triad.gbps>=2900", "inconclusive", "straddles"),
                ("allgather.busbw.gbps>=300", "not_measured", "no measurement"),
                ("memory.read.gbps>=3000", "implausible", "3352"),
                ("identity.accelerator_count==4", "contradicted", "8 here; 4 sold"),
                ("gemm.bf16.tflops>=7912", "not_met", "8 devices together"),
                ("memory.triad.gbps>=3350 GiB/s", "not_met", "binary unit")]
        self.judged(document, *(part for claim, _, _ in rows for part in ("--claim", claim)))
        for number, (claim, kind, said) in enumerate(rows, 1):
            verdict = self.verdicts[f"user:{number}"]
            with self.subTest(claim):
                self.assertEqual(verdict["verdict"], kind)
                self.assertIn(said, " ".join([verdict["reason"], *verdict["diagnosis"]]))

    def test_mfu_is_a_claim_and_a_line(self):
        step = measurement("training/1.3b", "training.tflops", "TFLOPS", 494.5, [494.5] * 8,
                           conditions={"data_type": "bf16", "ranks": 8, "data_pattern": "normal"})
        metrics = self.judged(p5([step]), "--claim", "training.mfu>=40 %", "--claim", "training.mfu>=0.6")
        self.assertEqual(self.verdicts["user:1"]["verdict"], "met")
        self.assertAlmostEqual(self.verdicts["user:1"]["attained"], 0.5)
        self.assertEqual(metrics["training.mfu"]["verdict"], "not_met")
        self.assertIn("= training.tflops / 989 TFLOPS", self.report)


class Meaning(Judged):
    """A claim that is marketing told apart from a machine that is sick, in the text, the JSON and the report."""

    def claimed(self, tflops, claim="gemm.bf16.tflops>=989"):
        document = p5([measurement("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", tflops, [tflops] * 8)])
        self.judged(document, "--claim", claim)
        return self.verdicts["user:1"]["meaning"]

    def test_marketing(self):
        meaning = self.claimed(794)
        self.assertEqual(meaning["kind"], "claim_too_high")
        self.assertAlmostEqual(meaning["of_claim"], 794 / 989)
        self.assertIn("80.3 % of the claim", " ".join(self.text.split()))
        self.assertIn("The claim is marketing, the machine is not sick", " ".join(self.text.split()))

    def test_a_sick_machine(self):
        self.assertEqual(self.claimed(600)["kind"], "slow_and_too_high")
        self.assertEqual(self.claimed(600, "gemm.bf16.tflops>=700")["kind"], "machine_slow")
        self.assertIn("MEANS     ", self.text)
        self.assertIn("This machine is sick", " ".join(self.text.split()))

    def test_the_report_of_a_judged_result_says_it(self):
        document = p5([measurement("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", 794, [794] * 8)])
        path = self.folder / "result.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        answer, = parse(claimcheck("judge", path, "--claim", "gemm.bf16.tflops>=989", "--json").stdout)["results"]
        self.assertIn("marketing", answer["meaning"])
        path.write_text(json.dumps(document | {"verdicts": answer["verdicts"]}), encoding="utf-8")
        self.assertIn("MEANS     ", claimcheck("report", path).stdout)

    def test_claims_of_the_catalog_are_printed(self):
        done = self.assert_exit(claimcheck("catalog", "claims", "--of", "p5.48xlarge", "--json"), 0)
        claims = {claim["id"]: claim for claim in parse(done.stdout)["claims"]}
        link = claims["data_sheet:nvidia-h100-sxm-80:p2p.read.gbps"]
        self.assertEqual((link["value"], link["unit"], link["definition"]["direction"]), (900, "GB/s", "both"))
        text = self.assert_exit(claimcheck("catalog", "claims", "--of", "H100 SXM"), 0).stdout
        self.assertIn("both directions, per device", " ".join(text.split()))
        for line in text.splitlines():
            self.assertLessEqual(len(line), 100, line)
        self.assert_refused(claimcheck("catalog", "claims", "--of", "p5.48xlarg"), '"aws:p5.48xlarge"')


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
            ("allreduce.busbw.gbps[bytes=4M]>=1", ["position 28", "bytes=4194304 or bytes=4MiB"]),
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
