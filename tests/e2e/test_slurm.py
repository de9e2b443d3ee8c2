"""scripts/slurm under a real Slurm on this machine alone, as Debian packages it (slurmctld, slurmd, munge), on the
loopback interface. By hand, as root: CLAIMCHECK_TEST_SLURM=1 ctest -R e2e.slurm; it takes a minute."""
import os
import pathlib
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import support

TOOLS = ("slurmctld", "slurmd", "munged", "srun", "sbatch", "mpirun")
PATH = os.environ["PATH"] + ":/usr/sbin"
WANTED = os.environ.get("CLAIMCHECK_TEST_SLURM") == "1"
CONFIGURATION = """\
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthInfo=socket={folder}/munge.socket
CommunicationParameters=NoInAddrAny
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=60 OverSubscribe=YES State=UP
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(condition, seconds):
    """True as soon as the condition is; a daemon says when it is ready by answering, so it is asked again and again."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.2)
    return False


@unittest.skipUnless(WANTED, "by hand: CLAIMCHECK_TEST_SLURM=1")
class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for tool in TOOLS:
            assert shutil.which(tool, path=PATH), f"{tool} is missing: apt-get install slurmctld slurmd slurm-client munge"
        assert os.geteuid() == 0, "slurmd wants to be root"
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="claimcheck-slurm-"))
        cls.daemons = []
        for name in ("state", "spool"):
            (cls.folder / name).mkdir()
        cls.folder.chmod(0o755)
        key = cls.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        host = socket.gethostname().split(".")[0]
        (cls.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, folder=cls.folder, controller=free_port(), daemon=free_port(), cpus=os.cpu_count()))
        cls.environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(cls.folder / "slurm.conf"),
                           # Open MPI's messages stay in memory, its own on the loopback interface.
                           "OMPI_MCA_btl": "self,vader", "OMPI_MCA_pml": "ob1"}
        munge = {name: f"{cls.folder}/munge.{name}" for name in ("socket", "pid", "log", "seed")}
        cls.start("munged", "-F", "--force", f"--key-file={key}", f"--socket={munge['socket']}",
                  f"--pid-file={munge['pid']}", f"--log-file={munge['log']}", f"--seed-file={munge['seed']}")
        assert wait_for(pathlib.Path(munge["socket"]).exists, 10), "munged did not start"
        cls.start("slurmctld", "-D", "-i")
        cls.start("slurmd", "-D")
        assert wait_for(lambda: "idle" in cls.call("sinfo", "-h").stdout, 30), "Slurm did not come up"

    @classmethod
    def start(cls, *command):
        with open(cls.folder / f"{command[0]}.out", "wb") as log:
            cls.daemons.append(subprocess.Popen(command, env=cls.environment, stdin=subprocess.DEVNULL, stdout=log,
                                                stderr=log))

    @classmethod
    def tearDownClass(cls):
        cls.call("scancel", "--user=root")
        for daemon in reversed(cls.daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
        shutil.rmtree(cls.folder, ignore_errors=True)

    @classmethod
    def call(cls, *command, timeout=60):
        return subprocess.run(list(map(str, command)), env=cls.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False,
                              timeout=timeout)

    def test_a_step_of_two_processes(self):
        done = self.call("srun", "-n", 2, "--overcommit", "--mpi=pmix", "--cpu-bind=none",
                         support.program("claimcheck-bench-host"), "--describe")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(support.parse(done.stdout)["processes"], 2)

    def test_without_pmix_each_would_be_alone(self):
        done = self.call("srun", "-n", 2, "--overcommit", "--mpi=none", support.program("claimcheck-bench-host"),
                         "--describe")
        self.assertEqual(done.returncode, 3)
        self.assertIn("2 processes were started by Slurm", done.stderr)
        self.assertIn("srun --mpi=pmix", done.stderr)
        self.assertEqual(done.stderr.count("claimcheck-bench: "), 1, done.stderr)

    def batch(self, *arguments):
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        environment = f"ALL,CLAIMCHECK={support.program('claimcheck')},OUT={out},PER_NODE=2,SLURM_OVERCOMMIT=1"
        done = self.call("sbatch", "--wait", "--nodes=1", "--gpus-per-node=0", "--ntasks=2", "--overcommit",
                         f"--chdir={support.SOURCE}", f"--output={self.folder}/job.log", f"--export={environment}",
                         support.SOURCE / "scripts/slurm/claimcheck.sbatch", "--device", "host", "--max-bytes", 4 << 20,
                         "--max-gemm", 128, "--min-time", 0.02, "--repetitions", 3, *arguments, timeout=200)
        log = (self.folder / "job.log").read_text(errors="replace")
        self.assertTrue((out / "result.json").exists(), done.stderr + log)
        return support.load(out / "result.json")

    def test_the_batch_script(self):
        document = self.batch("--only", "memory.copy,allreduce")
        self.assertEqual(document["run"]["status"], "complete")
        self.assertGreater(len(document["measurements"]), 1)
        for one in document["measurements"]:
            self.assertIn(one["status"], ("ok", "unstable"), one["reason"])
            self.assertEqual(one["conditions"]["processes"], 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
