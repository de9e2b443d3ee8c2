"""scripts/mpi, scripts/slurm, scripts/kubernetes: what they choose from made-up nodes, and manifests against schemas of
the parts used. Nothing is started but Open MPI on this machine."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import support

SCRIPTS = support.SOURCE / "scripts"
KUBERNETES_SCHEMAS = pathlib.Path(__file__).parent / "kubernetes.schema.json"


class Node(unittest.TestCase):
    """A tree that stands for the root of a node."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="claimcheck-node-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def adapter(self, name, driver, layer="InfiniBand", state="4: ACTIVE"):
        device = self.root / "sys/class/infiniband" / name
        (device / "device").mkdir(parents=True)
        target = self.root / "drivers" / driver
        target.mkdir(parents=True, exist_ok=True)
        (device / "device/driver").symlink_to(target)
        port = device / "ports/1"
        port.mkdir(parents=True)
        (port / "link_layer").write_text(layer + "\n")
        (port / "state").write_text(state + "\n")

    def run_script(self, path, *arguments, **variables):
        environment = {"PATH": os.environ["PATH"], "CLAIMCHECK_SYSTEM_ROOT": str(self.root), **variables}
        return subprocess.run([SCRIPTS / path, *arguments], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8", check=False, timeout=60)

    def fabric(self, **variables):
        done = self.run_script("mpi/fabric.sh", **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        comment, *lines = done.stdout.splitlines()
        return comment, dict(line.split("=", 1) for line in lines)


class Fabric(Node):
    def test_nothing(self):
        comment, chosen = self.fabric()
        self.assertIn("TCP sockets", comment)
        self.assertEqual(chosen, {})

    def test_efa(self):
        for index in range(4):
            self.adapter(f"rdmap{index}s27", "efa", layer="Unspecified")
        (self.root / "opt/amazon/ofi-nccl/lib").mkdir(parents=True)
        comment, chosen = self.fabric(LD_LIBRARY_PATH="/mine")
        self.assertIn("4 EFA adapters", comment)
        self.assertEqual(chosen["FI_PROVIDER"], "efa")
        self.assertEqual(chosen["FI_EFA_USE_DEVICE_RDMA"], "1")
        self.assertEqual(chosen["LD_LIBRARY_PATH"], f"{self.root}/opt/amazon/ofi-nccl/lib:/mine")

    def test_infiniband_takes_active_ports_only(self):
        self.adapter("mlx5_0", "mlx5_core")
        self.adapter("mlx5_1", "mlx5_core", state="1: DOWN")
        self.adapter("mlx5_2", "mlx5_core", layer="Ethernet")
        comment, chosen = self.fabric()
        self.assertIn("1 InfiniBand ports: mlx5_0:1, not active: mlx5_1:1", comment)
        self.assertEqual(chosen, {"NCCL_IB_HCA": "=mlx5_0:1"})

    def test_roce(self):
        self.adapter("mlx5_0", "mlx5_core", layer="Ethernet")
        self.adapter("mlx5_1", "mlx5_core", layer="Ethernet")
        comment, chosen = self.fabric()
        self.assertIn("2 RoCE ports", comment)
        self.assertEqual(chosen, {"NCCL_IB_HCA": "=mlx5_0:1,mlx5_1:1"})

    def test_all_down_is_said(self):
        self.adapter("mlx5_0", "mlx5_core", state="1: DOWN")
        comment, chosen = self.fabric()
        self.assertIn("mlx5_0:1 are not", comment)
        self.assertEqual(chosen, {})

    def test_what_the_user_set_stays(self):
        self.adapter("efa_0", "efa")
        _, chosen = self.fabric(FI_PROVIDER="tcp")
        self.assertNotIn("FI_PROVIDER", chosen)


class Mpirun(Node):
    def command(self, **variables):
        done = self.run_script("mpi/mpirun.sh", "worker", "--only=a b", DRY_RUN="1", **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def gpus(self, count):
        for index in range(count):
            (self.root / f"proc/driver/nvidia/gpus/0000:{index:02x}:00.0").mkdir(parents=True)

    def test_one_process_without_gpus(self):
        command, said = self.command()
        self.assertIn("-np 1 ", command)
        self.assertTrue(command.rstrip().endswith("worker --only=a\\ b"), command)
        self.assertIn("1 processes on 1 nodes", said)
        self.assertNotIn("pml", command)

    def test_one_process_a_gpu_on_each_host(self):
        self.gpus(8)
        self.adapter("efa_0", "efa")
        hosts = self.root / "hosts"
        hosts.write_text("# the cluster\nnode-a slots=8\n\nnode-b slots=8  # slow?\n")
        command, said = self.command(HOSTFILE=str(hosts), NCCL_DEBUG="INFO")
        self.assertIn("-np 16 ", command)
        self.assertIn("ppr:8:node", command)
        self.assertIn("--bind-to none", command)
        self.assertIn("--mca pml ob1", command)
        self.assertIn("-x FI_PROVIDER", command)
        self.assertIn("-x NCCL_DEBUG", command)
        self.assertIn("16 processes on 2 nodes; 1 EFA adapters", said)

    def test_settings(self):
        command, _ = self.command(PER_NODE="3", MPIRUN_OPTIONS="--oversubscribe --report-bindings")
        self.assertIn("-np 3 ", command)
        self.assertIn("--oversubscribe --report-bindings", command)

    def test_a_hostfile_without_hosts_is_refused(self):
        hosts = self.root / "hosts"
        hosts.write_text("# nobody\n")
        for path in (hosts, self.root / "absent"):
            done = self.run_script("mpi/mpirun.sh", "worker", HOSTFILE=str(path))
            self.assertEqual(done.returncode, 2)
            self.assertIn(str(path), done.stderr)

    @unittest.skipUnless(shutil.which("mpirun") and pathlib.Path(support.program("libclaimcheck_mpi.so")).exists(),
                         "no Open MPI on this machine, or this build is without it")
    def test_it_starts_two_for_real(self):
        loopback = "--mca pml ob1 --mca btl self,vader --mca oob_tcp_if_include lo --mca plm isolated"
        done = self.run_script("mpi/mpirun.sh", support.program("claimcheck-bench-host"), "--describe", PER_NODE="2",
                               MPIRUN_OPTIONS=loopback, OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                               HOME=os.environ.get("HOME", "/"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(support.parse(done.stdout)["processes"], 2)


class Slurm(Node):
    def submit(self, *, plugins="none\npmix\npmix_v4", **variables):
        """Runs the batch script with an srun and a claimcheck that only tell what they were asked."""
        tools = self.root / "tools"
        tools.mkdir(exist_ok=True)
        (tools / "srun").write_text(f'#!/bin/sh\nprintf "%s\\n" "{plugins}"\n')
        (tools / "claimcheck").write_text('#!/bin/sh\nfor word in "$@"; do printf "%s\\n" "$word"; done\nenv >&2\n')
        for tool in tools.iterdir():
            tool.chmod(0o755)
        return self.run_script("slurm/claimcheck.sbatch", "--profile", "quick", CLAIMCHECK=str(tools / "claimcheck"),
                               SLURM_SUBMIT_DIR=str(support.SOURCE), SLURM_JOB_ID="7", SLURM_JOB_NUM_NODES="2",
                               **{"PATH": f"{tools}:{os.environ['PATH']}", **variables})

    def test_one_process_a_gpu(self):
        self.adapter("efa_0", "efa")
        done = self.submit(SLURM_GPUS_ON_NODE="8")
        self.assertEqual(done.returncode, 0, done.stderr)
        words = done.stdout.splitlines()
        launcher = words[words.index("--launcher") + 1]
        self.assertIn("--mpi=pmix_v4 --nodes=2 --ntasks-per-node=8", launcher)
        self.assertIn("--kill-on-bad-exit=1", launcher)
        self.assertEqual(words[-2:], ["--profile", "quick"])
        self.assertIn("FI_PROVIDER=efa", done.stderr.splitlines())

    def test_one_process_a_node_without_gpus(self):
        done = self.submit()
        self.assertIn("--ntasks-per-node=1", done.stdout)

    def test_without_pmix_it_says_what_to_do(self):
        done = self.submit(plugins="none")
        self.assertEqual(done.returncode, 3)
        self.assertIn("has no PMIx", done.stderr)


class Kubernetes(unittest.TestCase):
    def errors(self, document):
        schemas = support.load(KUBERNETES_SCHEMAS)
        validator = support.Validator(schemas)
        return ["/".join(map(str, error.absolute_path)) + ": " + error.message for error in validator.iter_errors(document)]

    def manifest(self, name):
        return yaml.safe_load((SCRIPTS / "kubernetes" / name).read_text())

    def test_manifests_are_valid(self):
        for name in ("job.yaml", "mpijob.yaml"):
            with self.subTest(name=name):
                self.assertEqual(self.errors(self.manifest(name)), [])

    def test_the_schema_finds_what_is_wrong(self):
        def broken(change):
            document = self.manifest("mpijob.yaml")
            change(document)
            return self.errors(document)

        worker = ("spec", "mpiReplicaSpecs", "Worker", "template", "spec")

        def container(document):
            for key in worker:
                document = document[key]
            return document["containers"][0]

        self.assertTrue(broken(lambda d: d["spec"].update(slotPerWorker=8)))
        self.assertTrue(broken(lambda d: container(d).pop("image")))
        self.assertTrue(broken(lambda d: container(d)["resources"]["limits"].update(memory="512GiB")))
        self.assertTrue(broken(lambda d: container(d).update(command="claimcheck run")))
        self.assertTrue(broken(lambda d: d.update(kind="Job")))

    def test_processes_are_nodes_times_gpus(self):
        spec = self.manifest("mpijob.yaml")["spec"]
        launcher = spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
        words = launcher["command"][launcher["command"].index("--launcher") + 1].split()
        worker = spec["mpiReplicaSpecs"]["Worker"]
        limits = worker["template"]["spec"]["containers"][0]["resources"]["limits"]
        self.assertEqual(int(words[words.index("-np") + 1]), worker["replicas"] * spec["slotsPerWorker"])
        self.assertEqual(limits["nvidia.com/gpu"], spec["slotsPerWorker"])

    def test_volumes_that_are_mounted_are_there(self):
        pods = [self.manifest("job.yaml")["spec"]["template"]["spec"]]
        pods += [replica["template"]["spec"] for replica in self.manifest("mpijob.yaml")["spec"]["mpiReplicaSpecs"].values()]
        for pod in pods:
            volumes = {volume["name"] for volume in pod.get("volumes", [])}
            mounted = {mount["name"] for container in pod["containers"] for mount in container.get("volumeMounts", [])}
            self.assertEqual(mounted, volumes)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
