"""The scripts with stand-ins for apt-get, sudo, the compiler and CMake on PATH: what they install, what they say when
that fails, that they are idempotent and quick, and that arguments and the working directory reach the program."""
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ.get("CLAIMCHECK_SOURCE", pathlib.Path(__file__).resolve().parents[2]))

# Everything else the scripts may use, taken from the machine.
TOOLS = "bash sh env sed grep tail head sort tr mktemp rm cat mkdir touch dirname find flock tee git ls cp true nproc".split()

# Says which headers are missing, unless apt-get "installed" them; refuses C++20 when it is to be an old compiler.
COMPILER = """#!/bin/sh
source=$(cat)
if [ -e "$STATE/old_compiler" ] && echo "$source" | grep -q '#error'; then exit 1; fi
[ -e "$STATE/installed" ] || echo "$source" | sed -n '/^missing/p'
"""
APT = """#!/bin/sh
echo "$DEBIAN_FRONTEND apt-get $*" >> "$STATE/apt.log"
if [ -e "$STATE/no_network" ]; then
  case "$*" in *install*)
    echo "Err:1 Temporary failure resolving 'mirror.example'"; echo "E: Unable to locate package libcli11-dev"; exit 100
  esac
fi
if [ -e "$STATE/locked" ] && [ "$2" = install ]; then
  rm "$STATE/locked"; echo "E: Could not get lock /var/lib/dpkg/lock-frontend."; exit 100
fi
if [ -e "$STATE/broken" ]; then echo "E: Broken packages"; exit 100; fi
case "$*" in *install*) [ -e "$STATE/useless" ] || touch "$STATE/installed" ;; esac
"""
CMAKE = """#!/bin/sh
case "$1" in
  --version) echo "cmake version $(cat "$STATE/cmake_version")" ;;
  --preset) echo configure >> "$STATE/cmake.log"; mkdir -p "build/$2"; touch "build/$2/build.ninja"
    printf 'CMAKE_HOME_DIRECTORY:INTERNAL=%s\nCMAKE_CUDA_COMPILER:FILEPATH=nvcc\n' "$PWD" > "build/$2/CMakeCache.txt" ;;
  --build) echo build >> "$STATE/cmake.log"
    if [ -e "$STATE/broken_build" ]; then for i in 1 2 3; do echo "a.cpp:$i: error: line $i"; done; exit 1; fi
    [ -e "$2/bin/claimcheck" ] || echo "[1/1] Building CXX object a.o"
    mkdir -p "$2/bin"; cp "$STATE/claimcheck" "$2/bin/claimcheck" ;;
esac
"""
CLAIMCHECK = """#!/bin/sh
echo "in $PWD"
for argument in "$@"; do echo "<$argument>"; done
exit 4
"""


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.bin = self.home / "bin"
        self.state = self.home / "state"
        self.bin.mkdir()
        self.state.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.stand_in("g++", COMPILER)
        self.stand_in("cmake", CMAKE)
        self.stand_in("apt-get", APT)
        self.stand_in("id", "#!/bin/sh\necho 0\n")
        for name in ("ninja", "pkg-config", "sleep"):
            self.stand_in(name, "#!/bin/sh\n")
        self.write("cmake_version", "3.22.1\n")

    def stand_in(self, name, text):
        path = self.bin / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def write(self, name, text=""):
        (self.state / name).write_text(text)

    def run_script(self, script, *arguments, cwd=None):
        environment = {"PATH": str(self.bin), "STATE": str(self.state), "HOME": str(self.home)}
        return subprocess.run(
            [self.bin / "bash", str(script), *arguments],
            env=environment, cwd=cwd or self.home, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )

    def setup_script(self, *arguments):
        return self.run_script(SOURCE / "scripts/setup.sh", *arguments)

    def assert_fails(self, done, *parts):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, "")
        last = done.stderr.strip().splitlines()[-1]
        self.assertTrue(last.startswith("setup: "), last)
        for part in parts:
            self.assertIn(part, last)

    def test_installs_what_is_missing_once(self):
        done = self.setup_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"^setup: installing with apt-get: libcli11-dev nlohmann-json3-dev .*libfmt-dev")
        log = (self.state / "apt.log").read_text().splitlines()
        self.assertEqual(len(log), 2)
        self.assertRegex(log[0], "^noninteractive apt-get .*update")
        self.assertRegex(log[1], "^noninteractive apt-get .*install -y .*libcli11-dev .*fio")
        again = self.setup_script()
        self.assertEqual((again.returncode, again.stdout, again.stderr), (0, "", ""))
        self.assertEqual(len((self.state / "apt.log").read_text().splitlines()), 2, "apt-get ran though all was there")

    def test_names_the_missing_compiler(self):
        (self.bin / "g++").unlink()
        self.write("useless")
        self.assert_fails(self.setup_script(), "g++")

    def test_no_network(self):
        self.write("no_network")
        self.assert_fails(self.setup_script(), "no network", "libcli11-dev", "libfmt-dev")

    def test_apt_fails_otherwise(self):
        self.write("broken")
        self.assert_fails(self.setup_script(), "could not install", "E: Broken packages")

    def test_apt_installs_something_useless(self):
        self.write("useless")
        self.assert_fails(self.setup_script(), "still not usable", "libcli11-dev")

    def test_waits_for_another_apt(self):
        self.write("locked")
        done = self.setup_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("waiting for another apt-get", done.stderr)

    def test_no_apt(self):
        (self.bin / "apt-get").unlink()
        self.assert_fails(self.setup_script(), "no apt-get on", "install by hand", "libcli11-dev")

    def test_not_root(self):
        self.stand_in("id", "#!/bin/sh\necho 1000\n")
        self.assert_fails(self.setup_script(), "not root and no sudo", "libcli11-dev")
        self.stand_in("sudo", "#!/bin/sh\nexit 1\n")
        self.assert_fails(self.setup_script(), "sudo does not let this user in", "libcli11-dev")
        self.stand_in("sudo", '#!/bin/sh\necho sudo >> "$STATE/sudo.log"\nshift\nexec "$@"\n')  # shifts -n away
        done = self.setup_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.state / "sudo.log").exists())

    def test_no_sudo_for_root(self):
        self.stand_in("sudo", '#!/bin/sh\necho sudo >> "$STATE/sudo.log"\n')
        self.assertEqual(self.setup_script().returncode, 0)
        self.assertFalse((self.state / "sudo.log").exists())

    def test_old_tools(self):
        self.write("installed")
        self.write("old_compiler")
        self.assert_fails(self.setup_script(), "does not compile C++20", "g++ 11")
        (self.state / "old_compiler").unlink()
        self.write("cmake_version", "3.18.4\n")
        self.assert_fails(self.setup_script(), "cmake 3.18.4 is too old", "3.22")

    def test_unknown_option(self):
        done = self.setup_script("--everything")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'--everything'", done.stderr)
        done = self.run_script(SOURCE / "scripts/test.sh", "--everything")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--checks", done.stderr)

    def project(self):
        """The scripts in a tree whose path has a blank."""
        root = self.home / "my project"
        shutil.copytree(SOURCE / "scripts", root / "scripts")
        self.write("installed")
        self.write("claimcheck", CLAIMCHECK)
        (self.state / "claimcheck").chmod(0o755)
        return root

    def test_run_passes_arguments_and_directory_on(self):
        root = self.project()
        here = self.home / "elsewhere"
        here.mkdir()
        done = self.run_script(root / "scripts/run.sh", "--out", "my results", "--claim", "a>=1", cwd=here)
        self.assertEqual(done.returncode, 4, done.stderr)  # that of the program
        self.assertEqual(done.stdout, f"in {here}\n<run>\n<--out>\n<my results>\n<--claim>\n<a>=1>\n")
        self.assertIn("build: configuring release", done.stderr)
        self.assertIn("build: claimcheck workers (release), log in", done.stderr)
        started = time.monotonic()
        again = self.run_script(root / "scripts/run.sh", "--help", cwd=here)
        self.assertLess(time.monotonic() - started, 2)
        self.assertEqual((again.stdout, again.stderr), (f"in {here}\n<run>\n<--help>\n", ""))
        self.assertEqual((self.state / "cmake.log").read_text().splitlines().count("configure"), 1)

    def test_failing_build_shows_the_end_of_its_log(self):
        root = self.project()
        self.write("broken_build")
        done = self.run_script(root / "scripts/run.sh")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "")
        self.assertIn("a.cpp:3: error: line 3", done.stderr)
        self.assertIn(f"the whole log is in {root}/build/release/build.log", done.stderr)

    def test_a_moved_tree_is_configured_anew(self):
        root = self.project()
        self.run_script(root / "scripts/run.sh")
        moved = self.home / "moved"
        root.rename(moved)
        done = self.run_script(moved / "scripts/run.sh")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual((self.state / "cmake.log").read_text().splitlines().count("configure"), 2)


class RealMachine(unittest.TestCase):
    def test_setup_is_quick_and_silent_where_all_is_there(self):
        started = time.monotonic()
        done = subprocess.run([SOURCE / "scripts/setup.sh", "--test"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertLess(time.monotonic() - started, 2)

    def test_scripts_can_be_started(self):
        for name in ("scripts/setup.sh", "scripts/build.sh", "scripts/run.sh", "scripts/test.sh", ".ci/run"):
            self.assertTrue(os.access(SOURCE / name, os.X_OK), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
