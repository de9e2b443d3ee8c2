"""Command lines that cannot be: each is refused with what stood there and what was expected, an example or the nearest
name."""
from support import CommandTest, claimcheck

# arguments, parts of the sentence
ROWS = [
    (["frob"], ["'frob' is no command", "run, probe, preflight, list, judge"]),
    (["jugde", "result.json"], ["'jugde' is no command", 'did you mean "judge"?']),
    (["--catalog", "frob"], ["expected a command: run, probe"]),  # frob is the directory
    ([], ["expected a command: run, probe"]),
    (["catalog"], ["catalog: expected a command: list, show, check", "`claimcheck catalog --help`"]),
    (["catalog", "lsit"], ["catalog: 'lsit' is no command", '"list"']),
    (["judge"], ["judge: FILE is required", "`claimcheck judge --help`"]),
    (["judge", "x", "--strcit"], ["judge: no option is called --strcit", '"--strict"']),
    (["judge", "x", "--clami=memory.triad.gbps>=1"], ['"--claim"']),
    (["run", "--profle", "quick"], ["run: no option is called --profle", '"--profile"']),
    (["explain", "a", "b"], ["explain: 'b' is one argument too many"]),
    (["run", "--claim"], ["--claim: its value CLAIM is missing"]),
    (["run", "--budget", "2M"], ["--budget 2M: expected a duration such as 90s, 5m or 1h30m"]),
    (["run", "--repetitions", "two"], ["--repetitions 'two': expected a whole number from 1 to 1000"]),
    (["run", "--repetitions", "0"], ["--repetitions '0': expected a whole number from 1 to 1000"]),
    (["run", "--threads", "4.5"], ["--threads '4.5': expected a whole number from 1 to 4096, such as 8"]),
    (["run", "--min-time", "5s"], ["--min-time '5s': expected seconds", "from 0.001 to 3600, such as 0.5"]),
    (["run", "--seed", "-1"], ["--seed '-1': expected a whole number of at least 0"]),
    (["run", "--max-bytes", "4Q"], ["--max-bytes '4Q': expected a size", "such as 64MiB"]),
    (["run", "--max-bytes", "-4"], ["--max-bytes '-4': expected a size"]),
    (["cost", "--scaling", "90%"], ["--scaling '90%': expected a share from 0 to 1, no percent sign, such as 0.9"]),
    (["cost", "x", "--kwh-price", "$5"], ["--kwh-price '$5': expected a plain number, no currency sign"]),
    (["cost", "--top", "many"], ["--top 'many': expected a whole number from 0 to 1000000"]),
    (["advise", "--params", "7e9", "--tokens", "1e12", "--budget", "$5"],
     ["--budget '$5': expected a plain number", "such as 200000"]),
    (["scale", "--network", "3.2T"], ["--network '3.2T': expected Gb/s, as a plain number, such as 3200"]),
    (["catalog", "claims", "--guide", "two"], ["--guide 'two': expected a whole number"]),
]


class Usage(CommandTest):
    def test_every_row(self):
        for arguments, parts in ROWS:
            with self.subTest(arguments=arguments):
                self.assert_refused(claimcheck(*arguments), *parts)


if __name__ == "__main__":
    import unittest
    unittest.main()
