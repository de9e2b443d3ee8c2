"""`claimcheck manual` and `claimcheck completion`: what they say is what --help says, and other programs can read it."""
import re
import shutil
import subprocess
import unittest

from support import CommandTest, claimcheck


def commands():
    """Every command with the options that its --help shows."""
    found = {}
    waiting = [[]]
    while waiting:
        path = waiting.pop()
        text = claimcheck(*path, "--help").stdout
        found[" ".join(path)] = re.findall(r"^  (?:-\w,)?(--[a-z-]+)", text, re.M)
        below = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
        waiting += [path + [name] for name in re.findall(r"^  ([a-z]+)", below[1], re.M)] if below else []
    return found


class Manual(CommandTest):
    def test_every_command_and_option_is_in_it(self):
        page = self.assert_exit(claimcheck("manual"), 0).stdout.replace("\\-", "-")
        known = commands()
        self.assertGreater(len(known), 10)
        for path, options in known.items():
            self.assertTrue(not path or f".SS claimcheck {path}\n" in page, path)
            for option in options:
                self.assertIn(option, page)
        self.assertNotIn("system-root", page, "hidden from --help")

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_groff_reads_it_without_a_word(self):
        page = claimcheck("manual").stdout
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True, check=True,
                              timeout=60)
        self.assertEqual(done.stderr, "")
        self.assertIn("EXIT STATUS", re.sub(r".\x08", "", done.stdout))

    def completed(self, *words):
        """What TAB offers after these words; the last one is not finished."""
        script = ("source <(\"$0\" completion bash); COMP_WORDS=(claimcheck \"$@\"); COMP_CWORD=$#; _claimcheck; "
                  "printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "-c", script, claimcheck("--version").args[0], *words], capture_output=True,
                              text=True, check=True, timeout=60)
        return done.stdout.split()

    def test_bash(self):
        self.assertEqual(self.completed("ca"), ["catalog"])
        self.assertEqual(self.completed("catalog", "im"), ["import"])
        self.assertEqual(self.completed("run", "--prof"), ["--profile"])
        self.assertEqual(self.completed("run", "--profile", "st"), ["standard"])
        self.assertEqual(self.completed("report", "x.json", "--format", "j"), ["junit", "json"])
        self.assertEqual(self.completed("run", "--instance", "aws:p5."), ["aws:p5.4xlarge", "aws:p5.48xlarge"])
        self.assertEqual(self.completed("explain", "gemm.bf"), ["gemm.bf16.tflops"])
        self.assertEqual(self.completed("--catalog", "."), [], "files are the shell's own")

    def test_other_shells(self):
        fish = self.assert_exit(claimcheck("completion", "fish"), 0).stdout
        for path, options in commands().items():
            for option in options:
                self.assertIn(f" -l {option[2:]}", fish, path)
        self.assertIn("bashcompinit", claimcheck("completion", "zsh").stdout)
        self.assert_refused(claimcheck("completion", "tcsh"), "'tcsh'", "bash, zsh or fish")

    @unittest.skipUnless(shutil.which("shellcheck"), "no shellcheck")
    def test_shellcheck_has_nothing_to_say(self):
        text = claimcheck("completion", "bash").stdout
        done = subprocess.run(["shellcheck", "-s", "bash", "-"], input=text, capture_output=True, text=True, check=False,
                              timeout=60)
        self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
