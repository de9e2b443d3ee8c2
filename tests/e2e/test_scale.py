"""`claimcheck scale`: from the catalog, from results of one and of several nodes; what it refuses."""
import json

from support import EXAMPLES, CommandTest, claimcheck, load, parse

EXAMPLE = EXAMPLES / "result-host.json"
P5 = ("--instance", "aws:p5.48xlarge")


def all_reduce(template, nodes, ranks, size, seconds, algorithm=None):
    """A measurement of the example as if `ranks` on `nodes` had taken so many seconds."""
    made = json.loads(json.dumps(template))
    value = 2 * (ranks - 1) / ranks * size / seconds / 1e9
    made.update(id=f"allreduce/bytes:{size}", value=value)
    made["statistics"] = {"median": value, "min": value, "max": value, "cv": 0, "ci95": [value, value],
                          "samples": [value] * 6}
    made["conditions"].update(ranks=ranks, bytes=size, nodes=nodes)
    if algorithm:
        made["evidence"] = {"group": {"algorithm": algorithm}}
    return made


class Scale(CommandTest):
    def predicted(self, *arguments, code=0):
        done = self.assert_exit(claimcheck("scale", *arguments, "--json"), code)
        self.assertEqual(done.stderr, "")
        answer = parse(done.stdout)
        self.assert_valid(answer, "scale-answer")
        return answer

    def gpu_result(self, curves, name="gpus.json", **changes):
        """The example with other curves: {nodes: (ranks, alpha seconds, bytes a second)}."""
        document = load(EXAMPLE)
        template = next(m for m in document["measurements"] if m["metric"] == "allreduce.busbw.gbps")
        document["measurements"] = [
            all_reduce(template, nodes, ranks, size, alpha + size / rate)
            for nodes, (ranks, alpha, rate) in curves.items() for size in (2**20, 2**26, 2**30)]
        document["run"]["worker"]["kind"] = "cuda"
        document.update(changes)
        path = self.folder / name
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    def test_an_instance_of_the_catalog(self):
        answer = self.predicted(*P5, "--nodes", "1,8,64,512")
        self.assertTrue(answer["estimate"])
        self.assertFalse(answer["virtual"])
        self.assertEqual(answer["machine"]["gpus_per_node"], 8)
        self.assertEqual({row["gpus"] for row in answer["allreduce"]}, {8, 64, 512, 4096})
        self.assertTrue(all(fact["estimate"] for fact in answer["facts"]))
        for row in answer["allreduce"]:
            own = [c for c in row["candidates"] if c["algorithm"] != "two_level"]
            self.assertEqual(row["seconds"], min(c["seconds"] for c in own))
            factor = 2 * (row["gpus"] - 1) / row["gpus"]
            self.assertAlmostEqual(row["busbw_gbps"], factor * row["bytes"] / row["seconds"] / 1e9)
        weak = answer["training"]["weak"]
        efficiencies = [row["efficiency"] for row in weak]
        self.assertEqual(efficiencies, sorted(efficiencies, reverse=True))
        for row in weak + answer["training"]["strong"]:
            self.assertAlmostEqual(row["step_seconds"], row["compute_seconds"] + row["exposed_seconds"])
            self.assertLessEqual(row["exposed_seconds"], row["allreduce_seconds"] * 1.001)

    def test_the_text(self):
        done = self.assert_exit(claimcheck("scale", *P5), 0)
        for fact in ("aws:p5.48xlarge, 8 x NVIDIA H100 SXM5 80GB a node", "*estimate*", "3200 Gb/s EFA", "4096",
                     "nvls_tree Simple, network limits", "TRAINING", "weak", "strong"):
            self.assertIn(fact, done.stdout)
        for arguments in (P5, (*P5, "--model", "13B", "--nodes", "1,65536"), ("--result", EXAMPLE)):
            for line in claimcheck("scale", *arguments).stdout.splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_a_measured_cpu(self):
        answer = self.predicted("--result", EXAMPLE)
        self.assertEqual(answer["machine"]["inside"], "memory")
        self.assertEqual({row["algorithm"] for row in answer["allreduce"]}, {"measured"})
        self.assertEqual([row["nodes"] for row in answer["training"]["weak"]], [1])
        self.assertTrue(any("--network" in note for note in answer["notes"]))
        fit = answer["fits"][0]
        self.assertEqual((fit["nodes"], fit["ranks"]), (1, 2))
        more = self.predicted("--result", EXAMPLE, "--network", "25", "--nodes", "1,4")
        self.assertEqual([row["gpus"] for row in more["training"]["weak"]], [2, 8])

    def test_a_measured_node_of_gpus(self):
        path = self.gpu_result({1: (8, 40e-6, 250e9)})
        answer = self.predicted("--result", path, *P5, "--nodes", "1,2")
        self.assertAlmostEqual(answer["fits"][0]["alpha_us"], 40, places=4)
        self.assertAlmostEqual(answer["fits"][0]["beta_gbps"], 250, places=4)
        self.assertLess(answer["fits"][0]["rms_residual"], 1e-6)
        self.assertEqual([f["estimate"] for f in answer["facts"] if f["name"].startswith("all-reduce in the switch")],
                         [False])
        two = [row for row in answer["allreduce"] if row["nodes"] == 2]
        self.assertTrue(all(row["algorithm"] != "measured" for row in two))

    def test_several_measured_nodes(self):
        path = self.gpu_result({1: (8, 40e-6, 250e9), 2: (16, 200e-6, 100e9)})
        answer = self.predicted("--result", path, *P5, "--nodes", "2,4")
        self.assertEqual([fit["nodes"] for fit in answer["fits"]], [1, 2])
        network = next(f for f in answer["facts"] if f["name"].startswith("network"))
        self.assertFalse(network["estimate"])
        self.assertAlmostEqual(network["value"], 100, places=3)
        large = {row["nodes"]: row for row in answer["allreduce"] if row["bytes"] == 8 * 2**30}
        self.assertEqual(large[2]["algorithm"], "measured")
        # Four nodes over the same network: what two of them carried, in a ring
        self.assertAlmostEqual(large[4]["busbw_gbps"], 100, delta=3)
        self.assertTrue(large[4]["network_limits"])

    def test_ranks_that_fit_no_node_are_left_out(self):
        path = self.gpu_result({1: (8, 40e-6, 250e9), 3: (16, 1e-3, 1e9)})
        answer = self.predicted("--result", path, *P5, "--nodes", "1")
        self.assertEqual(len(answer["fits"]), 1)
        self.assertTrue(any("16 ranks on 3 nodes is left out" in note for note in answer["notes"]))

    def test_options_of_training(self):
        plain = self.predicted(*P5, "--nodes", "8")["training"]
        after = self.predicted(*P5, "--nodes", "8", "--no-overlap")["training"]
        self.assertAlmostEqual(after["weak"][0]["exposed_seconds"], plain["weak"][0]["allreduce_seconds"])
        wide = self.predicted(*P5, "--nodes", "8", "--gradient-bytes", "4")["training"]
        self.assertEqual(wide["gradient_bytes"], 2 * plain["gradient_bytes"])
        own = self.predicted(*P5, "--nodes", "8", "--model", "3B", "--sequence", "4096")["training"]
        self.assertEqual(own["flops_per_token"], 18e9)
        few = self.predicted(*P5, "--nodes", "1,8", "--global-batch", "32")
        self.assertIsNone(few["training"]["strong"][1]["step_seconds"])
        self.assertTrue(any("--global-batch" in note for note in few["notes"]))
        half = self.predicted(*P5, "--nodes", "1", "--gpus-per-node", "4")
        self.assertEqual(half["training"]["weak"][0]["gpus"], 4)
        one = self.predicted(*P5, "--nodes", "1", "--gpus-per-node", "1")
        self.assertEqual((one["allreduce"], one["training"]["weak"][0]["efficiency"]), ([], 1))

    def test_what_was_asked_for_and_is_not_known(self):
        path = self.gpu_result({1: (8, 40e-6, 250e9)}, platform=load(EXAMPLE)["platform"] | {"instance": None},
                               system=load(EXAMPLE)["system"] | {"devices": []})
        self.assertIsNone(self.predicted("--result", path)["training"])
        self.predicted("--result", path, "--model", "1.3B", code=4)
        empty = self.gpu_result({}, "empty.json")
        self.assert_refused(claimcheck("scale", "--result", empty, "--gpus-per-node", "4"), "nothing is known",
                            "allreduce*", code=4)

    def test_refusals(self):
        rows = [
            ([], ["--result FILE", "--instance ID", "aws:p5.48xlarge"]),
            (["--instance", "aws:p5.48xlarg"], ['"aws:p5.48xlarge"']),
            ([*P5, "--nodes", "1,two"], ["'two' is not a number of nodes", "1,8,64,512"]),
            ([*P5, "--nodes", "0"], ["'0' is not a number of nodes"]),
            ([*P5, "--bytes", "1 apple"], ["'1 apple' is not a message size", "8GiB"]),
            ([*P5, "--model", "1.3G"], ['did you mean "1.3B"?', "125M"]),
            ([*P5, "--batch", "0"], ["--batch 0", "at least one sequence"]),
            ([*P5, "--global-batch", "0"], ["--global-batch 0"]),
            ([*P5, "--gpus-per-node", "0"], ["--gpus-per-node 0", "from 1 to 1024"]),
            ([*P5, "--network", "-5"], ["--network -5", "3200"]),
            ([*P5, "--step-share", "1.5"], ["--step-share 1.5", "at most 1"]),
            ([*P5, "--bucket", "0"], ["--bucket 0"]),
            ([*P5, "--gradient-bytes", "nan"], ["--gradient-bytes nan"]),
            ([*P5, "--gradient-bytes", "3"], ["--gradient-bytes 3: expected 2 (bf16) or 4 (fp32)"]),
            (["--instance", "gcp:a4-highgpu-8g", "--nodes", "2"], ["--network GBITS", "--nodes 1"]),
            (["--result", self.folder / "none.json"], ["none.json"]),
        ]
        for arguments, parts in rows:
            with self.subTest(arguments=arguments):
                self.assert_refused(claimcheck("scale", *arguments), *parts)

    def test_a_virtual_result_predicts_nothing_real(self):
        path = self.gpu_result({1: (8, 40e-6, 250e9)}, virtual=True)
        self.assert_refused(claimcheck("scale", "--result", path, *P5), "virtual", "--allow-virtual")
        self.assertTrue(self.predicted("--result", path, *P5, "--allow-virtual")["virtual"])
        self.assertIn("VIRTUAL", claimcheck("scale", "--result", path, *P5, "--allow-virtual").stdout)


if __name__ == "__main__":
    import unittest

    unittest.main()
