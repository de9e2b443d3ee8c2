"""scripts/bootstrap.sh and scripts/cloud: installation from a package, user data, first boot, time to live. Nothing here
leaves this machine; programs of clouds are made ones that write down how they were called."""
import base64
import hashlib
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import threading
import unittest

import yaml

from support import BIN, SOURCE, CommandTest

BOOTSTRAP = SOURCE / "scripts/bootstrap.sh"
USER_DATA = SOURCE / "scripts/cloud/user-data.sh"
TERRAFORM = SOURCE / "scripts/cloud/terraform"
SHA = "0123456789abcdef" * 4
MADE_CLAIMCHECK = """#!/bin/sh
[ "$1" = --version ] && { echo "claimcheck 0.1.0"; exit 0; }
printf '%s\\n' "$@" >"$0.called"
while [ $# -gt 0 ]; do if [ "$1" = --out ]; then mkdir -p "$2"; echo '{}' >"$2/result.json"; fi; shift; done
echo "VERDICT   made up"
exit 1
"""


class Tool(CommandTest):
    def setUp(self):
        super().setUp()
        self.package = self.folder / "claimcheck-0.1.0-Linux-x86_64.tar.gz"
        program = self.file("claimcheck", MADE_CLAIMCHECK)
        program.chmod(0o755)
        with tarfile.open(self.package, "w:gz") as archive:
            archive.add(program, "claimcheck-0.1.0-Linux-x86_64/bin/claimcheck")
        self.sha256 = hashlib.sha256(self.package.read_bytes()).hexdigest()
        self.prefix = self.folder / "installed"

    def bash(self, script, *arguments, environment=None):
        return subprocess.run(["bash", str(script), *map(str, arguments)], stdin=subprocess.DEVNULL, encoding="utf-8",
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=120,
                              env=dict(os.environ, **(environment or {})))

    def server(self):
        """A loopback server of self.folder that keeps what is PUT or POSTed; gives its address."""
        kept = self.kept = []
        folder = str(self.folder)

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *arguments):
                super().__init__(*arguments, directory=folder)

            def keep(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                kept.append((self.command, self.path, dict(self.headers), body))
                self.send_response(201)
                self.end_headers()

            do_PUT = do_POST = keep

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"


class Bootstrap(Tool):
    def test_a_tarball_is_installed_and_run(self):
        done = self.bash(BOOTSTRAP, "--package", self.package, "--sha256", self.sha256, "--prefix", self.prefix)
        self.assertEqual(done.returncode, 1, done.stderr)  # of `claimcheck run`: a claim is not met
        self.assertIn("VERDICT", done.stdout)
        self.assertEqual((self.prefix / "bin/claimcheck.called").read_text(), "run\n--budget\n3m\n")

    def test_arguments_go_to_run(self):
        self.bash(BOOTSTRAP, "--package", self.package, "--prefix", self.prefix, "--", "--claim", "a b>=1 'x'")
        self.assertEqual((self.prefix / "bin/claimcheck.called").read_text(), "run\n--claim\na b>=1 'x'\n")

    def test_over_the_network_with_its_sum(self):
        url = f"{self.server()}/{self.package.name}"
        done = self.bash(BOOTSTRAP, "--package", url, "--sha256", self.sha256, "--prefix", self.prefix, "--no-run")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertTrue((self.prefix / "bin/claimcheck").exists())

    def test_refusals(self):
        url = f"{self.server()}/{self.package.name}"
        for code, arguments, fact in ((2, [], "--package is needed"),
                                      (2, ["--package", "x.zip"], "neither a .deb nor a .tar.gz"),
                                      (2, ["--pakage", "x"], "unknown option '--pakage'"),
                                      (2, ["--package"], "a value is missing"),
                                      (2, ["--package", url], "--sha256 is needed with a URL"),
                                      (2, ["--package", self.package, "--sha256", "12"], "64 hexadecimal digits"),
                                      (3, ["--package", self.package, "--sha256", SHA], "nothing was installed"),
                                      (3, ["--package", "http://example.org/a.deb", "--sha256", SHA], "only https"),
                                      (3, ["--package", self.folder / "none.deb"], "no such file"),
                                      (3, ["--package", f"{url}.deb", "--sha256", SHA], "cannot fetch")):
            with self.subTest(arguments):
                done = self.bash(BOOTSTRAP, "--prefix", self.prefix, *arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(fact, done.stderr)
                self.assertFalse(self.prefix.exists())


class UserData(Tool):
    def written(self, *arguments):
        done = self.bash(USER_DATA, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(len(done.stdout), 16384, "AWS takes 16 KiB")
        document = yaml.safe_load(done.stdout)
        self.assertTrue(done.stdout.startswith("#cloud-config\n"))
        return document, {file["path"]: base64.b64decode(file["content"]).decode() for file in document["write_files"]}

    def test_it_is_cloud_config_with_everything_inside(self):
        document, files = self.written("--package-url", "https://example.org/c.deb", "--sha256", SHA, "--stop", "azure",
                                       "--results", "https://x.example/r?sig=a&b='c' $(id)", "--", "--claim", "a>=1 # b")
        self.assertEqual(files["/etc/claimcheck/arguments"], "--claim\na>=1 # b\n")
        self.assertEqual(files["/opt/claimcheck-boot/bootstrap.sh"], BOOTSTRAP.read_text())
        self.assertIn("/opt/claimcheck-boot/azure-deallocate.sh", files)
        self.assertEqual(document["runcmd"], [["/opt/claimcheck-boot/on-boot.sh"]])
        read = subprocess.run(["bash", "-c", f'{files["/etc/claimcheck/on-boot.env"]}\nprintf "%s" "$RESULTS"'],
                              capture_output=True, text=True, check=True)
        self.assertEqual(read.stdout, "https://x.example/r?sig=a&b='c' $(id)")

    def test_refusals(self):
        good = ["--package-url", "https://example.org/c.deb", "--sha256", SHA]
        for arguments, fact in (([], "--package-url"), (good[:2], "--sha256"), ([*good, "--ttl", "4"], "5 to 1440"),
                                ([*good, "--ttl", "1e9"], "5 to 1440"), ([*good, "--ttl", "0100000"], "5 to 1440"),
                                ([*good, "--stop", "never"], "poweroff or azure"), ([*good, "--", "a\nb"], "line break"),
                                (["--package-url", "http://example.org/c.deb", *good[2:]], "expected https")):
            with self.subTest(arguments):
                done = self.bash(USER_DATA, *arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(fact, done.stderr)

    def boot(self, results, stop="poweroff", package=None, **environment):
        """First boot in a folder of this test, with made programs where a cloud's would be."""
        boot = self.folder / "boot"
        programs = self.folder / "programs"
        for path in (boot, programs):
            path.mkdir()
        _, files = self.written("--package-url", package or f"{self.address}/{self.package.name}", "--sha256", self.sha256,
                                "--ttl", 7, "--results", results, "--stop", stop, "--", "--budget", "1m")
        for path, text in files.items():
            target = boot / pathlib.Path(path).name
            target.write_text(text)
            target.chmod(0o755)
        for name in ("systemd-run", "shutdown", "aws", "gcloud"):
            made = programs / name
            made.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.folder}/calls"\n')
            made.chmod(0o755)
        done = self.bash(boot / "on-boot.sh", environment={"FOLDER": str(boot), "OUT": str(self.folder / "out"),
                                                          "PATH": f"{programs}:{os.environ['PATH']}", "WAIT_SECONDS": "0",
                                                          **environment})
        calls = (self.folder / "calls").read_text().splitlines()
        return done, calls

    def test_first_boot(self):
        self.address = self.server()
        done, calls = self.boot(f"{self.address}/results?sig=1")
        self.assertIn("on-boot: exit code 1", done.stdout)
        self.assertTrue(calls[0].startswith("systemd-run --quiet --unit=claimcheck-ttl --on-active=7m "), calls)
        self.assertTrue(calls[0].endswith("on-boot.sh stop"))
        self.assertEqual(calls[1:], ["shutdown -P now"])
        (command, path, headers, body), = self.kept
        self.assertEqual((command, path, headers["x-ms-blob-type"]), ("PUT", "/results?sig=1", "BlockBlob"))
        uploaded = self.file("uploaded.tar.gz", body)
        with tarfile.open(uploaded) as archive:
            self.assertEqual(archive.extractfile("exit-code").read(), b"1\n")
            self.assertIn("results/result.json", archive.getnames())

    def test_the_machine_stops_when_nothing_can_be_installed(self):
        self.address = self.server()
        _, calls = self.boot("s3://made-up/results.tar.gz", package=f"{self.address}/none.deb")
        self.assertEqual(calls[-1], "shutdown -P now")
        self.assertEqual((self.folder / "out/exit-code").read_text(), "3\n")
        self.assertTrue(any(call.startswith("aws s3 cp") and call.endswith("s3://made-up/results.tar.gz") for call in calls))

    def test_azure_is_deallocated_not_only_shut_down(self):
        self.address = self.server()
        compute = self.folder / "metadata/instance/compute"
        token = self.folder / "metadata/identity/oauth2/token"
        for path, content in ((compute, {"resourceId": "/subscriptions/1/vm"}), (token, {"access_token": "made-up"})):
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(content))
        _, calls = self.boot("", stop="azure", CLAIMCHECK_AZURE_METADATA=self.address,
                             CLAIMCHECK_AZURE_MANAGEMENT=self.address)
        self.assertEqual([call for call in calls if call.startswith("shutdown")], [])
        (command, path, headers, _), = self.kept
        self.assertEqual((command, path.split("?")[0]), ("POST", "/subscriptions/1/vm/deallocate"))
        self.assertEqual(headers["Authorization"], "Bearer made-up")


class Modules(CommandTest):
    """What can be told of the Terraform modules without their providers."""

    def test_every_machine_has_an_end(self):
        ends = {"aws": [r'instance_initiated_shutdown_behavior\s*=\s*"terminate"', r'http_tokens\s*=\s*"required"'],
                "gcp": [r'instance_termination_action\s*=\s*"DELETE"', r"seconds = var.ttl_minutes \* 60"],
                "azure": [r"virtualMachines/deallocate/action", r"azurerm_dev_test_global_vm_shutdown_schedule",
                          r'"--stop", "azure"', r"azurerm_storage_account\.results\.primary_blob_endpoint"]}
        self.assertEqual({path.name for path in TERRAFORM.iterdir() if path.is_dir()}, set(ends))
        for cloud, patterns in ends.items():
            text = (TERRAFORM / cloud / "main.tf").read_text(encoding="utf-8")
            for pattern in [*patterns, r'"--ttl", tostring\(var.ttl_minutes\)', r"var.ttl_minutes <= 1440"]:
                self.assertRegex(text, pattern, cloud)
            declared = set(re.findall(r'^variable "(\w+)"', text, re.M))
            self.assertEqual(declared, set(re.findall(r"\bvar\.(\w+)", text)), cloud)

    def test_user_data_for_terraform(self):
        done = subprocess.run([TERRAFORM / "user_data.py", "--package-url", "https://example.org/c.deb", "--sha256", SHA,
                               "--", "--budget", "5m"], capture_output=True, text=True, check=True, timeout=60)
        self.assertTrue(json.loads(done.stdout)["user_data"].startswith("#cloud-config\n"))
        bad = subprocess.run([TERRAFORM / "user_data.py"], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((bad.returncode, bad.stdout), (2, ""))

    @unittest.skipUnless(shutil.which("terraform"), "no terraform")
    def test_terraform_can_read_them(self):
        done = subprocess.run(["terraform", "fmt", "-check", "-recursive", str(TERRAFORM)], capture_output=True, text=True,
                              check=False, timeout=120, env=dict(os.environ, TF_CLI_CONFIG_FILE="/dev/null"))
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)


class Installed(CommandTest):
    """The build, installed and packed, in a root that has nothing but it and the C library."""

    def test_in_an_empty_root(self):
        if shutil.which("patchelf") is None:
            raise AssertionError("patchelf is missing; scripts/setup.sh --test installs it")
        root = self.folder / "root"
        environment = dict(os.environ, DESTDIR=str(root))
        subprocess.run(["cmake", "--install", BIN.parent, "--prefix", "/usr"], env=environment, check=True, timeout=300,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.assertEqual([path for name in ("libcuda*", "libcublas*", "libnccl*", "libnvidia*") for path in root.rglob(name)], [],
                         "the vendor's libraries are never copied")
        for path in (root / "usr").rglob("*"):
            if path.is_file() and not path.is_symlink():
                self.assertNotIn(str(SOURCE).encode(), path.read_bytes() if path.suffix in (".sh", ".py", "") and
                                 path.stat().st_size < 1 << 20 else b"", path)
        self.copy_libc(root)
        for name in ("tmp", "proc", "dev"):
            (root / name).mkdir()
        done = self.inside(root, "claimcheck", "cost", "--top", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rank", done.stdout)
        done = self.inside(root, "claimcheck", "run", "--device", "host", "--only", "memory.read", "--only", "gemm.fp32*",
                           "--max-bytes", "1MiB", "--max-gemm", "64", "--min-time", "0.001", "--out", "/tmp/out")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads((root / "tmp/out/result.json").read_text())
        self.assertTrue(all(m["status"] in ("ok", "unstable") for m in result["measurements"]), result["measurements"])
        self.assertTrue((root / "tmp/out/report.html").exists())
        self.assertTrue((root / "usr/share/man/man1/claimcheck.1.gz").exists())

    def copy_libc(self, root):
        """glibc alone, from this machine."""
        done = subprocess.run(["ldd", "/bin/true"], capture_output=True, text=True, check=True)
        folder = pathlib.Path(re.search(r"=> (\S+)/libc\.so\.6", done.stdout)[1])
        loader = pathlib.Path(re.search(r"(/\S*ld-linux\S*)", done.stdout)[1])
        for source in [loader, *(folder / name for name in ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0",
                                                            "librt.so.1", "libresolv.so.2"))]:
            target = root / str(source).lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source.resolve(), target)

    def inside(self, root, *command):
        """In `root` with its own /proc, where programs find themselves."""
        rights = [] if os.geteuid() == 0 else ["--map-root-user"]
        script = 'mount --rbind /proc "$1/proc" && exec chroot "$@"'
        program = ["unshare", "--mount", *rights, "sh", "-c", script, "sh", str(root), "/usr/bin/" + command[0], *command[1:]]
        done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=120, cwd="/",
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp"})
        if "Operation not permitted" in done.stderr:
            self.skipTest("this machine lets nobody make a root of his own")
        return done


if __name__ == "__main__":
    unittest.main()
