"""claimcheck import as a user calls it: what it takes, what it refuses and how, how much memory large logs need."""
import json
import subprocess
import sys
import unittest

from support import CommandTest, claimcheck, load, parse, program

RANKS = "".join(f"#  Rank  {rank} Group  0 Pid   8123 on     node-a device  {rank} [0x{rank + 16:02x}] NVIDIA H100 80GB HBM3\n"
                for rank in range(8))
HEADER = "# nThread 1 nGpus 8 minBytes 1048576 maxBytes {most} step: 2(factor) warmup iters: 5 iters: 20 validation: 1\n#\n# Using devices\n"
COLUMNS = """#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""


def row(size, microseconds, wrong=0):
    """All-reduce of 8 ranks: busbw = algbw x 2 x 7 / 8."""
    half = f"{microseconds:10.1f} {size / microseconds / 1e3:7.2f} {size / microseconds / 1e3 * 1.75:7.2f} {wrong:6d}"
    return f"{size:12d} {size // 4:13d}     float     sum      -1 {half} {half}\n"


def nccl_log(rows=((1 << 30, 4000.0), (1 << 33, 31200.0)), end="# Out of bounds values : 0 OK\n", wrong=0):
    return (HEADER.format(most=rows[-1][0]) + RANKS + COLUMNS + "".join(row(*one, wrong) for one in rows) + end)


STREAM = """STREAM version $Revision: 5.10 $
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:          120000.0     0.013500     0.013333     0.013800
Scale:         118000.0     0.013700     0.013560     0.014000
Add:           125000.0     0.019500     0.019200     0.019900
Triad:         126000.0     0.019400     0.019048     0.019800
Solution Validates: avg error less than 1.000000e-13 on all three arrays
"""


class Import(CommandTest):
    def imported(self, *arguments, code=0, **options):
        output = self.folder / "result.json"
        done = self.assert_exit(claimcheck("import", *arguments, "--output", output, **options), code)
        return load(output), done

    @staticmethod
    def values(document):
        return {(one["metric"], one["id"]): one["value"] for one in document["measurements"]}

    def test_a_log_its_tool_named_or_not_and_standard_input(self):
        log = self.file("nccl.log", nccl_log())
        document, done = self.imported(log)
        self.assert_valid(document, "result")
        self.assertEqual(done.stdout, "")
        values = self.values(document)
        self.assertEqual(values["allreduce.busbw.gbps", "allreduce/bytes:8589934592"], 481.81)
        self.assertAlmostEqual(values["allreduce.algbw.gbps", "allreduce/bytes:8589934592"], 8589934592 / 31200 / 1e3, 6)
        self.assertEqual({one["conditions"]["ranks"] for one in document["measurements"]}, {8})
        self.assertEqual(self.values(self.imported("nccl-tests", log)[0]), values)
        with log.open("rb") as stream:
            piped = parse(self.assert_exit(claimcheck("import", "-", "--json", stdin=stream), 0).stdout)
        self.assertEqual(self.values(piped), values)

    def test_judged_in_one_go(self):
        log = self.file("nccl.log", nccl_log())
        done = self.assert_exit(claimcheck("import", "nccl-tests", log, "--instance", "aws:p5.48xlarge", "--judge"), 0)
        self.assertIn("Nothing is wrong with this machine", done.stdout)
        self.assertIn("482 GB/s", done.stdout)
        short = claimcheck("import", log, "--claim", "allreduce.busbw.gbps>=500", "--judge")
        self.assertIn("falls short by", self.assert_exit(short, 1).stdout)
        wrong = self.file("wrong.log", nccl_log(wrong=3))
        document, _ = self.imported(wrong)
        self.assertEqual({one["status"] for one in document["measurements"]}, {"wrong_result"})
        self.assertEqual({one["value"] for one in document["measurements"]}, {None})

    def test_several_tools_make_one_result_that_the_other_commands_take(self):
        document, _ = self.imported(self.file("a.log", nccl_log()), self.file("b.txt", STREAM))
        self.assertEqual(self.values(document)["memory.triad.gbps", "memory.triad/stream"], 126.0)
        self.assertEqual([one["formats"] for one in document["run"]["imported"]], [["nccl-tests"], ["babelstream"]])
        result = self.folder / "result.json"
        self.assertIn("482 GB/s", self.assert_exit(claimcheck("report", result), 0).stdout)
        self.assertIn("12 unchanged", self.assert_exit(claimcheck("compare", "--baseline", result, result), 0).stdout)
        csv = self.file("own.csv", self.assert_exit(claimcheck("report", result, "--format", "csv"), 0).stdout)
        again, _ = self.imported(csv)
        self.assertEqual(sorted(self.values(again).values()), sorted(self.values(document).values()))

    def test_what_nccl_debug_says_alone(self):
        text = "node-a:90:91 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0\n"
        document, _ = self.imported(self.file("debug.log", text))
        self.assertEqual(document["run"]["imported"][0]["formats"], ["nccl-debug"])
        self.assertIn("NET/Socket", json.dumps(document["run"]["imported"][0]["notes"]))

    def test_a_messy_log(self):
        text = nccl_log().replace("\n", "\r\n").encode() + b"\xff\xfe not text \x80\r\nwhat nobody knows\r\n"
        document, done = self.imported(self.file("messy.log", text))
        self.assertEqual(len(self.values(document)), 8)
        report, = document["run"]["imported"]
        lines = nccl_log().count("\n")
        self.assertEqual(report["not_understood"], {"count": 2, "lines": [lines + 1, lines + 2]})
        self.assertIn(f"lines {lines + 1}, {lines + 2}", done.stderr)

    def test_a_log_cut_anywhere_gives_what_is_whole_or_one_sentence(self):
        text = nccl_log()
        for end in range(0, len(text), 97):
            with self.subTest(end):
                done = claimcheck("import", self.file("cut.log", text[:end]), "--json")
                self.assertIn(done.returncode, (0, 2), done.stderr)
                if done.returncode == 0:
                    document = parse(done.stdout)
                    self.assert_valid(document, "result")
                    self.assertEqual(document["run"]["status"], "partial")

    def test_refusals(self):
        log = self.file("nccl.log", nccl_log())
        self.assert_refused(claimcheck("import", "nccl-test", log), '"nccl-test" is no tool', "nccl-tests")
        self.assert_refused(claimcheck("import", self.folder / "none.log"), "none.log: no such file")
        self.assert_refused(claimcheck("import", self.folder), "is a directory")
        self.assert_refused(claimcheck("import", self.file("empty", "")), "nothing in", "empty")
        self.assert_refused(claimcheck("import", self.file("binary", bytes(range(256)) * 20)), "was recognised")
        self.assert_refused(claimcheck("import", "fio", log), "was recognised as the output of fio")
        self.assert_refused(claimcheck("import", log, "--judge", "--instance", "aws:p5.48xlrge"), "aws:p5.48xlarge")
        wrong = self.assert_exit(claimcheck("import", log, "--judge", "--claim", "allreduce.busbw>=1"), 2)
        self.assertIn('did you mean "allreduce.busbw.gbps"', wrong.stderr.splitlines()[-1])
        self.assert_refused(claimcheck("import", log, "--ranks", "-3"), "--ranks")
        large = self.file("large.json", '{"benchmarks":[' + '"x",\n' * (7 << 20) + "1]}")
        self.assert_refused(claimcheck("import", large), "the JSON document that begins at line 1 is larger than 16 MiB")


class Large(CommandTest):
    def test_memory_does_not_grow_with_the_log(self):
        one = nccl_log(rows=tuple((1 << power, 20 + (1 << power) / 270e3) for power in range(20, 34)))
        log = self.folder / "large.log"
        with log.open("w", encoding="utf-8") as file:
            for _ in range((40 << 20) // len(one)):
                file.write(one)
        measure = ("import resource, subprocess, sys; code = subprocess.run(sys.argv[1:]).returncode; "
                   "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); sys.exit(code)")
        done = subprocess.run([sys.executable, "-c", measure, program("claimcheck"), "import", str(log), "--output",
                               str(self.folder / "result.json")], capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(int(done.stderr.split()[-1]), 100 << 10, "kB")
        values = {one["id"]: one for one in load(self.folder / "result.json")["measurements"]
                  if one["metric"] == "allreduce.busbw.gbps"}
        self.assertEqual(len(values), 28)
        self.assertEqual(len(values["allreduce/bytes:8589934592"]["statistics"]["samples"]), 1000)


if __name__ == "__main__":
    unittest.main()
